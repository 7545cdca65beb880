"""Which registers instructions read, which scalar instructions could be left out, and which ones are missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from .columns import Columns, Program
from .isa import ISA, OP_LIMIT, REGISTER_COLUMNS, REGISTER_COUNT, SCALAR_OPS, Op
from .registers import final_values

Mask = npt.NDArray[np.bool_]

_PAIRS = {Op.LD: "rs1", Op.ST: "rd"}
"""Operands that are a register and the one behind it."""


def _reads(op: Op) -> tuple[tuple[str, int], ...]:
    columns = [name for name in ISA[op].columns if name in REGISTER_COLUMNS]
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
_READ = {
    (name, offset): np.array([op in ISA and (name, offset) in REGISTER_READS[Op(op)] for op in range(OP_LIMIT)])
    for name in REGISTER_COLUMNS
    for offset in (0, 1)
}
"""By column and what is added to its number: which opcodes read that register."""


def needless_scalars(program: Program) -> int:
    """How many scalar instructions load what the register holds already, or what nothing reads before the next one.

    A stream may run round after round: at its start registers hold what it left in them at its end.
    """
    columns, rows = program.columns, len(program.columns)
    writes = np.flatnonzero(_IS_SCALAR[columns.op])
    if not len(writes):
        return 0
    # Of one register after another, where it is written, and where it is read: each as one number.
    place = _places(columns.rd[writes], writes, rows)
    read = _reading_places(columns)
    register, row = np.divmod(place, rows)
    core = program.core_of_rows()[row]
    first = np.append(True, (register[1:] != register[:-1]) | (core[1:] != core[:-1]))
    last = np.append(first[1:], True)
    begin, end = program.core_start[core], program.core_start[core + 1] - 1
    until = np.where(last, end, np.append(row[1:], 0))
    used = _some(read, place, register * rows + until)
    used[last] |= _some(read, (register * rows + begin)[first] - 1, place[first])
    return int((_holds_already(columns, row, first, last) | ~used).sum())


def _places(register: npt.NDArray[np.uint8], row: Ints, rows: int) -> Ints:
    """Registers and ascending rows as numbers, in order of registers. A sort of bytes takes one look at each."""
    order = np.argsort(register, kind="stable")
    return register[order] * np.int64(rows) + row[order]


def _reading_places(columns: Columns) -> Ints:
    """The same of all reads, sorted: of each register they are few ascending runs."""
    found: list[Ints] = []
    for (name, offset), table in _READ.items():
        row = np.flatnonzero(table[columns.op])
        found.append(_places((getattr(columns, name)[row] + offset).astype(np.uint8), row, len(columns)))
    return np.sort(np.concatenate(found), kind="stable")


def _some(places: Ints, after: Ints, until: Ints) -> Mask:
    """Whether there is one of ``places`` behind ``after`` and not behind ``until``."""
    following = np.append(places, np.iinfo(np.int64).max)[np.searchsorted(places, after, side="right")]
    return following <= until


def _holds_already(columns: Columns, writes: Ints, first: Mask, last: Mask) -> Mask:
    """Which writes load what their register holds, given in order of registers and rows. ``first``, ``last``: of a
    register on a core.

    At its start a stream that runs again finds what it left: a register holds 0 there only if it ends as 0, too.
    """
    loads, value = columns.op[writes] == Op.SLDI, columns.a[writes]
    known, before = np.roll(loads, 1), np.roll(value, 1)
    known[first], before[first] = (loads & (value == 0))[last], 0
    return loads & known & (value == before)


def stale_reads(program: Program) -> Ints:
    """The instructions that read what their core leaves in a register, when its stream runs again.

    Nothing before them on the core writes that register. They find 0 in it in the first round, and later something
    else, unless the core's last instruction leaves 0 there.
    """
    columns, core = program.columns, program.core_of_rows().astype(np.int64)
    writes = np.flatnonzero(_IS_SCALAR[columns.op])
    place = core[writes] * REGISTER_COUNT + columns.rd[writes]
    # Of each register of each core the first instruction that writes it, if it is not 0 at the end.
    first = np.full(program.core_count * REGISTER_COUNT, -1)
    first[place[::-1]] = writes[::-1]
    first[_last_values(program, writes, place) == 0] = -1
    latest = first.reshape(-1, REGISTER_COUNT).max(axis=1)
    early = np.flatnonzero(np.arange(len(core)) <= latest[core])
    read = columns.take(early)
    stale = np.zeros(len(early), np.bool_)
    for (name, offset), table in _READ.items():
        register = np.minimum(getattr(read, name).astype(np.int64) + offset, REGISTER_COUNT - 1)
        stale |= table[read.op] & (early <= first[core[early] * REGISTER_COUNT + register])
    return early[stale]


def _last_values(program: Program, writes: Ints, place: Ints) -> npt.NDArray[np.int32]:
    """[cores * registers]: what all registers hold at the end of their core, of whose scalar instructions ``writes``
    are the rows and ``place`` the registers they write."""
    columns = program.columns
    values = np.zeros(program.core_count * REGISTER_COUNT, np.int32)
    values[place] = columns.a[writes]  # of several for one register the last one counts
    for core in np.unique(place[columns.op[writes] != Op.SLDI] // REGISTER_COUNT).tolist():
        own = writes[place // REGISTER_COUNT == core]
        values[core * REGISTER_COUNT : (core + 1) * REGISTER_COUNT] = final_values(columns.take(own))
    return values
