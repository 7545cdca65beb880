"""Pools over windows and over whole images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ...analysis.window import RowWindow
from ...dialects import onnx
from ...dialects.spat import PadOp, PickOp, ReduceColumnsOp, ReduceRowsOp, VAddOp, VMaxOp, VMulOp
from .batch_builder import BatchBuilder
from .context import LoweringContext, refuse
from .feature import Feature, Segment
from .product import Kernel

Floats = NDArray[np.float32]

HIGH = 4
"""Rows of an image from which on a global pool combines each row by itself, before all of them."""


def max_pool(context: LoweringContext, op: onnx.MaxPoolOp, feature: Feature, kernel: Kernel) -> Feature:
    """Rows outside the image, and columns beside it, repeat the nearest element of the window: the maximum stays."""
    right = kernel.pad_right(feature.columns)
    beside = kernel.pad_top or kernel.pad_bottom(feature.height), kernel.pad_left or right
    # The nearest element may be one that a dilated window leaves out.
    if any(step > 1 and over for step, over in zip(kernel.dilation, beside, strict=True)):
        raise refuse(
            op,
            f"a dilated maximum pool (dilations {kernel.dilation}) with padding, or windows that reach over the edge",
            "pad with onnx.Pad",
        )
    segments: list[Segment] = []
    for segment in feature.segments:
        builder = BatchBuilder(feature.images * kernel.output[0], op)
        rows = builder.input(segment.value, kernel.row_window(feature, edge="clamp"))
        columns = feature.columns, min(feature.columns, kernel.reach - kernel.pad_left)
        result = _pool(builder, "max", rows, kernel, columns, segment.width, (kernel.pad_left, right))
        segments.append(context.emit_segment(builder, result, segment))
    return Feature.of(segments, feature.images, *kernel.output)


def average_pool(
    context: LoweringContext,
    op: onnx.AveragePoolOp,
    feature: Feature,
    kernel: Kernel,
    counts: NDArray[np.int64],
) -> Feature:
    """``counts`` ``[rows, columns]`` of the output: the number of elements that each window averages."""
    columns = kernel.pad_left + feature.columns + kernel.pad_right(feature.columns)
    scale = (1 / counts).astype(np.float32)
    segments: list[Segment] = []
    for segment in feature.segments:
        builder = BatchBuilder(feature.images * kernel.output[0], op)
        rows = builder.input(segment.value, kernel.row_window(feature))
        total = _pool(builder, "add", rows, kernel, (columns, min(columns, kernel.reach)), segment.width)
        if (scale != 1).any():
            total = builder.apply(VMulOp(total, position_constant(builder, scale, feature.images, segment.width)))
        segments.append(context.emit_segment(builder, total, segment))
    return Feature.of(segments, feature.images, *kernel.output)


def global_pool(context: LoweringContext, op: Operation, feature: Feature, kind: str) -> Feature:
    """The sum (times one over the count) or the maximum of each channel over an image.

    Of a high image, each row is combined first, in a lane of its own: one core would take long to receive all of them.
    """
    segments: list[Segment] = []
    for segment in feature.segments:
        columns = feature.columns
        if feature.height >= HIGH and columns > 1:
            segment, columns = _combined_columns(context, op, feature, segment, kind), 1
        builder = BatchBuilder(feature.images, op)
        rows = builder.input(segment.value, RowWindow(feature.height, 1, rows=feature.height, stride=feature.height))
        tile = _combine_rows(builder, kind, rows, feature.height, (columns, columns), segment.width)
        if columns > 1:
            tile = builder.apply(ReduceColumnsOp(kind, tile))
        if kind == "add" and feature.height * feature.columns > 1:
            count = np.full((1, segment.width), 1 / (feature.height * feature.columns), np.float32)
            tile = builder.apply(VMulOp(tile, builder.weight(count)))
        segments.append(context.emit_segment(builder, tile, segment))
    return Feature.of(segments, feature.images, 1, 1)


def _combined_columns(
    context: LoweringContext, op: Operation, feature: Feature, segment: Segment, kind: str
) -> Segment:
    """Each row of a segment as one column."""
    builder = BatchBuilder(feature.rows, op)
    tile = builder.input_tile(segment.value, RowWindow(feature.rows, feature.rows))
    return context.emit_segment(builder, builder.apply(ReduceColumnsOp(kind, tile)), segment)


def position_constant(builder: BatchBuilder, values: Floats, images: int, channels: int) -> SSAValue:
    """A tile of constants that depend on the position only: ``values`` ``[rows, columns]`` of one image.

    One column if they depend on nothing, one row if they do not depend on the row, otherwise a table of the rows.
    """
    rows = np.unique(values, axis=0)
    if len(rows) == 1:
        columns = rows[0] if len(np.unique(rows)) > 1 else rows[0][:1]
        return builder.weight(np.repeat(columns[:, None], channels, axis=1))
    index = np.array([np.flatnonzero((rows == row).all(axis=1))[0] for row in values], np.int32)
    stack = builder.weight(np.repeat(rows[:, :, None], channels, axis=2))
    return builder.apply(PickOp(stack, np.tile(index, images)))


def window_counts(feature: Feature, kernel: Kernel, pads_end: tuple[int, int], include_pad: bool) -> NDArray[np.int64]:
    """How many elements each window averages, ``[rows, columns]``. What lies behind the padding never counts."""
    per_axis: list[NDArray[np.int64]] = []
    extents = (feature.height, feature.columns)
    begins = (kernel.pad_top, kernel.pad_left)
    for axis in (0, 1):
        position = (
            np.arange(kernel.output[axis])[:, None] * kernel.stride[axis]
            - begins[axis]
            + np.arange(kernel.size[axis]) * kernel.dilation[axis]
        )
        low = -begins[axis] if include_pad else 0
        high = extents[axis] + (pads_end[axis] if include_pad else 0)
        per_axis.append(((position >= low) & (position < high)).sum(axis=1))
    return per_axis[0][:, None] * per_axis[1]


def _pool(
    builder: BatchBuilder,
    kind: str,
    rows: SSAValue,
    kernel: Kernel,
    columns: tuple[int, int],
    channels: int,
    pads: tuple[int, int] = (0, 0),
) -> SSAValue:
    """What the windows hold together: first the rows of each column, then columns. Of ``columns``, there are so many,
    and the first so many are read; ``pads`` are added to those beside them."""
    down, across = kernel.size
    _, read = columns
    if read <= across * kernel.output[1]:
        tiles = [_combine_rows(builder, kind, rows, down, columns, channels)]
    else:
        # Columns between the windows would be combined in vain.
        tiles = [builder.view(rows, row, 0, channels, read, channels) for row in range(down)]
    if any(pads):
        tiles = [builder.apply(PadOp(tile, left=pads[0], right=pads[1])) for tile in tiles]
    return _combined(builder, kind, [view for tile in tiles for view in _columns(builder, tile, kernel, channels)])


def _combined(builder: BatchBuilder, kind: str, tiles: Sequence[SSAValue]) -> SSAValue:
    combine = VMaxOp if kind == "max" else VAddOp
    result = tiles[0]
    for tile in tiles[1:]:
        result = builder.apply(combine(result, tile))
    return result


def _combine_rows(
    builder: BatchBuilder, kind: str, rows: SSAValue, count: int, columns: tuple[int, int], channels: int
) -> SSAValue:
    """One tile of all rows: of the columns that are read, which are the first so many."""
    there, read = columns
    if count > 1 and there == read:
        return builder.apply(ReduceRowsOp(kind, rows))
    return _combined(builder, kind, [builder.view(rows, row, 0, channels, read, channels) for row in range(count)])


def _columns(builder: BatchBuilder, tile: SSAValue, kernel: Kernel, channels: int) -> list[SSAValue]:
    """One view of the tile for each kernel column."""
    step = kernel.stride[1] * channels
    return [
        builder.view(tile, 0, column * kernel.dilation[1] * channels, step, kernel.output[1], channels)
        for column in range(kernel.size[1])
    ]
