"""Ops of a lane's body that compute: products with weights, vector ops, reductions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ..interned import Integer, initialize, integer
from ..shaped_types import TILE, TILE_OR_ROWS, shape_of
from ..traits import VerifiedAlone
from .tiles import dims, require, tile_type

REDUCTIONS = ("add", "max")
"""The kinds of reductions: the sum of the elements, or the largest of them."""


@irdl_op_definition
class VMMOp(IRDLOperation):
    """Vector-matrix products: each column of the tile times the rows of the weights from `row` on, in one array group.

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
        require(
            0 <= first and first + length <= rows,
            f"the product reads weight rows {first} to {first + length} of {rows}",
        )
        require(
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
        require(shape_of(self.result) == left, "the result has the shape of the left operand")
        require(
            all(r in (1, n) for n, r in zip(left, right, strict=True)),
            f"a {dims(right)} tile does not repeat to {dims(left)}",
        )


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
    """A function of each element."""

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
    """Combines the elements along one axis of a window or tile; `kind` says how."""

    RANK: ClassVar[int] = 2
    """Of the source."""

    source = operand_def(TILE_OR_ROWS)
    kind = prop_def(StringAttr)
    result = result_def(TILE)
    traits = traits_def(Pure(), VerifiedAlone())
    assembly_format = "$kind $source attr-dict `:` type($source) `->` type($result)"

    @abstractmethod
    def reduced(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the result for a source of this shape."""

    def __init__(self, kind: str, source: SSAValue) -> None:
        super().__init__(
            operands=[source],
            properties={"kind": StringAttr(kind)},
            result_types=[tile_type(*self.reduced(shape_of(source)))],
        )

    def verify_(self) -> None:
        shape, result = shape_of(self.source), shape_of(self.result)
        require(self.kind.data in REDUCTIONS, f"the kind of a reduction is one of {', '.join(REDUCTIONS)}")
        require(
            len(shape) == self.RANK and self.reduced(shape) == result,
            f"the reduction of {dims(shape)} is not {dims(result)}",
        )


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
