"""Functions of single elements, of one feature or of two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ...analysis.window import RowWindow
from ...dialects.spat import (
    PickOp,
    ReluOp,
    SigmoidOp,
    SpreadOp,
    TanhOp,
    VAddOp,
    VMaxOp,
    VMulOp,
    VSubOp,
    shape_of,
)
from .batch_builder import BatchBuilder
from .context import LoweringContext, refuse
from .feature import Channels, Feature, Segment
from .weighted import permute

Floats = NDArray[np.float32]
Unary = Callable[[BatchBuilder, SSAValue], SSAValue]
Binary = Callable[[BatchBuilder, SSAValue, SSAValue], SSAValue]


def map_feature(
    context: LoweringContext, op: Operation, feature: Feature, function: Unary, apart: bool = False
) -> Feature:
    """Emits one batch per segment that applies ``function`` to each row; a new one if it is to be ``apart``."""
    segments: list[Segment] = []
    for segment in feature.segments:
        builder = BatchBuilder(feature.rows, op)
        tile = builder.input_tile(segment.value, RowWindow(feature.rows, feature.rows))
        segments.append(context.emit_segment(builder, function(builder, tile), segment, apart))
    return Feature(tuple(segments), feature.images, feature.height, feature.columns, feature.shape)


def combine_features(context: LoweringContext, op: Operation, a: Feature, b: Feature, function: Binary) -> Feature:
    """Emits one batch per segment that combines the rows of two features.

    ``b`` may have one position per image, or one channel.
    """
    repeated = _repeats_over_channels(a, b)
    if not (repeated or _same_shape(a, b) or _repeats_over_positions(a, b)):
        remedy = "give both the same shape, or to one of them one value per channel or per position"
        raise refuse(op, f"operands of shape {list(a.shape)} and {list(b.shape)}", remedy)
    if repeated:
        pairs = [(_whole(segment), _whole(b.segments[0])) for segment in a.segments]
    else:
        pairs = _side_by_side(a, b) or _side_by_side(a, _aligned(context, op, a, b))
        assert pairs is not None
    segments: list[Segment] = []
    for left, right in pairs:
        builder = BatchBuilder(a.rows, op)
        x = left.tile(builder, RowWindow(a.rows, a.rows))
        y = right.tile(builder, RowWindow(a.rows, a.rows) if b.height == a.height else RowWindow(1, a.height, stride=0))
        if repeated:
            y = spread(builder, y, x)
        segments.append(context.emit_segment(builder, function(builder, x, y), Segment(x, left.channels)))
    return Feature(tuple(segments), a.images, a.height, a.columns, a.shape)


@dataclass(frozen=True)
class _Channels:
    """Some channels of a segment, side by side: from which place on, and what they are."""

    segment: Segment
    start: int
    channels: Channels

    def tile(self, builder: BatchBuilder, window: RowWindow) -> SSAValue:
        """Adds the tensor as an input; these channels of the one row that a lane reads."""
        _, columns, channels = shape_of(self.segment.value)
        argument = builder.input(self.segment.value, window)
        return builder.view(argument, 0, self.start, channels, columns, len(self.channels))


def _whole(segment: Segment) -> _Channels:
    return _Channels(segment, 0, segment.channels)


def _side_by_side(a: Feature, b: Feature) -> list[tuple[_Channels, _Channels]] | None:
    """Both features cut into the same channels, without moving any; None if they hold them in different orders."""
    found: list[tuple[_Channels, _Channels]] = []
    others = iter(b.segments)
    right, begin = next(others), 0
    for left in a.segments:
        start = 0
        while start < left.width:
            if begin == right.width:
                right, begin = next(others), 0
            width = min(left.width - start, right.width - begin)
            mine, other = left.channels[start : start + width], right.channels[begin : begin + width]
            if not np.array_equal(mine, other):
                return None
            found.append((_Channels(left, start, mine), _Channels(right, begin, other)))
            start, begin = start + width, begin + width
    return found


def _same_shape(a: Feature, b: Feature) -> bool:
    return a.extents == b.extents and a.shape == b.shape


def _repeats_over_positions(a: Feature, b: Feature) -> bool:
    """Whether ``b`` broadcasts to ``a`` as one value per image and channel."""
    value_per_channel = (a.images, a.channels, 1, 1)
    leading = (1,) * (4 - len(b.shape))
    return a.shape == a.extents and (*leading, *b.shape) == value_per_channel == b.extents


def _repeats_over_channels(a: Feature, b: Feature) -> bool:
    """Whether ``b`` broadcasts to ``a`` as one value per image and position."""
    one_channel = (a.images, 1, a.height, a.columns)
    return a.channels > 1 and a.shape == a.extents and b.shape == one_channel == b.extents


def combine_constant(
    context: LoweringContext, op: Operation, feature: Feature, constant: Floats, function: Binary
) -> Feature:
    """Emits one batch per segment that combines each row with a constant that broadcasts to the feature."""
    if np.broadcast_shapes(constant.shape, feature.shape) != feature.shape:
        raise refuse(
            op,
            f"a constant of shape {list(constant.shape)} with a feature of {list(feature.shape)}",
            "give one that broadcasts to the feature",
        )
    full = np.broadcast_to(constant, feature.shape).reshape(
        feature.images, feature.channels, feature.height, feature.columns
    )
    by_row = full.transpose(0, 2, 3, 1).reshape(feature.rows, feature.columns, feature.channels)
    segments: list[Segment] = []
    for segment in feature.segments:
        builder = BatchBuilder(feature.rows, op)
        tile = builder.input_tile(segment.value, RowWindow(feature.rows, feature.rows))
        operand = _row_constant(builder, by_row[:, :, segment.channels])
        segments.append(context.emit_segment(builder, function(builder, tile, operand), segment))
    return Feature(tuple(segments), feature.images, feature.height, feature.columns, feature.shape)


def _row_constant(builder: BatchBuilder, values: Floats) -> SSAValue:
    """A constant tile for each row: ``values`` ``[rows, columns, channels]``, in its shortest form."""
    if (values == values[:1]).all():
        row = values[0]
        return builder.weight(row[:1] if (row == row[:1]).all() else row)
    rows, index = np.unique(values, axis=0, return_inverse=True)
    return builder.apply(PickOp(builder.weight(rows), index.reshape(-1).astype(np.int32)))


def _aligned(context: LoweringContext, op: Operation, a: Feature, b: Feature) -> Feature:
    """``b`` with its channels in the order of those of ``a``, moved by a product with a permutation."""
    segments = tuple(segment for wanted in a.segments for segment in permute(context, op, b, wanted.channels).segments)
    return Feature(segments, b.images, b.height, b.columns, b.shape)


# Functions of tiles


def filled(builder: BatchBuilder, like: SSAValue, value: float, whole: bool = False) -> SSAValue:
    """A constant that repeats to the shape of ``like``, or has it if ``whole`` (as a left operand must)."""
    columns, channels = shape_of(like)
    return builder.weight(np.full((columns if whole else 1, channels), value, np.float32))


def add(builder: BatchBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return builder.apply(VAddOp(a, b))


def subtract(builder: BatchBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return builder.apply(VSubOp(a, b))


def subtract_from(builder: BatchBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """``b - a``, where ``b`` may repeat and so cannot be the left operand of a difference."""
    return add(builder, scale_by(-1)(builder, a), b)


def multiply(builder: BatchBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return builder.apply(VMulOp(a, b))


def maximum(builder: BatchBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return builder.apply(VMaxOp(a, b))


def minimum(builder: BatchBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """``a - relu(a - b)``: the instruction set has no minimum."""
    return subtract(builder, a, relu(builder, subtract(builder, a, b)))


def relu(builder: BatchBuilder, x: SSAValue) -> SSAValue:
    return builder.apply(ReluOp(x))


def sigmoid(builder: BatchBuilder, x: SSAValue) -> SSAValue:
    return builder.apply(SigmoidOp(x))


def tanh(builder: BatchBuilder, x: SSAValue) -> SSAValue:
    return builder.apply(TanhOp(x))


def spread(builder: BatchBuilder, x: SSAValue, like: SSAValue) -> SSAValue:
    """Repeats one channel to as many as ``like`` has."""
    channels = shape_of(like)[1]
    return x if channels == 1 else builder.apply(SpreadOp(x, channels))


def scale_by(factor: float) -> Unary:
    return lambda builder, x: multiply(builder, x, filled(builder, x, factor))


def clip(low: float | None, high: float | None) -> Unary:
    """Bounds on both sides, either of which may be missing."""

    def apply(builder: BatchBuilder, x: SSAValue) -> SSAValue:
        if low is not None:
            x = relu(builder, x) if low == 0 else maximum(builder, x, filled(builder, x, low))
        if high is not None:
            # min(x, high) = x - relu(x - high), which is exact below the bound.
            over = relu(builder, subtract(builder, x, filled(builder, x, high)))
            x = subtract(builder, x, over)
        return x

    return apply


def leaky_relu(alpha: float) -> Unary:
    """``max(x, alpha x)`` for slopes up to one, otherwise ``min``."""

    def apply(builder: BatchBuilder, x: SSAValue) -> SSAValue:
        scaled = multiply(builder, x, filled(builder, x, alpha))
        return maximum(builder, x, scaled) if alpha <= 1 else minimum(builder, x, scaled)

    return apply


def hard_sigmoid(alpha: float, beta: float) -> Unary:
    def apply(builder: BatchBuilder, x: SSAValue) -> SSAValue:
        line = add(builder, multiply(builder, x, filled(builder, x, alpha)), filled(builder, x, beta))
        return clip(0, 1)(builder, line)

    return apply


def hard_swish(builder: BatchBuilder, x: SSAValue) -> SSAValue:
    return multiply(builder, hard_sigmoid(1 / 6, 1 / 2)(builder, x), x)


def absolute(builder: BatchBuilder, x: SSAValue) -> SSAValue:
    return maximum(builder, x, scale_by(-1)(builder, x))


def exponential(builder: BatchBuilder, x: SSAValue) -> SSAValue:
    """exp for arguments up to zero, of products and sums: the instruction set has no exponential.

    With t = x / 64: the Taylor polynomial of degree 7 at t, squared six times. Below -60 the result is that of -60,
    which is less than 1e-26. The relative error is below 1e-5 for x in [-30, 0].
    """
    x = maximum(builder, x, filled(builder, x, -60.0))
    t = multiply(builder, x, filled(builder, x, 1 / 64))
    degree = 7
    result = add(builder, multiply(builder, t, filled(builder, t, 1 / degree)), filled(builder, t, 1.0))
    for k in range(degree - 1, 0, -1):
        result = multiply(builder, result, multiply(builder, t, filled(builder, t, 1 / k)))
        result = add(builder, result, filled(builder, t, 1.0))
    for _ in range(6):
        result = multiply(builder, result, result)
    return result


def reciprocal(builder: BatchBuilder, x: SSAValue, least: float, most: float) -> SSAValue:
    """1 / x for arguments between two positive bounds, by Newton's iteration from one over the upper bound."""
    two = filled(builder, x, 2.0, whole=True)
    result = filled(builder, x, 1 / most, whole=True)
    for _ in range(int(np.ceil(np.log2(most / least))) + 5):
        result = multiply(builder, result, subtract(builder, two, multiply(builder, x, result)))
    return result


