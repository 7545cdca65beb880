"""The task graph of a module's lanes, for the planners in `analysis/`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from ..analysis.peft import TaskGraph
from ..analysis.peft_resident import Residency, schedule_resident
from ..analysis.placement import place_cores
from ..analysis.timeline import TimedBatch
from ..analysis.wavefront import LaneBatch, Read, lane_steps
from ..analysis.window import OUTSIDE
from ..dialects.spat import BatchOp, ComputeBatchOp, shape_of
from .lane_cost import BatchCosts
from .target import Target
from .transfer_costs import TransferModel, row_bytes

Ints = NDArray[np.int64]


def lane_batches(batches: Sequence[BatchOp]) -> list[LaneBatch]:
    """The batches as the order of lanes sees them."""
    index: dict[Operation, int] = {batch: position for position, batch in enumerate(batches)}
    sources: dict[SSAValue, int] = {}
    return [
        LaneBatch(
            batch.lane_count,
            tuple(
                Read(_index_of(index, value), window, sources.setdefault(value, len(sources)))
                for value, window in zip(batch.inputs, batch.row_windows, strict=True)
            ),
        )
        for batch in batches
    ]


def timed_batches(batches: Sequence[BatchOp], cores: Sequence[Ints], costs: BatchCosts) -> list[TimedBatch]:
    """The batches as the timeline sees them, with the cores of their replicas."""
    model = TransferModel(costs.target)
    return [
        TimedBatch(
            lanes,
            replica_cores[np.arange(batch.lane_count) % batch.replica_count],
            costs.of(batch).cycles,
            model.of(batch.outs[0]),
            tuple(model.load_cycles(value) for value in batch.inputs),
        )
        for batch, lanes, replica_cores in zip(batches, lane_batches(batches), cores, strict=True)
    ]


def spread_vector_batches(batches: Sequence[ComputeBatchOp], costs: BatchCosts) -> None:
    """Gives batches without weights as many replicas as keep each busy for half as long as the busiest layer at most.

    Their lanes are bound to no core, so that this only says over how many cores they spread.
    """
    busy = [_busy_cycles(batch, costs) for batch in batches if batch.vmm_ops]
    limit = max(busy, default=0) // 2
    for batch in batches:
        if not batch.vmm_ops and limit:
            work = batch.lane_count * costs.of(batch).cycles
            wanted = max(batch.replica_count, min(-(-work // limit), batch.lane_count, costs.target.machine.core_count))
            batch.properties["replicas"] = IntegerAttr(wanted, i64)


def _busy_cycles(batch: ComputeBatchOp, costs: BatchCosts) -> int:
    """Cycles of the lanes of the busiest replica."""
    return -(-batch.lane_count // batch.replica_count) * costs.of(batch).cycles


def place_replicas(batches: Sequence[ComputeBatchOp], costs: BatchCosts, runs_per_replica: int) -> list[Ints]:
    """The core of each replica of each batch. Raises `peft.InfeasibleError` if the weights do not fit."""
    target = costs.target
    machine = target.machine
    tasks = _number_tasks(batches, runs_per_replica)
    cycles = np.array([costs.of(batch).cycles for batch in batches])
    lanes_of_task = np.bincount(np.concatenate(tasks))
    batch_of_task = np.concatenate(
        [np.full(int(task.max() - task.min()) + 1, position) for position, task in enumerate(tasks)]
    )
    cost = (lanes_of_task * cycles[batch_of_task])[:, None]  # the same on every core
    graph = TaskGraph.build(cost, _edges(batches, tasks, target))
    replicas = np.array([batch.replica_count for batch in batches])
    first_group = np.cumsum(replicas) - replicas
    group = np.empty(len(lanes_of_task), np.int64)
    for position, (batch, task) in enumerate(zip(batches, tasks, strict=True)):
        group[task] = first_group[position] + np.arange(batch.lane_count) % batch.replica_count
    residency = Residency(
        group,
        np.repeat([costs.of(batch).arrays for batch in batches], replicas),
        np.repeat([costs.of(batch).working_bytes + costs.of(batch).window_bytes for batch in batches], replicas),
        machine.arrays_per_core,
        machine.local_memory_bytes,
    )
    priority = np.full(len(lanes_of_task), np.iinfo(np.int64).max)
    np.minimum.at(priority, np.concatenate(tasks), np.concatenate(lane_steps(lane_batches(batches))))
    schedule = schedule_resident(graph, residency, priority, machine.core_count)
    return np.split(schedule.core, np.cumsum(replicas)[:-1])


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


def _number_tasks(batches: Sequence[BatchOp], runs_per_replica: int) -> list[Ints]:
    """The task of each lane of each batch: a run of consecutive lanes of one replica."""
    tasks: list[Ints] = []
    offset = 0
    for batch in batches:
        lane = np.arange(batch.lane_count)
        position, replica = np.divmod(lane, batch.replica_count)
        lanes_per_replica = int(position.max()) + 1
        run = position * min(runs_per_replica, lanes_per_replica) // lanes_per_replica
        _, task = np.unique(run * batch.replica_count + replica, return_inverse=True)
        tasks.append(task.astype(np.int64) + offset)
        offset = int(tasks[-1].max()) + 1
    return tasks


def _edges(batches: Sequence[BatchOp], tasks: Sequence[Ints], target: Target) -> Ints:
    """Edges [e, 3] of (producer task, consumer task, cycles that the rows between them travel)."""
    machine = target.machine
    index: dict[Operation, int] = {batch: position for position, batch in enumerate(batches)}
    mean_latency = float(machine.latency_ns[:-1, :-1].mean())
    found = [np.zeros((0, 3), np.int64)]
    for position, batch in enumerate(batches):
        for value, window in zip(batch.inputs, batch.row_windows, strict=True):
            producer = _index_of(index, value)
            if producer is None:
                continue
            rows = window.rows_of(np.arange(batch.lane_count))
            inside = rows != OUTSIDE
            consumer_task = np.broadcast_to(tasks[position][:, None], rows.shape)[inside]
            pairs = np.stack((tasks[producer][rows[inside]], consumer_task), axis=1)
            pairs = np.unique(pairs, axis=0)
            row_bytes = int(np.prod(shape_of(value)[1:])) * target.element_bytes
            flits = -(-row_bytes // machine.bus_width_bytes)
            travel = int(flits * mean_latency + machine.copy_cycles(row_bytes))
            found.append(np.column_stack((pairs, np.full(len(pairs), travel))))
    return np.concatenate(found)


def _index_of(index: dict[Operation, int], value: SSAValue) -> int | None:
    owner = value.owner
    return index.get(owner) if isinstance(owner, Operation) else None
