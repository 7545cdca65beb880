"""A placement while single replicas move from core to core, as the searches for better ones have them do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..analysis.timeline import TimedBatch, Timeline
from ..support.arrays import Ints
from .placed_lanes import PlacedLanes
from .replica_placement import ReplicaPlacer


class Move(NamedTuple):
    """A replica on another core, and what becomes of the schedule."""

    group: int
    to: int
    core: Ints
    """[groups] the core of each."""
    timed: list[TimedBatch]
    timeline: Timeline


class MovingReplicas:
    """Where the replicas, each a *group*, are now, and the schedule there. Order of lanes and leads stay."""

    def __init__(self, placer: ReplicaPlacer, placed: PlacedLanes) -> None:
        machine = placer.target.machine
        self._placer, self._start = placer, placed
        self.core: Ints = np.concatenate(placed.cores)
        """[groups]"""
        self.timed, self.timeline = placed.timed, placed.timeline
        self._scheduler = placer.scheduler(placed.timed, placed.leads, placed.order)
        self._group = np.concatenate(placer.group_of)
        taken = np.bincount(self.core, placer.arrays, machine.core_count)
        self.free: Ints = machine.arrays_per_core - taken.astype(np.int64)
        """[cores] arrays that hold nothing."""

    @property
    def have_moved(self) -> bool:
        """Whether a move has been taken."""
        return self.timed is not self._start.timed

    def open_cores(self, group: int) -> NDArray[np.bool_]:
        """[cores] where the group could move: those with room for its arrays and without a replica of its batch."""
        placer = self._placer
        found = self.free >= placer.arrays[group]
        found[self.core[placer.owner == placer.owner[group]]] = False
        return found

    def tried(self, group: int, to: int) -> Move:
        """The schedule with one group on another core."""
        core = self.core.copy()
        core[group] = to
        timed = self._placer.with_cores(self.timed, int(self._placer.owner[group]), core)
        return Move(group, to, core, timed, self._scheduler.schedule(core[self._group]))

    def take(self, move: Move) -> None:
        """Goes on from there."""
        arrays = int(self._placer.arrays[move.group])
        self.free[self.core[move.group]] += arrays
        self.free[move.to] -= arrays
        self.core, self.timed, self.timeline = move.core, move.timed, move.timeline
