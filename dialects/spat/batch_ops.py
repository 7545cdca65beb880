"""Compute batches: N lanes of one body, described once.

A *distributed tensor* `tensor<R x W x C>` is a stack of R rows of W columns and C channels. A batch has one lane per
row of its results. Each lane reads, of each input, the rows that its access map names (`#spat.window`), sees all
weights, and yields one row of each result.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import ConstantLike, Pure, RecursiveMemoryEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from ...analysis.window import RowWindow
from ..interned import Integer, initialize, integer, segment_sizes, segments
from ..lane_batch import LaneBatchOp, PlacedBatchOp
from ..network_io import NetworkInputOp, NetworkOutputOp
from ..shaped_types import ROWS, TILE_OR_ROWS, shape_of
from ..tile import ArrayAttr
from ..traits import Isolated, VerifiedAlone, VerifiedWithin
from ..verification import verify_schedule, verify_sends, verify_window
from .arithmetic_ops import VMMOp
from .attributes import WindowAttr
from .tile_ops import TILE_OPS, PickOp, YieldOp
from .tiles import F32Tensor, tile_type

_TILE_OPS = frozenset(TILE_OPS)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """Weights: a matrix for an array group, or a tile for vector ops.

    ```mlir
    %0 = spat.constant <f32[1, 2] [0.5, 1.0]> : tensor<1x2xf32>
    ```
    """

    name = "spat.constant"
    value = prop_def(ArrayAttr)
    result = result_def(TILE_OR_ROWS)
    traits = traits_def(Pure(), ConstantLike(), VerifiedAlone())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: ArrayAttr) -> None:
        initialize(self, (), {"value": value}, (tile_type(*value.shape),))

    def verify_(self) -> None:
        if shape_of(self.result) != self.value.shape or self.value.dtype != np.dtype("<f4"):
            raise VerifyException(f"a constant of type {self.value.tensor_type} has result type {self.result.type}")


@irdl_op_definition
class InputOp(NetworkInputOp):
    """An input of the network: its logical shape (images, channels[, height, width]) as a distributed tensor.

    `as` gives the network's own element type, if that is not f32.

    ```mlir
    %0 = spat.input "data" shape <i64[4] [1, 3, 4, 4]> : tensor<4x4x3xf32>
    ```
    """

    name = "spat.input"

    def __init__(
        self, name: str, shape: Sequence[int], result_type: F32Tensor, element: Attribute | None = None
    ) -> None:
        super().__init__(StringAttr(name), ArrayAttr.get(np.array(shape, np.int64)), result_type, element)


@irdl_op_definition
class OutputOp(NetworkOutputOp):
    """An output of the network: distributed tensors, and which logical channels each of them holds.

    `shape` is a row-major reshape of (images, channels, height, columns); `images` is given if it does not start so.
    `as` gives the network's own element type, if that is not f32.

    ```mlir
    spat.output "prob" shape <i64[2] [1, 10]> channels [#tile.array<i32[10] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]>] %0
      : tensor<1x1x10xf32>
    ```
    """

    name = "spat.output"
    values = var_operand_def(ROWS)

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        channels: Sequence[NDArray[np.int32]],
        values: Sequence[SSAValue],
        images: int | None = None,
        element: Attribute | None = None,
    ) -> None:
        super().__init__(
            StringAttr(name),
            ArrayAttr.get(np.array(shape, np.int64)),
            BuiltinArrayAttr([ArrayAttr.get(held) for held in channels]),
            values,
            None if images is None else integer(images),
            element,
        )


class BatchOp(LaneBatchOp, ABC):
    """What the graph form and the scheduled form of a batch share."""

    inputs = var_operand_def(ROWS)
    weights = var_operand_def(TILE_OR_ROWS)
    outs = var_result_def(ROWS)
    replicas = prop_def(Integer, default_value=IntegerAttr(1, i64))
    sends = opt_prop_def(ArrayAttr)
    windows = prop_def(BuiltinArrayAttr[WindowAttr])
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @property
    def split_operands(self) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        """Inputs and weights, in one go: each alone takes as long."""
        operands = tuple(self.operands)
        inputs, _ = segment_sizes(self)
        return operands[:inputs], operands[inputs:]

    @property
    def replica_count(self) -> int:
        return self.replicas.value.data

    @property
    def planned_sends(self) -> NDArray[np.int64]:
        """[n, 3] row, core that reads it, and step of each message that the schedule has planned."""
        return np.zeros((0, 3), np.int64) if self.sends is None else self.sends.array.astype(np.int64)

    @property
    def row_windows(self) -> tuple[RowWindow, ...]:
        return tuple(window.data for window in self.windows)

    @property
    def input_arguments(self) -> Sequence[SSAValue]:
        """The block arguments that stand for windows of the inputs."""
        return self.block.args[: len(self.windows)]

    @property
    def weight_arguments(self) -> Sequence[SSAValue]:
        return self.block.args[len(self.windows) :]

    @property
    def yielded(self) -> YieldOp:
        last = self.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @property
    def vmm_ops(self) -> list[VMMOp]:
        """The body's vector-matrix products: one array group each."""
        return [op for op in self.block.ops if isinstance(op, VMMOp)]

    @property
    def has_products(self) -> bool:
        return any(isinstance(op, VMMOp) for op in self.block.ops)

    def verify_(self) -> None:
        lanes = self.lane_count
        inputs, weights = self.split_operands
        self.verify_lanes(len(inputs), len(self.windows))
        expected = [self._argument_type(*pair) for pair in zip(inputs, self.row_windows, strict=True)]
        self.verify_arguments([*expected, *(value.type for value in weights)])
        yielded = [shape_of(value) for value in self.yielded.values]
        if yielded != [shape_of(out)[1:] for out in self.results] or any(shape_of(o)[0] != lanes for o in self.results):
            shown = ", ".join(str(out.type) for out in self.results)
            raise VerifyException(f"{lanes} lanes that yield rows of shape {yielded} do not make ({shown})")
        _verify_constants(inputs, weights)
        arguments = set(self.weight_arguments)
        for op in self.block.ops:
            self._verify_body_op(op, arguments)

    def verify_arrays(self) -> None:
        super().verify_arrays()
        verify_sends(self.sends, self.lane_count)

    def _verify_body_op(self, op: Operation, weights: set[SSAValue]) -> None:
        if type(op) not in _TILE_OPS and not isinstance(op, TILE_OPS):
            raise VerifyException(f"{op.name} in the body; the vector and matrix ops of the spat dialect expected")
        constants = op.operands if isinstance(op, PickOp) else (op.weights,) if isinstance(op, VMMOp) else ()
        if not weights.issuperset(constants):
            raise VerifyException(f"{op.name} takes its constants from the weights of the batch")
        if isinstance(op, PickOp):
            if op.table.shape != (self.lane_count,):
                raise VerifyException(f"a table of {op.table.shape} entries in a batch of {self.lane_count} lanes")
        elif not weights.isdisjoint(op.operands) and any(
            operand in weights and len(shape_of(operand)) == 3 for operand in op.operands
        ):
            raise VerifyException(f"{op.name} reads a stack of tiles, of which only spat.pick selects one")

    def _argument_type(self, value: SSAValue, window: RowWindow) -> F32Tensor:
        rows, columns, channels = shape_of(value)
        verify_window(window, rows, self.lane_count)
        return tile_type(window.rows, window.pad_left + columns + window.pad_right, channels)


