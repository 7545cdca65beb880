"""The core of each replica: where it loses least time to others, then the place on the mesh that keeps traffic near.

What each replica would do with a core of its own is found by the scheduler itself (`analysis/timeline.py`), on as many
cores as there are replicas and with the network between them at its usual distance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..analysis.core_packing import Groups, pack_groups
from ..analysis.message_times import residences
from ..analysis.placement import place_cores
from ..analysis.timeline import TimedBatch, Timeline, schedule_lanes
from ..analysis.window import OUTSIDE
from ..dialects.spat import ComputeBatchOp
from .lane_cost import BatchCosts
from .lane_tasks import lane_batches, timed_batches
from .schedule_memory import slot_bytes
from .target import Target
from .transfer_costs import TransferModel, row_bytes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PERIODS = 128
"""Periods of time that the packing distinguishes."""

REACH = 2
"""Periods by which the schedule on shared cores is expected to differ from that on cores of their own."""

MEMORY_SHARE = 0.8
"""Of a core's memory that the packing fills; the rest is for rows that come early and for gaps."""


def place_replicas(batches: Sequence[ComputeBatchOp], costs: BatchCosts) -> list[Ints]:
    """The core of each replica of each batch. Raises `NoRoomError` if the weights do not fit."""
    machine = costs.target.machine
    replicas = np.array([batch.replica_count for batch in batches])
    first = np.cumsum(replicas) - replicas
    own = np.split(np.arange(int(replicas.sum())), first[1:])
    timed = timed_batches(batches, own, costs, TransferModel(costs.target, uniform=True))
    timeline = schedule_lanes(timed, int(replicas.sum()))
    groups = Groups(
        _busy(timed, timeline, int(replicas.sum())),
        _memory(batches, timed, timeline, costs, int(replicas.sum())),
        np.repeat([costs.of(batch).scratch_bytes for batch in batches], replicas),
        np.repeat([costs.of(batch).arrays for batch in batches], replicas),
        np.repeat(np.arange(len(batches)), replicas),
    )
    core = pack_groups(groups, machine.core_count, machine.arrays_per_core, MEMORY_SHARE * machine.local_memory_bytes)
    return np.split(core, first[1:])


def place_on_mesh(batches: Sequence[ComputeBatchOp], cores: Sequence[Ints], target: Target) -> list[Ints]:
    """The cores of the replicas at the places on the mesh that keep traffic near."""
    machine = target.machine
    traffic = np.zeros((machine.core_count, machine.core_count), np.int64)
    homes = [
        replica_cores[np.arange(batch.lane_count) % batch.replica_count]
        for batch, replica_cores in zip(batches, cores, strict=True)
    ]
    for lanes, home, reader in zip(lane_batches(batches), homes, batches, strict=True):
        for read, value in zip(lanes.reads, reader.inputs, strict=True):
            if read.producer is not None:
                rows = read.window.rows_of(np.arange(lanes.lanes))
                inside = rows != OUTSIDE
                here = np.broadcast_to(home[:, None], rows.shape)[inside]
                pairs = np.unique(np.stack((rows[inside], here), axis=1), axis=0)
                np.add.at(traffic, (homes[read.producer][pairs[:, 0]], pairs[:, 1]), row_bytes(value, target))
    place = place_cores(traffic, machine.hops)
    return [place[replica_cores] for replica_cores in cores]


def _busy(timed: Sequence[TimedBatch], timeline: Timeline, count: int) -> Floats:
    """[groups, PERIODS] the share of each period that each group's lanes take, spread over its neighbours."""
    found = np.zeros((count, PERIODS))
    width = max(timeline.makespan, 1) / PERIODS
    for one, start, finish in zip(timed, timeline.start, timeline.finish, strict=True):
        np.add.at(found, one.cores, _elapsed(finish / width) - _elapsed(start / width))
    total = np.cumsum(np.pad(found, ((0, 0), (REACH + 1, REACH))), axis=1)
    return (total[:, 2 * REACH + 1 :] - total[:, : -2 * REACH - 1]) / (2 * REACH + 1)


def _elapsed(time: Floats) -> Floats:
    """[n, PERIODS] how much of each period has passed at each time, which is counted in periods."""
    return np.clip(time[:, None] - np.arange(PERIODS), 0, 1)


def _memory(
    batches: Sequence[ComputeBatchOp], timed: list[TimedBatch], timeline: Timeline, costs: BatchCosts, count: int
) -> Floats:
    """[groups, PERIODS] bytes of the rows that each group holds, and of its constants."""
    found = np.zeros((count, PERIODS))
    width = max(timeline.makespan, 1) / PERIODS
    for batch, one, held in zip(batches, timed, residences(timed, timeline), strict=True):
        found[np.unique(one.cores)] += costs.of(batch).constant_bytes
        for core, first, last, slots in held.rings().tolist():
            begin, end = int(first / width) - REACH, int(last / width) + REACH + 1
            found[core, max(begin, 0) : end] += slots * slot_bytes(batch, costs.target)
    return found
