"""`onnx` ops that combine the elements of several tensors, or reduce those of one."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)

from .onnx_base import (
    BinaryOp,
    Int64,
    Int64s,
    OnnxOp,
    Tensor,
    broadcast,
    element_type_of,
    int64,
    normal_axes,
    require,
    same_element_type,
    shape_of,
)

# Arithmetic and comparison of two tensors or more


@irdl_op_definition
class AddOp(BinaryOp):
    """a + b.

    ```mlir
    %c = onnx.Add(%a, %b) : (tensor<1x64x56x56xf32>, tensor<64x1x1xf32>) -> tensor<1x64x56x56xf32>
    ```
    """

    name = "onnx.Add"


@irdl_op_definition
class SubOp(BinaryOp):
    """a - b.

    ```mlir
    %c = onnx.Sub(%a, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "onnx.Sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """a * b.

    ```mlir
    %c = onnx.Mul(%a, %b) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "onnx.Mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """a / b; integers round towards zero.

    ```mlir
    %c = onnx.Div(%a, %b) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "onnx.Div"


@irdl_op_definition
class ModOp(BinaryOp):
    """The remainder of a / b: with the sign of b, or with the sign of a if `fmod` is 1.

    ```mlir
    %c = onnx.Mod(%a, %b) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
    ```
    """

    name = "onnx.Mod"

    fmod = prop_def(Int64, default_value=int64(0))


@irdl_op_definition
class PowOp(OnnxOp):
    """x to the power of y; the result has the element type of x.

    ```mlir
    %z = onnx.Pow(%x, %y) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "onnx.Pow"

    x = operand_def(Tensor)
    y = operand_def(Tensor)
    z = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        return (TensorType(element_type_of(self.x), broadcast(self.x, self.y)),)


class CompareOp(BinaryOp, ABC):
    """Two tensors, broadcast against each other and compared."""

    def infer(self) -> tuple[Tensor]:
        same_element_type(self.a, self.b)
        return (TensorType(i1, broadcast(self.a, self.b)),)


@irdl_op_definition
class EqualOp(CompareOp):
    """a == b.

    ```mlir
    %c = onnx.Equal(%a, %b) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
    ```
    """

    name = "onnx.Equal"


@irdl_op_definition
class GreaterOp(CompareOp):
    """a > b.

    ```mlir
    %c = onnx.Greater(%a, %b) : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
    ```
    """

    name = "onnx.Greater"


@irdl_op_definition
class LessOp(CompareOp):
    """a < b.

    ```mlir
    %c = onnx.Less(%a, %b) : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
    ```
    """

    name = "onnx.Less"


@irdl_op_definition
class WhereOp(OnnxOp):
    """x where the condition holds, y elsewhere.

    ```mlir
    %z = onnx.Where(%condition, %x, %y) : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    ```
    """

    name = "onnx.Where"

    condition = operand_def(Tensor)
    x = operand_def(Tensor)
    y = operand_def(Tensor)
    z = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        require(element_type_of(self.condition) == i1, f"condition is {self.condition.type}, expected elements of i1")
        return (TensorType(same_element_type(self.x, self.y), broadcast(self.condition, self.x, self.y)),)


class VariadicOp(OnnxOp, ABC):
    """One tensor or more, broadcast against each other."""

    data = var_operand_def(Tensor)
    result = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        require(len(self.data) > 0, "has no operands")
        return (TensorType(same_element_type(*self.data), broadcast(*self.data)),)


@irdl_op_definition
class SumOp(VariadicOp):
    """The sum of all operands.

    ```mlir
    %s = onnx.Sum(%a, %b, %c) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "onnx.Sum"


@irdl_op_definition
class MeanOp(VariadicOp):
    """The mean of all operands.

    ```mlir
    %s = onnx.Mean(%a, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "onnx.Mean"


@irdl_op_definition
class MaxOp(VariadicOp):
    """The largest of the operands, element by element.

    ```mlir
    %s = onnx.Max(%a, %b) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "onnx.Max"


@irdl_op_definition
class MinOp(VariadicOp):
    """The smallest of the operands, element by element.

    ```mlir
    %s = onnx.Min(%a, %b) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
    """

    name = "onnx.Min"


# Reductions


class ReduceOp(OnnxOp, ABC):
    """Reduces over `axes`, over all of them if there are none; `keepdims` 1 keeps the reduced axes with extent 1.

    The standard's later versions pass the axes as an input; the importer turns them into an attribute.
    """

    data = operand_def(Tensor)
    axes = opt_prop_def(Int64s)
    keepdims = prop_def(Int64, default_value=int64(1))
    reduced = result_def(Tensor)

    def reduced_axes(self) -> tuple[int, ...]:
        """The axes reduced over, counted from the front, in order."""
        rank = len(shape_of(self.data))
        if self.axes is None or not len(self.axes):
            return tuple(range(rank))
        return tuple(sorted(normal_axes(self.axes.get_values(), rank)))

    def infer(self) -> tuple[Tensor]:
        axes, keep = self.reduced_axes(), bool(self.keepdims.value.data)
        shape = (1 if i in axes else n for i, n in enumerate(shape_of(self.data)) if keep or i not in axes)
        return (TensorType(element_type_of(self.data), tuple(shape)),)


@irdl_op_definition
class ReduceMeanOp(ReduceOp):
    """The mean over the axes.

    ```mlir
    %y = onnx.ReduceMean(%x) {axes = array<i64: 2, 3>, keepdims = 0 : i64} : (tensor<1x8x4x4xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.ReduceMean"


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """The sum over the axes.

    ```mlir
    %y = onnx.ReduceSum(%x) {axes = array<i64: -1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    ```
    """

    name = "onnx.ReduceSum"


@irdl_op_definition
class ReduceProdOp(ReduceOp):
    """The product over the axes.

    ```mlir
    %y = onnx.ReduceProd(%x) {keepdims = 0 : i64} : (tensor<4xi64>) -> tensor<i64>
    ```
    """

    name = "onnx.ReduceProd"


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """The largest element over the axes.

    ```mlir
    %y = onnx.ReduceMax(%x) {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    ```
    """

    name = "onnx.ReduceMax"


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """The smallest element over the axes.

    ```mlir
    %y = onnx.ReduceMin(%x) {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    ```
    """

    name = "onnx.ReduceMin"


ARITHMETIC_OPS = (
    AddOp,
    DivOp,
    EqualOp,
    GreaterOp,
    LessOp,
    MaxOp,
    MeanOp,
    MinOp,
    ModOp,
    MulOp,
    PowOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
    SubOp,
    SumOp,
    WhereOp,
)
