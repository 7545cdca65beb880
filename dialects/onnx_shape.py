"""`onnx` ops that give all elements of a tensor another shape, another order, or repeat them.

Where a later version of the standard passes a shape, axes or the like as an input, the op here has an attribute:
shapes are static, so the importer has to know these values anyway.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from .onnx_base import (
    Int64,
    Int64s,
    OnnxOp,
    Shape,
    Tensor,
    broadcast_shapes,
    element_type_of,
    int64,
    normal_axes,
    require,
    shape_of,
    shape_text,
)


@irdl_op_definition
class ReshapeOp(OnnxOp):
    """The same elements in the same order, in the shape of the result type.

    ```mlir
    %y = onnx.Reshape(%x) : (tensor<1x512x7x7xf32>) -> tensor<1x25088xf32>
    ```
    """

    name = "onnx.Reshape"

    data = operand_def(Tensor)
    reshaped = result_def(Tensor)

    @staticmethod
    def to(data: SSAValue, shape: Shape) -> ReshapeOp:
        """Reshapes ``data`` to ``shape``, which has to have as many elements."""
        return ReshapeOp.create(operands=[data], result_types=[TensorType(element_type_of(data), shape)])

    def infer(self) -> tuple[Tensor]:
        source, target = shape_of(self.data), shape_of(self.reshaped)
        fits = math.prod(source) == math.prod(target)
        require(fits, f"{shape_text(source)} and {shape_text(target)} differ in their number of elements")
        return (TensorType(element_type_of(self.data), target),)


@irdl_op_definition
class FlattenOp(OnnxOp):
    """A matrix: the axes before `axis` become its rows, the others its columns.

    ```mlir
    %y = onnx.Flatten(%x) : (tensor<1x512x7x7xf32>) -> tensor<1x25088xf32>
    ```
    """

    name = "onnx.Flatten"

    x = operand_def(Tensor)
    axis = prop_def(Int64, default_value=int64(1))
    y = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        x, axis = shape_of(self.x), self.axis.value.data
        require(-len(x) <= axis <= len(x), f"axis {axis} is outside a tensor of rank {len(x)}")
        axis = axis + len(x) if axis < 0 else axis
        return (TensorType(element_type_of(self.x), (math.prod(x[:axis]), math.prod(x[axis:]))),)


@irdl_op_definition
class SqueezeOp(OnnxOp):
    """Drops the `axes`, which have extent 1; all axes of extent 1 if none are given.

    ```mlir
    %y = onnx.Squeeze(%x) {axes = array<i64: 2, 3>} : (tensor<1x512x1x1xf32>) -> tensor<1x512xf32>
    ```
    """

    name = "onnx.Squeeze"

    data = operand_def(Tensor)
    axes = opt_prop_def(Int64s)
    squeezed = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        shape = shape_of(self.data)
        ones = tuple(i for i, extent in enumerate(shape) if extent == 1)
        axes = ones if self.axes is None else normal_axes(self.axes.get_values(), len(shape))
        require(set(axes) <= set(ones), f"axes {list(axes)} of {shape_text(shape)} have not all extent 1")
        kept = tuple(extent for i, extent in enumerate(shape) if i not in axes)
        return (TensorType(element_type_of(self.data), kept),)


@irdl_op_definition
class UnsqueezeOp(OnnxOp):
    """Adds axes of extent 1, so that they are the `axes` of the result.

    ```mlir
    %y = onnx.Unsqueeze(%x) {axes = array<i64: 1, 2>} : (tensor<64xf32>) -> tensor<64x1x1xf32>
    ```
    """

    name = "onnx.Unsqueeze"

    data = operand_def(Tensor)
    axes = prop_def(Int64s)
    expanded = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        extents = iter(shape_of(self.data))
        rank = len(shape_of(self.data)) + len(self.axes)
        axes = normal_axes(self.axes.get_values(), rank)
        shape = tuple(1 if i in axes else next(extents) for i in range(rank))
        return (TensorType(element_type_of(self.data), shape),)


@irdl_op_definition
class TransposeOp(OnnxOp):
    """Axis i of the result is axis `perm[i]` of the operand; without `perm`, the axes are reversed.

    ```mlir
    %y = onnx.Transpose(%x) {perm = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x3x8x7x7xf32>) -> tensor<1x8x3x7x7xf32>
    ```
    """

    name = "onnx.Transpose"

    data = operand_def(Tensor)
    perm = opt_prop_def(Int64s)
    transposed = result_def(Tensor)

    def permutation(self) -> Shape:
        """`perm`, with the default filled in."""
        rank = len(shape_of(self.data))
        return tuple(reversed(range(rank))) if self.perm is None else self.perm.get_values()

    def infer(self) -> tuple[Tensor]:
        shape, perm = shape_of(self.data), self.permutation()
        require(sorted(perm) == list(range(len(shape))), f"perm {list(perm)} does not permute {len(shape)} axes")
        return (TensorType(element_type_of(self.data), tuple(shape[axis] for axis in perm)),)


@irdl_op_definition
class ExpandOp(OnnxOp):
    """Broadcasts the operand to the shape of the result type.

    ```mlir
    %y = onnx.Expand(%x) : (tensor<64x1x1xf32>) -> tensor<1x64x7x7xf32>
    ```
    """

    name = "onnx.Expand"

    input = operand_def(Tensor)
    output = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        source, target = shape_of(self.input), shape_of(self.output)
        fits = broadcast_shapes(source, target) == target
        require(fits, f"{shape_text(source)} does not broadcast to {shape_text(target)}")
        return (TensorType(element_type_of(self.input), target),)


@irdl_op_definition
class TileOp(OnnxOp):
    """The operand, `repeats[i]` times along axis i.

    ```mlir
    %y = onnx.Tile(%x) {repeats = array<i64: 1, 2>} : (tensor<4x8xf32>) -> tensor<4x16xf32>
    ```
    """

    name = "onnx.Tile"

    input = operand_def(Tensor)
    repeats = prop_def(Int64s)
    output = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        shape, repeats = shape_of(self.input), self.repeats.get_values()
        require(len(repeats) == len(shape), f"repeats has {len(repeats)} values, expected {len(shape)}")
        require(min(repeats, default=0) >= 0, f"repeats {list(repeats)} is negative")
        result = tuple(n * times for n, times in zip(shape, repeats, strict=True))
        return (TensorType(element_type_of(self.input), result),)


SHAPE_OPS = (
    ExpandOp,
    FlattenOp,
    ReshapeOp,
    SqueezeOp,
    TileOp,
    TransposeOp,
    UnsqueezeOp,
)
