"""How much local memory a schedule of lanes takes, before it is planned exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..analysis.message_times import most_at_once, residences
from ..analysis.timeline import TimedBatch, Timeline
from ..analysis.window import RowWindow
from ..dialects.spat import BatchOp, shape_of
from .lane_cost import BatchCosts

Ints = NDArray[np.int64]


def estimated_peaks(batches: Sequence[BatchOp], timed: list[TimedBatch], timeline: Timeline, costs: BatchCosts) -> Ints:
    """[cores] bytes: as if every ring of rows, temporary tile and constant of a core were there all the time."""
    target = costs.target
    peaks = np.zeros(target.machine.core_count, np.int64)
    for op, one, held in zip(batches, timed, residences(timed, timeline), strict=True):
        peaks[np.unique(one.cores)] += costs.of(op).working_bytes
        pads = max((w.pad_left + w.pad_right for w in _windows_on(op)), default=0)
        _, columns, channels = shape_of(op.outs[0])
        slot = (columns + pads) * channels * target.element_bytes
        for core in np.unique(held.core).tolist():
            mine = held.core == core
            peaks[core] += most_at_once(held.first[mine], held.last[mine]) * slot
    return peaks


def _windows_on(producer: BatchOp) -> list[RowWindow]:
    """The access maps of all that reads the batch's result."""
    return [
        use.operation.row_windows[use.index]
        for use in producer.outs[0].uses
        if isinstance(use.operation, BatchOp) and use.index < len(use.operation.inputs)
    ]
