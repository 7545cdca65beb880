"""What a `#tile.array` holds: numbers by reference, or the digest under which an `.npz` file has them."""

from __future__ import annotations

import hashlib
import zipfile
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..support.background import Background
from ..support.diagnostics import TileError

Array: TypeAlias = NDArray[Any]

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
"""About as many elements are compared before whole arrays are."""

_LARGE = 1 << 16
"""Elements from which on a transposed array is copied in strips of so many columns, a line of the cache wide:"""
_STRIP = 16
_SHARED = 1 << 20
"""Elements from which on two threads copy them."""

_resources: dict[str, Array] = {}
"""Arrays loaded from `.npz` files. The key is the digest of the content, so no two modules can disagree about one."""


class ArrayData:
    """What an :class:`ArrayAttr` holds: element type, shape, and the numbers or at least their digest."""

    __slots__ = ("_array", "_digest", "dtype", "shape")

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...], array: Array | None, digest: str | None) -> None:
        assert array is not None or digest is not None
        self.dtype = dtype
        self.shape = shape
        self._array = array
        self._digest = digest

    @staticmethod
    def of(array: Array) -> ArrayData:
        """Wraps a read-only view of ``array``; copies only what is not contiguous or not little-endian.

        Rows of a large transposed matrix stay as they are: whoever lays their elements out need not do it twice.
        """
        dtype = array.dtype.newbyteorder("<")
        assert dtype in DTYPE_NAMES, f"#tile.array cannot hold elements of type {array.dtype}"
        kept = array.ndim == 2 and _is_large_transposed(array) and array.dtype == dtype
        view = (array if kept else contiguous(array, dtype).reshape(array.shape)).view()
        view.flags.writeable = False
        return ArrayData(dtype, array.shape, view, None)

    @property
    def array(self) -> Array:
        if self._array is None:
            assert self._digest is not None
            self._array = loaded_array(self._digest, self.dtype, self.shape)
        return self._array

    @property
    def has_data(self) -> bool:
        return self._array is not None or _describes(_resources.get(self.digest), self.dtype, self.shape)

    @property
    def sample(self) -> bytes:
        """Some of the bytes: where they differ, the arrays do."""
        return self.array.flat[:: max(1, self.array.size // _SAMPLES)].tobytes()

    @property
    def digest(self) -> str:
        if self._digest is None:
            assert self._array is not None
            self._digest = digest_of(self._array)
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


def contiguous(array: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """``array``, if it is of this type and contiguous, or else a copy that is."""
    dtype = array.dtype if dtype is None else dtype
    if not _is_large_transposed(array):
        return np.ascontiguousarray(array, dtype)
    # The last axis is not the one along which elements are neighbours. In strips of it: element by element, each would
    # be in another line of the cache.
    found = np.empty(array.shape, dtype)
    if array.size < _SHARED:
        _copy_in_strips(array, found)
    else:
        half = array.shape[-1] // 2
        other = Background(partial(_copy_in_strips, array[..., :half], found[..., :half]))
        _copy_in_strips(array[..., half:], found[..., half:])
        other.result()
    return found


def _copy_in_strips(array: Array, to: Array) -> None:
    for column in range(0, array.shape[-1], _STRIP):
        to[..., column : column + _STRIP] = array[..., column : column + _STRIP]


def _is_large_transposed(array: Array) -> bool:
    """Whether copying ``array`` in the order of its elements would go through memory in large steps."""
    return array.size >= _LARGE and array.ndim > 1 and array.strides[-1] > max(array.strides[-2], array.itemsize)


def load_resources(path: Path) -> None:
    """Makes the arrays of an `.npz` file available to every `#tile.array` that names them by digest."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            loaded: dict[str, Array] = {name: archive[name] for name in archive.files}
    except OSError as error:
        what = f"cannot read resources: {(error.strerror or str(error)).lower()}"
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
