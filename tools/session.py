"""What every command-line tool does around its work: streams, signals, the collector's threshold, errors, exit codes.

Exit codes: 0 success, 1 an error of the user's, 70 an error of the compiler's, 130 interrupted, 129 and 143 ended by
SIGHUP and SIGTERM, 141 the reader of our output went away.
"""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from ..support.diagnostics import TileError, system_reason

EXIT_USER_ERROR = 1
EXIT_INTERNAL_ERROR = 70
EXIT_SIGNAL = 128
EXIT_INTERRUPTED = EXIT_SIGNAL + signal.SIGINT
EXIT_BROKEN_PIPE = 141
COLLECTOR_THRESHOLDS = 1_000_000, 50, 100
"""Modules are large graphs that live long: at the default thresholds, the garbage collector takes a third of the time.
The large data of modules that passes leave behind is freed without it."""
_ENDING_SIGNALS = ("SIGTERM", "SIGHUP")
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Ended(KeyboardInterrupt):
    """A signal asks the process to end; as an exception, so that half-written files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def run_tool(
    name: str,
    body: Callable[[Sequence[str]], int],
    arguments: Sequence[str] | None = None,
    results_on_stdout: bool = True,
) -> int:
    """Runs ``body`` on the command line's arguments and gives the exit code; no exception leaves it.

    Without ``results_on_stdout``, what ``body`` prints there may be lost when stdout is closed.
    """
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    # Nor at the end, when the system takes back all memory at once.
    atexit.register(gc.freeze)
    _replace_closed_streams(results_on_stdout)
    _use_utf8()
    verbose = "--verbose" in (arguments or sys.argv)
    received: list[int] = []
    try:
        with _ending_by_exception(received):
            return _finished(body, sys.argv[1:] if arguments is None else arguments)
    except Ended as end:
        return EXIT_SIGNAL + end.number
    except KeyboardInterrupt:
        print_error("error: interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return EXIT_BROKEN_PIPE
    except Exception as error:
        if received:  # Amid an import of machine code, which makes an error of its own of any exception.
            if received[0] == signal.SIGINT:
                print_error("error: interrupted")
            return EXIT_SIGNAL + received[0]
        code = report_failure(name, error, verbose)
        try:
            sys.stdout.flush()
        except OSError:
            _discard_stdout()
        return code


def keep_to_one_thread() -> None:
    """Before numpy loads: matrix products here are small, and threads would cost far more time than they save."""
    for variable in _THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")


def _finished(body: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """The exit code of ``body``, whose output is then complete. `--help` and the like exit by themselves."""
    try:
        code = body(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else EXIT_USER_ERROR
    with standard_output():
        sys.stdout.flush()
    return code


@contextmanager
def standard_output() -> Generator[None]:
    """Makes what the system says of printing results a TileError that names where they go."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TileError("standard output", f"cannot be written: {system_reason(error)}", "write elsewhere") from None


class _ClosedOutput(io.TextIOBase):
    """Stands for a closed stdout: results that are printed there are lost, which is an error."""

    def write(self, text: str, /) -> NoReturn:
        raise TileError("standard output", "is closed", "open it, or name an output file")


def _replace_closed_streams(results_on_stdout: bool) -> None:
    """Python sets closed standard streams to None, and files that are opened then would get their descriptors."""
    opened = os.open(os.devnull, os.O_RDWR)
    while opened <= 2:
        opened = os.open(os.devnull, os.O_RDWR)
    os.close(opened)
    streams = vars(sys)
    if streams["stdin"] is None:
        sys.stdin = open(os.devnull, encoding="utf-8")
    if streams["stderr"] is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    if streams["stdout"] is None:
        sys.stdout = _ClosedOutput() if results_on_stdout else open(os.devnull, "w", encoding="utf-8")


def _use_utf8() -> None:
    """Text is UTF-8 whatever the locale says, as it is in files. Bytes of a path that are not print as `\\udcff`."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _discard_stdout() -> None:
    """Python flushes stdout once more at exit, and would complain."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _ending_by_exception(received: list[int]) -> Generator[None]:
    """Within it, signals that end a process raise `Ended`, or KeyboardInterrupt, and are noted in ``received``.

    A signal that is ignored (`nohup`) remains so, and a handler of who calls the tool as well.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _ENDING_SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in [signal.SIGINT, *numbers]}
    changed = [number for number, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]

    def end(number: int, frame: FrameType | None) -> NoReturn:
        received.append(number)
        raise KeyboardInterrupt if number == signal.SIGINT else Ended(number)

    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, before[number])


def report_failure(name: str, error: Exception, verbose: bool = False) -> int:
    """Prints ``error`` in one form for all tools; gives the exit code that belongs to it."""
    from ..passes.pass_bug import PassBug

    match error:
        case TileError():
            print_error(error)
            return EXIT_USER_ERROR
        case OSError():
            where = str(error.filename) if error.filename is not None else name
            remedy = "shorten it" if error.errno == errno.ENAMETOOLONG else "name another one" if error.filename else ""
            print_error(TileError(where, system_reason(error), remedy))
            return EXIT_USER_ERROR
        case RecursionError():
            print_error(TileError(name, "the input is nested too deeply", "flatten it"))
            return EXIT_USER_ERROR
        case PassBug(is_ours=False):
            if verbose:
                traceback.print_exception(error)
            print_error(
                TileError(name, str(error), "this is an error in the pass; --verbose prints where it was raised")
            )
            return EXIT_USER_ERROR
        case _:
            if verbose:
                traceback.print_exception(error)
            what = str(error) if isinstance(error, PassBug) else f"{type(error).__name__}: {error}"
            remedy = "this is an error in the compiler; report it, with the output of --verbose"
            print_error(TileError(name, f"internal error: {what}", remedy))
            return EXIT_INTERNAL_ERROR


def print_error(error: Exception | str) -> None:
    with suppress(OSError):  # where should one say that there is nowhere to say it?
        print(error, file=sys.stderr, flush=True)
