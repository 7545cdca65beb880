"""The tables of a planned program, and what they say that cores hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike
from xdsl.ir import Operation

from ..analysis.plan_validation import overlap_anywhere
from ..dialects.location import place_of
from ..dialects.tile import ArrayAttr
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .batch_lanes import BatchLanes
from .target import Target

REMEDY = "run pim-plan-memory on the module as it was before it"

MOST_BYTES = 1 << 50
"""Addresses beyond are no numbers to compute with."""


def fail(op: Operation, what: str) -> NoReturn:
    raise TileError(place_of(op), f"{op.name}: {what}", REMEDY)


class PlanTables:
    """The tables of a program's ops as arrays, and where and when its lanes run."""

    def __init__(self, target: Target) -> None:
        self.cores = target.machine.core_count
        self.element_bytes = target.element_bytes
        self.lanes_of = BatchLanes()

    def table(self, op: Operation, table: ArrayAttr | None) -> Ints:
        """What a table says, whose first column is a core. A TileError if there is none, or if it names cores that are
        not there."""
        if table is None:
            raise TileError(place_of(op), f"{op.name} has no address yet", "run pim-plan-memory first")
        found = table.array.astype(np.int64, copy=False)
        # As numbers without a sign, negative ones are the largest.
        if found.size and (int(found.view(np.uint64).max()) > MOST_BYTES or int(found[:, 0].max()) >= self.cores):
            what = f"a table names cores that a machine of {self.cores} does not have, or addresses beyond any memory"
            fail(op, what)
        return found


class Held:
    """What is held in local memories: columns of core, address, bytes, first key and last one."""

    def __init__(self) -> None:
        self._owners: list[Operation] = []
        self._columns: list[Ints] = []

    def add(self, owners: Sequence[Operation], *columns: ArrayLike) -> None:
        """Something for each owner: core, address, bytes, first key, last key."""
        self._owners += owners
        self._columns.append(np.array(np.broadcast_arrays(*columns, np.zeros(len(owners)))[:-1], np.int64))

    def check(self, cores: int, capacity: int, alignment: int) -> list[int]:
        """The bytes from 0 to the end of the last thing on each of ``cores`` cores. A TileError if something is not
        within the ``capacity`` of its core, or overlaps something else that is held meanwhile."""
        core, address, size, first, last = np.concatenate([np.zeros((5, 0), np.int64), *self._columns], axis=1)
        end = address + size
        if (out := (address < 0) | (end > capacity) | (address % alignment != 0)).any():
            at = int(out.argmax())
            what = f"it is at bytes {address[at]} to {end[at]} of core {core[at]}, which has {capacity}"
            fail(self._owners[at], what)
        if (pair := overlap_anywhere(core, address, size, first, last)) is not None:
            one, other = (self._owners[at] for at in pair)
            what = f"it is at address {address[pair[0]]} of core {core[pair[0]]}, and overlaps {place_of(other)} there"
            fail(one, what)
        peaks = np.zeros(cores, np.int64)
        np.maximum.at(peaks, core, end)
        return peaks.tolist()
