"""`tile-run`: executes a compiled package on real data, and compares the result with onnxruntime if asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .session import run_tool

_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of `tile-run` for the arguments, by default those of the command line."""
    # Before numpy loads: matrix products here are small, and threads would cost far more time than they save.
    for variable in _THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    return run_tool("tile-run", _run, arguments)


def _run(arguments: Sequence[str]) -> int:
    from .run_arguments import parse_arguments

    options = parse_arguments(arguments)

    if options.timing:
        from .run_timing import run_timing

        return run_timing(options)

    from .run_driver import RunDriver

    return RunDriver(options).run()


if __name__ == "__main__":
    sys.exit(main())
