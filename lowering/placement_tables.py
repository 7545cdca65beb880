"""Where the rows of a scheduled tensor are computed, and where they are read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ..analysis.window import OUTSIDE
from ..dialects.spat import ScheduledComputeBatchOp

Ints = NDArray[np.int64]


def lane_cores(batch: ScheduledComputeBatchOp) -> Ints:
    """The core of each lane."""
    replica = np.arange(batch.lane_count) % batch.replica_count
    return batch.cores.array.astype(np.int64)[replica]


def reads_of(value: SSAValue) -> Ints:
    """Who reads a tensor: a table [n, 3] of row, core and the step of the first lane there that reads it.

    Sorted by row, then core; one line for each pair.
    """
    found = [np.zeros((0, 3), np.int64)]
    for use in value.uses:
        batch = use.operation
        if isinstance(batch, ScheduledComputeBatchOp):
            found.append(_reads_by(batch, use.index))
    return first_steps(np.concatenate(found))


def first_steps(reads: Ints) -> Ints:
    """Of several lines with the same row and core, the one with the least step."""
    ordered = reads[np.lexsort((reads[:, 2], reads[:, 1], reads[:, 0]))]
    keep = np.ones(len(ordered), np.bool_)
    keep[1:] = (ordered[1:, :2] != ordered[:-1, :2]).any(axis=1)
    return ordered[keep]


def _reads_by(batch: ScheduledComputeBatchOp, operand: int) -> Ints:
    if operand >= len(batch.inputs):
        return np.zeros((0, 3), np.int64)
    rows = batch.row_windows[operand].rows_of(np.arange(batch.lane_count))
    inside = rows != OUTSIDE
    core = np.broadcast_to(lane_cores(batch)[:, None], rows.shape)[inside]
    step = np.broadcast_to(batch.steps.array[:, None], rows.shape)[inside]
    return np.stack((rows[inside], core, step), axis=1)
