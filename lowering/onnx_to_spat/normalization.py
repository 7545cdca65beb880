"""Softmax and local response normalization, of products, sums and reductions."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...analysis.window import RowWindow
from ...dialects import onnx
from ...dialects.spat import GatherOp, PadOp, ReduceChannelsOp, shape_of
from .batch_builder import BatchBuilder
from .context import LoweringContext, refuse
from .elementwise import add, exponential, filled, inverse_fourth_root, multiply, reciprocal, spread, subtract
from .feature import Feature, Segment
from .weighted import permute

LARGEST_LRN_SUM = 1e4
"""The normalization's ``bias + alpha * mean of squares`` up to which its power is exact to rounding."""


def softmax(context: LoweringContext, op: onnx.SoftmaxOp, feature: Feature) -> Feature:
    """Over the channels of each position."""
    axis = op.axis.value.data % len(feature.shape)
    single = feature.channels == feature.shape[axis] == 1
    if not single and feature.channel_axes() != range(axis, axis + 1):
        raise refuse(op, f"a softmax over axis {axis} of a tensor of shape {list(feature.shape)}", "use the channels")
    builder = BatchBuilder(feature.rows, op)
    x = merged_tile(builder, feature)
    shifted = subtract(builder, x, spread(builder, builder.apply(ReduceChannelsOp("max", x)), x))
    powers = exponential(builder, shifted)
    total = builder.apply(ReduceChannelsOp("add", powers))
    inverse = reciprocal(builder, total, 1.0, float(feature.channels))
    (result,) = context.emit(builder, multiply(builder, powers, spread(builder, inverse, powers)))
    channels = np.concatenate([segment.channels for segment in feature.segments])
    segment = Segment(result, channels)
    return Feature((segment,), feature.images, feature.height, feature.columns, feature.shape)


def local_response(context: LoweringContext, op: onnx.LRNOp, feature: Feature) -> Feature:
    """``x / (bias + alpha / size * sum of squares over neighbouring channels) ^ beta`` for beta 1/2, 3/4 or 1."""
    size, alpha, beta, bias = (
        op.size.value.data,
        op.alpha.value.data,
        op.beta.value.data,
        op.bias.value.data,
    )
    if round(beta, 6) not in (0.5, 0.75, 1.0):
        raise refuse(op, f"attribute beta = {beta:g}", "0.5, 0.75 and 1 are supported")
    if not (0 < bias < LARGEST_LRN_SUM and alpha >= 0):
        raise refuse(
            op,
            f"attributes bias = {bias:g}, alpha = {alpha:g}",
            "a bias above 0 and below 10000 and an alpha of at least 0 are supported",
        )
    feature = in_order(context, op, feature)
    builder = BatchBuilder(feature.rows, op)
    x = merged_tile(builder, feature)
    columns, channels = shape_of(x)
    # Neighbours beyond all channels are none.
    before = min((size - 1) // 2, channels - 1)
    after = min(size - 1 - (size - 1) // 2, channels - 1)
    reach = before + after + 1
    padded_channels = channels + reach - 1
    padded = builder.apply(PadOp(x, before=before, after=after))
    # One long row: the padding keeps the windows of neighbouring columns apart, so that one op sums all of them.
    length = columns * padded_channels
    squares = _flat(builder, multiply(builder, padded, padded), 0, length)
    total = _flat(builder, squares, 0, length - reach + 1)
    for offset in range(1, reach):
        total = add(builder, total, _flat(builder, squares, offset, length - reach + 1))
    # From here on by column, so that constants are those of a column.
    sums = builder.view(total, 0, 0, padded_channels, columns, channels)
    scaled = multiply(builder, sums, filled(builder, sums, alpha / size))
    root = inverse_fourth_root(builder, add(builder, scaled, filled(builder, scaled, bias)), bias, LARGEST_LRN_SUM)
    power = root
    for _ in range(round(4 * beta) - 1):
        power = multiply(builder, power, root)
    (result,) = context.emit(builder, multiply(builder, power, x))
    order = np.concatenate([segment.channels for segment in feature.segments])
    return Feature((Segment(result, order),), feature.images, feature.height, feature.columns, feature.shape)


def in_order(context: LoweringContext, op: Operation, feature: Feature) -> Feature:
    """The feature with its segments in the order of the logical channels, moved by a product where they are not."""
    order = np.concatenate([segment.channels for segment in feature.segments])
    wanted = np.arange(feature.channels, dtype=np.int32)
    return feature if np.array_equal(order, wanted) else permute(context, op, feature, wanted)


def merged_tile(builder: BatchBuilder, feature: Feature) -> SSAValue:
    """The row of all segments as one tile, segment by segment."""
    window = RowWindow(feature.rows, feature.rows)
    tiles = [builder.input_tile(segment.value, window) for segment in feature.segments]
    return tiles[0] if len(tiles) == 1 else builder.apply(GatherOp(tiles))


def _flat(builder: BatchBuilder, tile: SSAValue, start: int, length: int) -> SSAValue:
    return builder.view(tile, 0, start, length, 1, length)