def _verify_constants(inputs: Sequence[SSAValue], weights: Sequence[SSAValue]) -> None:
    if any(isinstance(value.owner, ConstantOp) for value in inputs):
        raise VerifyException("an input is a spat.constant, which belongs to the weights")
    if not all(isinstance(value.owner, ConstantOp) for value in weights):
        raise VerifyException("a weight is no spat.constant")


def _batch_format(places: str) -> str:
    """The text form of a batch, with this form of the cores and steps in it."""
    return (
        f"`lanes` $lanes (`replicas` $replicas^)? {places} (`spans` $spans^)? "
        "(`resumes` $resumes^)? (`sends` $sends^)? (`fetches` $fetches^)? "
        "(`ins` `(` $inputs^ `:` type($inputs) `)`)? `windows` $windows "
        "(`weights` `(` $weights^ `:` type($weights) `)`)? attr-dict `->` type($outs) $body"
    )


@irdl_op_definition
class ComputeBatchOp(BatchOp):
    """Graph form: what is computed, with explicit inputs, weights and results, at no place.

    `spat-schedule-peft` adds the schedule: the core of each replica, the step of each lane in the chip's one order, and
    the step at which each row is sent to each core that reads it.

    ```mlir
    %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    %y = spat.compute_batch lanes 4 replicas 2 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
        -> tensor<4x4x2xf32> {
    ^bb0(%rows: tensor<1x4x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
      %relu = spat.relu %row : tensor<4x2xf32>
      spat.yield %relu : tensor<4x2xf32>
    }
    ```
    """

    name = "spat.compute_batch"
    cores = opt_prop_def(ArrayAttr)
    steps = opt_prop_def(ArrayAttr)
    traits = traits_def(Isolated(), VerifiedWithin(), RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp))
    assembly_format = _batch_format("(`cores` $cores^)? (`steps` $steps^)?")

    def __init__(
        self,
        lanes: int,
        inputs: Sequence[SSAValue],
        windows: Sequence[RowWindow],
        weights: Sequence[SSAValue],
        body: Region,
        *,
        replicas: int = 1,
    ) -> None:
        last = body.block.last_op
        assert isinstance(last, YieldOp)
        properties = {
            "lanes": integer(lanes),
            "replicas": integer(replicas),
            "windows": BuiltinArrayAttr([WindowAttr(window) for window in windows]),
            "operandSegmentSizes": segments(len(inputs), len(weights)),
        }
        result_types = [tile_type(lanes, *shape_of(value)) for value in last.values]
        initialize(self, (*inputs, *weights), properties, result_types, (body,))

    @property
    def is_scheduled(self) -> bool:
        return self.cores is not None and self.steps is not None

    def verify_(self) -> None:
        super().verify_()
        if (self.cores is None) != (self.steps is None):
            raise VerifyException("a schedule has both cores and steps")

    def verify_arrays(self) -> None:
        super().verify_arrays()
        if self.cores is not None and self.steps is not None:
            verify_schedule(self.cores, self.replica_count, self.steps, self.lane_count)


