"""`tile-opt`: runs passes on textual IR or on an ONNX model, as `mlir-opt` does."""

from __future__ import annotations

from .early_interrupt import EARLY_INTERRUPT

with EARLY_INTERRUPT:
    import sys
    from collections.abc import Sequence

    from .session import run_tool


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of `tile-opt` for the arguments, by default those of the command line."""
    return run_tool("tile-opt", _run, arguments)


def _run(arguments: Sequence[str]) -> int:
    from .opt_arguments import parse_arguments

    options = parse_arguments(arguments)
    if options.listing is not None:
        from .opt_listing import listing

        sys.stdout.write(listing(options.listing, options.plugins))
        return 0

    from .opt_driver import OptDriver

    return OptDriver(options).run()


if __name__ == "__main__":
    sys.exit(main())
