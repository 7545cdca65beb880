"""Whether rows of distributed tensors keep their places: those of all tensors are looked at together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from ..dialects import pim
from ..dialects.location import place_of
from ..dialects.spat import WindowAttr
from ..dialects.tile import ArrayAttr
from ..support.arrays import Ints
from .event_order import begin_of, step_of
from .memory_requests import slot_elements
from .plan_tables import Held, PlanTables, fail
from .row_instances import instances_of_all


def check_rows(ops: Sequence[pim.RowsOp], tables: PlanTables, held: Held) -> None:
    """Raises a TileError if a row that a core uses has no address of its own there, or something else has one; adds
    rings, and rows that are in none, to ``held``."""
    if ops:
        _Rows(ops, tables).check(held)
    for op in ops:
        for use in op.result.uses:
            _check_pads(op, use.operation, use.index)


class _Rows:
    """The rows of all tensors on all cores, one after another, and what the tables say of them."""

    def __init__(self, ops: Sequence[pim.RowsOp], tables: PlanTables) -> None:
        self._ops = ops
        self._tables = tables
        self._slot = np.array([slot_elements(op) * tables.element_bytes for op in ops], np.int64)
        self._height = np.array([pim.shape_of(op.result)[0] for op in ops], np.int64)
        found = instances_of_all(ops, tables.lanes_of)
        self._owner = np.repeat(np.arange(len(ops)), [len(one) for one in found])
        self._core, self._row, self._first, self._last = (
            np.concatenate([getattr(one, name) for one in found]) for name in ("core", "row", "first", "last")
        )
        self._passing = np.concatenate([one.passing for one in found])
        self._cores = max(tables.cores, int(self._core.max(initial=0)) + 1)

    def check(self, held: Held) -> None:
        address = self._addresses()
        lost = ~self._passing & ~self._rings(address, held)
        if lost.any():
            core = self._core
            self._fail(self._owner, lost, lambda at: f"a row that lanes on core {core[at]} read is in no ring")
        self._slots(address)
        alone = self._passing
        owner = self._owner[alone]
        columns = (column[alone] for column in (self._core, address, self._slot[self._owner], self._first, self._last))
        held.add(self._named(owner), *columns)

    def _addresses(self) -> Ints:
        """The address of each row."""
        owner, core, row, address = self._joined([op.instances for op in self._ops], 3).T
        where = self._place(owner, core, row)
        wrong = (row < 0) | (row >= self._height[owner])
        wrong[1:] |= where[1:] <= where[:-1]
        if wrong.any():
            self._fail(owner, wrong, lambda at: "its addresses are not in order of cores and rows, each once")
        needed = self._place(self._owner, self._core, self._row)
        at = np.minimum(np.searchsorted(where, needed), max(len(where) - 1, 0))
        missing = where[at] != needed if len(where) else np.ones(len(needed), np.bool_)
        if missing.any():
            core, row = self._core, self._row
            self._fail(
                self._owner,
                missing,
                lambda at: f"row {row[at]} has no address on core {core[at]}, which uses it",
            )
        used = np.bincount(self._owner, minlength=len(self._ops))
        listed = np.bincount(owner, minlength=len(self._ops))
        if (listed > used).any():
            every = np.arange(len(self._ops))
            self._fail(every, listed > used, lambda at: f"{listed[at]} rows have an address, and {used[at]} are used")
        return address[at]

    def _rings(self, address: Ints, held: Held) -> NDArray[np.bool_]:
        """Which rows are in the ring that their tensor has on their core: none that only passes, which may well be in
        its place before it is there."""
        table = self._joined([op.rings for op in self._ops], 4)
        ring = table[:, 0] * self._cores + table[:, 1]
        order = np.argsort(ring, kind="stable")
        ring = ring[order]
        owner, core, base, size, key = table[order].T
        if (ring[1:] == ring[:-1]).any():
            self._fail(owner[1:], ring[1:] == ring[:-1], lambda at: "a core has two rings")
        mine = self._owner * self._cores + self._core
        if not len(ring):
            return np.zeros(len(mine), np.bool_)
        at = np.minimum(np.searchsorted(ring, mine), len(ring) - 1)
        distance, slot = address - base[at], self._slot[self._owner]
        inside = ~self._passing & (ring[at] == mine) & (distance >= 0) & (distance + slot <= size[at])
        within = at[inside]
        first, last = np.full(len(ring), np.iinfo(np.int64).max), np.full(len(ring), np.iinfo(np.int64).min)
        np.minimum.at(first, within, self._first[inside])
        np.maximum.at(last, within, self._last[inside])
        rows = np.bincount(within, minlength=len(ring))
        askew = np.bincount(within, distance[inside] % slot[inside], len(ring))
        slot = self._slot[owner]
        wrong = (rows == 0) | (size % slot != 0) | (askew != 0)
        if wrong.any():
            self._fail(
                owner,
                wrong,
                lambda at: (
                    f"the ring on core {core[at]}, {size[at]} bytes at {base[at]}, does not hold rows of "
                    f"{slot[at]} bytes"
                ),
            )
        late = key > first
        if late.any():
            self._fail(
                owner,
                late,
                lambda at: f"the ring on core {core[at]} is there from key {key[at]} on, after its first row",
            )
        filled = np.array([any(op.pads) for op in self._ops], np.bool_)
        whole: Ints = begin_of(step_of(key))
        begin = np.where(filled[owner], whole, key)
        held.add(self._named(owner), core, base, size, begin, last)
        return inside

    def _slots(self, address: Ints) -> None:
        """Of rows in rings, which start at multiples of their slot, no two are in one at once."""
        order = np.lexsort((self._first, address, self._core, self._owner))
        order = order[~self._passing[order]]
        owner, core, place = self._owner[order], self._core[order], address[order]
        first, last = self._first[order], self._last[order]
        clash = (owner[1:] == owner[:-1]) & (core[1:] == core[:-1]) & (place[1:] == place[:-1])
        clash &= first[1:] <= last[:-1]
        if clash.any():
            self._fail(
                owner, clash, lambda at: f"two of its rows are at address {place[at]} of core {core[at]} at once"
            )

    def _joined(self, tables: Sequence[ArrayAttr | None], columns: int) -> Ints:
        """[n, 1 + columns] the lines of a table of each op, with the number of the op before them."""
        found = [self._tables.table(op, table) for op, table in zip(self._ops, tables, strict=True)]
        lines = np.concatenate([np.zeros((0, columns), np.int64), *found])
        return np.column_stack((np.repeat(np.arange(len(found)), [len(one) for one in found]), lines))

    def _place(self, owner: Ints, core: Ints, row: Ints) -> Ints:
        """Rows of all tensors on all cores, as one number."""
        return (owner * self._cores + core) * int(self._height.max()) + row

    def _named(self, owner: Ints) -> list[Operation]:
        numbers: list[int] = owner.tolist()
        return [self._ops[one] for one in numbers]

    def _fail(self, owner: Ints, bad: NDArray[np.bool_], what: Callable[[int], str]) -> NoReturn:
        """Raises the TileError of the first thing that is ``bad``, which is of the op numbered in ``owner``."""
        at = int(bad.argmax())
        fail(self._ops[int(owner[at])], what(at))


def _check_pads(rows: pim.RowsOp, user: Operation, index: int) -> None:
    """As many columns of zeros are beside the rows as windows reach over."""
    if isinstance(user, pim.CoreBatchOp) and index < len(user.windows):
        window = user.windows.data[index]
        if isinstance(window, WindowAttr) and (
            window.data.pad_left > rows.pads[0] or window.data.pad_right > rows.pads[1]
        ):
            fail(rows, f"{rows.pads} columns of zeros are beside it, and {place_of(user)} reads more")
