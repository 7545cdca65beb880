"""What the end of a schedule waits for: its critical chain, and who holds up whom on it.

Backwards from the lane that ends last, there is at every moment one thing without which the end would come sooner: a
lane that runs, a core that is taken, a row on its way. These are the *steps* of the chain; they follow one another
without a gap, so that their cycles add up to the makespan. A lane that had its rows and found its core with another
lane, or was interrupted by one, *waits* for that; so far from each other, the two would not have met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .lane_graph import LaneGraph
from .message_costs import message_cycles
from .timeline import TimedBatch, Timeline

Ints = NDArray[np.int64]

Numbers: TypeAlias = "memoryview[int]"
"""A column of which few numbers are asked for, which takes Python longer of an array."""

RUN, CORE, TRAVEL, QUEUE, TAIL = range(5)
"""Kinds of steps. A lane runs, with what interrupts it; has its rows, but its core does something else, or loads; its
last row is sent and received; waits for messages before it or for its receiver. Or: all lanes have ended."""

NONE = -1

MINOR = 30
"""Hundredths of a delay that a lane bears which may well be as long on any other core."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The critical chain of a schedule, from the end of all backwards."""

    steps: Ints
    """[n, 4] kind, lane, first cycle, and first cycle after it, which is the first one of the step before. The lane of
    a row that travels or is queued is the one that computes it."""
    waits: Ints
    """[m, 3] a lane, the one on the same core that held it up, and for how many cycles."""
    queues: Ints
    """[q, 3] a lane, the one whose row was late because other messages went first or its receiver was busy, and for how
    many cycles."""

    def burden(self, lanes: int) -> Ints:
        """[lanes] cycles of the chain that might go if each lane were on another core, in hundredths.

        Of a wait for another lane, both bear all; of a late row, its sender and its reader the share `MINOR`, and so
        does a lane whose core is taken by messages or loads, since these may follow it.
        """
        found = np.zeros(lanes, np.int64)
        np.add.at(found, self.waits[:, :2], 100 * self.waits[:, 2:])
        np.add.at(found, self.queues[:, :2], MINOR * self.queues[:, 2:])
        taken = self.steps[self.steps[:, 0] == CORE]
        np.add.at(found, taken[:, 1], MINOR * (taken[:, 3] - taken[:, 2]))
        return found


class ChainFinder:
    """Finds chains in schedules of one graph, on whatever cores."""

    def __init__(self, graph: LaneGraph) -> None:
        self._graph = graph
        order = np.lexsort((graph.row, graph.reader))
        self._row, self._reader = graph.row[order], graph.reader[order]
        counts = graph.read_counts()
        self._reads = np.flatnonzero(counts)  # lanes that read rows
        self._read_first = (np.cumsum(counts) - counts)[self._reads]
        self._read_counts = counts[self._reads]

    def find(self, batches: Sequence[TimedBatch], timeline: Timeline) -> Chain:
        """The chain of ``timeline``, a schedule of ``batches``. O(n log n) in lanes and reads."""
        core = _joined([one.cores for one in batches])
        start, finish = timeline.starts, timeline.finishes
        rows = self._last_rows(batches, timeline, core, finish)
        behind = int(finish.max(initial=0)) + 1
        ends = core * behind + finish
        by_end = np.argsort(ends, kind="stable")
        place = np.empty_like(by_end)
        place[by_end] = np.arange(len(by_end))
        # Of each lane, the one of its core that ends last before it starts: where it is in that order.
        before = np.searchsorted(ends[by_end], core * behind + start, side="right") - 1
        lanes = _Lanes(*map(_numbers, (core, start, finish, by_end, place, before)))
        last = int(finish.argmax()) if len(finish) else NONE
        row, sent, there = map(_numbers, rows)
        return _walk(lanes, row, sent, there, last, timeline.makespan)

    def _last_rows(
        self, batches: Sequence[TimedBatch], timeline: Timeline, core: Ints, finish: Ints
    ) -> tuple[Ints, Ints, Ints]:
        """[lanes] of each lane the row that comes last, or `NONE`, when it was sent, and when it was there."""
        lanes, cores = len(core), int(core.max(initial=0)) + 1
        row, target, sent = timeline.sent
        arrival = sent + message_cycles(batches, self._graph, row, core[row], target)[1]
        known = np.append(row * cores + target, lanes * cores)
        at = np.searchsorted(known, self._row * cores + core[self._reader])
        here = core[self._row] == core[self._reader]
        ready = np.where(here, finish[self._row], np.append(arrival, 0)[at])
        last, departure, there = np.full(lanes, NONE), np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
        if len(self._reads):
            there[self._reads] = np.maximum.reduceat(ready, self._read_first)
            latest = np.flatnonzero(ready == np.repeat(there[self._reads], self._read_counts))
            latest = latest[np.flatnonzero(np.diff(self._reader[latest], prepend=NONE))]  # the first of each
            last[self._reads] = self._row[latest]
            departure[self._reads] = np.where(here, ready, np.append(sent, 0)[at])[latest]
        return last, departure, there


