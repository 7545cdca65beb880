"""Ops of a lane's body. They compute on *tiles*: two-dimensional tensors, columns (windows) x channels, of one row."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import I64, Float32Type, IntegerAttr, ShapedType, StringAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..interned import initialize, integer, tensor_type
from ..shaped_types import ROWS, TILE, TILE_OR_ROWS
from ..tile import ArrayAttr
from ..traits import VerifiedAlone, VerifiedWithin

F32Tensor: TypeAlias = TensorType[Float32Type]
Integer: TypeAlias = IntegerAttr[I64]

REDUCTIONS = ("add", "max")


tile_type = tensor_type
"""The type of a tile (or of any other f32 tensor) of this shape."""


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    type = value.type
    assert isinstance(type, ShapedType)
    return type.get_shape()


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise VerifyException(message)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of a batch with the row that the lane computes of each result.

    ```mlir
    spat.yield %row : tensor<56x64xf32>
    ```
    """

    name = "spat.yield"
    values = var_operand_def(TILE)
    traits = traits_def(IsTerminator(), Pure(), VerifiedAlone())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue) -> None:
        initialize(self, values, {}, ())


@irdl_op_definition
class ViewOp(IRDLOperation):
    """A strided view of one row: element `j` of column `i` is element `start + i * step + j` of row `row`.

    Columns may overlap (the windows of a convolution do). A view moves nothing: the machine reads at an offset.

    ```mlir
    %window = spat.view %rows row 1 start 0 step 64 : tensor<3x58x64xf32> -> tensor<56x192xf32>
    ```
    """

    name = "spat.view"
    source = operand_def(TILE_OR_ROWS)
    row = prop_def(Integer)
    start = prop_def(Integer)
    step = prop_def(Integer)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = "$source `row` $row `start` $start `step` $step attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, row: int, start: int, step: int, count: int, length: int) -> None:
        properties = {"row": integer(row), "start": integer(start), "step": integer(step)}
        initialize(self, (source,), properties, (tile_type(count, length),))

    @property
    def access(self) -> tuple[int, int, int]:
        """Row, start and step."""
        return self.row.value.data, self.start.value.data, self.step.value.data

    @property
    def is_whole_tile(self) -> bool:
        """Whether the result is the source, unchanged."""
        return self.access == (0, 0, shape_of(self.result)[1]) and shape_of(self.source) == shape_of(self.result)

    def verify_(self) -> None:
        *rows, columns, channels = shape_of(self.source)
        shape = shape_of(self.result)
        row, start, step = self.access
        _require(0 <= row < (rows[0] if rows else 1), f"row {row} of a source with {rows[0] if rows else 1} rows")
        _require(start >= 0 and step >= 0, f"start {start} and step {step} may not be negative")
        count, length = shape
        end = start + (count - 1) * step + length
        _require(
            end <= columns * channels,
            f"the view ends at element {end} of a row of {columns} x {channels} = {columns * channels} elements",
        )


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Copies views side by side, so that one array group can take all of them as its input vector.

    ```mlir
    %window = spat.gather %a, %b : tensor<28x21xf32>, tensor<28x21xf32> -> tensor<28x42xf32>
    ```
    """

    name = "spat.gather"
    parts = var_operand_def(TILE)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = "$parts attr-dict `:` type($parts) `->` type($result)"

    def __init__(self, parts: Sequence[SSAValue]) -> None:
        count = shape_of(parts[0])[0]
        super().__init__(operands=[parts], result_types=[tile_type(count, sum(shape_of(part)[1] for part in parts))])

    def verify_(self) -> None:
        _require(len(self.parts) > 0, "a gather needs at least one part")
        shapes = [shape_of(part) for part in self.parts]
        count, length = shape_of(self.result)
        _require(all(shape[0] == count for shape in shapes), "the parts of a gather have the result's column count")
        total = sum(shape[1] for shape in shapes)
        _require(total == length, f"the parts of a gather have {total} channels together, its result has {length}")


@irdl_op_definition
class VMMOp(IRDLOperation):
    """Vector-matrix products: each column of the tile times the rows `row ...` of the weights: one array group.

    ```mlir
    %0 = spat.vmm %window, %weights row 192 : tensor<56x128xf32>, tensor<576x64xf32> -> tensor<56x64xf32>
    ```
    """

    name = "spat.vmm"
    vector = operand_def(TILE)
    weights = operand_def(TILE)
    row = prop_def(Integer)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = (
        "$vector `,` $weights `row` $row attr-dict `:` type($vector) `,` type($weights) `->` type($result)"
    )

    def __init__(self, vector: SSAValue, weights: SSAValue, row: int) -> None:
        result = tile_type(shape_of(vector)[0], shape_of(weights)[1])
        initialize(self, (vector, weights), {"row": integer(row)}, (result,))

    def verify_(self) -> None:
        count, length = shape_of(self.vector)
        rows, columns = shape_of(self.weights)
        first = self.row.value.data
        _require(
            0 <= first and first + length <= rows,
            f"the product reads weight rows {first} to {first + length} of {rows}",
        )
        _require(
            shape_of(self.result) == (count, columns),
            f"the product of {count} vectors with {columns} weight columns is a {count}x{columns} tile",
        )


class ElementwiseBinaryOp(IRDLOperation, ABC):
    """Element by element; the right operand may have one column, one channel or both, which then repeat."""

    lhs = operand_def(TILE)
    rhs = operand_def(TILE)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        initialize(self, (lhs, rhs), {}, (tile_type(*shape_of(lhs)),))

    def verify_(self) -> None:
        left, right = shape_of(self.lhs), shape_of(self.rhs)
        _require(shape_of(self.result) == left, "the result has the shape of the left operand")
        _require(
            all(r in (1, n) for n, r in zip(left, right, strict=True)),
            f"a {_dims(right)} tile does not repeat to {_dims(left)}",
        )


def _dims(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


@irdl_op_definition
class VAddOp(ElementwiseBinaryOp):
    """Sum.

    ```mlir
    %0 = spat.vadd %a, %bias : tensor<56x64xf32>, tensor<1x64xf32> -> tensor<56x64xf32>
    ```
    """

    name = "spat.vadd"


@irdl_op_definition
class VSubOp(ElementwiseBinaryOp):
    """Difference.

    ```mlir
    %0 = spat.vsub %a, %b : tensor<56x64xf32>, tensor<56x64xf32> -> tensor<56x64xf32>
    ```
    """

    name = "spat.vsub"


@irdl_op_definition
class VMulOp(ElementwiseBinaryOp):
    """Product, element by element.

    ```mlir
    %0 = spat.vmul %a, %scale : tensor<56x64xf32>, tensor<1x64xf32> -> tensor<56x64xf32>
    ```
    """

    name = "spat.vmul"


@irdl_op_definition
class VMaxOp(ElementwiseBinaryOp):
    """The larger of two elements.

    ```mlir
    %0 = spat.vmax %a, %b : tensor<56x64xf32>, tensor<56x64xf32> -> tensor<56x64xf32>
    ```
    """

    name = "spat.vmax"


class ElementwiseUnaryOp(IRDLOperation, ABC):
    T: ClassVar = VarConstraint("T", TILE)
    source = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = "$source attr-dict `:` type($result)"

    def __init__(self, source: SSAValue) -> None:
        initialize(self, (source,), {}, (source.type,))


@irdl_op_definition
class ReluOp(ElementwiseUnaryOp):
    """`max(0, x)`.

    ```mlir
    %0 = spat.relu %a : tensor<56x64xf32>
    ```
    """

    name = "spat.relu"


@irdl_op_definition
class TanhOp(ElementwiseUnaryOp):
    """Hyperbolic tangent.

    ```mlir
    %0 = spat.tanh %a : tensor<56x64xf32>
    ```
    """

    name = "spat.tanh"


@irdl_op_definition
class SigmoidOp(ElementwiseUnaryOp):
    """`1 / (1 + exp(-x))`.

    ```mlir
    %0 = spat.sigmoid %a : tensor<56x64xf32>
    ```
    """

    name = "spat.sigmoid"


class ReduceOp(IRDLOperation, ABC):
    source = operand_def(TILE_OR_ROWS)
    kind = prop_def(StringAttr)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = "$kind $source attr-dict `:` type($source) `->` type($result)"

    def reduced(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the result for a source of this shape."""
        raise NotImplementedError

    def __init__(self, kind: str, source: SSAValue) -> None:
        super().__init__(
            operands=[source],
            properties={"kind": StringAttr(kind)},
            result_types=[tile_type(*self.reduced(shape_of(source)))],
        )

    def verify_(self) -> None:
        shape, result = shape_of(self.source), shape_of(self.result)
        _require(self.kind.data in REDUCTIONS, f"the kind of a reduction is one of {', '.join(REDUCTIONS)}")
        _require(
            len(shape) == self.RANK and self.reduced(shape) == result,
            f"the reduction of {_dims(shape)} is not {_dims(result)}",
        )

    RANK: ClassVar[int] = 2


