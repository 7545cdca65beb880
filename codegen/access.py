"""Which bytes of local and global memory every instruction touches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from .columns import Columns, Target
from .isa import OFFSET_BITS, ONE_ELEMENT_OPS, OP_LIMIT, TWO_VECTOR_OPS, VECTOR_OPS, Op
from .registers import RegisterValues


@dataclass(frozen=True)
class Range:
    """Per instruction a range of bytes; a size of 0 is no range."""

    start: Ints
    size: Ints

    @property
    def end(self) -> Ints:
        """The end of each range; 0 if it is none."""
        return np.where(self.size != 0, self.start + self.size, 0)


@dataclass(frozen=True)
class Accesses:
    """What instructions touch. ``read2`` is the second vector of two-vector operations."""

    read: Range
    read2: Range
    write: Range
    global_read: Range
    global_write: Range

    @property
    def local_end(self) -> Ints:
        """How far each instruction reaches into its core's local memory."""
        return np.maximum(np.maximum(self.read.end, self.read2.end), self.write.end)

    @property
    def global_end(self) -> Ints:
        """How far each instruction reaches into global memory."""
        return np.maximum(self.global_read.end, self.global_write.end)


def _flags(*ops: Op) -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(OP_LIMIT), ops)


_READS = _flags(Op.MVMUL, *VECTOR_OPS, Op.ST, Op.LMV, Op.SEND)
_READS_TWO = _flags(*TWO_VECTOR_OPS)
_WRITES = _flags(Op.MVMUL, *VECTOR_OPS, Op.LD, Op.LLDI, Op.LMV, Op.RECV)
_STRIDED = _flags(Op.VMV, Op.VAVG)
_VECTOR = _flags(*VECTOR_OPS)
_ONE_RESULT = _flags(*ONE_ELEMENT_OPS)


def accesses(
    columns: Columns,
    registers: RegisterValues,
    target: Target,
    group_rows: Ints,
    group_arrays: Ints,
    first_group: Ints | None = None,
) -> Accesses:
    """The ranges of the instructions of one core, or of several, whose groups begin, per instruction, at
    ``first_group``.

    ``group_rows`` and ``group_arrays`` give, per array group, the rows of its weights (the length of an ``mvmul``'s
    input) and its number of arrays. A negative stride gives a range of negative size, which no memory has.
    """
    op = columns.op
    length = columns.a.astype(np.int64)
    is_mvm = op == Op.MVMUL
    in_elements = is_mvm | _VECTOR[op]

    read_length, write_length = length.copy(), np.where(_ONE_RESULT[op], 1, length)
    group = columns.b[is_mvm] if first_group is None else columns.b[is_mvm] + first_group[is_mvm]
    read_length[is_mvm] = group_rows[group]
    write_length[is_mvm] = group_arrays[group] * target.array_cols
    read_length = np.where(_STRIDED[op], (length - 1) * registers.rs2.astype(np.int64) + 1, read_length)
    unit = np.where(in_elements, target.element_bytes, 1)

    offset = columns.c.astype(np.int64) * np.where(_VECTOR[op], target.element_bytes, 1)
    rd, rs1, rs2 = (
        value.astype(np.int64) + np.where(columns.select & OFFSET_BITS[name], offset, 0)
        for name, value in (("rd", registers.rd), ("rs1", registers.rs1), ("rs2", registers.rs2))
    )
    zero = np.zeros(len(columns), np.int64)
    return Accesses(
        read=Range(rs1, np.where(_READS[op], read_length * unit, zero)),
        read2=Range(rs2, np.where(_READS_TWO[op], length * unit, zero)),
        write=Range(rd, np.where(_WRITES[op], write_length * unit, zero)),
        global_read=Range(_double_word(registers.rs1, registers.next_rs1), np.where(op == Op.LD, length, zero)),
        global_write=Range(_double_word(registers.rd, registers.next_rd), np.where(op == Op.ST, length, zero)),
    )


def _double_word(high: npt.NDArray[np.int32], low: npt.NDArray[np.int32]) -> Ints:
    return (high.astype(np.int64) << 32) | (low.astype(np.int64) & 0xFFFFFFFF)
