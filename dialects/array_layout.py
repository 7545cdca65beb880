"""Arrays brought into the memory order in which they are needed: at once, or by a thread until somebody asks for
them."""

from __future__ import annotations

import math
from functools import partial
from threading import Lock
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ..support.background import Background
from ..support.machine_code import Kernel, can_compile
from . import layout_kernel
from .layout_kernel import STRIP

Array: TypeAlias = NDArray[Any]

_LARGE = 1 << 16
"""Elements from which on a transposed array is copied in strips of `STRIP` columns."""
_SHARED = 1 << 20
"""Elements from which on two threads share the copying, or one thread copies while its caller goes on."""

_KERNEL = Kernel("layout", (layout_kernel,), layout_kernel)
_KERNEL_BYTES = 4
"""Size of the elements that the kernel copies."""

_turn = Lock()
"""Held by the one thread that lays out a matrix: several would take processor time from the passes."""


def contiguous(array: Array, dtype: np.dtype[Any] | None = None) -> Array:
    """``array``, if it is of this type and contiguous, or else a copy that is."""
    dtype = array.dtype if dtype is None else dtype
    if not is_large_transposed(array):
        return np.ascontiguousarray(array, dtype)
    # Along the last axis, each element is in another cache line. So strips are copied: the other elements of a line
    # are used while it is in the cache.
    found = np.empty(array.shape, dtype)
    if array.size < _SHARED:
        _copy_in_strips(array, found)
    else:
        half = array.shape[-1] // 2
        other = Background(partial(_copy_in_strips, array[..., :half], found[..., :half]))
        _copy_in_strips(array[..., half:], found[..., half:])
        other.result()
    return found


class _Matrix:
    """A matrix of the elements of ``view``, in the order of its indices, which a thread lays out."""

    def __init__(self, view: Array, columns: int) -> None:
        self.columns = columns
        self._view: Array | None = view
        """Let go as soon as the matrix is there: it may be all that still holds the elements."""
        self._made = Background(partial(self._make, view))

    def _make(self, view: Array) -> Array:
        with _turn:
            found = np.empty(view.shape, view.dtype)
            _lay_out(view, found)
        found.flags.writeable = False
        self._view = None
        return found

    def elements(self, places: NDArray[np.int64]) -> Array:
        """The elements at these places of the flattened matrix, without waiting for it."""
        source = self._view
        source = self._made.result() if source is None else source
        return source[np.unravel_index(places, source.shape)]

    def array(self) -> Array:
        """[rows, columns]"""
        return self._made.result().reshape(-1, self.columns)


class Rows:
    """Some rows of a matrix that a thread lays out from an array that nobody changes."""

    def __init__(self, matrix: _Matrix, dtype: np.dtype[Any], rows: range) -> None:
        self._matrix, self._rows = matrix, rows
        self.dtype = dtype
        self.shape = (len(rows), matrix.columns)

    def __getitem__(self, rows: slice) -> Rows:
        """A run of consecutive rows."""
        found = self._rows[rows]
        assert found.step == 1, "the rows are not consecutive"
        return Rows(self._matrix, self.dtype, found)

    @property
    def array(self) -> Array:
        """All elements [rows, columns], read-only; waits for them. Raises what the thread has raised."""
        return self._matrix.array()[self._rows.start : self._rows.stop]

    def every(self, step: int) -> Array:
        """Every ``step``-th element, from the first one on, without waiting."""
        first = self._rows.start * self.shape[1]
        return self._matrix.elements(np.arange(first, first + math.prod(self.shape), step))


def matrix_of(view: Array, columns: int) -> Array | Rows:
    """The elements of ``view``, in the order of its indices, as a matrix with so many columns.

    If that takes long, a thread does it while the caller goes on.
    """
    if view.size < _SHARED or not is_large_transposed(view):
        return contiguous(view).reshape(-1, columns)
    return Rows(_Matrix(view, columns), view.dtype, range(view.size // columns))


def _copy_in_strips(array: Array, to: Array) -> None:
    for column in range(0, array.shape[-1], STRIP):
        to[..., column : column + STRIP] = array[..., column : column + STRIP]


def _lay_out(view: Array, to: Array) -> None:
    """Copies a transposed ``view``, by machine code if possible: numpy would copy strip by strip, and after each one
    the thread would have to wait for Python's lock."""
    if not can_compile() or view.itemsize != _KERNEL_BYTES or min(view.strides) < 0:
        _copy_in_strips(view, to)
        return
    strides = [stride // view.itemsize for stride in view.strides]
    extent = 1 + sum((length - 1) * stride for length, stride in zip(view.shape, strides, strict=True))
    source = as_strided(view, (extent,), (view.itemsize,), writeable=False).view(np.int32)
    place: NDArray[np.int64] = np.zeros(1, np.int64)
    for length, stride in zip(view.shape[:-1], strides[:-1], strict=True):
        along = np.arange(int(length), dtype=np.int64) * int(stride)
        place = np.repeat(place, length) + np.tile(along, len(place))
    row = np.argsort(place, kind="stable")
    facts = layout_kernel.Facts(view.shape[-1], strides[-1])
    code = layout_kernel.Code(*(cast("Any", column) for column in (row, place[row], source)))
    state = layout_kernel.State(cast("Any", to.view(np.int32).reshape(-1)))
    assert _KERNEL.run(facts, code, state, len(row)) == view.size


def is_large_transposed(array: Array) -> bool:
    """Whether copying ``array`` in the order of its elements would go through memory in large steps."""
    return array.size >= _LARGE and array.ndim > 1 and array.strides[-1] > max(array.strides[-2], array.itemsize)
