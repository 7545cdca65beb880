"""``weights.npz``: named arrays, uncompressed, written piece by piece and read without trusting their headers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dialects.array_layout import contiguous
from ..support.diagnostics import TileError
from ..support.zip_file import NewZip, stored_entry
from .archive import corrupt
from .byte_sink import FileSink

_MOST_HEADER_BYTES = 4096
"""Of the header of an array: ours take 128. numpy parses a header as Python, so that long ones are not safe to read."""

Array = npt.NDArray[Any]


class ArraysWriter:
    """Writes arrays under names; numpy's ``load`` reads the result."""

    def __init__(self, file: FileSink) -> None:
        self._archive = NewZip(file, "w")

    def add(self, name: str, array: Array) -> None:
        """One array."""
        self.add_pieces(name, array.dtype, array.shape, [array])

    def add_pieces(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...], pieces: Iterable[Array]) -> None:
        """One array of ``shape`` whose elements the pieces give in order; they are never joined in memory."""
        little = np.dtype(dtype).newbyteorder("<")
        with self._archive.open(stored_entry(f"{name}.npy"), "w", force_zip64=True) as entry:
            header = {"descr": np.lib.format.dtype_to_descr(little), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(entry, header)
            for piece in pieces:
                entry.write(contiguous(piece, little).reshape(-1).view(np.uint8).data)

    def close(self) -> None:
        """Writes the directory of names."""
        self._archive.close()


class ArraysReader:
    """Reads arrays by name. Every way in which the data can be wrong is a user error about ``source``."""

    def __init__(self, data: bytes, source: str) -> None:
        self._source = source
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise self._corrupt(str(error)) from None

    def array(self, name: str, dtype: npt.DTypeLike, dimensions: int) -> Array:
        """The array of that name, which must have the given type and number of dimensions."""
        shape, found, body = self._open(name)
        if found != np.dtype(dtype).newbyteorder("<") or len(shape) != dimensions:
            raise self._corrupt(f"{name} is {found} with {len(shape)} dimensions")
        count = 1
        for extent in shape:
            count *= extent
        if count * found.itemsize != len(body):
            raise self._corrupt(f"{name} has {len(body)} bytes, not {count * found.itemsize}")
        return np.frombuffer(body, found).astype(dtype, copy=False).reshape(shape)

    def _open(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any], memoryview]:
        try:
            info = self._archive.getinfo(f"{name}.npy")
            if info.compress_type != zipfile.ZIP_STORED:
                raise self._corrupt(f"{name} is compressed")
            data = self._archive.read(info)
            file = io.BytesIO(data)
            if np.lib.format.read_magic(file) != (1, 0):
                raise self._corrupt(f"{name} has another format version")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, _MOST_HEADER_BYTES)
        except KeyError:
            raise self._corrupt(f"{name} is missing") from None
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
            raise self._corrupt(f"{name}: {error}") from None
        if fortran or min(shape, default=0) < 0:
            raise self._corrupt(f"{name} has an unusual layout")
        return shape, dtype, memoryview(data)[file.tell() :]

    def _corrupt(self, what: str) -> TileError:
        return corrupt(self._source, what)
