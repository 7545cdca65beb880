"""What each `onnx` op computes, in numpy. Plain rather than fast, but convolutions go through BLAS."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ..dialects import onnx
from ..dialects.onnx import OnnxOp, Window
from ..dialects.onnx_base import shape_of, tensor_type
from ..dialects.tile import dtype_of

Array: TypeAlias = NDArray[Any]
Kernel: TypeAlias = Callable[[Any, Sequence[Array]], Array | Sequence[Array]]


def evaluate(op: OnnxOp, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The results of ``op`` on ``operands``."""
    with np.errstate(all="ignore"):
        values = KERNELS[type(op)](op, operands)
        results = [values] if isinstance(values, np.ndarray | np.generic) else values
        return tuple(map(_typed, op.results, results))


def _typed(result: SSAValue, value: Array) -> Array:
    """``value`` with the element type of ``result``."""
    dtype = dtype_of(tensor_type(result).get_element_type())
    array = np.asarray(value).astype(dtype, copy=False)
    assert array.shape == shape_of(result), f"kernel gives {array.shape}, the type says {result.type}"
    return array


# Windows


def _padded(x: Array, window: Window, positions: Sequence[int], fill: float) -> Array:
    """``x`` with padding on its spatial dimensions: as much as the last window of each dimension reaches."""
    widths = [(0, 0), (0, 0)]
    for i, size in enumerate(x.shape[2:]):
        reach = (positions[i] - 1) * window.strides[i] + window.extents[i]
        begin = window.pads_begin[i]
        widths.append((begin, max(reach - size - begin, window.pads_end[i])))
    return np.pad(x, widths, constant_values=np.asarray(fill).astype(x.dtype))


def _taps(padded: Array, window: Window, positions: Sequence[int]) -> list[Array]:
    """For each element of the kernel, what it sees at all window positions: views [N, C, positions…]."""
    views: list[Array] = []
    for offsets in itertools.product(*map(range, window.kernel)):
        index = [slice(None), slice(None)]
        for i, offset in enumerate(offsets):
            start, stride = offset * window.dilations[i], window.strides[i]
            index.append(slice(start, start + (positions[i] - 1) * stride + 1, stride))
        views.append(padded[tuple(index)])
    return views


def _convolution(op: onnx.ConvOp, operands: Sequence[Array]) -> Array:
    x, w, *bias = operands
    window, positions, group = op.window(), shape_of(op.y)[2:], op.group.value.data
    padded = _padded(x, window, positions, 0)
    count, outputs = math.prod(positions), w.shape[0] // group
    weights = w.reshape(group, outputs, -1)
    result = np.empty((len(x), group, outputs, count), x.dtype)
    for image, target in zip(padded, result, strict=True):
        columns = np.stack(_taps(image[None], window, positions), axis=2)  # [1, C, kernel, positions…]
        np.matmul(weights, columns.reshape(group, weights.shape[2], count), out=target)
    y = result.reshape(shape_of(op.y))
    return y + bias[0].reshape(-1, *[1] * len(positions)) if bias else y


