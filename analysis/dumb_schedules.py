"""Dumb schedules: where replicas go if one looks at little, and when lanes run if one looks at rows only.

They are what schedules are held against (:mod:`.yardsticks`). No pass uses them, and they use nothing of the passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace

import numpy as np

from ..support import heap as heaps
from ..support.arrays import Ints
from ..support.kernel_columns import as_arrays, as_lists
from ..support.machine_code import Kernel, can_compile
from .dumb_orders import heap, layout, loop
from .dumb_orders.layout import Code, Facts, State
from .dumb_orders.loop import run
from .window import OUTSIDE

ORDERS = Kernel("orders", (heaps, heap, loop), layout)

WORTH_COMPILING = 1000
"""Lanes from which on loading llvmlite and the machine code takes less time than it saves."""

NEVER = 1 << 62
"""More than any lane of the compiled heap with its cycle."""

CoresOfReplicas = list[list[int]]
"""Of each batch, the core of each of its replicas."""


@dataclass(frozen=True, eq=False)
class LanesToPlace:
    """A batch whose lanes are to be put on cores."""

    lanes: int
    replicas: int
    cycles: int
    arrays: int
    """Of a replica."""
    reads: tuple[tuple[int, Ints], ...]
    """Of other batches: which, and the rows that each lane reads, `[lanes, rows]`; OUTSIDE for none."""
    row_bytes: int = 0
    """Of what a lane computes."""


def place_in_turn(batches: Sequence[LanesToPlace], cores: int, arrays_per_core: int) -> CoresOfReplicas | None:
    """One core after the other gets the next replica, batch after batch: layers that work at the same time are apart.

    A core without room for its arrays is passed over. None if there is no other.
    """
    held, at = [0] * cores, 0
    placed: CoresOfReplicas = []
    for batch in batches:
        mine: list[int] = []
        for _ in range(batch.replicas):
            free = (core % cores for core in range(at, at + cores))
            core = next((core for core in free if held[core] + batch.arrays <= arrays_per_core), None)
            if core is None:
                return None
            held[core] += batch.arrays
            mine.append(core)
            at = core + 1
        placed.append(mine)
    return placed


def place_by_work(batches: Sequence[LanesToPlace], cores: int, arrays_per_core: int) -> CoresOfReplicas | None:
    """The replica that works longest goes to the core that works least; if it does not fit so, that with most arrays.

    None if the arrays do not suffice for that either.
    """
    runs = [
        (-len(range(replica, batch.lanes, batch.replicas)) * batch.cycles, -batch.arrays, index, replica)
        for index, batch in enumerate(batches)
        for replica in range(batch.replicas)
    ]
    by_arrays = sorted(runs, key=lambda run: (run[1], run[0], run[2], run[3]))
    for ordered in (sorted(runs), by_arrays):
        placed = [[-1] * batch.replicas for batch in batches]
        held = [0] * cores
        idlest = [(0, core) for core in range(cores)]
        for work, arrays, index, replica in ordered:
            full: list[tuple[int, int]] = []
            while idlest and held[idlest[0][1]] - arrays > arrays_per_core:
                full.append(heappop(idlest))
            if not idlest:
                break
            load, core = idlest[0]
            heapreplace(idlest, (load - work, core))
            held[core] -= arrays
            placed[index][replica] = core
            for one in full:
                heappush(idlest, one)
        else:
            return placed
    return None


def busiest_cycles(batches: Sequence[LanesToPlace], placed: CoresOfReplicas) -> int:
    """Of the busiest core, if every replica has as many lanes as that of its batch which has most: which ones have one
    less is not a matter of cores."""
    work = Counter[int]()
    for batch, mine in zip(batches, placed, strict=True):
        for core in mine:
            work[core] += -(-batch.lanes // batch.replicas) * batch.cycles
    return max(work.values(), default=0)


class DumbOrders:
    """The dumb orders of the lanes of a program. Lanes are numbered through all batches."""

    def __init__(self, batches: Sequence[LanesToPlace], cores: int) -> None:
        self.batches = batches
        self.cores = cores
        self.first: list[int] = [0, *np.cumsum([batch.lanes for batch in batches]).tolist()]
        lanes = [batch.lanes for batch in batches]
        self.cycles: Ints = np.repeat([max(1, batch.cycles) for batch in batches], lanes)
        """Of each lane; a lane of no work takes one, since it has a place in the order."""
        self.row, self.reader = self._edges()

    def _edges(self) -> tuple[Ints, Ints]:
        """Each row with each lane that reads it, by row, then by lane."""
        count = self.first[-1]
        pairs = [np.zeros(0, np.int64)]
        for index, batch in enumerate(self.batches):
            lane = np.arange(self.first[index], self.first[index + 1])[:, None]
            for producer, rows in batch.reads:
                pairs.append(((rows + self.first[producer]) * count + lane)[rows != OUTSIDE])
        row, lane = np.divmod(np.unique(np.concatenate(pairs)), max(1, count))
        return row, lane

    def core_of_lanes(self, placed: CoresOfReplicas) -> Ints:
        """The core of each lane: lane i is of replica i mod replicas."""
        found = [
            np.array(mine, np.int64)[np.arange(batch.lanes) % len(mine)]
            for batch, mine in zip(self.batches, placed, strict=True)
        ]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def by_rows(self, core: Ints) -> Ints:
        """List scheduling: every core runs its lanes in the order in which what they read is there. The start of each
        lane, if transfers take no time."""
        missing = np.bincount(self.reader, minlength=self.first[-1])
        return self._starts(core, missing, self.row, self.reader, np.zeros(0, np.int64), on_demand=False)

    def on_demand(self, core: Ints) -> Ints:
        """Lanes in the order in which the rows that nobody reads, one after another, ask for what they need: so few
        rows are held at a time. The start of each lane, if transfers take no time."""
        by_reader = np.lexsort((self.row, self.reader))
        unread = np.flatnonzero(np.bincount(self.row, minlength=self.first[-1]) == 0)
        missing = np.zeros(self.first[-1], np.int64)
        return self._starts(core, missing, self.reader[by_reader], self.row[by_reader], unread, on_demand=True)

    def _starts(self, core: Ints, missing: Ints, key: Ints, other: Ints, unread: Ints, on_demand: bool) -> Ints:
        """What the loop finds; ``other`` are lanes that the lane in ``key``, which ascends, reads or that read it."""
        count = self.first[-1]
        first = np.searchsorted(key, np.arange(count + 1))
        facts, code = Facts(int(on_demand), len(unread)), Code(*as_arrays((core, self.cycles, first, other, unread)))
        start, there, free = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(self.cores, np.int64)
        queue = np.zeros(max(count, len(key) + 1), np.int64)
        state = State(*as_arrays((start, missing, there, free, queue, np.zeros(1, np.int64))))
        if count >= WORTH_COMPILING and int(self.cycles.sum()) * count < NEVER and can_compile():
            ORDERS.run(facts, code, state, count)
            return np.asarray(state.start)
        code, state = Code(*as_lists(code)), State(*as_lists(state))
        run(facts, code, state if on_demand else state._replace(queue=[]), count)
        return np.array(state.start, np.int64)

    def held_bytes(self, core: Ints, start: Ints) -> int:
        """The most bytes of rows on one core: on the core that computes a row, and on all that read it, until the last
        lane there that does has ended."""
        end = start + self.cycles
        size = np.repeat([batch.row_bytes for batch in self.batches], [batch.lanes for batch in self.batches])
        lane = np.arange(self.first[-1])
        place, index = np.unique(
            np.concatenate((lane, self.row)) * self.cores + np.concatenate((core, core[self.reader])),
            return_inverse=True,
        )
        row, owner = np.divmod(place, self.cores)
        last = np.zeros(len(place), np.int64)
        np.maximum.at(last, index, np.concatenate((end, end[self.reader])))
        since = np.where(owner == core[row], start[row], end[row])
        moment, owner = np.concatenate((since, last)), np.concatenate((owner, owner))
        change = np.concatenate((size[row], -size[row]))
        order = np.lexsort((change, moment, owner))
        return int(np.cumsum(change[order]).max(initial=0))
