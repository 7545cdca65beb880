"""`onnx` ops that are a function of each element of one tensor."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import TypeAttribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from .onnx_base import (
    Float,
    OnnxOp,
    Tensor,
    UnaryOp,
    broadcast,
    element_type_of,
    float32,
    require,
    same_element_type,
    shape_of,
)
from .tile import dtype_of


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(0, x).

    ```mlir
    %y = onnx.Relu(%x) : (tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
    ```
    """

    name = "onnx.Relu"


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """x if x >= 0, else alpha * x.

    ```mlir
    %y = onnx.LeakyRelu(%x) {alpha = 2.000000e-01 : f32} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.LeakyRelu"

    alpha = prop_def(Float, default_value=float32(0.01))


@irdl_op_definition
class PReluOp(OnnxOp):
    """x if x >= 0, else slope * x; the slope broadcasts to x.

    ```mlir
    %y = onnx.PRelu(%x, %slope) : (tensor<1x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<1x8x4x4xf32>
    ```
    """

    name = "onnx.PRelu"

    x = operand_def(Tensor)
    slope = operand_def(Tensor)
    y = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        same_element_type(self.x, self.slope)
        require(broadcast(self.x, self.slope) == shape_of(self.x), "slope does not broadcast to x")
        return (TensorType(element_type_of(self.x), shape_of(self.x)),)


@irdl_op_definition
class EluOp(UnaryOp):
    """x if x >= 0, else alpha * (exp(x) - 1).

    ```mlir
    %y = onnx.Elu(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Elu"

    alpha = prop_def(Float, default_value=float32(1.0))


@irdl_op_definition
class HardSigmoidOp(UnaryOp):
    """max(0, min(1, alpha * x + beta)).

    ```mlir
    %y = onnx.HardSigmoid(%x) {alpha = 0.166666672 : f32} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.HardSigmoid"

    alpha = prop_def(Float, default_value=float32(0.2))
    beta = prop_def(Float, default_value=float32(0.5))


@irdl_op_definition
class HardSwishOp(UnaryOp):
    """x * max(0, min(1, x / 6 + 1 / 2)).

    ```mlir
    %y = onnx.HardSwish(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.HardSwish"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x)).

    ```mlir
    %y = onnx.Sigmoid(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Sigmoid"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent.

    ```mlir
    %y = onnx.Tanh(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Tanh"


@irdl_op_definition
class SoftplusOp(UnaryOp):
    """log(1 + exp(x)).

    ```mlir
    %y = onnx.Softplus(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Softplus"


@irdl_op_definition
class ErfOp(UnaryOp):
    """The error function.

    ```mlir
    %y = onnx.Erf(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Erf"


@irdl_op_definition
class ExpOp(UnaryOp):
    """The exponential function.

    ```mlir
    %y = onnx.Exp(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm.

    ```mlir
    %y = onnx.Log(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Log"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root.

    ```mlir
    %y = onnx.Sqrt(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Sqrt"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """1 / x.

    ```mlir
    %y = onnx.Reciprocal(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Reciprocal"


@irdl_op_definition
class NegOp(UnaryOp):
    """-x.

    ```mlir
    %y = onnx.Neg(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Neg"


@irdl_op_definition
class AbsOp(UnaryOp):
    """The absolute value.

    ```mlir
    %y = onnx.Abs(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Abs"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The largest integer not above x.

    ```mlir
    %y = onnx.Floor(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Floor"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The smallest integer not below x.

    ```mlir
    %y = onnx.Ceil(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Ceil"


@irdl_op_definition
class ClipOp(UnaryOp):
    """min(max, max(min, x)); a bound that is left out does not bound.

    The standard's later versions pass the bounds as inputs; the importer turns them into attributes.

    ```mlir
    %y = onnx.Clip(%x) {min = 0.000000e+00 : f32, max = 6.000000e+00 : f32} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Clip"

    minimum = opt_prop_def(Float, prop_name="min")
    maximum = opt_prop_def(Float, prop_name="max")

    def allows_number(self, number: float) -> bool:
        """A bound may be infinite."""
        return not math.isnan(number)


@irdl_op_definition
class IdentityOp(UnaryOp):
    """x.

    ```mlir
    %y = onnx.Identity(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Identity"


@irdl_op_definition
class DropoutOp(UnaryOp):
    """x: a dropout does nothing in inference, the only mode that this dialect knows.

    ```mlir
    %y = onnx.Dropout(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "onnx.Dropout"


@irdl_op_definition
class NotOp(UnaryOp):
    """Logical negation.

    ```mlir
    %y = onnx.Not(%x) : (tensor<4xi1>) -> tensor<4xi1>
    ```
    """

    name = "onnx.Not"

    def infer(self) -> tuple[Tensor]:
        require(element_type_of(self.x) == i1, f"operand is {self.x.type}, expected elements of i1")
        return super().infer()


@irdl_op_definition
class CastOp(OnnxOp):
    """Converts the elements to the type `to`: float to integer truncates, anything to `i1` compares with zero.

    ```mlir
    %y = onnx.Cast(%x) {to = f32} : (tensor<4xi64>) -> tensor<4xf32>
    ```
    """

    name = "onnx.Cast"

    x = operand_def(Tensor)
    to = prop_def(TypeAttribute)
    y = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        require(dtype_of(self.to) is not None, f"cannot cast to {self.to}")
        return (TensorType(self.to, shape_of(self.x)),)


ELEMENTWISE_OPS = (
    AbsOp,
    CastOp,
    CeilOp,
    ClipOp,
    DropoutOp,
    EluOp,
    ErfOp,
    ExpOp,
    FloorOp,
    HardSigmoidOp,
    HardSwishOp,
    IdentityOp,
    LeakyReluOp,
    LogOp,
    NegOp,
    NotOp,
    PReluOp,
    ReciprocalOp,
    ReluOp,
    SigmoidOp,
    SoftplusOp,
    SqrtOp,
    TanhOp,
)
