"""Which registers instructions read, which scalar instructions could be left out, and which ones are missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from .columns import Columns, Program
from .isa import ISA, OP_LIMIT, REGISTER_COUNT, SCALAR_OPS, Op
from .registers import final_values

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_PAIRS = {Op.LD: "rs1", Op.ST: "rd"}
"""Operands that are a register and the one behind it."""


def _reads(op: Op) -> tuple[tuple[str, int], ...]:
    columns = [name for name in ISA[op].columns if name in ("rd", "rs1", "rs2")]
    if op in SCALAR_OPS:
        columns.remove("rd")
    pair = [(_PAIRS[op], 1)] if op in _PAIRS else []
    return (*((name, 0) for name in columns), *pair)


REGISTER_READS: Mapping[Op, tuple[tuple[str, int], ...]] = {op: _reads(op) for op in ISA}
"""The registers that an instruction reads, as columns and what is to be added to the number that stands there.

An instruction that is no scalar one only reads registers: ``rd`` holds the address of its result.
"""


def most_loads(op: Op, in_order: bool) -> int:
    """How many registers may have to be loaded for an instruction.

    All that it reads; but one of its local addresses needs none if they all may have the offset. Unless the machine
    executes ``in_order``, that counts only where the result is the only one: see `plan_addresses`.
    """
    local = {name for name, _ in REGISTER_READS[op]} - {_PAIRS.get(op)}
    spared = bool(local) and local <= set(ISA[op].offsets) and (in_order or local == {"rd"})
    return len(REGISTER_READS[op]) - spared


_IS_SCALAR = np.isin(np.arange(OP_LIMIT), list(SCALAR_OPS))
_OPERANDS = ("rd", "rs1", "rs2")
_READ = {
    (name, offset): np.array([op in ISA and (name, offset) in REGISTER_READS[Op(op)] for op in range(OP_LIMIT)])
    for name in _OPERANDS
    for offset in (0, 1)
}
"""By column and what is added to its number: which opcodes read that register."""


def needless_scalars(program: Program) -> int:
    """How many scalar instructions load what the register holds already, or what nothing reads before the next one.

    A stream may run round after round: at its start registers hold what it left in them at its end.
    """
    columns = program.columns
    is_write = _IS_SCALAR[columns.op]
    reads = {place: table[columns.op] for place, table in _READ.items() if table.any()}
    core = program.core_of_rows()
    ends = program.core_start[1:] - 1
    found = 0
    for register in np.unique(columns.rd[is_write]).tolist():
        writes = np.flatnonzero(is_write & (columns.rd == register))
        read = np.zeros(len(columns), np.bool_)
        for (name, offset), does in reads.items():
            read |= does & (getattr(columns, name) == register - offset)
        so_far = np.append(0, np.cumsum(read))
        first = np.append(True, core[writes[1:]] != core[writes[:-1]])
        last = np.append(first[1:], True)
        until = np.where(last, ends[core[writes]], np.append(writes[1:], 0))
        used = so_far[until + 1] > so_far[writes + 1]
        used[last] |= so_far[writes[first] + 1] > so_far[program.core_start[core[writes[first]]]]
        found += int((_holds_already(columns, writes, first, last) | ~used).sum())
    return found


def _holds_already(columns: Columns, writes: I64, first: Mask, last: Mask) -> Mask:
    """Which of one register's writes load what it holds. ``first``, ``last``: of a core.

    At its start a stream that runs again finds what it left: a register holds 0 there only if it ends as 0, too.
    """
    loads, value = columns.op[writes] == Op.SLDI, columns.a[writes]
    known, before = np.roll(loads, 1), np.roll(value, 1)
    known[first], before[first] = (loads & (value == 0))[last], 0
    return loads & known & (value == before)


def stale_reads(program: Program) -> I64:
    """The instructions that read what their core leaves in a register, when its stream runs again.

    Nothing before them on the core writes that register. They find 0 in it in the first round, and later something
    else, unless the core's last instruction leaves 0 there.
    """
    found = [np.zeros(0, np.int64)]
    for core in range(program.core_count):
        columns, start = program.core(core), int(program.core_start[core])
        writes = np.flatnonzero(_IS_SCALAR[columns.op])
        first = np.full(REGISTER_COUNT, -1)
        first[columns.rd[writes[::-1]]] = writes[::-1]
        first[_last_values(columns.take(writes)) == 0] = -1
        early = columns.take(slice(0, int(first.max()) + 1))
        stale = np.zeros(len(early), np.bool_)
        for (name, offset), table in _READ.items():
            register = np.minimum(getattr(early, name).astype(np.int64) + offset, REGISTER_COUNT - 1)
            stale |= table[early.op] & (np.arange(len(early)) <= first[register])
        found.append(start + np.flatnonzero(stale))
    return np.concatenate(found)


def _last_values(writes: Columns) -> npt.NDArray[np.int32]:
    """[registers]: what all registers hold after the scalar instructions of one core."""
    if not (writes.op == Op.SLDI).all():
        return final_values(writes)
    values = np.zeros(REGISTER_COUNT, np.int32)
    values[writes.rd] = writes.a  # of several for one register the last one counts
    return values