def _max_pool(op: onnx.MaxPoolOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    window, positions = op.window(), shape_of(op.y)[2:]
    lowest = -math.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    first, *others = _taps(_padded(x, window, positions, lowest), window, positions)
    y = first.copy()
    for tap in others:
        np.maximum(y, tap, out=y)
    return y


def _average_pool(op: onnx.AveragePoolOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    window, positions = op.window(), shape_of(op.y)[2:]
    total = np.zeros(shape_of(op.y), np.float64)
    for tap in _taps(_padded(x, window, positions, 0), window, positions):
        total += tap
    counted = np.ones((1, 1, *x.shape[2:]))
    if op.count_include_pad.value.data:
        pads = zip(window.pads_begin, window.pads_end, strict=True)
        counted = np.pad(counted, [(0, 0), (0, 0), *pads], constant_values=1)
        window = window._replace(pads_begin=(0,) * len(positions), pads_end=(0,) * len(positions))
    divisor = np.zeros((1, 1, *positions))
    for tap in _taps(_padded(counted, window, positions, 0), window, positions):
        divisor += tap
    return total / divisor


# Layers


def _spatial_axes(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def _gemm(op: onnx.GemmOp, operands: Sequence[Array]) -> Array:
    a, b, *c = operands
    product = (a.T if op.trans_a.value.data else a) @ (b.T if op.trans_b.value.data else b)
    product = product * product.dtype.type(op.alpha.value.data)
    return product + c[0] * product.dtype.type(op.beta.value.data) if c else product


def _batch_normalization(op: onnx.BatchNormalizationOp, operands: Sequence[Array]) -> Array:
    x, *parameters = operands
    scale, b, mean, var = (p.reshape(-1, *[1] * (x.ndim - 2)) for p in parameters)
    return (x - mean) / np.sqrt(var + x.dtype.type(op.epsilon.value.data)) * scale + b


def _lrn(op: onnx.LRNOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    size = op.size.value.data
    before = (size - 1) // 2
    squares = np.concatenate([np.zeros_like(x[:, :1]), np.cumsum(x.astype(np.float64) ** 2, axis=1)], axis=1)
    channels = np.arange(x.shape[1], dtype=np.int64)
    first: Array = np.clip(channels - before, 0, x.shape[1])
    last: Array = np.clip(channels - before + size, 0, x.shape[1])
    total = squares[:, last] - squares[:, first]
    return x / (op.bias.value.data + op.alpha.value.data / size * total) ** op.beta.value.data


def _softmax(op: onnx.SoftmaxOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    axis = op.axis.value.data
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _log_softmax(op: onnx.LogSoftmaxOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    axis = op.axis.value.data
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


# Elements


def _unary(function: Callable[[Array], Any]) -> Kernel:
    return lambda op, operands: function(*operands)


def _binary(function: Callable[[Array, Array], Any]) -> Kernel:
    return lambda op, operands: function(*operands)


def _variadic(function: Callable[[Array, Array], Any]) -> Kernel:
    def kernel(op: OnnxOp, operands: Sequence[Array]) -> Array:
        first, *others = operands
        for other in others:
            first = function(first, other)
        return first

    return kernel


def _with_alpha(function: Callable[[Array, Any], Any]) -> Kernel:
    def kernel(op: onnx.LeakyReluOp | onnx.EluOp, operands: Sequence[Array]) -> Array:
        (x,) = operands
        return np.where(x >= 0, x, function(x, x.dtype.type(op.alpha.value.data)))

    return kernel


def _hard_sigmoid(op: onnx.HardSigmoidOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    return np.clip(x.dtype.type(op.alpha.value.data) * x + x.dtype.type(op.beta.value.data), 0, 1)


def _clip(op: onnx.ClipOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    if op.minimum is not None:
        x = np.maximum(x, x.dtype.type(op.minimum.value.data))
    if op.maximum is not None:
        x = np.minimum(x, x.dtype.type(op.maximum.value.data))
    return x


def _divide(a: Array, b: Array) -> Array:
    return a / b if a.dtype.kind == "f" else np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


def _mod(op: onnx.ModOp, operands: Sequence[Array]) -> Array:
    a, b = operands
    return np.fmod(a, b) if op.fmod.value.data else np.mod(a, b)


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _reduce(function: Callable[..., Any]) -> Kernel:
    def kernel(op: onnx.ReduceOp, operands: Sequence[Array]) -> Array:
        (x,) = operands
        return function(x, axis=op.reduced_axes(), keepdims=bool(op.keepdims.value.data))

    return kernel


# Shapes


def _pad(op: onnx.PadOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    pads = op.pads.get_values()
    widths = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    cut = tuple(slice(max(-b, 0), n - max(-e, 0)) for (b, e), n in zip(widths, x.shape, strict=True))
    grow = [(max(b, 0), max(e, 0)) for b, e in widths]
    if op.mode.data == "constant":
        return np.pad(x[cut], grow, constant_values=np.asarray(op.value.value.data).astype(x.dtype))
    return np.pad(x[cut], grow, mode={"reflect": "reflect", "edge": "edge", "wrap": "wrap"}[op.mode.data])  # pyright: ignore


def _split(op: onnx.SplitOp, operands: Sequence[Array]) -> list[Array]:
    (x,) = operands
    return np.split(x, np.cumsum(op.split.get_values())[:-1], axis=op.axis.value.data)


def _reshape(op: OnnxOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    return x.reshape(shape_of(op.results[0]))


def _concat(op: onnx.ConcatOp, operands: Sequence[Array]) -> Array:
    return np.concatenate(operands, axis=op.axis.value.data)


def _gather(op: onnx.GatherOp, operands: Sequence[Array]) -> Array:
    data, indices = operands
    return np.take(data, indices, axis=op.axis.value.data)


def _expand(op: onnx.ExpandOp, operands: Sequence[Array]) -> Array:
    (x,) = operands
    return np.broadcast_to(x, shape_of(op.output))


KERNELS: dict[type[OnnxOp], Kernel] = {
    onnx.AbsOp: _unary(np.abs),
    onnx.AddOp: _binary(np.add),
    onnx.AveragePoolOp: _average_pool,
    onnx.BatchNormalizationOp: _batch_normalization,
    onnx.CastOp: lambda op, operands: operands[0],
    onnx.CeilOp: _unary(np.ceil),
    onnx.ClipOp: _clip,
    onnx.ConcatOp: _concat,
    onnx.ConstantOfShapeOp: lambda op, _: np.full(shape_of(op.output), op.value.array.reshape(())),
    onnx.ConstantOp: lambda op, _: op.value.array,
    onnx.ConvOp: _convolution,
    onnx.DivOp: _binary(_divide),
    onnx.DropoutOp: lambda op, operands: operands[0],
    onnx.EluOp: _with_alpha(lambda x, alpha: alpha * np.expm1(x)),
    onnx.EqualOp: _binary(np.equal),
    onnx.ErfOp: _unary(_erf),
    onnx.ExpOp: _unary(np.exp),
    onnx.ExpandOp: _expand,
    onnx.FlattenOp: _reshape,
    onnx.FloorOp: _unary(np.floor),
    onnx.GatherOp: _gather,
    onnx.GemmOp: _gemm,
    onnx.GlobalAveragePoolOp: _unary(lambda x: x.mean(axis=_spatial_axes(x), keepdims=True)),
    onnx.GlobalMaxPoolOp: _unary(lambda x: x.max(axis=_spatial_axes(x), keepdims=True)),
    onnx.GreaterOp: _binary(np.greater),
    onnx.HardSigmoidOp: _hard_sigmoid,
    onnx.HardSwishOp: _unary(lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    onnx.IdentityOp: lambda op, operands: operands[0],
    onnx.LRNOp: _lrn,
    onnx.LeakyReluOp: _with_alpha(lambda x, alpha: alpha * x),
    onnx.LessOp: _binary(np.less),
    onnx.LogOp: _unary(np.log),
    onnx.LogSoftmaxOp: _log_softmax,
    onnx.MatMulOp: _binary(np.matmul),
    onnx.MaxOp: _variadic(np.maximum),
    onnx.MaxPoolOp: _max_pool,
    onnx.MeanOp: lambda op, operands: sum(operands[1:], operands[0]) / len(operands),
    onnx.MinOp: _variadic(np.minimum),
    onnx.ModOp: _mod,
    onnx.MulOp: _binary(np.multiply),
    onnx.NegOp: _unary(np.negative),
    onnx.NotOp: _unary(np.logical_not),
    onnx.PReluOp: _binary(lambda x, slope: np.where(x >= 0, x, slope * x)),
    onnx.PadOp: _pad,
    onnx.PowOp: _binary(lambda x, y: np.power(x, y.astype(x.dtype) if x.dtype.kind == "f" else y)),
    onnx.ReciprocalOp: _unary(lambda x: 1 / x),
    onnx.ReduceMaxOp: _reduce(np.max),
    onnx.ReduceMeanOp: _reduce(np.mean),
    onnx.ReduceMinOp: _reduce(np.min),
    onnx.ReduceProdOp: _reduce(np.prod),
    onnx.ReduceSumOp: _reduce(np.sum),
    onnx.ReluOp: _unary(lambda x: np.maximum(x, 0)),
    onnx.ReshapeOp: _reshape,
    onnx.ShapeOp: lambda op, _: np.array(op.extents(), np.int64),
    onnx.SigmoidOp: _unary(lambda x: 1 / (1 + np.exp(-x))),
    onnx.SizeOp: lambda op, _: np.array(math.prod(shape_of(op.data)), np.int64),
    onnx.SliceOp: lambda op, operands: operands[0][op.slices()],
    onnx.SoftmaxOp: _softmax,
    onnx.SoftplusOp: _unary(lambda x: np.logaddexp(x, 0)),
    onnx.SplitOp: _split,
    onnx.SqrtOp: _unary(np.sqrt),
    onnx.SqueezeOp: _reshape,
    onnx.SubOp: _binary(np.subtract),
    onnx.SumOp: _variadic(np.add),
    onnx.TanhOp: _unary(np.tanh),
    onnx.TileOp: lambda op, operands: np.tile(operands[0], op.repeats.get_values()),
    onnx.TransposeOp: lambda op, operands: operands[0].transpose(op.permutation()),
    onnx.UnsqueezeOp: _reshape,
    onnx.WhereOp: lambda op, operands: np.where(*operands),
}
"""The function of every op of the dialect."""
