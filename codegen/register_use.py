"""Which registers instructions read, and which scalar instructions could be left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from .columns import Columns, Program
from .isa import ISA, OP_LIMIT, SCALAR_OPS, Op

I64 = npt.NDArray[np.int64]

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


def most_loads(op: Op, offsets: bool) -> int:
    """How many registers may have to be loaded for an instruction.

    All that it reads; but with ``offsets`` one of its local addresses needs none, if they all may have the offset.
    """
    local = {name for name, _ in REGISTER_READS[op]} - {_PAIRS.get(op)}
    spared = offsets and bool(local) and local <= set(ISA[op].offsets)
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
    """How many scalar instructions load what the register holds already, or what nothing reads before the next one."""
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
        so_far = np.cumsum(read)
        follows = np.append(False, core[writes[1:]] == core[writes[:-1]])
        until = np.where(np.append(follows[1:], False), np.append(writes[1:], 0), ends[core[writes]])
        used = so_far[until] > so_far[writes]
        found += int((_holds_already(columns, writes, follows) | ~used).sum())
    return found


def _holds_already(columns: Columns, writes: I64, follows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which of one register's writes load what it holds. ``follows``: there is one before on the same core."""
    loads, value = columns.op[writes] == Op.SLDI, columns.a[writes]
    previous = np.where(follows, np.append(0, value[:-1]), 0)
    known = np.where(follows, np.append(True, loads[:-1]), True)
    return loads & known & (value == previous)
