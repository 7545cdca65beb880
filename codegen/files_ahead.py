"""Files of an archive that threads write before their turn.

Making text, compressing, copying and hashing are nearly all of what it takes to write a package, and leave Python to
other threads nearly all the time. So a file can begin as soon as there is what it holds, while the compiler makes and
checks the rest. The bytes do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from threading import Event

from ..support.background import Background
from .archive import ArchiveWriter
from .byte_sink import FileSink

Write = Callable[[FileSink], None]
"""Writes all of a file."""


class FilesAhead:
    """The files of one archive. Each is written at once, or has begun before."""

    def __init__(self, archive: ArchiveWriter) -> None:
        self._archive = archive
        self._begun: dict[str, _Begun] = {}
        self._is_given_up = Event()

    def begin(self, name: str, source: object, write: Write, *, is_small: bool) -> None:
        """Begins to write a file on a thread. A small one is written to memory, so that its thread does not wait for
        those that hash. A large one is written to its place if the archive takes several files at a time; otherwise it
        is not begun. ``source`` is what the content is made from."""
        assert name not in self._begun, f"{name} begins twice"
        if is_small:
            held = BytesIO()
            self._begun[name] = _Begun(source, held, Background(lambda: write(_Checked(held, self._is_given_up))))
        elif self._archive.at_once:
            self._begun[name] = _Begun(source, None, Background(lambda: self._create(name, write)))

    def finish(self, name: str, source: object, write: Write) -> None:
        """The file is written when this returns. Raises what has gone wrong on its thread."""
        begun = self._begun.pop(name, None)
        if begun is None:
            self._create(name, write)
            return
        assert begun.source is source, f"another package's {name} has begun"
        begun.writing.result()
        if begun.held is not None:
            content = begun.held.getvalue()
            self._create(name, lambda file: _write(content, file))

    def give_up(self) -> None:
        """Stops writing. What threads have at hand is still written; after that, no thread writes."""
        self._is_given_up.set()
        for begun in self._begun.values():
            begun.writing.wait()

    def _create(self, name: str, write: Write) -> None:
        with self._archive.create(name) as file:
            write(_Checked(file, self._is_given_up))


class _GivenUpError(Exception):
    """Ends the thread of a file that nobody wants any more."""


class _Checked:
    """Passes writes on until they are given up."""

    def __init__(self, file: FileSink, is_given_up: Event) -> None:
        self._file = file
        self._is_given_up = is_given_up

    def write(self, data: bytes, /) -> int:
        if self._is_given_up.is_set():
            raise _GivenUpError
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class _Begun:
    """A file on its thread, and where it is held if not in its place."""

    source: object
    held: BytesIO | None
    writing: Background[None]


def _write(content: bytes, file: FileSink) -> None:
    file.write(content)
