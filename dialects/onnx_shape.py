"""`onnx` ops that make, move and select elements without computing with them.

Where a later version of the standard passes a shape, axes, pads or the like as an input, the op here has an attribute:
shapes are static, so the importer has to know these values anyway.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import StringAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike

from . import tile
from .onnx_base import (
    Float,
    Int64,
    Int64s,
    OnnxOp,
    Shape,
    Tensor,
    broadcast_shapes,
    element_type_of,
    float32,
    int64,
    normal_axes,
    normal_axis,
    require,
    same_element_type,
    shape_of,
    shape_text,
)


@irdl_op_definition
class ConstantOp(OnnxOp):
    """A constant tensor.

    ```mlir
    %c = onnx.Constant #tile.array<f32[3] [1.0, 2.0, 3.0]>
    ```
    """

    name = "onnx.Constant"

    value = prop_def(tile.ArrayAttr)
    output = result_def(Tensor)

    traits = traits_def(ConstantLike())

    @staticmethod
    def from_array(array: tile.Array | tile.ArrayAttr) -> ConstantOp:
        value = tile.ArrayAttr.get(array)
        return ConstantOp.create(result_types=[value.tensor_type], properties={"value": value})

    def infer(self) -> tuple[Tensor]:
        return (self.value.tensor_type,)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes: dict[str, Attribute] = {}
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, tile.ArrayAttr):
            parser.raise_error("#tile.array expected", start, parser.pos)
        attributes = parser.parse_optional_dictionary_attr_dict()
        op = cls.from_array(value)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)


def constant_of(value: SSAValue | None) -> tile.Array | None:
    """The numbers of a value that an `onnx.Constant` defines, else None."""
    if value is None or not isinstance(value.owner, ConstantOp):
        return None
    return value.owner.value.array


@irdl_op_definition
class ConstantOfShapeOp(OnnxOp):
    """A tensor of the result type's shape, full of the one element of `value`.

    ```mlir
    %y = onnx.ConstantOfShape() {value = #tile.array<f32[1] [0.02]>} : () -> tensor<64x3x7x7xf32>
    ```
    """

    name = "onnx.ConstantOfShape"

    value = prop_def(tile.ArrayAttr)
    output = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        require(self.value.size == 1, f"value has {self.value.size} elements, expected 1")
        return (TensorType(self.value.element_type, shape_of(self.output)),)


@irdl_op_definition
class ShapeOp(OnnxOp):
    """The shape of a tensor, from axis `start` to before axis `end`.

    ```mlir
    %s = onnx.Shape(%x) : (tensor<1x64x56x56xf32>) -> tensor<4xi64>
    ```
    """

    name = "onnx.Shape"

    data = operand_def(Tensor)
    start = prop_def(Int64, default_value=int64(0))
    end = opt_prop_def(Int64)
    shape = result_def(Tensor)

    def extents(self) -> Shape:
        """The elements of the result."""
        return shape_of(self.data)[slice(self.start.value.data, self.end.value.data if self.end else None)]

    def infer(self) -> tuple[Tensor]:
        return (TensorType(i64, (len(self.extents()),)),)


@irdl_op_definition
class SizeOp(OnnxOp):
    """The number of elements of a tensor.

    ```mlir
    %s = onnx.Size(%x) : (tensor<1x64x56x56xf32>) -> tensor<i64>
    ```
    """

    name = "onnx.Size"

    data = operand_def(Tensor)
    size = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        return (TensorType(i64, ()),)


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
class ConcatOp(OnnxOp):
    """The operands one after the other along `axis`.

    ```mlir
    %y = onnx.Concat(%a, %b) {axis = 1 : i64} : (tensor<1x64x7x7xf32>, tensor<1x32x7x7xf32>) -> tensor<1x96x7x7xf32>
    ```
    """

    name = "onnx.Concat"

    inputs = var_operand_def(Tensor)
    axis = prop_def(Int64)
    concatenated = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        require(len(self.inputs) > 0, "has no operands")
        element_type = same_element_type(*self.inputs)
        shapes = [list(shape_of(value)) for value in self.inputs]
        axis = normal_axis(self.axis.value.data, len(shapes[0]))
        for shape in shapes[1:]:
            fits = len(shape) == len(shapes[0]) and all(
                left == right for i, (left, right) in enumerate(zip(shape, shapes[0], strict=True)) if i != axis
            )
            require(fits, f"shapes {shapes[0]} and {shape} differ in more than axis {axis}")
        result = [*shapes[0]]
        result[axis] = sum(shape[axis] for shape in shapes)
        return (TensorType(element_type, result),)


@irdl_op_definition
class SplitOp(OnnxOp):
    """The operand in pieces along `axis`, of the extents `split`.

    ```mlir
    %a, %b = onnx.Split(%x) {axis = 1 : i64, split = array<i64: 64, 32>} : (tensor<1x96x7x7xf32>) -> (tensor<1x64x7x7xf32>, tensor<1x32x7x7xf32>)
    ```
    """  # noqa: E501

    name = "onnx.Split"

    input = operand_def(Tensor)
    axis = prop_def(Int64, default_value=int64(0))
    split = prop_def(Int64s)
    pieces = var_result_def(Tensor)

    def infer(self) -> tuple[Tensor, ...]:
        shape, split = shape_of(self.input), self.split.get_values()
        axis = normal_axis(self.axis.value.data, len(shape))
        fits = sum(split) == shape[axis] and all(extent >= 0 for extent in split)
        require(fits, f"split {list(split)} does not divide the {shape[axis]} of axis {axis}")
        return tuple(
            TensorType(element_type_of(self.input), (*shape[:axis], extent, *shape[axis + 1 :])) for extent in split
        )


@irdl_op_definition
class SliceOp(OnnxOp):
    """`data[starts:ends:steps]` along `axes`, as in Python: negative positions count from the end, ends are clamped.

    ```mlir
    %y = onnx.Slice(%x) {starts = array<i64: 1>, ends = array<i64: 9223372036854775807>, axes = array<i64: 2>, steps = array<i64: 2>} : (tensor<1x8x7xf32>) -> tensor<1x8x3xf32>
    ```
    """  # noqa: E501

    name = "onnx.Slice"

    data = operand_def(Tensor)
    starts = prop_def(Int64s)
    ends = prop_def(Int64s)
    axes = opt_prop_def(Int64s)
    steps = opt_prop_def(Int64s)
    output = result_def(Tensor)

    def slices(self) -> tuple[slice, ...]:
        """One Python slice for each axis of the operand."""
        shape, starts, ends = shape_of(self.data), self.starts.get_values(), self.ends.get_values()
        steps = (1,) * len(starts) if self.steps is None else self.steps.get_values()
        given = range(len(starts)) if self.axes is None else self.axes.get_values()
        same = len(starts) == len(ends) == len(steps) == len(given)
        require(same, "starts, ends, axes and steps differ in length")
        require(0 not in steps, "steps has a zero")
        slices = [slice(None)] * len(shape)
        for axis, start, end, step in zip(normal_axes(given, len(shape)), starts, ends, steps, strict=True):
            # `indices` clamps; a stop of -1 would count from the end again.
            start, stop, step = slice(start, end, step).indices(shape[axis])
            slices[axis] = slice(start, None if stop < 0 else stop, step)
        return tuple(slices)

    def infer(self) -> tuple[Tensor]:
        extents = zip(self.slices(), shape_of(self.data), strict=True)
        shape = tuple(len(range(*piece.indices(extent))) for piece, extent in extents)
        return (TensorType(element_type_of(self.data), shape),)


@irdl_op_definition
class GatherOp(OnnxOp):
    """The slices of `data` along `axis` that the indices name; negative indices count from the end.

    ```mlir
    %y = onnx.Gather(%x, %i) : (tensor<1000x64xf32>, tensor<1x16xi64>) -> tensor<1x16x64xf32>
    ```
    """

    name = "onnx.Gather"

    data = operand_def(Tensor)
    indices = operand_def(Tensor)
    axis = prop_def(Int64, default_value=int64(0))
    output = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        shape = shape_of(self.data)
        index_type = tile.dtype_of(element_type_of(self.indices))
        require(index_type is not None and index_type.kind == "i", f"indices are {self.indices.type}, not integers")
        axis = normal_axis(self.axis.value.data, len(shape))
        return (TensorType(element_type_of(self.data), shape[:axis] + shape_of(self.indices) + shape[axis + 1 :]),)


@irdl_op_definition
class PadOp(OnnxOp):
    """Pads every axis: `pads` has all begins, then all ends. A negative pad cuts off.

    `mode` is `constant` (with `value`), `reflect`, `edge` or `wrap`.

    ```mlir
    %y = onnx.Pad(%x) {pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>} : (tensor<1x8x7x7xf32>) -> tensor<1x8x9x9xf32>
    ```
    """

    name = "onnx.Pad"

    data = operand_def(Tensor)
    pads = prop_def(Int64s)
    mode = prop_def(StringAttr, default_value=StringAttr("constant"))
    value = prop_def(Float, default_value=float32(0.0))
    output = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        shape, pads, rank = shape_of(self.data), self.pads.get_values(), len(shape_of(self.data))
        mode = self.mode.data
        require(mode in ("constant", "reflect", "edge", "wrap"), f"unknown mode {mode!r}")
        require(len(pads) == 2 * rank, f"pads has {len(pads)} values, expected {2 * rank}")
        result = tuple(n + pads[i] + pads[rank + i] for i, n in enumerate(shape))
        require(min(result, default=0) >= 0, f"pads {list(pads)} cut off more than the {shape_text(shape)} there are")
        if mode == "reflect":
            fits = all(max(pads[i], pads[rank + i]) < max(n, 1) for i, n in enumerate(shape))
            require(fits, f"pads {list(pads)} reflect more than the {shape_text(shape)} there are")
        return (TensorType(element_type_of(self.data), result),)


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
    ConcatOp,
    ConstantOfShapeOp,
    ConstantOp,
    ExpandOp,
    FlattenOp,
    GatherOp,
    PadOp,
    ReshapeOp,
    ShapeOp,
    SizeOp,
    SliceOp,
    SplitOp,
    SqueezeOp,
    TileOp,
    TransposeOp,
    UnsqueezeOp,
)
