"""The lowering of each ONNX op, in a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...dialects import onnx
from ...dialects.onnx_base import shape_of
from ...dialects.spat import InputOp
from . import elementwise as ew
from .context import LoweringContext, refuse
from .crops import lower_pad, lower_slice, lower_split
from .feature import Feature, Segment
from .normalization import local_response, softmax
from .operands import constant_of, feature_of, kernel_of, spatial, weights_of
from .pooling import average_pool, global_pool, max_pool, window_counts
from .product import Kernel
from .shapes import lower_concat, lower_reshape, lower_transpose
from .weighted import convolve, convolve_depthwise

Lower = Callable[[LoweringContext, Any], Feature | list[Feature]]


# Layers with weights


def _conv(context: LoweringContext, op: onnx.ConvOp) -> Feature:
    feature = spatial(context, op, op.x)
    weights = weights_of(context, op, op.w, "weights")
    bias = constant_of(context, op, op.b, "bias") if op.b is not None else None
    kernel = kernel_of(op, op.window(), op.y)
    # Rows of the input that several lanes read would be loaded by each of their cores, through one port: copy them.
    if kernel.size[0] > kernel.stride[0]:
        feature = _passed_on(context, op, feature)
    group = op.group.value.data
    if group > 1 and group == feature.channels == weights.shape[0]:
        return convolve_depthwise(context, op, feature, weights, bias, kernel)
    return convolve(context, op, feature, weights, bias, kernel, group)


def _passed_on(context: LoweringContext, op: Operation, feature: Feature) -> Feature:
    """The feature with copies of the network's inputs in their places: one of each, whoever needs it."""
    segments: list[Segment] = []
    for segment in feature.segments:
        if isinstance(segment.value.owner, InputOp):
            one = Feature((segment,), feature.images, feature.height, feature.columns, feature.shape)
            (segment,) = ew.map_feature(context, op, one, lambda _, x: x).segments
        segments.append(segment)
    return replace(feature, segments=tuple(segments))


def _gemm(context: LoweringContext, op: onnx.GemmOp) -> Feature:
    feature = context.features.get(op.a)
    weights = weights_of(context, op, op.b, "matrix")
    bias = constant_of(context, op, op.c, "bias") if op.c is not None else None
    if feature is None or len(feature.shape) != 2 or feature.shape[0] != feature.images:
        raise refuse(op, f"a left operand of type {op.a.type}", "one row per image is supported")
    # The product with a flattened image is a convolution whose kernel is the image.
    outputs = weights.shape[1]
    dense = weights.T.reshape(outputs, feature.channels, feature.height, feature.columns)
    if bias is not None:
        if bias.size not in (1, outputs):
            raise refuse(op, f"a bias of shape {list(bias.shape)}", f"one value or {outputs} are supported")
        bias = np.broadcast_to(bias.reshape(-1), (outputs,))
    kernel = Kernel((feature.height, feature.columns), stride=(feature.height, feature.columns))
    return convolve(context, op, feature, dense, bias, kernel).reshaped(shape_of(op.y))


# Pools


def _max_pool(context: LoweringContext, op: onnx.MaxPoolOp) -> Feature:
    return max_pool(context, op, spatial(context, op, op.x), kernel_of(op, op.window(), op.y))


def _average_pool(context: LoweringContext, op: onnx.AveragePoolOp) -> Feature:
    feature = spatial(context, op, op.x)
    window = op.window()
    kernel = kernel_of(op, window, op.y)
    if kernel.size == (feature.height, feature.columns) and not any(window.pads):
        return global_pool(context, op, feature, "add")
    pads_end = (window.pads_end[0], window.pads_end[1])
    counts = window_counts(feature, kernel, pads_end, bool(op.count_include_pad.value.data))
    return average_pool(context, op, feature, kernel, counts)


def _global_pool(kind: str) -> Lower:
    def lower(context: LoweringContext, op: onnx.GlobalAveragePoolOp | onnx.GlobalMaxPoolOp) -> Feature:
        return global_pool(context, op, spatial(context, op, op.x), kind)

    return lower


# Element by element


def _unary(function: Callable[[Any], ew.Unary]) -> Lower:
    def lower(context: LoweringContext, op: onnx.UnaryOp) -> Feature:
        return ew.map_feature(context, op, feature_of(context, op, op.x), function(op))

    return lower


