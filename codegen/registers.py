"""The values of the scalar registers at every instruction.

Streams have no branches, and only scalar instructions write registers, so each value is a function of the stream.
Machine code follows it instruction by instruction (:mod:`.register_kernel`). Without llvmlite, numpy computes all
values at once: those of ``sldi`` by a forward fill, those of chains of ``saddi`` and ``smuli``, which are affine maps,
by composing maps in pairs (doubling). Only ``sadd``, ``ssub`` and ``smul``, which have two sources, are taken one by
one. Arithmetic is that of the machine: 32 bits, wrapping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from ..support.machine_code import Kernel, can_compile
from . import register_kernel
from .columns import Columns
from .isa import OP_LIMIT, REGISTER_COUNT, SCALAR_OPS, Op
from .register_kernel import Facts

I32 = npt.NDArray[np.int32]

WORTH_COMPILING = 1_000
"""Instructions from which on machine code is quicker, if it has been loaded already."""

REGISTERS = Kernel("register-values", (register_kernel,), register_kernel)

_CHUNK_ROWS = 1 << 15
_IS_SCALAR = np.isin(np.arange(OP_LIMIT), list(SCALAR_OPS))
_TWO_SOURCES = (Op.SADD, Op.SSUB, Op.SMUL)
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class RegisterValues:
    """Per instruction, what the registers named by ``rd``, ``rs1``, ``rs2`` hold before it executes."""

    rd: I32
    rs1: I32
    rs2: I32
    next_rd: I32
    """Of register ``rd + 1``: the low word of ``st``'s global address."""
    next_rs1: I32
    """Of register ``rs1 + 1``: the low word of ``ld``'s global address."""


def register_values(columns: Columns, begin: Sequence[int] | Ints = (0,)) -> RegisterValues:
    """Resolves the registers of the instructions (valid ones) of one core, or of several: ``begin`` says where each one
    begins, the first one at 0. All registers of a core begin as 0."""
    if len(columns) >= WORTH_COMPILING and can_compile():
        return _followed(columns, begin)
    cores = [_of_core(columns.take(slice(*span))) for span in pairwise([*begin, len(columns)])]
    return RegisterValues(*(np.concatenate(values) for values in zip(*cores, strict=True)))


def _of_core(columns: Columns) -> tuple[I32, ...]:
    """Of one core, in the order of :class:`RegisterValues`."""
    is_write = _IS_SCALAR[columns.op]
    writes = columns.take(np.flatnonzero(is_write))
    write_before = _last_writes(columns, is_write)
    values = _write_values(writes, write_before.take_rows(is_write))
    return tuple(values[index] for index in write_before.operands())


def _followed(columns: Columns, begin: Sequence[int] | Ints) -> RegisterValues:
    """The same by machine code."""
    code = (
        np.append(np.array(begin, np.int64), len(columns)),
        columns.op,
        columns.rd,
        columns.rs1,
        columns.rs2,
        columns.a,
    )
    found = [np.empty(len(columns), np.int32) for _ in range(5)]
    held = np.zeros(REGISTER_COUNT, np.int32)
    REGISTERS.run(Facts(REGISTER_COUNT - 1), code, (held, *found), len(columns))
    return RegisterValues(*found)


def final_values(columns: Columns) -> I32:
    """[registers]: what all registers hold after the instructions of one core (valid ones)."""
    writes = columns.take(np.flatnonzero(_IS_SCALAR[columns.op]))
    reads = Columns.of(Op.LLDI, rd=np.arange(REGISTER_COUNT), a=1)
    return register_values(Columns.concat([writes, reads])).rd[-REGISTER_COUNT:]


@dataclass(frozen=True)
class _LastWrites:
    """Per instruction and operand, the number of the write that its register's value comes from; 0 is no write."""

    rd: I32
    rs1: I32
    rs2: I32
    next_rd: I32
    next_rs1: I32

    def operands(self) -> tuple[I32, ...]:
        return self.rd, self.rs1, self.rs2, self.next_rd, self.next_rs1

    def take_rows(self, rows: npt.NDArray[np.bool_]) -> _LastWrites:
        return _LastWrites(*(operand[rows] for operand in self.operands()))


def _last_writes(columns: Columns, is_write: npt.NDArray[np.bool_]) -> _LastWrites:
    numbers = np.cumsum(is_write, dtype=np.int32)
    registers = [columns.rd, columns.rs1, columns.rs2, _next(columns.rd), _next(columns.rs1)]
    found = [np.empty(len(columns), np.int32) for _ in registers]
    state = np.zeros(REGISTER_COUNT, np.int32)
    for start in range(0, len(columns), _CHUNK_ROWS):
        span = slice(start, start + _CHUNK_ROWS)
        before = _forward_fill(columns.rd[span], is_write[span], numbers[span], state)
        rows = np.arange(len(before) - 1)
        for target, register in zip(found, registers, strict=True):
            target[span] = before[rows, register[span]]
        state = before[-1]
    return _LastWrites(*found)


def _next(register: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return np.minimum(register + 1, REGISTER_COUNT - 1).astype(np.uint8)


def _forward_fill(
    written: npt.NDArray[np.uint8], is_write: npt.NDArray[np.bool_], numbers: I32, state: I32
) -> npt.NDArray[np.int32]:
    """Row i: per register, the number of its last write before instruction i. The last row is the state at the end."""
    before = np.zeros((len(written) + 1, REGISTER_COUNT), np.int32)
    before[0] = state
    rows = np.flatnonzero(is_write)
    before[rows + 1, written[rows]] = numbers[rows]
    return np.maximum.accumulate(before, axis=0, out=before)


def _write_values(writes: Columns, sources: _LastWrites) -> I32:
    """The value of every write; entry 0 is the initial value of all registers."""
    values = np.concatenate([np.zeros(1, np.int32), writes.a])
    if (writes.op == Op.SLDI).all():
        return values
    return _resolve(writes, sources).astype(np.uint32).view(np.int32)


def _resolve(writes: Columns, sources: _LastWrites) -> Ints:
    """All values modulo 2**32.

    Write number i is ``scale[i] * value[base[i]] + offset[i]`` where the base is a write that does not follow from
    another by an affine map: the initial value, an ``sldi``, or an operation with two sources.
    """
    immediate = writes.a.astype(np.int64) & _MASK
    adds, scales = writes.op == Op.SADDI, writes.op == Op.SMULI
    own = np.arange(1, len(writes) + 1)
    base = np.concatenate([[0], np.where(adds | scales, sources.rs1, own)])
    scale = np.concatenate([[1], np.where(scales, immediate, 1)])
    offset = np.concatenate([[0], np.where(adds, immediate, 0)])
    while not np.array_equal(further := base[base], base):
        offset = (scale * offset[base] + offset) & _MASK
        scale = (scale * scale[base]) & _MASK
        base = further
    value = np.concatenate([[0], np.where(writes.op == Op.SLDI, immediate, 0)])
    for number in (np.flatnonzero(np.isin(writes.op, _TWO_SOURCES)) + 1).tolist():
        first, second = (
            (int(scale[source]) * int(value[base[source]]) + int(offset[source])) & _MASK
            for source in (int(sources.rs1[number - 1]), int(sources.rs2[number - 1]))
        )
        value[number] = _combine(int(writes.op[number - 1]), first, second) & _MASK
    return (scale * value[base] + offset) & _MASK


def _combine(op: int, first: int, second: int) -> int:
    if op == Op.SADD:
        return first + second
    return first - second if op == Op.SSUB else first * second
