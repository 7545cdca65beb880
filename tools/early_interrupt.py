"""An interrupt while a tool's first modules load, before it has its own handlers. Loads nothing that Python has not."""

import os
import sys

_signal = sys.modules["_signal"]  # What `signal` wraps: that one takes so long to load that it is interrupted itself.


class _EarlyInterrupt:
    """Within it, an interrupt ends the process at once: there is nothing yet to clean up, nor to be told but that."""

    def __enter__(self) -> None:
        self._before = None
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # Not of an embedder, and not ignored.
            try:
                self._before = _signal.signal(_signal.SIGINT, _end)
            except ValueError:
                pass  # Another thread than the main one, which no signal interrupts.

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            _signal.signal(_signal.SIGINT, self._before)


def _end(*_: object) -> None:
    try:
        os.write(2, b"error: interrupted\n")
    finally:
        os._exit(130)


EARLY_INTERRUPT = _EarlyInterrupt()
