"""What the registers of an instruction have to hold, and what its offset adds, so that it finds its addresses.

Without offsets every register holds an address. An instruction with an offset adds it to the operands that it selects.
Register 0 holds 0 for ever, so one address of such an instruction can stand in its offset and takes no register. The
lowest one there serves another operand as well, if that one's register holds the distance between the two: copies
along two buffers repeat distances rather than addresses. What remains to be held is chosen so that it recurs soon.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from ..support.machine_code import Kernel, can_compile
from . import address_kernel
from .address_kernel import CANDIDATES, FAR, ROUNDS, Facts
from .instruction_table import NO_ADDRESS, InstructionTable
from .isa import ISA, OFFSET_BITS, OP_LIMIT, REGISTER_COLUMNS, VECTOR_OPS, Op

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.integer]

_BITS = np.array([*OFFSET_BITS.values()])
_SELECTABLE = np.array(
    [[name in ISA[Op(op)].offsets if op else False for name in REGISTER_COLUMNS] for op in range(OP_LIMIT)]
)
"""[opcodes, operands]: whether the offset can be added to an operand; operands are in order of `REGISTER_COLUMNS`."""
_MISREAD = _SELECTABLE * (_BITS & ~OFFSET_BITS["rd"])
"""By opcode and operand: the bit that switches the offset on in the simulator's reorder buffer; 0 if `select` does."""
_NONE = 1 << 62
"""In place of an address or a distance; also more than any choice costs."""

WORTH_COMPILING = 20_000
"""Instructions from which on loading the machine code takes less time than it saves; llvmlite is there by then."""
_MOST_VALUES = 1 << 24
"""Bytes of local memory up to which the machine code has a place for each."""

PLAN = Kernel("addresses", (address_kernel,), address_kernel)

_CHOICES = {
    1: ((), (0,)),
    2: ((0,), (1,), (3,), (0, 1)),
    3: ((0, 1), (0, 2), (1, 2), (1, 4), (3, 2), (3, 4), (0, 1, 2)),
}
"""By the number of different addresses of an instruction: which candidates can be in registers together.

Candidates are the addresses in ascending order, then the distances of the second and the third from the first. All
choices but the last leave one address to the offset, the lowest of which neither it nor its distance is in a register.
"""


@dataclass(frozen=True, eq=False)
class AddressPlan:
    """An operand's address is what its register holds, and if it is selected the offset on top."""

    base: Numbers
    """[n, 3]: contents of the registers of each instruction; 0 also where there is no operand."""
    offset: Numbers
    """[n] in the unit of the instruction: elements of vectors, else bytes."""
    select: Numbers
    """[n]: the sum of `OFFSET_BITS` of the operands that the offset is added to."""


def local_addresses(table: InstructionTable) -> Ints:
    """[n, 3]: the operands in local memory, `NO_ADDRESS` for others: the global side of ``ld`` and ``st`` is none."""
    found = np.stack([table.dest, table.source, table.second.astype(np.int64)], axis=1)
    found[table.op == Op.ST, 0] = NO_ADDRESS
    found[table.op == Op.LD, 1] = NO_ADDRESS
    return found


def plan_addresses(table: InstructionTable, element_bytes: int, in_order: bool) -> AddressPlan:
    """The plan of instructions that stand core by core. ``in_order``: the machine executes one after another.

    A larger reorder buffer compares addresses to find out what may run ahead. The public simulator's adds the offset to
    `rs1` and `rs2` by bits of the offset itself, not of what is selected (and never sees addresses in registers of
    ``ld`` and ``st``): there an instruction has only such offsets as come to the same.
    """
    if in_order and len(table) >= WORTH_COMPILING and _most_address(table) < _MOST_VALUES and can_compile():
        return _planned_by_core(table, element_bytes)
    address = local_addresses(table)
    used = address != NO_ADDRESS
    takes = used.any(axis=1) & (_SELECTABLE[table.op] | ~used).all(axis=1)
    rows = np.flatnonzero(takes)
    unit = np.where(np.isin(table.op, list(VECTOR_OPS)), element_bytes, 1)
    base = np.where(used, address, 0)
    offset = np.zeros(len(table), np.int64)
    select = np.zeros(len(table), np.int64)
    if len(rows):
        operands = _Operands.of(address[rows], None if in_order else _MISREAD[table.op[rows]] * used[rows], unit[rows])
        kept = _kept_candidates(table, address, takes, operands)
        base[rows], offset[rows], selected = operands.planned(kept)
        select[rows] = (selected * _BITS).sum(axis=1)
        assert not (offset % unit).any(), "an address is not at a whole element"
        offset //= unit
    return AddressPlan(base, offset, select)


