"""Which registers instructions read, and which scalar instructions could be left out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from .columns import Program
from .isa import ISA, OP_LIMIT, REGISTER_COUNT, SCALAR_OPS, Op

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

_IS_SCALAR = np.isin(np.arange(OP_LIMIT), list(SCALAR_OPS))


def needless_scalars(program: Program) -> int:
    """How many scalar instructions load what the register holds already, or what nothing reads before the next one."""
    columns = program.columns
    place = program.core_of_rows().astype(np.int64) * REGISTER_COUNT
    writes = np.flatnonzero(_IS_SCALAR[columns.op])
    if not len(writes):
        return 0
    count = len(columns)
    register = place[writes] + columns.rd[writes]
    order = np.argsort(register, kind="stable")
    writes, register = writes[order], register[order]
    follows = np.append(False, register[1:] == register[:-1])
    loads = columns.op[writes] == Op.SLDI
    value = columns.a[writes]
    previous = np.where(follows, np.append(0, value[:-1]), 0)
    known = np.where(follows, np.append(True, loads[:-1]), True)
    held = loads & known & (value == previous)

    reads = np.sort(_read_registers(program, place))
    begin = register * count + writes
    end = np.where(np.append(follows[1:], False), np.append(begin[1:], 0), register * count + count - 1)
    used = np.searchsorted(reads, end, side="right") > np.searchsorted(reads, begin, side="right")
    return int((held | ~used).sum())


def _read_registers(program: Program, place: I64) -> I64:
    """Every read of a register, as the register's number on the chip and the instruction in one."""
    columns, count = program.columns, len(program.columns)
    found = [np.zeros(0, np.int64)]
    for code in np.unique(columns.op).tolist():
        rows = np.flatnonzero(columns.op == code)
        for name, offset in REGISTER_READS[Op(code)]:
            register = getattr(columns, name)[rows].astype(np.int64) + offset
            found.append((place[rows] + register) * count + rows)
    return np.concatenate(found)