def _binary(function: ew.Binary, exchanged: ew.Binary | None = None) -> Lower:
    """``exchanged`` is the function with its operands exchanged, unless it commutes."""

    def lower(context: LoweringContext, op: onnx.BinaryOp) -> Feature:
        a, b = op.operands
        if a in context.constants:
            return ew.combine_constant(
                context, op, feature_of(context, op, b), context.constants[a], exchanged or function
            )
        feature = context.features[a]
        if b in context.constants:
            return ew.combine_constant(context, op, feature, context.constants[b], function)
        other = context.features[b]
        if math.prod(feature.shape) < math.prod(other.shape):
            return ew.combine_features(context, op, other, feature, exchanged or function)
        return ew.combine_features(context, op, feature, other, function)

    return lower


def _variadic(function: ew.Binary) -> Lower:
    """Of one operand after the other, in whatever order: those of the result's shape first, constants last."""

    def lower(context: LoweringContext, op: onnx.MaxOp | onnx.MinOp) -> Feature:
        shape = shape_of(op.result)
        first, *others = sorted(op.data, key=lambda one: (one in context.constants, shape_of(one) != shape))
        found = feature_of(context, op, first)
        for other in others:
            constant = context.constants.get(other)
            if constant is None:
                found = ew.combine_features(context, op, found, context.features[other], function)
            else:
                found = ew.combine_constant(context, op, found, constant, function)
        return found

    return lower


def _clip(op: onnx.ClipOp) -> ew.Unary:
    low, high = op.minimum, op.maximum
    return ew.clip(None if low is None else low.value.data, None if high is None else high.value.data)


def _prelu(context: LoweringContext, op: onnx.PReluOp) -> Feature:
    slope = constant_of(context, op, op.slope, "slope")
    if (slope > 1).any():
        raise refuse(op, f"a slope of {float(slope.max()):g}", "slopes of at most 1 are supported")

    def function(builder: Any, x: SSAValue, scale: SSAValue) -> SSAValue:
        return ew.maximum(builder, x, ew.multiply(builder, x, scale))

    return ew.combine_constant(context, op, feature_of(context, op, op.x), slope, function)


LOWERINGS: dict[str, Lower] = {
    "onnx.Conv": _conv,
    "onnx.Gemm": _gemm,
    "onnx.MaxPool": _max_pool,
    "onnx.AveragePool": _average_pool,
    "onnx.GlobalAveragePool": _global_pool("add"),
    "onnx.GlobalMaxPool": _global_pool("max"),
    "onnx.Relu": _unary(lambda _: ew.relu),
    "onnx.Sigmoid": _unary(lambda _: ew.sigmoid),
    "onnx.Tanh": _unary(lambda _: ew.tanh),
    "onnx.Neg": _unary(lambda _: ew.scale_by(-1.0)),
    "onnx.Abs": _unary(lambda _: ew.absolute),
    "onnx.Clip": _unary(_clip),
    "onnx.LeakyRelu": _unary(lambda op: ew.leaky_relu(op.alpha.value.data)),
    "onnx.HardSigmoid": _unary(lambda op: ew.hard_sigmoid(op.alpha.value.data, op.beta.value.data)),
    "onnx.HardSwish": _unary(lambda _: ew.hard_swish),
    "onnx.PRelu": _prelu,
    "onnx.Add": _binary(ew.add),
    "onnx.Sub": _binary(ew.subtract, ew.subtract_from),
    "onnx.Mul": _binary(ew.multiply),
    "onnx.Max": _variadic(ew.maximum),
    "onnx.Min": _variadic(ew.minimum),
    "onnx.Softmax": lambda context, op: softmax(context, op, feature_of(context, op, op.x)),
    "onnx.LRN": lambda context, op: local_response(context, op, spatial(context, op, op.x)),
    "onnx.Identity": lambda context, op: feature_of(context, op, op.operands[0]),
    "onnx.Reshape": lower_reshape,
    "onnx.Transpose": lower_transpose,
    "onnx.Concat": lower_concat,
    "onnx.Split": lower_split,
    "onnx.Slice": lower_slice,
    "onnx.Pad": lower_pad,
}
"""The lowering of each op, by name. An op that is not here is an error that names the node."""

WITHOUT_BATCHES = frozenset(("onnx.Identity", "onnx.Reshape", "onnx.Transpose", "onnx.Concat"))
"""Ops that only rename channels."""

SIMPLIFIED = frozenset(
    f"onnx.{name}" for name in ("BatchNormalization", "Dropout", "Flatten", "Mean", "Squeeze", "Sum", "Unsqueeze")
)
"""Ops of which `onnx-simplify` leaves none."""

SOMETIMES_SIMPLIFIED = frozenset(
    f"onnx.{name}" for name in ("Cast", "Div", "Expand", "MatMul", "Pow", "ReduceMean", "Tile")
)
"""Ops of which `onnx-simplify` leaves some: it depends on their attributes, or on what is constant."""
