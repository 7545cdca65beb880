"""What the registers of an instruction have to hold, and what its offset adds, so that it finds its addresses.

Without offsets every register holds an address. An instruction with an offset adds it to the operands that it selects.
Register 0 holds 0 for ever, so one address of such an instruction can stand in its offset and takes no register. The
lowest one there serves another operand as well, if that one's register holds the distance between the two: copies
along two buffers repeat distances rather than addresses. What remains to be held is chosen so that it recurs soon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .instruction_table import NO_ADDRESS, InstructionTable
from .isa import ISA, OFFSET_BITS, OP_LIMIT, VECTOR_OPS, Op

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

OPERANDS = ("rd", "rs1", "rs2")
"""The columns of a plan: registers of destination, source and second source."""

_BITS = np.array([OFFSET_BITS[name] for name in OPERANDS])
_SELECTABLE = np.array([[name in ISA[Op(op)].offsets if op else False for name in OPERANDS] for op in range(OP_LIMIT)])
_ROUNDS = 3
_FAR = 1 << 20
"""Rows: a value that recurs later than this is as good as one that never does."""
_NONE = 1 << 62

_CHOICES = {
    count: np.array([[candidate in choice for candidate in range(5)] for choice in choices])
    for count, choices in {2: ((0,), (1,), (3,)), 3: ((0, 1), (0, 2), (1, 2), (1, 4), (3, 2), (3, 4))}.items()
}
"""By the number of different addresses of an instruction: which candidates together leave one address to the offset.

Candidates are the addresses in ascending order, then the distances of the second and the third from the first.
"""


@dataclass(frozen=True, eq=False)
class AddressPlan:
    """An operand's address is what its register holds, and if it is selected the offset on top."""

    base: I64
    """[n, 3]: contents of the registers of each instruction; 0 also where there is no operand."""
    offset: I64
    """[n] in the unit of the instruction: elements of vectors, else bytes."""
    select: I64
    """[n]: the sum of `OFFSET_BITS` of the operands that the offset is added to."""


def local_addresses(table: InstructionTable) -> I64:
    """[n, 3]: the operands in local memory, `NO_ADDRESS` for others: the global side of ``ld`` and ``st`` is none."""
    found = np.stack([table.dest, table.source, table.second], axis=1)
    found[table.op == Op.ST, 0] = NO_ADDRESS
    found[table.op == Op.LD, 1] = NO_ADDRESS
    return found


def plan_addresses(table: InstructionTable, element_bytes: int, offsets: bool) -> AddressPlan:
    """The plan of instructions that stand in order, core by core; without ``offsets`` it has none."""
    address = local_addresses(table)
    used = address != NO_ADDRESS
    base = np.where(used, address, 0)
    offset = np.zeros(len(table), np.int64)
    select = np.zeros(len(table), np.int64)
    if offsets and len(table):
        takes = used.any(axis=1) & (_SELECTABLE[table.op] | ~used).all(axis=1)
        rows = np.flatnonzero(takes)
        base[rows], offset[rows], selected = _with_offsets(table, address, takes)
        select[rows] = (selected * _BITS).sum(axis=1)
        unit = np.where(np.isin(table.op, list(VECTOR_OPS)), element_bytes, 1)
        assert not (offset % unit).any(), "an address is not at a whole element"
        offset //= unit
    return AddressPlan(base, offset, select)


def _with_offsets(table: InstructionTable, address: I64, takes: Mask) -> tuple[I64, I64, Mask]:
    """Bases, offsets in bytes and selected operands of the instructions that take an offset."""
    rows = np.flatnonzero(takes)
    ascending = _ascending(address[rows])
    count = (ascending != _NONE).sum(axis=1)
    kept = _kept_candidates(table, address, takes, ascending, count)
    # One address is in no register: the first of which neither it nor its distance is kept.
    bare = ~kept[:, :3] & (ascending != _NONE)
    bare[:, 1:] &= ~kept[:, 3:]
    offset = ascending[np.arange(len(rows)), bare.argmax(axis=1)]
    used = address[rows] != NO_ADDRESS
    place = (address[rows][:, :, None] == ascending[:, None, :]).argmax(axis=2)
    in_register = np.take_along_axis(kept[:, :3], place, axis=1)
    selected = used & ~in_register
    base = np.where(used, address[rows] - np.where(selected, offset[:, None], 0), 0)
    return base, offset, selected


def _ascending(address: I64) -> I64:
    """The different addresses of each row in ascending order, `_NONE` behind them."""
    found = np.sort(np.where(address == NO_ADDRESS, _NONE, address), axis=1)
    found[:, 1:][found[:, 1:] == found[:, :-1]] = _NONE
    return np.sort(found, axis=1)


def _kept_candidates(table: InstructionTable, address: I64, takes: Mask, ascending: I64, count: I64) -> Mask:
    """[rows, 5]: which candidates of the instructions that take an offset are to be in registers.

    A choice costs how far its values are from where they are used before and after. In the first round all candidates
    count as used, then those that were chosen, so that instructions come to agree.
    """
    rows = np.flatnonzero(takes)
    distance = np.where(ascending[:, 1:] == _NONE, _NONE, ascending[:, 1:] - ascending[:, :1])
    candidate = np.concatenate([ascending, distance], axis=1)
    candidate[count < 2] = _NONE
    at, column = np.nonzero(candidate != _NONE)
    exact, operand = np.nonzero((address > 0) & ~takes[:, None])
    row = np.concatenate([rows[at], exact])
    value = np.concatenate([candidate[at, column], address[exact, operand]])
    uses = _Uses(table.core[row], value, row)

    kept = np.zeros(candidate.shape, np.bool_)
    chosen = np.ones(len(row), np.bool_)
    for _ in range(_ROUNDS):
        cost = np.full(candidate.shape, 2 * _FAR)
        cost[at, column] = uses.gaps(chosen)[: len(at)]
        cost[candidate == 0] = 0
        for number, choices in _CHOICES.items():
            here = np.flatnonzero(count == number)
            kept[here] = choices[(cost[here] @ choices.T).argmin(axis=1)]
        chosen[: len(at)] = kept[at, column]
    return kept


class _Uses:
    """Places where values are used, or could be: sorted by core and value, and numbered so that each of these has a
    span of numbers of its own."""

    def __init__(self, core: npt.NDArray[np.int32], value: I64, row: I64) -> None:
        self._order = np.lexsort((row, value, core))
        differs = np.zeros(len(row), np.bool_)
        differs[1:] = (np.diff(value[self._order]) != 0) | (np.diff(core[self._order]) != 0)
        self._span = int(row.max(initial=0)) + 1
        self._begin = np.cumsum(differs) * self._span
        self._place = self._begin + row[self._order]

    def gaps(self, counts: Mask) -> I64:
        """Rows from the last place before with the same value on the same core, and to the next one, of those that
        count; each at most `_FAR`."""
        place, begin = self._place, self._begin
        counted = counts[self._order]
        before, after = np.full(len(place), -_NONE), np.full(len(place), _NONE)
        before[1:] = np.maximum.accumulate(np.where(counted, place, -_NONE))[:-1]
        after[:-1] = np.minimum.accumulate(np.where(counted, place, _NONE)[::-1])[::-1][1:]
        since = np.where(before >= begin, np.minimum(place - before, _FAR), _FAR)
        until = np.where(after < begin + self._span, np.minimum(after - place, _FAR), _FAR)
        found = np.empty(len(place), np.int64)
        found[self._order] = since + until
        return found
