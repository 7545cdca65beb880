"""The file of a model, whose weights are read while the onnx package is imported, which takes about as long."""

from __future__ import annotations

import io
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..support.background import Background
from ..support.diagnostics import TileError
from .onnx_wire import Message, NotWireFormatError, Seekable, without_raw_data

Bytes = NDArray[np.uint8]


class ModelFile:
    """A file while it is open, or the content of one."""

    def __init__(self, where: str, folder: Path | None, file: Seekable) -> None:
        self.where = where
        """What error messages call the model: its file name."""
        self.folder = folder
        """Where its external data lies, if it may have such."""
        self._file = file
        self.message: Message | None
        """All but the raw data of large initializers; None if only protobuf can tell what is in the file."""
        try:
            self.message = without_raw_data(file)
        except NotWireFormatError:
            self.message = None
        places = {} if self.message is None else self.message.raw_data
        self._raw_data = Background(lambda: _read(file, places))

    def raw_data(self) -> dict[int, Bytes]:
        """By number of initializer: the raw data that is not in the message, or as much as there is of it."""
        return self._raw_data.result()

    def content(self) -> bytes:
        """All of the file."""
        self.wait()
        self._file.seek(0)
        return self._file.read()

    def wait(self) -> None:
        """Until nobody reads the file any more."""
        self._raw_data.wait()


@contextmanager
def opened_model(source: Path | bytes) -> Generator[ModelFile]:
    """The file of a model, or the content of one. A TileError if it cannot be read, now or within the context."""
    if isinstance(source, bytes):
        yield ModelFile("<model>", None, io.BytesIO(source))
        return
    try:
        if not source.is_file():
            problem = "is not a regular file" if source.exists() else "does not exist"
            raise TileError(str(source), problem, "give the path of an .onnx file")
        with source.open("rb") as file:
            model = ModelFile(source.name, source.parent, file)
            try:
                yield model
            finally:
                model.wait()
    except OSError as error:
        raise TileError(str(source), f"cannot be read: {error.strerror}", "check the file's permissions") from error


def _read(file: Seekable, places: Mapping[int, tuple[int, int]]) -> dict[int, Bytes]:
    """The bytes at some places of the file, each with its first byte and its length."""
    found: dict[int, Bytes] = {}
    for index, (start, length) in places.items():
        file.seek(start)
        array = np.empty(length, np.uint8)
        count = file.readinto(array.data)
        found[index] = array[:count]
    return found
