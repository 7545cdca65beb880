"""`tile-run`: executes a compiled package on real data, and compares the result with onnxruntime if asked."""

from __future__ import annotations

from .early_interrupt import EARLY_INTERRUPT

with EARLY_INTERRUPT:
    import sys
    from collections.abc import Sequence

    from .session import keep_to_one_thread, run_tool


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of `tile-run` for the arguments, by default those of the command line."""
    return run_tool("tile-run", _run, arguments)


def _run(arguments: Sequence[str]) -> int:
    keep_to_one_thread()

    from .run_arguments import parse_arguments

    options = parse_arguments(arguments)

    if options.timing:
        from .run_timing import run_timing

        return run_timing(options)

    from .run_driver import RunDriver

    return RunDriver(options).run()


if __name__ == "__main__":
    sys.exit(main())
