"""What moving a row of a tensor costs on the target."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ..analysis.timeline import TransferCosts
from ..dialects.spat import shape_of
from .target import Target

Ints = NDArray[np.int64]


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
        return TransferCosts(
            _Table(lambda source, target: machine.send_cycles(source, target, size_bytes), machine.core_count),
            _Table(lambda source, target: machine.recv_cycles(source, target, size_bytes), machine.core_count),
        )


class _Table:
    """A table [cores, cores] of which rows are computed when they are asked for: most pairs of many cores never are."""

    def __init__(self, compute: Callable[[Any, Any], Ints], core_count: int) -> None:
        self._compute = compute
        self._targets = np.arange(core_count)
        self._rows: dict[int, list[int]] = {}

    def __getitem__(self, pair: tuple[Any, Any], /) -> Any:
        source, target = pair
        if not isinstance(source, int):  # arrays of them
            return self._compute(source, target)
        row = self._rows.get(source)
        if row is None:
            row = [int(cycles) for cycles in self._compute(source, self._targets)]
            self._rows[source] = row
        return row[int(target)]