@dataclass(frozen=True)
class _Lanes:
    """Columns of lanes."""

    core: Numbers
    start: Numbers
    finish: Numbers
    by_end: Numbers
    """Lanes by core, then end,"""
    place: Numbers
    """and the place of each lane in this order."""
    before: Numbers
    """Where in it the last one stands that ends before the lane starts, if any does on its core."""


def _walk(lanes: _Lanes, row: Numbers, sent: Numbers, there: Numbers, lane: int, makespan: int) -> Chain:
    """Backwards from ``lane``, the last one."""
    steps: list[tuple[int, int, int, int]] = []
    waits: list[tuple[int, int, int]] = []
    queues: list[tuple[int, int, int]] = []

    def step(kind: int, lane: int, begin: int, end: int) -> None:
        if begin < end:
            steps.append((kind, lane, begin, end))

    time = 0 if lane == NONE else lanes.finish[lane]
    step(TAIL, lane, time, makespan)
    while lane != NONE:
        start = lanes.start[lane]
        step(RUN, lane, start, lanes.finish[lane])
        waits += [(lane, other, lanes.finish[other] - lanes.start[other]) for other in _interrupting(lanes, lane)]
        previous = lanes.by_end[lanes.before[lane]]
        if lanes.before[lane] >= 0 and lanes.core[previous] == lanes.core[lane]:
            ended = lanes.finish[previous]
            if ended > there[lane]:
                step(CORE, lane, ended, start)
                waits.append((lane, previous, start - max(there[lane], lanes.start[previous])))
                lane = previous
                continue
        step(CORE, lane, there[lane], start)
        if row[lane] == NONE:
            break
        step(TRAVEL, row[lane], sent[lane], there[lane])
        done = lanes.finish[row[lane]]
        step(QUEUE, row[lane], done, sent[lane])
        queues.append((lane, row[lane], sent[lane] - done))
        lane = row[lane]
    return Chain(_lines(steps, 4), _lines(waits, 3), _lines(queues, 3))


def _numbers(column: Ints) -> Numbers:
    return np.ascontiguousarray(column, np.int64).data


def _joined(columns: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *columns])


def _lines(found: Sequence[tuple[int, ...]], width: int) -> Ints:
    """[n, width], also of none."""
    return np.array(found, np.int64).reshape(-1, width)


def _interrupting(lanes: _Lanes, lane: int) -> list[int]:
    """The lanes for which a lane stopped: they end before it, and have not begun before it."""
    found: list[int] = []
    place, start, core = lanes.place[lane] - 1, lanes.start[lane], lanes.core[lane]
    while place >= 0:
        other = lanes.by_end[place]
        if lanes.core[other] != core or lanes.finish[other] <= start:
            break
        found.append(other)
        place -= 1
    return found