def _most_address(table: InstructionTable) -> int:
    """The highest address in local memory."""
    parts = (table.dest[table.op != Op.ST], table.source[table.op != Op.LD], table.second)
    return max(int(part.max(initial=0)) for part in parts)


def _planned_by_core(table: InstructionTable, element_bytes: int) -> AddressPlan:
    """The same by machine code, for a machine that executes in order."""
    count = len(table)
    stop = np.flatnonzero(np.diff(table.core, append=-1)) + 1
    most = int(np.diff(stop, prepend=0).max())
    unit = np.array([element_bytes if op in VECTOR_OPS else 1 for op in range(OP_LIMIT)], np.int64)
    choices = [[sum(1 << place for place in choice) for choice in _CHOICES[number]] for number in (2, 3)]
    choice_begin = np.cumsum([0, 0, 0, *map(len, choices)], dtype=np.int64)
    code = (
        *(table.op, table.dest, table.source, table.second),
        *(_SELECTABLE.astype(np.int64).reshape(-1), unit, stop.astype(np.int64)),
        *(choice_begin, np.array([*chain(*choices)], np.int64)),
    )
    base, offset, select = np.empty((count, 3), np.int32), np.empty(count, np.int32), np.empty(count, np.uint8)
    room = (np.empty(most * width, np.int64) for width in (1, CANDIDATES, CANDIDATES, 1))
    seen = np.full(_most_address(table) + 1, -1, np.int64)
    facts = Facts(int(Op.LD), int(Op.ST))
    bad = PLAN.run(facts, code, (base, offset, select, *room, seen), len(stop))
    assert not bad, f"an address of instruction {bad - 1} is not at a whole element"
    return AddressPlan(base, offset, select)


