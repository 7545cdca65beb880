"""What every command-line tool does around its work: the collector's threshold, errors, interrupts, exit codes.

Exit codes: 0 success, 1 an error of the user's, 70 an error of the compiler's, 130 interrupted, 141 the reader of our
output went away.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable, Sequence

EXIT_USER_ERROR = 1
EXIT_INTERNAL_ERROR = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


def run_tool(name: str, body: Callable[[Sequence[str]], int], arguments: Sequence[str] | None = None) -> int:
    """Runs ``body`` on the command line's arguments and gives the exit code; no exception leaves it."""
    # Modules are large graphs that live long: at the default threshold, looking for garbage takes a third of the time.
    gc.set_threshold(200_000, 50, 100)
    # Text is UTF-8 whatever the locale says, as it is in files.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8")
    try:
        code = body(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except Exception as error:
        return report_failure(name, error, verbose="--verbose" in (arguments or sys.argv))


def report_failure(name: str, error: Exception, verbose: bool = False) -> int:
    """Prints ``error`` in one form for all tools; gives the exit code that belongs to it."""
    from ..passes.pass_bug import PassBug
    from ..support.diagnostics import TileError

    match error:
        case TileError():
            print_error(error)
            return EXIT_USER_ERROR
        case OSError():
            where = str(error.filename) if error.filename is not None else name
            print_error(TileError(where, (error.strerror or str(error)).lower()))
            return EXIT_USER_ERROR
        case RecursionError():
            print_error(TileError(name, "the input is nested too deeply", "flatten it"))
            return EXIT_USER_ERROR
        case _:
            if verbose:
                traceback.print_exception(error)
            what = str(error) if isinstance(error, PassBug) else f"{type(error).__name__}: {error}"
            remedy = "this is an error in the compiler; report it, with the output of --verbose"
            print_error(TileError(name, f"internal error: {what}", remedy))
            return EXIT_INTERNAL_ERROR


def print_error(error: Exception) -> None:
    print(error, file=sys.stderr, flush=True)
