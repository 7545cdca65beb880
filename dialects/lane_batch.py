"""What batches of lanes are in every dialect that has them: `spat` and `pim`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Attribute, Block
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, region_def
from xdsl.utils.exceptions import VerifyException

from .interned import Integer
from .tile import ArrayAttr
from .verification import lane_spans, verify_fetches, verify_resumes, verify_schedule, verify_spans


class LaneBatchOp(IRDLOperation, ABC):
    """Lanes that all run one body; lane i is of replica i modulo the number of replicas."""

    lanes = prop_def(Integer)
    spans = opt_prop_def(ArrayAttr)
    resumes = opt_prop_def(ArrayAttr)
    fetches = opt_prop_def(ArrayAttr)
    body = region_def("single_block")

    @property
    def lane_count(self) -> int:
        return self.lanes.value.data

    @property
    @abstractmethod
    def replica_count(self) -> int:
        """Copies of the weights on the chip; lane i runs on replica `i mod replicas`."""

    @property
    def lane_spans(self) -> NDArray[np.int64]:
        """Steps that each lane extends over from its own, 1 by default; what comes meanwhile interrupts it."""
        return lane_spans(self.spans, self.lane_count)

    @property
    def lane_resumes(self) -> NDArray[np.int64] | None:
        """[n, 3] lane, cycles that it has done, and steps since its first, where it goes on after an interruption."""
        return None if self.resumes is None else self.resumes.array.astype(np.int64)

    @property
    def block(self) -> Block:
        """The block of the body, which is the only region."""
        return self.regions[0].block

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the numbers of the schedule are wrong."""
        lanes = self.lane_count
        verify_spans(self.spans, lanes)
        verify_resumes(self.resumes, self.spans, lanes)
        verify_fetches(self.fetches)

    def verify_lanes(self, inputs: int, windows: int) -> None:
        """Raises a VerifyException unless there are lanes for all replicas, and a window for each input."""
        lanes, replicas = self.lane_count, self.replica_count
        if lanes < 1 or not 1 <= replicas <= lanes:
            raise VerifyException(f"a batch of {lanes} lanes with {replicas} replicas")
        self.verify_arrays()
        if windows != inputs:
            raise VerifyException(f"{inputs} inputs with {windows} windows")

    def verify_arguments(self, expected: Sequence[Attribute]) -> None:
        """Raises a VerifyException unless the body's arguments have these types."""
        if (found := list(self.block.arg_types)) != expected:
            shown = ", ".join(map(str, expected))
            raise VerifyException(f"the body's arguments are ({', '.join(map(str, found))}), expected ({shown})")


class PlacedBatchOp(LaneBatchOp, ABC):
    """Lanes of which each has its place: the core of its replica, and a first step in the chip's one order."""

    cores = prop_def(ArrayAttr)
    steps = prop_def(ArrayAttr)

    @property
    def lane_cores(self) -> NDArray[np.int64]:
        """The core of each lane."""
        return self.cores.array.astype(np.int64)[np.arange(self.lane_count) % self.replica_count]

    @property
    def last_steps(self) -> NDArray[np.int64]:
        """The last step of each lane."""
        return self.steps.array.astype(np.int64) + self.lane_spans - 1

    def verify_arrays(self) -> None:
        super().verify_arrays()
        verify_schedule(self.cores, self.replica_count, self.steps, self.lane_count)
