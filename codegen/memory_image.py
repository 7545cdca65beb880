"""What a program finds before it starts: weights in the arrays, constants and inputs in global memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class WeightTable:
    """Every distinct matrix once, and which one each array group holds.

    A matrix has shape [rows used, columns used] and may be narrower than its group's arrays.
    """

    matrices: tuple[F32, ...]
    of_group: tuple[tuple[int, ...], ...]
    """Per core, per array group: index into ``matrices``, or -1 for a group that is never used."""

    def __post_init__(self) -> None:
        for matrix in self.matrices:
            assert matrix.dtype == np.float32, f"a weight matrix is {matrix.dtype}"
            assert matrix.ndim == 2, f"a weight matrix has {matrix.ndim} dimensions"

    @classmethod
    def empty(cls, core_count: int) -> WeightTable:
        """No weights at all."""
        return cls((), ((),) * core_count)

    @classmethod
    def from_groups(cls, groups: Sequence[Sequence[F32 | None]]) -> WeightTable:
        """From each group's matrix, per core; groups whose matrices are the same memory share one entry."""
        matrices: list[F32] = []
        known: dict[tuple[object, ...], int] = {}

        def index(matrix: F32 | None) -> int:
            if matrix is None:
                return -1
            memory = (matrix.ctypes.data, matrix.shape, matrix.strides)
            if memory not in known:
                known[memory] = len(matrices)
                matrices.append(matrix)
            return known[memory]

        of_group = tuple(tuple(index(matrix) for matrix in core) for core in groups)
        return cls(tuple(matrices), of_group)

    def matrix(self, core: int, group: int) -> F32 | None:
        """The weights of a group, or None when it has none."""
        of_core = self.of_group[core]
        index = of_core[group] if group < len(of_core) else -1
        return None if index < 0 else self.matrices[index]


@dataclass(frozen=True, eq=False)
class Constant:
    """Elements that stand in global memory from the start."""

    address_bytes: int
    values: F32

    def __post_init__(self) -> None:
        assert self.values.dtype == np.float32, f"a constant is {self.values.dtype}"
        assert self.values.ndim == 1, f"a constant has {self.values.ndim} dimensions"


@dataclass(frozen=True, eq=False)
class GlobalMemory:
    """Size and first content of the memory that all cores share. What is not constant starts as 0."""

    size_bytes: int
    constants: tuple[Constant, ...] = ()


@dataclass(frozen=True, eq=False)
class TensorLayout:
    """Where the elements of one network input or output stand in global memory.

    Element ``(i, j, ...)`` of the logical tensor is at ``address_bytes + element_bytes * (i * strides[0] + ...)``, or,
    when ``index`` is given, at ``address_bytes + element_bytes * index[i, j, ...]``.
    """

    name: str
    shape: tuple[int, ...]
    address_bytes: int
    strides: tuple[int, ...] = ()
    """In elements, one for each dimension; unused when ``index`` is given."""
    dtype: str = "float32"
    """The network's own element type, a numpy name; in memory every element is a float."""
    index: Ints | None = field(default=None)

    def __post_init__(self) -> None:
        assert self.index is not None or len(self.strides) == len(self.shape), f"{self.name}: a stride a dimension"
        assert self.index is None or self.index.shape == self.shape, f"{self.name}: index of another shape"

    @classmethod
    def row_major(cls, name: str, shape: tuple[int, ...], address_bytes: int, dtype: str = "float32") -> TensorLayout:
        """Elements one after another in the order of the logical tensor."""
        strides = [1]
        for extent in reversed(shape[1:]):
            strides.append(strides[-1] * extent)
        return cls(name, shape, address_bytes, tuple(reversed(strides))[: len(shape)], dtype)

    def element_index(self) -> Ints:
        """Per element of the logical tensor, its distance from ``address_bytes`` in elements."""
        if self.index is not None:
            return self.index
        total = np.zeros(self.shape, np.int64)
        for axis, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            along = np.arange(extent, dtype=np.int64) * stride
            total += along.reshape([-1 if other == axis else 1 for other in range(len(self.shape))])
        return total
