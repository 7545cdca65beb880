"""Shorter schedules by moving single replicas, of those that the end of the schedule waits for.

A placement is made for times that are only expected. In the schedule on it one sees who really held up whom
(:mod:`..analysis.critical_chain`). Of the replicas that bear the delays, one is drawn, the more likely the more it
bears; it moves to a core with room for its arrays where it collides least with what runs there, and all is scheduled
again. The move stays if the schedule does not end much later than before: threshold accepting (Dueck and Scheuer 1990),
which leaves what is best only for its neighbourhood. The best schedule of all is kept, and has to fit the memories.

Draws come from a generator with a fixed seed, and everything else is counted in whole numbers, so that the same network
always gets the same schedule.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from random import Random

import numpy as np

from ..analysis.critical_chain import ChainFinder
from ..analysis.lane_graph import WORTH_COMPILING
from ..analysis.occupancy import busy_cycles
from ..support.arrays import Ints
from .moving_replicas import MovingReplicas
from .placed_lanes import PlacedLanes, best_of
from .replica_placement import ReplicaPlacer

EFFORT = 330_000
"""Lanes, reads of rows and loads of a network that is scheduled once. One of fewer is scheduled more often, by the
square: what a large one may gain is a smaller share of the time that all else takes. More takes the compiler's time."""

SMALL_EFFORT = 8_000
"""Lanes, reads and loads to schedule in all in networks that are not worth compiling: interpreted, they take longer."""

MOST_TRIES = 600
"""Schedules to make at most, of networks however small. More takes the compiler's time."""

PATIENCE = 120
"""Schedules without a better one, after which none is expected any more; if it took more to find the best one, as many
again. More takes the compiler's time."""

SLACK = 250
"""A schedule may end later than the one before by one part in so many: less leads out of what is best only for its
neighbourhood, more wastes fewer tries. (-0.5 %, 0.0 %)"""

FAR = 100
"""And later than the best one by one part in so many, however many steps have led there."""

CHOICES = 6
"""Cores that a move is drawn from, those where the replica collides least; twice as many once these have been tried.
Fewer are soon tried, more are worse."""

PERIODS = 64
"""Periods of the makespan in which collisions are counted. More tells times apart, for more of the compiler's time."""

MARGIN = 120
"""What a replica may lose by collisions where it moves, in hundredths of what it loses where it is."""

LOAD = 50
"""Cycles of a core's load, whenever they are, that count as one cycle of collision. More than in the packing
(:mod:`..analysis.packing_kernel`), since here it is known when replicas run."""

DRAWS = 60
"""Draws in a row of moves that have been tried, after which there is nothing to try among as many cores."""


