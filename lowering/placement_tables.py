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


def read_lines(value: SSAValue) -> Ints:
    """Which lanes read a tensor: lines [n, 4] of row, core, and first and last step of a lane."""
    found = [np.zeros((0, 4), np.int64)]
    for use in value.uses:
        batch = use.operation
        if isinstance(batch, ScheduledComputeBatchOp) and use.index < len(batch.inputs):
            rows = batch.row_windows[use.index].rows_of(np.arange(batch.lane_count))
            inside = rows != OUTSIDE
            first = batch.steps.array.astype(np.int64)
            lanes = (lane_cores(batch), first, batch.last_steps)
            columns = [rows, *(np.broadcast_to(lane[:, None], rows.shape) for lane in lanes)]
            found.append(np.stack([column[inside] for column in columns], axis=1))
    return np.concatenate(found)
