"""A package's files in a directory or in one zip, written so that the same files give the same bytes."""

from __future__ import annotations

import hashlib
import io
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..support.diagnostics import TileError, system_reason
from ..support.files import atomic_directory, atomic_file, is_device
from ..support.zip_file import NewZip, stored_entry
from .background_hash import BackgroundHash, background_hash

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ZIP_SUFFIX = ".tilepkg"
_ZIP_MODE = 0o644 << 16
"""Of the files in a zip: readable by all, writable by the owner."""
_PIECE_BYTES = 1 << 20
"""Read at once from a file that is only hashed."""


RECOMPILE = "compile the model again"
"""What a user does about a package that is damaged."""


def corrupt(source: str, what: str) -> TileError:
    """The user error about a file of a package, ``source``, that is not as it was written."""
    return TileError(source, f"is corrupt: {what}", RECOMPILE)


@dataclass(frozen=True)
class FileFacts:
    """Size and hash of one file."""

    size_bytes: int
    sha256: str


class HashingFile(io.RawIOBase):
    """Passes writes on and keeps their size and hash. It cannot seek, so that what it hashed is what was written."""

    def __init__(self, file: IO[bytes], hashing: BackgroundHash) -> None:
        super().__init__()
        self._file = file
        self._hash = hashing
        self._size_bytes = 0

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Writes all of ``data``, which must not change any more."""
        self._hash.update(data)
        self._file.write(data)
        size = memoryview(data).nbytes
        self._size_bytes += size
        return size

    def facts(self) -> FileFacts:
        """Of everything written so far."""
        return FileFacts(self._size_bytes, self._hash.hexdigest())


class ArchiveWriter(ABC):
    """Somewhere to put named files."""

    def __init__(self, path: Path, at_once: bool) -> None:
        """``at_once``: several files may be open at a time."""
        self.path, self.at_once = path, at_once
        self.files: dict[str, FileFacts] = {}

    @contextmanager
    def create(self, name: str) -> Generator[HashingFile, None, None]:
        """A new file, open for writing; its facts are kept in ``files``."""
        assert name not in self.files, f"{name} is written twice"
        with _writing(self.path), background_hash() as hashing:
            with self._open(name) as file:
                written = HashingFile(file, hashing)
                yield written
            self.files[name] = written.facts()

    @abstractmethod
    def _open(self, name: str) -> IO[bytes]: ...


class _DirectoryWriter(ArchiveWriter):
    def __init__(self, path: Path, folder: Path) -> None:
        super().__init__(path, at_once=True)
        self._folder = folder

    def _open(self, name: str) -> IO[bytes]:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("wb")


class _ZipWriter(ArchiveWriter):
    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        super().__init__(path, at_once=False)
        self._archive = archive

    def _open(self, name: str) -> IO[bytes]:
        entry = stored_entry(name)
        entry.external_attr = _ZIP_MODE
        return self._archive.open(entry, "w", force_zip64=True)


@contextmanager
def write_archive(path: Path) -> Generator[ArchiveWriter, None, None]:
    """A writer for a new archive at ``path``: a zip if it ends in ``.tilepkg``, else a directory.

    Whatever stood there is replaced when all files are complete, and left alone on any exception. A TileError if
    something cannot be written; what else goes wrong within the context is none of it.
    """
    with ExitStack() as stack:
        with _writing(path):
            if path.suffix == ZIP_SUFFIX:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = stack.enter_context(atomic_file(path))
                writer = _ZipWriter(path, stack.enter_context(NewZip(temporary, "w")))
            else:
                writer = _DirectoryWriter(path, stack.enter_context(atomic_directory(path)))
        yield writer
        with _writing(path):
            stack.close()


@contextmanager
def _writing(path: Path) -> Generator[None]:
    """Makes an error of the system a TileError about the archive at ``path``."""
    try:
        yield
    except OSError as error:
        raise TileError(str(path), f"cannot be written: {system_reason(error)}", "name another place") from None


class ArchiveReader(ABC):
    """Reads named files; a file that is not there or cannot be read is a user error."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str) -> bytes:
        """The whole file."""
        with self._open(name) as file:
            return file.read()

    def facts(self, name: str) -> FileFacts:
        """Size and hash of a file, of which no more than a piece is held."""
        state, size = hashlib.sha256(), 0
        with self._open(name) as file:
            while piece := file.read(_PIECE_BYTES):
                state.update(piece)
                size += len(piece)
        return FileFacts(size, state.hexdigest())

    @abstractmethod
    def _open(self, name: str) -> AbstractContextManager[IO[bytes]]: ...

    @abstractmethod
    def __contains__(self, name: object) -> bool: ...

    def error(self, name: str, what: str, remedy: str = RECOMPILE) -> TileError:
        """A user error about one of the files."""
        return TileError(f"{self.path}/{name}" if name else str(self.path), what, remedy)


class _DirectoryReader(ArchiveReader):
    @contextmanager
    def _open(self, name: str) -> Generator[IO[bytes]]:
        try:
            with (self.path / name).open("rb") as file:
                yield file
        except FileNotFoundError:
            raise self.error(name, "is missing") from None
        except OSError as error:
            raise self.error(name, f"cannot be read: {error.strerror}") from None

    def __contains__(self, name: object) -> bool:
        return (self.path / str(name)).is_file()


class _ZipReader(ArchiveReader):
    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        super().__init__(path)
        self._archive = archive

    @contextmanager
    def _open(self, name: str) -> Generator[IO[bytes]]:
        try:
            info = self._archive.getinfo(name)
            if info.compress_type != zipfile.ZIP_STORED:  # never written so; compressed data might be of any size
                raise self.error(name, "is compressed")
            with self._archive.open(info) as file:
                yield file
        except KeyError:
            raise self.error(name, "is missing") from None
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
            raise self.error(name, f"cannot be read: {error}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._archive.namelist()


@contextmanager
def read_archive(path: Path) -> Generator[ArchiveReader, None, None]:
    """A reader for the archive at ``path``, directory or zip."""
    if path.is_dir():
        yield _DirectoryReader(path)
        return
    if is_device(path):
        raise TileError(str(path), "is a device", "name a package that tile-compile wrote")
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise TileError(str(path), "does not exist", "name a package that tile-compile wrote") from None
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise TileError(str(path), f"is not a package: {error}", "name a package that tile-compile wrote") from None
    with archive:
        yield _ZipReader(path, archive)