@irdl_op_definition
class ScheduledComputeBatchOp(BatchOp, PlacedBatchOp):
    """Scheduled form: the same with the core of each replica and the step of each lane.

    Steps order everything on the chip: a core runs its lanes in order of their steps. Lane i extends over `spans[i]`
    steps from its own on. Messages, and lanes of other batches, may interrupt it between two instructions: each line of
    `resumes` is a lane, the cycles of its work that are done by then, and the step, counted from its first, at which it
    goes on. Without any, the instructions share the span. Each line of `sends` is a row of the result, a core that
    reads it, and the step of the message between them, for `spat-realize-communication`; each line of `fetches` a
    constant, as `convert-spat-to-pim` numbers those of vector instructions, a core, and the step at which it is loaded
    there, at the latest that of the first lane.

    ```mlir
    %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
    %y = spat.scheduled_compute_batch lanes 4 replicas 2 cores <i32[2] [0, 1]>
        steps <i64[4] [0, 1, 2, 3]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
        -> tensor<4x4x2xf32> {
    ^bb0(%rows: tensor<1x4x2xf32>):
      %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
      spat.yield %row : tensor<4x2xf32>
    }
    ```
    """

    name = "spat.scheduled_compute_batch"
    traits = traits_def(Isolated(), VerifiedWithin(), RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp))
    assembly_format = _batch_format("`cores` $cores `steps` $steps")
