"""Where the rows of a scheduled tensor are computed, and where they are read."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ..analysis.window import OUTSIDE, window_rows
from ..dialects.spat import ScheduledComputeBatchOp
from ..support.arrays import Ints


def read_lines(value: SSAValue) -> Ints:
    """Which lanes read a tensor: lines [n, 4] of row, core, and first and last step of a lane."""
    found = [np.zeros((0, 4), np.int64)]
    for use in value.uses:
        batch = use.operation
        if isinstance(batch, ScheduledComputeBatchOp) and use.index < len(batch.windows):
            rows = window_rows(batch.windows.data[use.index].data, batch.lane_count)
            lane, place = np.nonzero(rows != OUTSIDE)
            lines = np.empty((len(lane), 4), np.int64)
            lines[:, 0], lines[:, 1] = rows[lane, place], batch.lane_cores[lane]
            lines[:, 2], lines[:, 3] = batch.steps.array[lane], batch.last_steps[lane]
            found.append(lines)
    return np.concatenate(found)
