"""How far each batch may run ahead of its readers, so that the rows of several samples fit the local memories.

With several samples in flight, early layers have always something to do, and their rows wait for the late ones. One
lead for all batches is short for all where rows of one are too many for one core. So each batch may have its own: on
cores that are overfull, the largest rings are found, and the batches whose rows they hold may run less far ahead, until
everything fits. Both ways are tried, and the schedule that ends first is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..analysis.lane_scheduler import schedule_lanes
from ..analysis.timeline import TimedBatch, Timeline
from ..analysis.window import OUTSIDE
from ..dialects.spat import ComputeBatchOp
from .lane_cost import BatchCosts
from .replica_placement import PlacedLanes
from .schedule_memory import GAPS, estimated_peaks, held_rings, slot_bytes

Ints = NDArray[np.int64]

LEADS = (128, 64, 48, 32, 24, 16)
"""Rows that all batches may be ahead, in the order in which they are tried."""

FIRST_LEAD = 32
"""Rows that every batch may be ahead at first: as measured, more hardly shortens the interval."""

SHORTENED = 0.8
"""Of the rows by which a batch was ahead, what is left to it when they are too many."""

TRIES = 16

MARGIN = 0.05
"""Of the memory, what is to be left when rings are made shorter: others get longer by it."""


def fitting_timeline(batches: Sequence[ComputeBatchOp], placed: PlacedLanes, costs: BatchCosts) -> Timeline | None:
    """A schedule on the placement whose rows seem to fit the local memories; None if none is found."""
    slots = [slot_bytes(batch, costs.target) for batch in batches]
    ways = (_with_one_lead(batches, placed, costs, slots), _with_leads(batches, placed, costs, slots))
    return min((found for found in ways if found is not None), key=lambda found: found.makespan, default=None)


def _with_one_lead(
    batches: Sequence[ComputeBatchOp], placed: PlacedLanes, costs: BatchCosts, slots: Sequence[int]
) -> Timeline | None:
    """With the longest lead for all batches that fits."""
    machine = costs.target.machine
    for lead in LEADS:
        timeline = schedule_lanes(placed.timed, machine.core_count, lead, placed.graph, in_turn=True)
        peaks = estimated_peaks(batches, placed.timed, timeline, costs, slots)
        if int(peaks.max()) <= (1 - GAPS) * machine.local_memory_bytes:
            return timeline
    return None


def _with_leads(
    batches: Sequence[ComputeBatchOp], placed: PlacedLanes, costs: BatchCosts, slots: Sequence[int]
) -> Timeline | None:
    """With leads of each batch that are made shorter until everything fits."""
    machine = costs.target.machine
    reads = [_reads(placed.timed, index) for index in range(len(batches))]
    least = [1 + max((rows.shape[1] for _, rows in mine), default=1) for mine in reads]
    leads = [max(FIRST_LEAD, rows) for rows in least]
    for _ in range(TRIES):
        timeline = schedule_lanes(placed.timed, machine.core_count, leads, placed.graph, in_turn=True)
        peaks = estimated_peaks(batches, placed.timed, timeline, costs, slots)
        if int(peaks.max()) <= (1 - GAPS) * machine.local_memory_bytes:
            return timeline
        room = (1 - GAPS) * machine.local_memory_bytes
        excess = np.where(peaks > room, peaks - (1 - MARGIN) * room, 0)
        for index in _largest(held_rings(placed.timed, timeline, slots), excess):
            ahead = _ahead(timeline, index, reads[index])
            leads[index] = max(least[index], int(SHORTENED * min(leads[index], ahead)))
    return None


def _reads(timed: Sequence[TimedBatch], producer: int) -> list[tuple[int, Ints]]:
    """The batches that read rows of the producer, with the rows that each of their lanes reads."""
    return [
        (index, read.window.rows_of(np.arange(one.batch.lanes)))
        for index, one in enumerate(timed)
        for read in one.batch.reads
        if read.producer == producer
    ]


def _largest(rings: Ints, excess: NDArray[np.float64]) -> list[int]:
    """The batches whose rings on overfull cores, the largest first, would be short enough by what is ``excess``."""
    found: set[int] = set()
    for core in np.flatnonzero(excess).tolist():
        mine = rings[rings[:, 0] == core]
        mine = mine[np.argsort(-mine[:, 3], kind="stable")]
        bytes_so_far: Ints = np.cumsum(mine[:, 3])
        count = 1 + int(np.searchsorted(bytes_so_far, float(excess[core]) / (1 - SHORTENED)))
        batches: list[int] = mine[:count, 4].tolist()
        found.update(batches)
    return sorted(found)


def _ahead(timeline: Timeline, producer: int, reads: Sequence[tuple[int, Ints]]) -> int:
    """By how many rows a batch was ahead of its slowest reader at most."""
    start, done = timeline.start[producer], timeline.finish[producer].copy()
    for index, rows in reads:
        inside = rows != OUTSIDE
        np.maximum.at(done, rows[inside], np.broadcast_to(timeline.finish[index][:, None], rows.shape)[inside])
    behind = np.searchsorted(np.maximum.accumulate(done), start, side="right")
    return max(1, int((np.arange(len(start)) - behind).max()))
