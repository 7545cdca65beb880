"""Ops of a lane's body. They compute on *tiles*: two-dimensional tensors, columns (windows) x channels, of one row.

Here are those that select, copy and repeat; those that compute are in `arithmetic_ops`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, Pure

from ..interned import Integer, initialize, integer
from ..shaped_types import ROWS, TILE, TILE_OR_ROWS, shape_of
from ..tile import ArrayAttr
from ..traits import VerifiedAlone, VerifiedWithin
from .arithmetic_ops import (
    ReduceChannelsOp,
    ReduceColumnsOp,
    ReduceRowsOp,
    ReluOp,
    SigmoidOp,
    TanhOp,
    VAddOp,
    VMaxOp,
    VMMOp,
    VMulOp,
    VSubOp,
)
from .tiles import dims, require, tile_type


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
        require(0 <= row < (rows[0] if rows else 1), f"row {row} of a source with {rows[0] if rows else 1} rows")
        require(start >= 0 and step >= 0, f"start {start} and step {step} may not be negative")
        count, length = shape
        end = start + (count - 1) * step + length
        require(
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
        require(len(self.parts) > 0, "a gather needs at least one part")
        shapes = [shape_of(part) for part in self.parts]
        count, length = shape_of(self.result)
        require(all(shape[0] == count for shape in shapes), "the parts of a gather have the result's column count")
        total = sum(shape[1] for shape in shapes)
        require(total == length, f"the parts of a gather have {total} channels together, its result has {length}")


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
        require(min(self.amounts) >= 0, "padding may not be negative")
        require(not ((left or right) and (before or after)), "a pad adds columns or channels, not both")
        columns, channels = shape_of(self.source)
        expected = (left + columns + right, before + channels + after)
        require(shape_of(self.result) == expected, f"the padded tile is {dims(expected)}")


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
        require(channels == 1, f"a spread repeats one channel, its source has {channels}")
        require(shape_of(self.result)[0] == columns, "a spread keeps the columns")


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
        require(shape_of(self.result) == tuple(tile), f"the picked tile is {dims(tile)}")
        self.verify_arrays()

    def verify_arrays(self) -> None:
        """Raises a VerifyException if the table is no list, or names a tile that is not there."""
        is_list = len(self.table.shape) == 1 and self.table.dtype.kind in "iu"
        require(is_list, "a table of one integer per lane expected")
        choices = shape_of(self.source)[0]
        if self.table.has_data and self.table.size:
            least, most = int(self.table.array.min()), int(self.table.array.max())
            require(0 <= least <= most < choices, f"the table picks tiles {least} to {most} of {choices}")


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
