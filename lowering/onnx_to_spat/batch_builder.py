"""Building one compute batch op by op."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block, Operation, Region, SSAValue

from ...analysis.window import RowWindow
from ...dialects.array_layout import Rows
from ...dialects.location import copy_location
from ...dialects.spat import ComputeBatchOp, ConstantOp, ViewOp, YieldOp, shape_of, tile_type
from ...dialects.tile import ArrayAttr

OperationT = TypeVar("OperationT", bound=Operation)


class BatchBuilder:
    """Collects inputs, weights and the body of one `spat.compute_batch`; :meth:`finish` gives the ops to insert."""

    def __init__(self, lanes: int, source: Operation, replicas: int = 1) -> None:
        self.lanes = lanes
        self._replicas = min(replicas, lanes)
        self._source = source
        self._block = Block()
        self._inputs: list[SSAValue] = []
        self._windows: list[RowWindow] = []
        self._constants: list[ConstantOp] = []

    def input(self, value: SSAValue, window: RowWindow) -> SSAValue:
        """Adds an input; the window of it that a lane reads."""
        _, columns, channels = shape_of(value)
        padded = window.pad_left + columns + window.pad_right
        argument = self._block.insert_arg(tile_type(window.rows, padded, channels), len(self._inputs))
        self._inputs.append(value)
        self._windows.append(window)
        return argument

    def input_tile(self, value: SSAValue, window: RowWindow) -> SSAValue:
        """Adds an input of which a lane reads one row; that row as a tile."""
        assert window.rows == 1
        _, columns, channels = shape_of(value)
        argument = self.input(value, window)
        return self.view(argument, 0, 0, channels, window.pad_left + columns + window.pad_right, channels)

    def weight(self, array: NDArray[np.float32] | Rows) -> SSAValue:
        """Adds a constant that every lane sees."""
        return self._weight(ArrayAttr.get(array if isinstance(array, Rows) else np.asarray(array, np.float32)))

    def _weight(self, value: ArrayAttr) -> SSAValue:
        constant = copy_location(self._source, ConstantOp(value))
        argument = self._block.insert_arg(constant.result.type, len(self._block.args))
        self._constants.append(constant)
        return argument

    def add(self, op: OperationT) -> OperationT:
        """Appends an op to the body."""
        self._block.add_op(copy_location(self._source, op))
        return op

    def apply(self, op: Operation) -> SSAValue:
        """Appends an op to the body; its result."""
        return self.add(op).results[0]

    def view(self, source: SSAValue, row: int, start: int, step: int, count: int, length: int) -> SSAValue:
        """A view, or the source itself where the view is all of a tile."""
        view = ViewOp(source, row, start, step, count, length)
        if view.is_whole_tile:
            view.erase()
            return source
        return self.apply(view)

    def finish(self, *values: SSAValue) -> tuple[list[Operation], ComputeBatchOp]:
        """The ops to insert, with the batch last, and the batch."""
        self.add(YieldOp(*values))
        batch = ComputeBatchOp(
            self.lanes,
            self._inputs,
            self._windows,
            [constant.result for constant in self._constants],
            Region(self._block),
            replicas=self._replicas,
        )
        copy_location(self._source, batch)
        return [*self._constants, batch], batch
