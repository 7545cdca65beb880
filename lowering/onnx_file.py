"""The file of a model, whose weights are read while what needs them is imported, which takes about as long.

So this module imports little itself.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Event

import numpy as np
from numpy.typing import NDArray

from ..support.background import Background
from ..support.diagnostics import TileError
from .onnx_wire import Message, NotWireFormatError, Seekable, without_raw_data

Bytes = NDArray[np.uint8]


class ModelFile:
    """A file while it is open, or the content of one."""

    def __init__(self, source: Path | bytes) -> None:
        """Opens it. A TileError or an OSError if it cannot be read."""
        self.path = source if isinstance(source, Path) else None
        self.where = "<model>" if isinstance(source, bytes) else source.name
        """What error messages call the model: its file name."""
        self._file = file = _opened(source)
        self.message: Message | None = None
        """All but the raw data of large initializers; None if only protobuf can tell what is in the file."""
        try:
            self.message = without_raw_data(file)
        except NotWireFormatError:
            pass
        except BaseException:
            file.close()
            raise
        places = {} if self.message is None else self.message.raw_data
        self._closed = Event()
        self._raw_data = Background(lambda: _read(file, places, self._closed))

    @property
    def folder(self) -> Path | None:
        """Where its external data lies, if it may have such."""
        return None if self.path is None else self.path.parent

    def raw_data(self) -> dict[int, Bytes]:
        """By number of initializer: the raw data that is not in the message, or as much as there is of it.

        Who uses one takes it out, so that nobody else holds it.
        """
        return self._raw_data.result()

    def content(self) -> bytes:
        """All of the file."""
        self._raw_data.wait()
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        """Closes the file. What is not read yet is not read any more."""
        self._closed.set()
        self._raw_data.wait()
        self._file.close()


@contextmanager
def opened_model(source: Path | bytes | ModelFile) -> Generator[ModelFile]:
    """The file of a model, or the content of one; closed at the end of the context.

    A TileError if it cannot be read, now or within the context.
    """
    path = source.path if isinstance(source, ModelFile) else source
    try:
        with closing(source if isinstance(source, ModelFile) else ModelFile(source)) as model:
            yield model
    except OSError as error:
        raise TileError(str(path), f"cannot be read: {error.strerror}", "check the file's permissions") from error


@contextmanager
def read_ahead(name: str) -> Generator[ModelFile | None]:
    """The model of that name, which is being read, if it is an `.onnx` file that can be read."""
    model = None
    with suppress(TileError, OSError):  # Whoever opens it anew says why.
        model = ModelFile(Path(name)) if name.endswith(".onnx") else None
    with nullcontext() if model is None else closing(model):
        yield model


def _opened(source: Path | bytes) -> Seekable:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    if not source.is_file():
        problem = "is not a regular file" if source.exists() else "does not exist"
        raise TileError(str(source), problem, "give the path of an .onnx file")
    return source.open("rb")


def _read(file: Seekable, places: Mapping[int, tuple[int, int]], closed: Event) -> dict[int, Bytes]:
    """The bytes at some places of the file, each with its first byte and its length, unless it is closed meanwhile."""
    found: dict[int, Bytes] = {}
    for index, (start, length) in places.items():
        if closed.is_set():
            break
        file.seek(start)
        array = np.empty(length, np.uint8)
        count = file.readinto(array.data)
        found[index] = array[:count]
    return found
