"""What a `#tile.array` holds: numbers by reference, or the digest under which an `.npz` file has them."""

from __future__ import annotations

import hashlib
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..support.diagnostics import TileError, system_reason
from .array_layout import Array, Rows, contiguous, is_large_transposed

DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype("<f8"),
    "f32": np.dtype("<f4"),
    "f16": np.dtype("<f2"),
    "i64": np.dtype("<i8"),
    "i32": np.dtype("<i4"),
    "i16": np.dtype("<i2"),
    "i8": np.dtype("i1"),
    "u64": np.dtype("<u8"),
    "u32": np.dtype("<u4"),
    "u16": np.dtype("<u2"),
    "u8": np.dtype("u1"),
    "i1": np.dtype("?"),
}
"""The element types of an array, by the name that the text form uses."""

DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

_SAMPLES = 64
"""About as many elements are compared before whole arrays are compared."""

_resources: dict[str, Array] = {}
"""Arrays loaded from `.npz` files. The key is the digest of the content, so no two modules can disagree about one."""


class ArrayData:
    """What an :class:`ArrayAttr` holds: element type, shape, and the elements. Instead of the elements there may be the
    rows of a matrix that a thread is laying out, or only a digest, under which a resource file has them."""

    __slots__ = ("_array", "_digest", "_rows", "dtype", "shape")

    def __init__(
        self,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        array: Array | None,
        digest: str | None,
        rows: Rows | None = None,
    ) -> None:
        assert array is not None or digest is not None or rows is not None
        self.dtype = dtype
        self.shape = shape
        self._array = array
        self._digest = digest
        self._rows = rows
        """None as soon as somebody has waited for them."""

    @staticmethod
    def of(array: Array | Rows) -> ArrayData:
        """Wraps ``array`` without a copy if it is contiguous and little-endian. Nobody may write to it any more, nor to
        what it is a view of: both become read-only.

        A large transposed matrix is not copied either, since whoever needs another layout would copy it again. Rows
        that a thread is laying out are waited for only when all their elements are asked for.
        """
        dtype = array.dtype.newbyteorder("<")
        assert dtype in DTYPE_NAMES, f"#tile.array cannot hold elements of type {array.dtype}"
        if isinstance(array, Rows):
            assert array.dtype == dtype, "a thread lays out elements as they are"
            return ArrayData(dtype, array.shape, None, None, array)
        kept = array.ndim == 2 and is_large_transposed(array) and array.dtype == dtype
        view = (array if kept else contiguous(array, dtype).reshape(array.shape)).view()
        if np.may_share_memory(view, array):
            _freeze(array)
        _freeze(view)
        return ArrayData(dtype, array.shape, view, None)

    @property
    def array(self) -> Array:
        """The elements; waits for the thread that lays them out. A TileError if no loaded resource has them."""
        rows = self._rows  # Two threads may ask at once.
        if self._array is None and rows is not None:
            self._array = rows.array
            self._rows = None
        if self._array is None:
            assert self._digest is not None
            self._array = loaded_array(self._digest, self.dtype, self.shape)
        return self._array

    @property
    def has_data(self) -> bool:
        """Whether there are elements, or may be waited for."""
        if self._array is not None or self._rows is not None:
            return True
        return _describes(_resources.get(self.digest), self.dtype, self.shape)

    @property
    def sample(self) -> bytes:
        """The bytes of about `_SAMPLES` elements, without waiting: if they differ, so do the arrays."""
        step = max(1, math.prod(self.shape) // _SAMPLES)
        rows = self._rows
        return (self.array.flat[::step] if rows is None else rows.every(step)).tobytes()

    @property
    def digest(self) -> str:
        if self._digest is None:
            self._digest = digest_of(self.array)
        return self._digest

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ArrayData) or self.dtype != other.dtype or self.shape != other.shape:
            return False
        return (self._array is not None and self._array is other._array) or self.digest == other.digest

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.digest))

    def __repr__(self) -> str:
        return f"ArrayData({DTYPE_NAMES[self.dtype]}{list(self.shape)}, {self.digest})"


def _freeze(array: Array) -> None:
    """Makes an array read-only, and what it is a view of: attributes are immutable, and others rely on that."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner.flags.writeable = False
        owner = owner.base


def load_resources(path: Path) -> None:
    """Makes the arrays of an `.npz` file available to every `#tile.array` that names them by digest."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            loaded: dict[str, Array] = {name: archive[name] for name in archive.files}
    except OSError as error:
        what = f"cannot read resources: {system_reason(error)}"
        raise TileError(str(path), what, "give the .npz written with the text") from error
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError, SyntaxError, MemoryError) as error:
        raise TileError(
            str(path), "cannot read resources: this is no .npz file of arrays", "give the .npz written with the text"
        ) from error
    for digest, array in loaded.items():
        if array.dtype not in DTYPE_NAMES or digest_of(array) != digest:
            raise TileError(str(path), f'the content of resource "{digest}" does not match its digest', "write it anew")
        array.flags.writeable = False
    _resources.update(loaded)


def loaded_array(digest: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """The array that a loaded resource file has under ``digest``; a TileError if there is none of this type."""
    array = _resources.get(digest)
    if array is None:
        raise TileError(f'array @"{digest}"', "the text names its data only by digest", "add --resources FILE.npz")
    if not _describes(array, dtype, shape):
        has, wants = (f"{DTYPE_NAMES[d]}{list(s)}" for d, s in ((array.dtype, array.shape), (dtype, shape)))
        raise TileError(f'array @"{digest}"', f"the resource is {has}, the text says {wants}", "correct the text")
    return array


def _describes(array: Array | None, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    return array is not None and array.dtype == dtype and array.shape == shape


def digest_of(array: Array) -> str:
    """A hexadecimal digest of element type, shape and bytes."""
    header = f"{DTYPE_NAMES[array.dtype]}{list(array.shape)}"
    state = hashlib.blake2b(header.encode(), digest_size=16)
    state.update(contiguous(array).reshape(-1).view(np.uint8).data)
    return state.hexdigest()