def shortened(placer: ReplicaPlacer, placed: PlacedLanes) -> PlacedLanes:
    """The best schedule that is found from ``placed`` on, with the same leads; ``placed`` itself if that does not fit
    the memories, or if nothing shorter is found."""
    graph = placed.graph
    lanes = len(graph.batch_of)
    loads = len(graph.loads) + sum(one.batch.lanes * len(one.constants) for one in placed.timed)
    size = max(1, lanes + len(graph.row) + loads)
    tries = min(MOST_TRIES, int((EFFORT / size) ** 2) if lanes >= WORTH_COMPILING else SMALL_EFFORT // size)
    if not placed.fits or not lanes or tries < 1:
        return placed
    best = _Search(placer, placed).run(tries)
    if best is placed:
        return placed
    best = best_of([best, placer.moved_near(best)])
    return replace(best, saved=placed.timeline.makespan - best.timeline.makespan)


class _Search:
    """Where replicas are, the schedule there, and the best one so far."""

    def __init__(self, placer: ReplicaPlacer, placed: PlacedLanes) -> None:
        self._placer, self._best = placer, placed
        self._replicas = MovingReplicas(placer, placed)
        self._group = np.concatenate(placer.group_of)
        self._finder = ChainFinder(placed.graph)
        self._random = Random(0)

    def run(self, tries: int) -> PlacedLanes:
        """The best of so many more schedules, and of the first."""
        moves = self._moves()
        last = -1
        for number in range(tries):
            move = moves.draw(self._random)
            if move is None or number - last > max(PATIENCE, last):
                break
            best = self._best
            if self._take(*move):
                if self._best is not best:
                    last = number
                moves = self._moves()
        return self._best

    def _moves(self) -> _Moves:
        """What there is to try from here on: by what each group bears of the delays, and when it is busy."""
        groups, timed, timeline = self._placer.count, self._replicas.timed, self._replicas.timeline
        burden = self._finder.find(timed, timeline).burden(len(self._group))
        borne = np.zeros(groups, np.int64)
        np.add.at(borne, self._group, burden)
        width = -(-max(timeline.makespan, 1) // PERIODS)
        busy = busy_cycles(self._group, groups, timeline.starts, timeline.finishes, width, PERIODS)
        return _Moves(self._placer, self._replicas, borne, busy)

    def _take(self, group: int, to: int) -> bool:
        """Whether a group moves to another core."""
        move, best = self._replicas.tried(group, to), self._best
        makespan = move.timeline.makespan
        latest = self._replicas.timeline.makespan * (SLACK + 1) // SLACK
        if makespan >= min(latest, best.timeline.makespan * (FAR + 1) // FAR):
            return False
        if makespan < best.timeline.makespan:
            if self._placer.excess(move.timed, move.timeline, best.room):
                return False
            cores = np.split(move.core, self._placer.first)
            self._best = replace(best, cores=cores, timed=move.timed, timeline=move.timeline)
        self._replicas.take(move)
        return True


class _Moves:
    """Moves to try from one schedule on, each once."""

    def __init__(self, placer: ReplicaPlacer, replicas: MovingReplicas, borne: Ints, busy: Ints) -> None:
        """``borne`` [groups] is what each group bears of the delays, ``busy`` [groups, PERIODS] how long it runs."""
        core, cores = replicas.core, placer.target.machine.core_count
        self._replicas, self._busy = replicas, busy
        self._groups: Sequence[int] = np.flatnonzero(borne).tolist()
        self._sums: Sequence[int] = list(accumulate(borne[self._groups].tolist()))
        self._taken = np.zeros((cores, PERIODS), np.int64)
        by_core = np.argsort(core, kind="stable")
        used, first = np.unique(core[by_core], return_index=True)
        self._taken[used] = np.add.reduceat(busy[by_core], first, axis=0)
        self._load = self._taken.sum(axis=1)
        self._choices = CHOICES
        self._targets: dict[int, list[int]] = {}
        self._tried: set[tuple[int, int]] = set()

    def draw(self, random: Random) -> tuple[int, int] | None:
        """A group, and the core to move it to; None if none is found."""
        while self._groups:
            for _ in range(DRAWS):
                group = self._groups[bisect_right(self._sums, int(random.random() * self._sums[-1]))]
                if group not in self._targets:
                    self._targets[group] = self._least_taken(group)
                cores = self._targets[group]
                if not cores:
                    continue
                move = group, cores[int(random.random() * len(cores))]
                if move not in self._tried:
                    self._tried.add(move)
                    return move
            if self._choices >= len(self._load):
                break
            self._choices *= 2
            self._targets.clear()
        return None

    def _least_taken(self, group: int) -> list[int]:
        """Of the cores that are open to a group, those where it collides least, and hardly more than where it is."""
        mine, home = self._busy[group], self._replicas.core[group]
        cores = np.flatnonzero(self._replicas.open_cores(group))
        work = int(mine.sum())
        lost = LOAD * PERIODS * (self._taken[cores] @ mine) + self._load[cores] * work
        here = LOAD * PERIODS * int((self._taken[home] - mine) @ mine) + int(self._load[home] - work) * work
        near = np.argsort(lost, kind="stable")[: self._choices]
        return cores[near[100 * lost[near] <= MARGIN * here]].tolist()