def inverse_fourth_root(builder: BatchBuilder, x: SSAValue, least: float, most: float) -> SSAValue:
    """``x ^ -1/4`` for arguments between two positive bounds, by Newton's iteration.

    The function is convex: the largest of its tangents at points a factor of ten apart lies below it, by at most 18 %
    in between, and each step takes the relative error e to 2.5 e^2. Four steps leave 3e-6. Beyond the upper bound the
    floor under the tangents still leads to the root, if ever more slowly.
    """
    points = [2 * least * 10**k for k in range(int(np.ceil(np.log10(most / least))) + 1)]
    floor = filled(builder, x, 0.5 * points[-1] ** -0.25)
    estimate = floor
    for point in points:
        slope = filled(builder, x, -0.25 * point**-1.25)
        tangent = add(builder, multiply(builder, x, slope), filled(builder, x, 1.25 * point**-0.25))
        estimate = maximum(builder, tangent, estimate)
    quarter = multiply(builder, x, filled(builder, x, 0.25))
    constant = filled(builder, x, 1.25, whole=True)
    for _ in range(4):
        square = multiply(builder, estimate, estimate)
        fourth = multiply(builder, square, square)
        estimate = multiply(builder, estimate, subtract(builder, constant, multiply(builder, fourth, quarter)))
    return estimate
