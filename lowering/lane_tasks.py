"""The task graph of a module's lanes, for the planners in `analysis/`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from ..analysis.timeline import TimedBatch, TransferCosts
from ..analysis.wavefront import LaneBatch, Read
from ..dialects.spat import BatchOp, ComputeBatchOp
from ..support.arrays import Ints
from .lane_cost import BatchCosts
from .schedule_memory import waiting_bytes
from .transfer_costs import TransferModel

BUSY_ENOUGH = 0.25
"""For how long a replica without weights may be busy with one sample of several, as a share of the shortest possible
interval between samples. With fewer replicas, each holds more rows that wait for it; more of them take more messages.
"""

WAITING = 0.25
"""Share of a local memory that rows of one batch may take which wait for all others of their image."""


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


def timed_batches(
    batches: Sequence[BatchOp], cores: Sequence[Ints], costs: BatchCosts, model: TransferModel
) -> list[TimedBatch]:
    """The batches as the timeline sees them, with the cores of their replicas."""
    return [
        TimedBatch(
            lanes,
            replica_cores[np.arange(batch.lane_count) % batch.replica_count],
            batch.replica_count,
            costs.of(batch).cycles,
            model.of(batch.outs[0]),
            tuple(model.load(value) for value in batch.inputs),
            costs.of(batch).constant_loads,
            np.array(costs.of(batch).begins, np.int64),
        )
        for batch, lanes, replica_cores in zip(batches, lane_batches(batches), cores, strict=True)
    ]


def moved_batches(
    timed: Sequence[TimedBatch], cores: Sequence[Ints], transfers: Sequence[TransferCosts]
) -> list[TimedBatch]:
    """The same batches with their replicas on other cores, between which rows take what ``transfers`` says."""
    return [
        replace(one, cores=replica_cores[np.arange(one.batch.lanes) % one.replicas], transfer=transfer)
        for one, replica_cores, transfer in zip(timed, cores, transfers, strict=True)
    ]


def spread_vector_batches(batches: Sequence[ComputeBatchOp], costs: BatchCosts, samples: int = 1) -> None:
    """Gives batches without weights as many replicas as keep each busy for half as long as the busiest layer at most.

    Their lanes are bound to no core, so that this only says over how many cores they spread. Messages count: a batch
    that passes on the network's input has little else to do. Where there is no layer to keep up with, each lane may
    have a core of its own. Of several ``samples``, it is enough if each replica is busy for the share `BUSY_ENOUGH` of
    what every core has to do. Rows that wait until a whole image has been seen, as those that a gate scales, have to
    fit.
    """
    model = TransferModel(costs.target, uniform=True)
    busy = [_turns(batch) * costs.of(batch).cycles for batch in batches if batch.vmm_ops]
    limit = max(1, max(busy, default=0) // 2)
    work = [batch.lane_count * (costs.of(batch).cycles + _message_cycles(batch, model)) for batch in batches]
    if samples > 1:
        limit = max(limit, int(BUSY_ENOUGH * sum(work) / costs.target.machine.core_count))
    # Of several samples, the next one comes before. Where nothing fits, planning memory says so.
    room = max(1, int(WAITING * costs.target.machine.local_memory_bytes) // min(samples, 2))
    for batch, cycles, waiting in zip(batches, work, waiting_bytes(batches, costs.target), strict=True):
        if not batch.vmm_ops:
            wanted = max(-(-cycles // limit), -(-waiting // room))
            wanted = max(batch.replica_count, min(wanted, batch.lane_count, costs.target.machine.core_count))
            batch.properties["replicas"] = IntegerAttr(wanted, i64)


def _turns(batch: BatchOp) -> int:
    """Lanes of the busiest replica."""
    return -(-batch.lane_count // batch.replica_count)


def _message_cycles(batch: BatchOp, model: TransferModel) -> int:
    """Cycles of the messages of one lane: rows that it reads for the first time, and its own to all that read it."""
    received = sum(
        min(window.rows, max(window.stride, 1)) * int(model.of(value).receive[0, 0])
        for value, window in zip(batch.inputs, batch.row_windows, strict=True)
        if isinstance(value.owner, BatchOp)
    )
    readers = [
        use.operation.row_windows[use.index]
        for use in batch.outs[0].uses
        if isinstance(use.operation, BatchOp) and use.index < len(use.operation.inputs)
    ]
    copies = sum(-(-window.rows // max(window.stride, 1)) for window in readers)
    costs = model.of(batch.outs[0])
    return received + copies * (int(costs.send[0, 0]) + int(costs.flight[0, 0]))


def _index_of(index: dict[Operation, int], value: SSAValue) -> int | None:
    owner = value.owner
    return index.get(owner) if isinstance(owner, Operation) else None
