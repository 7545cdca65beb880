"""Moves replicas away from cores whose rows overfill them.

Most cores have room where a few are overfull: a replica that reads large rows holds those that wait for it. On the
fullest core, the replica that holds most rows goes to the core with most room, and all is scheduled again. The move
stays if fewer bytes are missing in all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..support.arrays import Ints
from .moving_replicas import MovingReplicas
from .placed_lanes import PlacedLanes
from .replica_placement import ReplicaPlacer
from .schedule_memory import GAPS, held_rings

TRIES = 40
"""Moves to try at most: each is scheduled."""

PATIENCE = 4
"""Moves from one core without success, after which the next one has its turn."""

MOST_MISSING = 4
"""Memories of cores that may be missing in all: where it is more, rows are too many for all cores, not for some."""

LONGER = 1.02
"""By how much a schedule may be longer than without any move."""


def relieved(placer: ReplicaPlacer, placed: PlacedLanes) -> PlacedLanes:
    """The placement with replicas moved, so that less memory is missing; ``placed`` itself if no move helps."""
    relief = _Relief(placer, placed)
    if relief.missing > MOST_MISSING * placed.room:
        return placed
    return relief.run() or placed


class _Relief:
    """Where replicas are, and what the schedule there takes."""

    def __init__(self, placer: ReplicaPlacer, placed: PlacedLanes) -> None:
        self._placer = placer
        room = min(placed.room, int((1 - GAPS) * placer.target.machine.local_memory_bytes))
        self._placed = replace(placed, room=room, excess=placer.excess(placed.timed, placed.timeline, room))
        self._replicas = MovingReplicas(placer, placed)
        self._reads = [[read.producer for read in timed.batch.reads] for timed in placer.timed]
        self._peaks = placer.peaks(placed.timed, placed.timeline)
        self._tried: set[tuple[int, int]] = set()
        self._failed: dict[int, int] = {}
        """Moves from each core without success, since the last one with."""

    @property
    def missing(self) -> int:
        """Bytes that all cores together lack."""
        return _missing(self._peaks, self._placed.room)

    def run(self) -> PlacedLanes | None:
        """The placement after all moves; None without any."""
        for _ in range(TRIES):
            move = self._move() if self.missing else None
            if move is None:
                break
            source = int(self._replicas.core[move[0]])
            if self._take(*move):
                self._failed.clear()
            else:
                self._failed[source] = self._failed.get(source, 0) + 1
        if not self._replicas.have_moved:
            return None
        return replace(
            self._placed,
            cores=np.split(self._replicas.core, self._placer.first),
            timed=self._replicas.timed,
            timeline=self._replicas.timeline,
            excess=max(0, int(self._peaks.max()) - self._placed.room),
        )

    def _move(self) -> tuple[int, int] | None:
        """A group to move, and where to: of the fullest core, what suffices and fits there; else what holds most.

        None if nothing is left to try.
        """
        rings = held_rings(self._replicas.timed, self._replicas.timeline, self._placer.slots, self._placed.graph)
        room = self._placed.room
        for core in np.argsort(-self._peaks, kind="stable").tolist():
            over = int(self._peaks[core]) - room
            if over <= 0:
                break
            if self._failed.get(core, 0) == PATIENCE:
                continue
            held: dict[int | None, int] = {}
            for size, batch in rings[rings[:, 0] == core][:, 3:].tolist():
                held[batch] = max(size, held.get(batch, 0))
            found: list[tuple[int, bool, int, int, int]] = []
            groups: list[int] = np.flatnonzero(self._replicas.core == core).tolist()
            for group in groups:
                to = self._roomiest(group)
                if to is not None:
                    size, there = self._holds(group, held), int(self._peaks[to])
                    found.append((-min(size, over + 1), there + size > room, there, group, to))
            if found:
                return min(found)[3:]
        return None

    def _holds(self, group: int, held: dict[int | None, int]) -> int:
        """Bytes of rows that a group reads or makes, of those that its core holds of each batch."""
        batch = int(self._placer.owner[group])
        return sum(held.get(one, 0) for one in {batch, *self._reads[batch]})

    def _roomiest(self, group: int) -> int | None:
        """The emptiest core that is open to the group, and to which it has not been tried to move."""
        allowed = self._replicas.open_cores(group)
        allowed[[core for other, core in self._tried if other == group]] = False
        cores = np.flatnonzero(allowed)
        return int(cores[np.argmin(self._peaks[cores])]) if len(cores) else None

    def _take(self, group: int, to: int) -> bool:
        """Whether a group moves to another core."""
        self._tried.add((group, to))
        move = self._replicas.tried(group, to)
        peaks = self._placer.peaks(move.timed, move.timeline)
        if move.timeline.makespan > LONGER * self._placed.timeline.makespan:
            return False
        if _missing(peaks, self._placed.room) >= self.missing:
            return False
        self._replicas.take(move)
        self._peaks = peaks
        return True


def _missing(peaks: Ints, room: int) -> int:
    return int(np.maximum(peaks - room, 0).sum())
