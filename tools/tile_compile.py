"""`tile-compile`: an ONNX model to a package that a chip, or its simulator, runs."""

from __future__ import annotations

from .early_interrupt import EARLY_INTERRUPT

with EARLY_INTERRUPT:
    import sys
    from collections.abc import Sequence

    from .session import keep_to_one_thread, run_tool


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of `tile-compile` for the arguments, by default those of the command line."""
    return run_tool("tile-compile", _run, arguments, results_on_stdout=False)


def _run(arguments: Sequence[str]) -> int:
    from ..support.freed_memory import keep_freed_memory

    keep_to_one_thread()
    keep_freed_memory()

    from .compile_arguments import parse_arguments

    options = parse_arguments(arguments)

    from ..lowering.onnx_file import read_ahead

    with read_ahead(options.model) as model:  # While the compiler is imported.
        from .compile_driver import CompileDriver

        return CompileDriver(options, model).run()


if __name__ == "__main__":
    sys.exit(main())
