"""What moving a row of a tensor costs on the target."""

from __future__ import annotations

from functools import cache

import numpy as np
from xdsl.ir import SSAValue

from ..analysis.timeline import TransferCosts
from ..dialects.spat import shape_of
from .target import Target


def row_bytes(value: SSAValue, target: Target) -> int:
    """Bytes of one row of a distributed tensor."""
    return int(np.prod(shape_of(value)[1:], dtype=np.int64)) * target.element_bytes


class TransferModel:
    """Costs of rows by their size, computed once for each size."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.costs = cache(self._costs)

    def of(self, value: SSAValue) -> TransferCosts:
        """Of a row of ``value``."""
        return self.costs(row_bytes(value, self._target))

    def load_cycles(self, value: SSAValue) -> int:
        """Of loading a row of ``value`` from global memory."""
        return int(self._target.machine.load_cycles(0, row_bytes(value, self._target)))

    def _costs(self, size_bytes: int) -> TransferCosts:
        machine = self._target.machine
        cores = np.arange(machine.core_count)
        source, target = cores[:, None], cores
        return TransferCosts(
            machine.send_cycles(source, target, size_bytes), machine.recv_cycles(source, target, size_bytes)
        )