@dataclass(frozen=True, eq=False)
class _Operands:
    """The addresses of n instructions that take an offset."""

    address: Ints
    """[n, 3], `NO_ADDRESS` where there is no operand."""
    ascending: Ints
    """[n, 3]: those that differ, `_NONE` behind them."""
    count: Ints
    """[n]: how many differ."""
    place: Ints
    """[n, 3]: where the address of an operand stands among them."""
    misread: Ints | None
    """[n, 3]: bits of the offset that have to be as the operand is selected; None if that does not matter."""
    unit: Ints
    """[n]: bytes."""

    @classmethod
    def of(cls, address: Ints, misread: Ints | None, unit: Ints) -> _Operands:
        ascending = np.sort(np.where(address == NO_ADDRESS, _NONE, address), axis=1)
        ascending[:, 1:][ascending[:, 1:] == ascending[:, :-1]] = _NONE
        ascending.sort(axis=1)
        place = (address[:, :, None] == ascending[:, None, :]).argmax(axis=2)
        return cls(address, ascending, (ascending != _NONE).sum(axis=1), place, misread, unit)

    def candidates(self) -> Ints:
        """[n, 5]: what could be in registers; `_NONE` where there is nothing, or nothing to choose."""
        distance = np.where(self.ascending[:, 1:] == _NONE, _NONE, self.ascending[:, 1:] - self.ascending[:, :1])
        found = np.concatenate([self.ascending, distance], axis=1)
        if self.misread is None:
            found[self.count < 2] = _NONE
        return found

    def planned(self, kept: Mask) -> tuple[Ints, Ints, Mask]:
        """Bases, offsets in bytes and selected operands, for candidates [n, 5] in registers."""
        bare = ~kept[:, :3] & (self.ascending != _NONE)
        selected = (self.address != NO_ADDRESS) & np.take_along_axis(bare, self.place, axis=1)
        bare[:, 1:] &= ~kept[:, 3:]
        number = bare.argmax(axis=1)
        offset = np.where(bare.any(axis=1), self.ascending[np.arange(len(number)), number], 0)
        base = np.where(self.address != NO_ADDRESS, self.address - np.where(selected, offset[:, None], 0), 0)
        return base, offset, selected

    def misreads(self, rows: Ints, kept: tuple[int, ...]) -> Mask:
        """Of some rows: whether the simulator's reorder buffer would see other addresses with these in registers."""
        assert self.misread is not None
        some = _Operands(
            self.address[rows], self.ascending[rows], self.count[rows], self.place[rows], None, self.unit[rows]
        )
        _, offset, selected = some.planned(np.tile(np.isin(np.arange(CANDIDATES), kept), (len(rows), 1)))
        bits = self.misread[rows]
        added = ((offset // some.unit)[:, None] & bits) != 0
        return (offset != 0) & (added != (selected & (bits != 0))).any(axis=1)


def _kept_candidates(table: InstructionTable, address: Ints, takes: Mask, operands: _Operands) -> Mask:
    """[n, 5]: which candidates of the instructions that take an offset are to be in registers.

    A choice costs how far its values are from where they are used before and after. In the first round all candidates
    count as used, then those that were chosen, so that instructions come to agree.
    """
    rows = np.flatnonzero(takes)
    candidate = operands.candidates()
    at, column = np.nonzero(candidate != _NONE)
    exact, operand = np.nonzero((address > 0) & ~takes[:, None])
    row = np.concatenate([rows[at], exact])
    value = np.concatenate([candidate[at, column], address[exact, operand]])
    uses = _Uses(table.core[row], value, row)

    groups = [_Group.of(operands, count) for count in _CHOICES if count > 1 or operands.misread is not None]
    kept = np.zeros(candidate.shape, np.bool_)
    chosen = np.ones(len(row), np.bool_)
    for _ in range(ROUNDS):
        cost = np.full(candidate.shape, 2 * FAR)
        cost[at, column] = uses.gaps(chosen)[: len(at)]
        cost[candidate == 0] = 0
        for group in groups:
            kept[group.rows] = group.best(cost)
        chosen[: len(at)] = kept[at, column]
    return kept


@dataclass(frozen=True, eq=False)
class _Group:
    """Instructions with equally many different addresses."""

    rows: Ints
    choices: Ints
    """[choices, 5]: 1 for each candidate that is in a register."""
    penalty: Ints
    """[rows, choices]: 0, or more than any choice costs if it cannot be had."""

    @classmethod
    def of(cls, operands: _Operands, count: int) -> _Group:
        rows = np.flatnonzero(operands.count == count)
        choices = np.array([np.isin(np.arange(CANDIDATES), choice) for choice in _CHOICES[count]], np.int64)
        penalty = np.zeros((len(rows), len(choices)), np.int64)
        if operands.misread is not None:
            for number, choice in enumerate(_CHOICES[count]):
                penalty[:, number] = _NONE * operands.misreads(rows, choice)
        return cls(rows, choices, penalty)

    def best(self, cost: Ints) -> Mask:
        """[rows, 5]: the cheapest choice for these costs of candidates; the first one of several."""
        return self.choices[(cost[self.rows] @ self.choices.T + self.penalty).argmin(axis=1)] != 0


class _Uses:
    """Places where values are used, or could be: sorted by core and value, and numbered so that each of these has a
    span of numbers of its own."""

    def __init__(self, core: npt.NDArray[np.int32], value: Ints, row: Ints) -> None:
        key = core * (value.max(initial=0) + 1) + value
        self._order = np.lexsort((row, key))
        differs = np.zeros(len(row), np.bool_)
        differs[1:] = np.diff(key[self._order]) != 0
        self._span = int(row.max(initial=0)) + 1
        self._begin = np.cumsum(differs) * self._span
        self._place = self._begin + row[self._order]

    def gaps(self, counts: Mask) -> Ints:
        """Rows from the last place before with the same value on the same core, and to the next one, of those that
        count; each at most `FAR`."""
        place, begin = self._place, self._begin
        counted = counts[self._order]
        before, after = np.full(len(place), -_NONE), np.full(len(place), _NONE)
        before[1:] = np.maximum.accumulate(np.where(counted, place, -_NONE))[:-1]
        after[:-1] = np.minimum.accumulate(np.where(counted, place, _NONE)[::-1])[::-1][1:]
        since = np.where(before >= begin, np.minimum(place - before, FAR), FAR)
        until = np.where(after < begin + self._span, np.minimum(after - place, FAR), FAR)
        found = np.empty(len(place), np.int64)
        found[self._order] = since + until
        return found
