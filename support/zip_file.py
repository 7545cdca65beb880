"""A zip to write, which is of no use unless it is closed."""

from __future__ import annotations

import zipfile
from types import TracebackType


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