@irdl_op_definition
class ReduceRowsOp(ReduceOp):
    """Combines the rows of a window into one.

    ```mlir
    %0 = spat.reduce_rows "max" %rows : tensor<3x112x64xf32> -> tensor<112x64xf32>
    ```
    """

    name = "spat.reduce_rows"
    RANK: ClassVar[int] = 3

    def reduced(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[1:]


@irdl_op_definition
class ReduceColumnsOp(ReduceOp):
    """Combines the columns of a tile into one.

    ```mlir
    %0 = spat.reduce_columns "add" %tile : tensor<7x512xf32> -> tensor<1x512xf32>
    ```
    """

    name = "spat.reduce_columns"

    def reduced(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (1, *shape[1:])


@irdl_op_definition
class ReduceChannelsOp(ReduceOp):
    """Combines the channels of each column into one.

    ```mlir
    %0 = spat.reduce_channels "max" %tile : tensor<1x1000xf32> -> tensor<1x1xf32>
    ```
    """

    name = "spat.reduce_channels"

    def reduced(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (shape[0], 1)


@irdl_op_definition
class PadOp(IRDLOperation):
    """Copies a tile and adds columns beside it (that repeat the border column) and channels around it (zeros).

    ```mlir
    %0 = spat.pad %tile columns 1, 1 channels 0, 0 : tensor<112x64xf32> -> tensor<114x64xf32>
    ```
    """

    name = "spat.pad"
    source = operand_def(TILE)
    left = prop_def(Integer)
    right = prop_def(Integer)
    before = prop_def(Integer)
    after = prop_def(Integer)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = (
        "$source `columns` $left `,` $right `channels` $before `,` $after attr-dict "
        "`:` type($source) `->` type($result)"
    )

    def __init__(self, source: SSAValue, *, left: int = 0, right: int = 0, before: int = 0, after: int = 0) -> None:
        columns, channels = shape_of(source)
        super().__init__(
            operands=[source],
            properties={
                "left": integer(left),
                "right": integer(right),
                "before": integer(before),
                "after": integer(after),
            },
            result_types=[tile_type(left + columns + right, before + channels + after)],
        )

    @property
    def amounts(self) -> tuple[int, int, int, int]:
        """Columns left and right, channels before and after."""
        return self.left.value.data, self.right.value.data, self.before.value.data, self.after.value.data

    def verify_(self) -> None:
        left, right, before, after = self.amounts
        _require(min(self.amounts) >= 0, "padding may not be negative")
        _require(not ((left or right) and (before or after)), "a pad adds columns or channels, not both")
        columns, channels = shape_of(self.source)
        expected = (left + columns + right, before + channels + after)
        _require(shape_of(self.result) == expected, f"the padded tile is {_dims(expected)}")


@irdl_op_definition
class SpreadOp(IRDLOperation):
    """Repeats the single channel of each column.

    ```mlir
    %0 = spat.spread %sum : tensor<1x1xf32> -> tensor<1x1000xf32>
    ```
    """

    name = "spat.spread"
    source = operand_def(TILE)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, channels: int) -> None:
        super().__init__(operands=[source], result_types=[tile_type(shape_of(source)[0], channels)])

    def verify_(self) -> None:
        columns, channels = shape_of(self.source)
        _require(channels == 1, f"a spread repeats one channel, its source has {channels}")
        _require(shape_of(self.result)[0] == columns, "a spread keeps the columns")


@irdl_op_definition
class PickOp(IRDLOperation):
    """The tile of a constant stack that the lane's entry in a table selects.

    ```mlir
    %0 = spat.pick %counts by <i32[3] [0, 1, 0]> : tensor<2x13x64xf32> -> tensor<13x64xf32>
    ```
    """

    name = "spat.pick"
    source = operand_def(ROWS)
    table = prop_def(ArrayAttr)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedWithin(shapes_seen_from_around=True))
    assembly_format = "$source `by` $table attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, table: NDArray[np.int32]) -> None:
        super().__init__(
            operands=[source],
            properties={"table": ArrayAttr.get(table)},
            result_types=[tile_type(*shape_of(source)[1:])],
        )

    def verify_(self) -> None:
        _, *tile = shape_of(self.source)
        _require(shape_of(self.result) == tuple(tile), f"the picked tile is {_dims(tile)}")
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table is no list, or names a tile that is not there."""
        is_list = len(self.table.shape) == 1 and self.table.dtype.kind in "iu"
        _require(is_list, "a table of one integer per lane expected")
        choices = shape_of(self.source)[0]
        if self.table.has_data and self.table.size:
            least, most = int(self.table.array.min()), int(self.table.array.max())
            _require(0 <= least <= most < choices, f"the table picks tiles {least} to {most} of {choices}")


TILE_OPS = (
    YieldOp,
    ViewOp,
    GatherOp,
    VMMOp,
    VAddOp,
    VSubOp,
    VMulOp,
    VMaxOp,
    ReluOp,
    TanhOp,
    SigmoidOp,
    ReduceRowsOp,
    ReduceColumnsOp,
    ReduceChannelsOp,
    PadOp,
    SpreadOp,
    PickOp,
)
