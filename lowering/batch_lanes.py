"""What planning and checking memory ask of the lanes of batches, again and again: found once for each batch."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..dialects import pim
from ..support.arrays import Ints
from .event_order import Phase, event_key


class Lanes:
    """The lanes of one batch, where and when they run."""

    def __init__(self, batch: pim.CoreBatchOp) -> None:
        self.inputs = len(batch.windows)
        self.cores = batch.lane_cores
        self.steps = batch.steps.array.astype(np.int64)
        self.last_steps = batch.last_steps
        self._batch = batch
        self._rows_read: dict[int, Ints] = {}

    def rows_read(self, index: int) -> Ints:
        """[lanes, rows] the rows of an input that each lane reads; `OUTSIDE` beyond the image."""
        found = self._rows_read.get(index)
        if found is None:
            found = self._rows_read[index] = self._batch.input_rows(index)
        return found

    def lives(self, begin: Phase) -> list[tuple[int, int, int]]:
        """Each core, the key of phase ``begin`` of its first lane there, and the last key of its last one."""
        cores, first, last = self._spans
        keys = event_key(first, begin).tolist(), event_key(last, Phase.COMPUTE).tolist()
        return list(zip(cores.tolist(), *keys, strict=True))

    @cached_property
    def _spans(self) -> tuple[Ints, Ints, Ints]:
        """Each core, and the first and the last step of lanes there."""
        cores, index = np.unique(self.cores, return_inverse=True)
        first, last = np.full(len(cores), np.iinfo(np.int64).max), np.full(len(cores), np.iinfo(np.int64).min)
        np.minimum.at(first, index, self.steps)
        np.maximum.at(last, index, self.last_steps)
        return cores, first, last


class BatchLanes(dict[pim.CoreBatchOp, Lanes]):
    """The lanes of all batches of a program that is not changed meanwhile."""

    def __missing__(self, batch: pim.CoreBatchOp) -> Lanes:
        found = self[batch] = Lanes(batch)
        return found
