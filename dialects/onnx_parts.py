"""`onnx` ops that join tensors, cut them and select from them.

Where a later version of the standard passes axes, pads or the like as an input, the op here has an attribute:
shapes are static, so the importer has to know these values anyway.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from . import tile
from .onnx_base import (
    Float,
    Int64,
    Int64s,
    OnnxOp,
    Tensor,
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


PART_OPS = (
    ConcatOp,
    GatherOp,
    PadOp,
    SliceOp,
    SplitOp,
)
