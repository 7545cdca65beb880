"""How much local memory a schedule of lanes takes, before it is planned exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..analysis.message_times import residences
from ..analysis.timeline import TimedBatch, Timeline
from ..analysis.window import RowWindow
from ..dialects.spat import BatchOp, shape_of
from .lane_cost import BatchCosts
from .target import Target

Ints = NDArray[np.int64]


def estimated_peaks(
    batches: Sequence[BatchOp],
    timed: list[TimedBatch],
    timeline: Timeline,
    costs: BatchCosts,
    slots: Sequence[int] | None = None,
) -> Ints:
    """[cores] bytes at the moment when most is held: rings of rows while any of their rows is, the constants, and room
    for the temporary tiles of the lane that needs most. ``slots``, if they are
    known already, are those of :func:`slot_bytes`."""
    target = costs.target
    if slots is None:
        slots = [slot_bytes(batch, target) for batch in batches]
    scratch = np.zeros(target.machine.core_count, np.int64)
    constants = np.zeros(target.machine.core_count, np.int64)
    for op, one in zip(batches, timed, strict=True):
        cost = costs.of(op)
        cores = np.unique(one.cores)
        scratch[cores] = np.maximum(scratch[cores], cost.scratch_bytes)
        constants[cores] += cost.constant_bytes
    return scratch + constants + _most_held(held_rings(timed, timeline, slots), target.machine.core_count)


def held_rings(timed: list[TimedBatch], timeline: Timeline, slots: Sequence[int]) -> Ints:
    """Lines [m, 5], one for each ring of rows: its core, the first cycle with a row, the last one, its bytes, and the
    number of the batch that computes the rows."""
    found: list[Ints] = [np.zeros((0, 5), np.int64)]
    for index, (slot, held) in enumerate(zip(slots, residences(timed, timeline), strict=True)):
        rings = held.rings() * np.array([1, 1, 1, slot])
        found.append(np.column_stack((rings, np.full(len(rings), index))))
    return np.concatenate(found)


def slot_bytes(batch: BatchOp, target: Target) -> int:
    """Bytes of a row of the batch's result in a ring, with the columns of zeros beside it."""
    windows = _windows_on(batch)
    left = max((window.pad_left for window in windows), default=0)
    right = max((window.pad_right for window in windows), default=0)
    _, columns, channels = shape_of(batch.outs[0])
    return (left + columns + right) * channels * target.element_bytes


def _most_held(rings: Ints, core_count: int) -> Ints:
    """[cores] the most bytes that the rings of a core hold at once."""
    core = np.concatenate((rings[:, 0], rings[:, 0]))
    time = np.concatenate((rings[:, 1], rings[:, 2] + 1))
    change = np.concatenate((rings[:, 3], -rings[:, 3]))
    order = np.lexsort((change, time, core))
    total = np.cumsum(change[order])  # is zero again behind the last ring of each core
    peaks = np.zeros(core_count, np.int64)
    np.maximum.at(peaks, core[order], total)
    return peaks


def _windows_on(producer: BatchOp) -> list[RowWindow]:
    """The access maps of all that reads the batch's result."""
    return [
        use.operation.row_windows[use.index]
        for use in producer.outs[0].uses
        if isinstance(use.operation, BatchOp) and use.index < len(use.operation.inputs)
    ]
