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
    """The standard library's completes an archive even where its writing has failed, as it does when nobody needs it
    any more: into a file that is closed by then, or on a disk that is full. This one leaves it as it is."""

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if type is None:
            self.close()

    def __del__(self) -> None:
        pass
