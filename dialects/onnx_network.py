"""`onnx` ops that make up the layers of a network: convolutions, pools, matrix products, normalizations."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from .onnx_base import (
    Float,
    Int64,
    Int64s,
    OnnxOp,
    SameTypeOp,
    Tensor,
    Window,
    broadcast_shapes,
    element_type_of,
    float32,
    int64,
    normal_axis,
    require,
    require_shape,
    same_element_type,
    shape_of,
    shape_text,
    tensor_type,
    window_of,
)


@irdl_op_definition
class ConvOp(OnnxOp):
    """A convolution of x [N, C, spatial…] with w [M, C / group, kernel…], plus a bias [M].

    After `onnx-simplify`, `kernel_shape`, `pads` (all begins, then all ends), `strides` and `dilations` are given and
    `auto_pad` is not.

    ```mlir
    %y = onnx.Conv(%x, %w, %b) {kernel_shape = array<i64: 7, 7>, pads = array<i64: 3, 3, 3, 3>, strides = array<i64: 2, 2>} : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<1x64x112x112xf32>
    ```
    """  # noqa: E501

    name = "onnx.Conv"

    x = operand_def(Tensor)
    w = operand_def(Tensor)
    b = opt_operand_def(Tensor)
    kernel_shape = opt_prop_def(Int64s)
    pads = opt_prop_def(Int64s)
    strides = opt_prop_def(Int64s)
    dilations = opt_prop_def(Int64s)
    group = prop_def(Int64, default_value=int64(1))
    auto_pad = opt_prop_def(StringAttr)
    y = result_def(Tensor)

    def window(self) -> Window:
        """The geometry, with every default filled in."""
        return window_of(self, shape_of(self.w)[2:], shape_of(self.x)[2:])

    def infer(self) -> tuple[Tensor]:
        x, w, group = shape_of(self.x), shape_of(self.w), self.group.value.data
        same_element_type(self.x, self.w, *([self.b] if self.b else []))
        require(len(x) == len(w), f"x has rank {len(x)}, w has rank {len(w)}")
        require(len(x) > 2, f"x has shape {shape_text(x)}, expected [N, C, spatial...]")
        require(group > 0, f"group is {group}")
        require(x[1] == w[1] * group, f"x has {x[1]} channels, w takes {w[1]} in each of {group} groups")
        require(w[0] % group == 0, f"w has {w[0]} output channels, which {group} groups do not divide")
        if self.kernel_shape is not None:
            kernel = self.kernel_shape.get_values()
            require(kernel == w[2:], f"kernel_shape is {list(kernel)}, w has kernels of {shape_text(w[2:])}")
        if self.b is not None:
            require_shape(self.b, (w[0],), "b")
        return (TensorType(element_type_of(self.x), (x[0], w[0], *self.window().positions(x[2:]))),)


class PoolOp(OnnxOp, ABC):
    """A pool over windows of x [N, C, spatial…]. `ceil_mode` 1 rounds the number of windows up.

    After `onnx-simplify`, `kernel_shape`, `pads`, `strides` and `dilations` are given and `auto_pad` is not.
    """

    x = operand_def(Tensor)
    kernel_shape = prop_def(Int64s)
    pads = opt_prop_def(Int64s)
    strides = opt_prop_def(Int64s)
    dilations = opt_prop_def(Int64s)
    ceil_mode = prop_def(Int64, default_value=int64(0))
    auto_pad = opt_prop_def(StringAttr)
    y = result_def(Tensor)

    def window(self) -> Window:
        """The geometry, with every default filled in."""
        return window_of(self, self.kernel_shape.get_values(), shape_of(self.x)[2:])

    def infer(self) -> tuple[Tensor]:
        x = shape_of(self.x)
        require(len(x) > 2, f"x has shape {shape_text(x)}, expected [N, C, spatial...]")
        require(self.ceil_mode.value.data in (0, 1), f"ceil_mode is {self.ceil_mode.value.data}, 0 or 1 expected")
        window = self.window()
        for pad, extent in zip(window.pads, window.extents * 2, strict=True):
            require(pad < extent, f"pads {list(window.pads)} are not smaller than the window of {list(window.extents)}")
        positions = window.positions(x[2:], ceil=bool(self.ceil_mode.value.data))
        return (TensorType(element_type_of(self.x), (*x[:2], *positions)),)


@irdl_op_definition
class MaxPoolOp(PoolOp):
    """The largest element of each window; padding never wins.

    ```mlir
    %y = onnx.MaxPool(%x) {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, ceil_mode = 1 : i64} : (tensor<1x64x55x56xf32>) -> tensor<1x64x27x28xf32>
    ```
    """  # noqa: E501

    name = "onnx.MaxPool"


@irdl_op_definition
class AveragePoolOp(PoolOp):
    """The mean of each window. `count_include_pad` 1 counts the padding as zeros, 0 leaves it out.

    ```mlir
    %y = onnx.AveragePool(%x) {count_include_pad = 1 : i64, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x64x56x56xf32>) -> tensor<1x64x28x28xf32>
    ```
    """  # noqa: E501

    name = "onnx.AveragePool"

    count_include_pad = prop_def(Int64, default_value=int64(0))

    def infer(self) -> tuple[Tensor]:
        counted = self.count_include_pad.value.data
        require(counted in (0, 1), f"count_include_pad is {counted}, 0 or 1 expected")
        return super().infer()


class GlobalPoolOp(OnnxOp, ABC):
    """A pool over all spatial dimensions of x [N, C, spatial…]; they stay, with extent 1."""

    x = operand_def(Tensor)
    y = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        x = shape_of(self.x)
        require(len(x) > 2, f"x has shape {shape_text(x)}, expected [N, C, spatial...]")
        return (TensorType(element_type_of(self.x), (*x[:2], *(1,) * (len(x) - 2))),)


@irdl_op_definition
class GlobalAveragePoolOp(GlobalPoolOp):
    """The mean of each channel.

    ```mlir
    %y = onnx.GlobalAveragePool(%x) : (tensor<1x512x7x7xf32>) -> tensor<1x512x1x1xf32>
    ```
    """

    name = "onnx.GlobalAveragePool"


@irdl_op_definition
class GlobalMaxPoolOp(GlobalPoolOp):
    """The largest element of each channel.

    ```mlir
    %y = onnx.GlobalMaxPool(%x) : (tensor<1x512x7x7xf32>) -> tensor<1x512x1x1xf32>
    ```
    """

    name = "onnx.GlobalMaxPool"


@irdl_op_definition
class GemmOp(OnnxOp):
    """alpha * a' * b' + beta * c, where a' and b' are a and b, transposed if `transA` or `transB` is 1.

    After `onnx-simplify`, `alpha` and `beta` are 1 and nothing is transposed.

    ```mlir
    %y = onnx.Gemm(%a, %b, %c) {transB = 1 : i64} : (tensor<1x512xf32>, tensor<1000x512xf32>, tensor<1000xf32>) -> tensor<1x1000xf32>
    ```
    """  # noqa: E501

    name = "onnx.Gemm"

    a = operand_def(Tensor)
    b = operand_def(Tensor)
    c = opt_operand_def(Tensor)
    alpha = prop_def(Float, default_value=float32(1.0))
    beta = prop_def(Float, default_value=float32(1.0))
    trans_a = prop_def(Int64, default_value=int64(0), prop_name="transA")
    trans_b = prop_def(Int64, default_value=int64(0), prop_name="transB")
    y = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        a, b = shape_of(self.a), shape_of(self.b)
        element_type = same_element_type(self.a, self.b, *([self.c] if self.c else []))
        require(len(a) == len(b) == 2, f"a has shape {shape_text(a)}, b {shape_text(b)}; both need rank 2")
        m, inner = reversed(a) if self.trans_a.value.data else a
        rows, n = reversed(b) if self.trans_b.value.data else b
        require(inner == rows, f"a has {inner} columns, b has {rows} rows")
        if self.c is not None:
            c = shape_of(self.c)
            fits = broadcast_shapes(c, (m, n)) == (m, n)
            require(fits, f"c has shape {shape_text(c)}, which does not broadcast to {m}x{n}")
        return (TensorType(element_type, (m, n)),)


@irdl_op_definition
class MatMulOp(OnnxOp):
    """The matrix product of numpy: the last two dimensions multiply, those before them broadcast.

    ```mlir
    %y = onnx.MatMul(%a, %b) : (tensor<8x1x16xf32>, tensor<16x4xf32>) -> tensor<8x1x4xf32>
    ```
    """

    name = "onnx.MatMul"

    a = operand_def(Tensor)
    b = operand_def(Tensor)
    y = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        a, b = shape_of(self.a), shape_of(self.b)
        element_type = same_element_type(self.a, self.b)
        require(a != () != b, "a scalar has no matrix product")
        # A vector on the left is a row, on the right a column; either vanishes from the result.
        columns, rows = a[-1], b[-2:][0]
        require(columns == rows, f"a has {columns} columns, b has {rows} rows")
        return (TensorType(element_type, broadcast_shapes(a[:-2], b[:-2]) + a[-2:-1] + b[-2:][1:]),)


@irdl_op_definition
class BatchNormalizationOp(OnnxOp):
    """(x - mean) / sqrt(var + epsilon) * scale + b, channel by channel: inference, with given statistics.

    ```mlir
    %y = onnx.BatchNormalization(%x, %scale, %b, %mean, %var) : (tensor<1x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x64x56x56xf32>
    ```
    """  # noqa: E501

    name = "onnx.BatchNormalization"

    x = operand_def(Tensor)
    scale = operand_def(Tensor)
    b = operand_def(Tensor)
    mean = operand_def(Tensor)
    var = operand_def(Tensor)
    epsilon = prop_def(Float, default_value=float32(1e-5))
    y = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        x = shape_of(self.x)
        require(len(x) > 1, f"x has shape {shape_text(x)}, expected [N, C, ...]")
        for name in ("scale", "b", "mean", "var"):
            require_shape(getattr(self, name), (x[1],), name)
        return (tensor_type(self.x),)


@irdl_op_definition
class LRNOp(SameTypeOp):
    """Local response normalization: x / (bias + alpha / size * sum of squares over `size` channels around) ^ beta.

    ```mlir
    %y = onnx.LRN(%x) {size = 5 : i64} : (tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
    ```
    """

    name = "onnx.LRN"

    size = prop_def(Int64)
    alpha = prop_def(Float, default_value=float32(0.0001))
    beta = prop_def(Float, default_value=float32(0.75))
    bias = prop_def(Float, default_value=float32(1.0))

    def infer(self) -> tuple[Tensor]:
        require(self.size.value.data > 0, f"size is {self.size.value.data}")
        require(len(shape_of(self.x)) > 1, f"x is {self.x.type}, expected [N, C, ...]")
        return super().infer()


class AxisOp(SameTypeOp, ABC):
    """A function of the vectors along `axis`."""

    axis = prop_def(Int64, default_value=int64(-1))

    def infer(self) -> tuple[Tensor]:
        normal_axis(self.axis.value.data, len(shape_of(self.x)))
        return super().infer()


@irdl_op_definition
class SoftmaxOp(AxisOp):
    """exp(x) / sum(exp(x)) along one axis.

    Before opset 13 the standard flattened the axes from `axis` on; the importer reshapes around the op where that
    differs.

    ```mlir
    %y = onnx.Softmax(%x) {axis = 1 : i64} : (tensor<1x1000xf32>) -> tensor<1x1000xf32>
    ```
    """

    name = "onnx.Softmax"


@irdl_op_definition
class LogSoftmaxOp(AxisOp):
    """log(softmax(x)) along one axis.

    ```mlir
    %y = onnx.LogSoftmax(%x) : (tensor<1x1000xf32>) -> tensor<1x1000xf32>
    ```
    """

    name = "onnx.LogSoftmax"


NETWORK_OPS = (
    AveragePoolOp,
    BatchNormalizationOp,
    ConvOp,
    GemmOp,
    GlobalAveragePoolOp,
    GlobalMaxPoolOp,
    LRNOp,
    LogSoftmaxOp,
    MatMulOp,
    MaxPoolOp,
    SoftmaxOp,
)
