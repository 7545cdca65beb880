"""How far each batch may run ahead of its readers, so that the rows that wait for them fit the local memories.

Early layers of a large image, or of several samples in flight, have always something to do, and their rows wait for the
late ones. One lead for all batches is short for all where rows of one are too many for one core. So each batch may have
its own: on cores that are overfull, the largest rings are found, and the batches whose rows they hold may run less far
ahead, until everything fits. Both ways are tried, and the schedule that ends first is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..analysis.timeline import TimedBatch, Timeline
from ..analysis.window import OUTSIDE, window_rows
from ..support.arrays import Ints
from .placed_lanes import PlacedLanes
from .replica_placement import ReplicaPlacer
from .schedule_memory import GAPS, held_rings

SHORTENED = 0.5
"""Of the rows by which a batch was ahead, the least that is left to it at once when they are too many."""

TRIES = 8
"""Schedules with shorter and shorter leads that are made for one placement. More takes the compiler's time."""

MARGIN = 0.02
"""Of the memory, what is to be left when rings are made shorter: others get longer by it."""


class LeadShortener:
    """Holds back the batches whose rows overfill cores."""

    def __init__(self, placer: ReplicaPlacer) -> None:
        self._placer = placer
        self._reads: list[list[tuple[int, Ints]]] = [[] for _ in placer.timed]
        for index, one in enumerate(placer.timed):
            for read in one.batch.reads:
                if read.producer is not None:
                    rows = window_rows(read.window, one.batch.lanes)
                    self._reads[read.producer].append((index, rows))
        self._least = [1 + max((rows.shape[1] for _, rows in mine), default=1) for mine in self._reads]

    def shorten(self, placed: PlacedLanes) -> PlacedLanes | None:
        """A schedule on the placement whose rows seem to fit the local memories, with leads that are the shorter than
        those of ``placed`` the more rows of a batch fill a core; None if none is found."""
        placer = self._placer
        room = int((1 - GAPS) * placer.target.machine.local_memory_bytes)
        leads = list(placed.leads)
        for _ in range(TRIES):
            timeline = placer.scheduled(placed.timed, leads, placed.order)
            peaks = placer.peaks(placed.timed, timeline)
            if peaks.max() <= room:
                return replace(placed, timeline=timeline, excess=0, leads=list(leads), room=room)
            for index, share in _largest(held_rings(placed.timed, timeline, placer.slots, placed.graph), peaks, room):
                ahead = _ahead(timeline, index, self._reads[index])
                leads[index] = max(self._least[index], int(share * min(leads[index], ahead)))
        return None


def _largest(rings: Ints, peaks: Ints, room: int) -> Iterator[tuple[int, float]]:
    """The batches whose rings on overfull cores, the largest first, suffice if they get shorter; and the share of them
    that is to be left."""
    found: dict[int, float] = {}
    for core in np.flatnonzero(peaks > room).tolist():
        missing = float(peaks[core] - (1 - MARGIN) * room)
        mine = rings[rings[:, 0] == core]
        mine = mine[np.argsort(-mine[:, 3], kind="stable")]
        for size, batch in mine[:, 3:].tolist():
            if missing <= 0:
                break
            share = max(SHORTENED, 1 - missing / size)
            missing -= size * (1 - share)
            found[batch] = min(share, found.get(batch, 1))
    return iter(sorted(found.items()))


def _ahead(timeline: Timeline, producer: int, reads: Sequence[tuple[int, Ints]]) -> int:
    """By how many rows a batch was ahead of its slowest reader at most."""
    start, done = timeline.start[producer], timeline.finish[producer].copy()
    for index, rows in reads:
        inside = rows != OUTSIDE
        np.maximum.at(done, rows[inside], np.broadcast_to(timeline.finish[index][:, None], rows.shape)[inside])
    behind = np.searchsorted(np.maximum.accumulate(done), start, side="right")
    return max(1, int((np.arange(len(start)) - behind).max()))


def short_leads(timed: Sequence[TimedBatch]) -> list[int]:
    """Of each batch, by how many rows it has to be ahead so that neither its replicas nor those of its readers wait for
    each other: the rows of a window, and one for each replica."""
    leads = [1 + one.replicas for one in timed]
    for one in timed:
        for read in one.batch.reads:
            if read.producer is not None:
                rows = read.window.rows + max(one.replicas, timed[read.producer].replicas)
                leads[read.producer] = max(leads[read.producer], rows)
    return leads
