"""Work that a thread does while the caller goes on: reading, hashing, writing, for which Python lets go of its lock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Background(Generic[Result]):
    """A call that begins at once. The process does not wait for it when it ends."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._found: list[Result] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], Result]) -> None:
        try:
            self._found.append(work())
        except BaseException as error:
            self._error = error

    def wait(self) -> None:
        """Until the call is over, however it ends."""
        self._thread.join()

    def result(self) -> Result:
        """What the call returns; raises what it raises."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._found[0]
