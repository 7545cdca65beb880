"""Zips that are the same bytes for the same content, and of no use unless they are closed."""

from __future__ import annotations

import zipfile
from types import TracebackType

_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip can hold: the time of writing would make every zip another one."""
_UNIX = 3


def stored_entry(name: str) -> zipfile.ZipInfo:
    """An entry without compression whose bytes depend on its name and content alone."""
    entry = zipfile.ZipInfo(name, _TIME)
    entry.create_system = _UNIX
    return entry


class NewZip(zipfile.ZipFile):
    """A zip to write that is left incomplete if writing fails.

    The standard library's would be completed all the same, on an exception or when it is collected, although its file
    may be closed by then, or the disk full.
    """

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if type is None:
            self.close()

    def __del__(self) -> None:
        pass
