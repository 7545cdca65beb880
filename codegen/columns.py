"""A program as numpy columns: one row an instruction, no Python object per instruction anywhere.

:class:`Columns` is a run of instructions. :class:`Program` is the chip's whole program: the columns of all cores one
after another, where each core begins, what its array groups are, and the facts of the machine that its meaning depends
on. What a column means for an opcode stands in :mod:`.isa`; a column that an opcode does not use is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..analysis.json_record import require_whole
from ..support.arrays import Ints
from .isa import INT32_MAX, mnemonic

if TYPE_CHECKING:
    from ..analysis.machine import Machine, Precision

U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]

COLUMN_TYPES: dict[str, npt.DTypeLike] = {
    "op": np.uint8,
    "rd": np.uint8,
    "rs1": np.uint8,
    "rs2": np.uint8,
    "a": np.int32,
    "b": np.int32,
    "c": np.int32,
    "select": np.uint8,
}
"""Name and type of every column, in the order of the file format."""

INSTRUCTION_BYTES = sum(np.dtype(dtype).itemsize for dtype in COLUMN_TYPES.values())


@dataclass(frozen=True, eq=False)
class Columns:
    """Instructions as equal-length one-dimensional arrays, which are shared, never copied, and not to be changed."""

    op: U8
    rd: U8
    rs1: U8
    rs2: U8
    a: I32
    b: I32
    c: I32
    select: U8

    def __post_init__(self) -> None:
        for name, column in self.items():
            assert column.dtype == COLUMN_TYPES[name], f"column {name} is {column.dtype}"
            assert column.shape == (len(self.op),), f"column {name} has shape {column.shape}"

    @classmethod
    def of(
        cls,
        op: npt.ArrayLike,
        *,
        rd: npt.ArrayLike = 0,
        rs1: npt.ArrayLike = 0,
        rs2: npt.ArrayLike = 0,
        a: npt.ArrayLike = 0,
        b: npt.ArrayLike = 0,
        c: npt.ArrayLike = 0,
        select: npt.ArrayLike = 0,
    ) -> Columns:
        """Instructions from numbers and arrays, broadcast together: ``Columns.of(Op.SLDI, rd=1, a=addresses)``.

        A value that does not fit its column is a compiler error (an assertion), not a wrapped number.
        """
        values = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(value)) for value in (op, rd, rs1, rs2, a, b, c, select))
        )
        return cls.from_arrays(dict(zip(COLUMN_TYPES, values, strict=True)))

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[np.integer]]) -> Columns:
        """Columns from integer arrays of any integer type, checked to fit."""
        return cls(*(_fit(name, arrays[name], dtype) for name, dtype in COLUMN_TYPES.items()))

    @classmethod
    def empty(cls) -> Columns:
        """No instructions."""
        return cls(*(np.empty(0, dtype) for dtype in COLUMN_TYPES.values()))

    @classmethod
    def concat(cls, parts: Iterable[Columns]) -> Columns:
        """The instructions of all parts, one after another."""
        listed = list(parts)
        if not listed:
            return cls.empty()
        if len(listed) == 1:
            return listed[0]
        return cls(*(np.concatenate([getattr(part, name) for part in listed]) for name in COLUMN_TYPES))

    def take(self, index: slice | npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> Columns:
        """The instructions at ``index``: a slice (a view), positions or a mask (copies)."""
        return Columns(*(column[index] for _, column in self.items()))

    def items(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Name and array of each column, in the order of the file format."""
        for name in COLUMN_TYPES:
            yield name, getattr(self, name)

    def __len__(self) -> int:
        return len(self.op)

    def equals(self, other: Columns) -> bool:
        """Whether both hold the same instructions."""
        return all(np.array_equal(column, getattr(other, name)) for name, column in self.items())


def _fit(name: str, values: npt.NDArray[np.integer], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    converted = np.ascontiguousarray(values, dtype=dtype)
    assert values.dtype == converted.dtype or np.array_equal(converted, values), (
        f"column {name}: values from {values.min()} to {values.max()} do not fit {np.dtype(dtype)}"
    )
    return converted


@dataclass(frozen=True)
class Target:
    """The facts of the machine that a program's meaning depends on (its times depend on more, see ``Machine``)."""

    array_rows: int
    array_cols: int
    """Columns of weights of one array, at the precision of the program's weights."""
    arrays_per_core: int
    local_memory_bytes: int
    element_bytes: int = 1
    """Bytes of one vector element in every memory. Addresses and sizes are in bytes, ``len`` of vectors in elements."""

    @classmethod
    def of(cls, machine: Machine, precision: Precision) -> Target:
        """The facts of a machine that runs at one precision, with inputs and outputs of the same number of bytes."""
        assert precision.input_bytes == precision.output_bytes, f"{precision} has elements of two sizes"
        return cls(
            array_rows=machine.array_rows,
            array_cols=machine.array_cols_at(precision.weight_bits),
            arrays_per_core=machine.arrays_per_core,
            local_memory_bytes=machine.local_memory_bytes,
            element_bytes=precision.input_bytes,
        )

    @classmethod
    def from_json(cls, content: Mapping[str, object]) -> Target:
        """What ``asdict`` made of a target. A ValueError or TypeError if the content is none."""
        return cls(**{name: require_whole(value, 1, INT32_MAX) for name, value in content.items()})

    @property
    def local_elements(self) -> int:
        """Elements that one local memory holds."""
        return self.local_memory_bytes // self.element_bytes


@dataclass(frozen=True, eq=False)
class Program:
    """The program of a chip. Instruction ``k`` of core ``n`` is row ``core_start[n] + k`` of ``columns``."""

    target: Target
    columns: Columns
    core_start: Ints
    """Shape [core_count + 1]: where each core's instructions begin; the last entry is the number of instructions."""
    groups: tuple[tuple[int, ...], ...]
    """Per core, per array group: the number of arrays that one ``mvmul`` of that group drives."""
    node: I32 | None = None
    """Per instruction: index into ``node_names`` of the network's node that it comes from, or -1. May be absent."""
    node_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.core_start.dtype == np.int64
        assert self.core_start.shape == (self.core_count + 1,)
        assert self.core_start[0] == 0, "core_start must begin at 0"
        assert self.core_start[-1] == len(self.columns), "core_start must end at the number of instructions"
        assert (np.diff(self.core_start) >= 0).all(), "core_start must not decrease"
        assert self.node is None or (self.node.dtype == np.int32 and len(self.node) == len(self.columns))

    @classmethod
    def from_cores(
        cls,
        target: Target,
        cores: Sequence[Columns],
        groups: Sequence[Sequence[int]],
        nodes: Sequence[I32] | None = None,
        node_names: Sequence[str] = (),
    ) -> Program:
        """Joins the instructions of all cores, core 0 first; an unused core has none."""
        assert len(cores) == len(groups), f"{len(cores)} cores but groups of {len(groups)}"
        start = np.zeros(len(cores) + 1, np.int64)
        np.cumsum([len(core) for core in cores], out=start[1:])
        node = None if nodes is None else np.concatenate([np.empty(0, np.int32), *nodes]).astype(np.int32)
        frozen_groups = tuple(tuple(int(count) for count in core) for core in groups)
        return cls(target, Columns.concat(cores), start, frozen_groups, node, tuple(node_names))

    @property
    def core_count(self) -> int:
        """Number of cores, including unused ones."""
        return len(self.groups)

    def core(self, core: int) -> Columns:
        """The instructions of one core (views)."""
        return self.columns.take(self.span(core))

    def span(self, core: int) -> slice:
        """The rows of one core."""
        return slice(int(self.core_start[core]), int(self.core_start[core + 1]))

    def core_of_rows(self) -> I32:
        """Per instruction, the core that executes it."""
        return np.repeat(np.arange(self.core_count, dtype=np.int32), np.diff(self.core_start))

    def node_name(self, row: int) -> str:
        """The node that instruction ``row`` comes from, or an empty string."""
        if self.node is None or not 0 <= int(self.node[row]) < len(self.node_names):
            return ""
        return self.node_names[int(self.node[row])]

    def place(self, row: int) -> str:
        """Where instruction ``row`` stands, for messages: ``core 3, instruction 17 (vvadd, node conv1)``."""
        core = int(np.searchsorted(self.core_start, row, side="right")) - 1
        code = int(self.columns.op[row])
        names = [mnemonic(code)]
        if name := self.node_name(row):
            names.append(f"node {name}")
        return f"core {core}, instruction {row - int(self.core_start[core])} ({', '.join(names)})"
