"""Pools over windows and over whole images."""

from __future__ import annotations

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


def max_pool(context: LoweringContext, op: onnx.MaxPoolOp, feature: Feature, kernel: Kernel) -> Feature:
    """Rows outside the image, and columns beside it, repeat the nearest element of the window: the maximum stays."""
    right = kernel.pad_right(feature.columns)
    if max(kernel.dilation) > 1 and (kernel.pad_left or kernel.pad_top or right):
        raise refuse(op, f"a dilated maximum pool (dilations {kernel.dilation}) with padding", "pad with onnx.Pad")
    segments: list[Segment] = []
    for segment in feature.segments:
        builder = BatchBuilder(feature.images * kernel.output[0], op)
        rows = builder.input(segment.value, kernel.row_window(feature, edge="clamp"))
        tile = _combine_rows(builder, "max", rows, kernel.size[0], feature.columns, segment.width)
        if kernel.pad_left or right:
            tile = builder.apply(PadOp(tile, left=kernel.pad_left, right=right))
        views = _columns(builder, tile, kernel, segment.width)
        result = views[0]
        for view in views[1:]:
            result = builder.apply(VMaxOp(result, view))
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
        tile = _combine_rows(builder, "add", rows, kernel.size[0], columns, segment.width)
        views = _columns(builder, tile, kernel, segment.width)
        total = views[0]
        for view in views[1:]:
            total = builder.apply(VAddOp(total, view))
        total = builder.apply(VMulOp(total, position_constant(builder, scale, feature.images, segment.width)))
        segments.append(context.emit_segment(builder, total, segment))
    return Feature.of(segments, feature.images, *kernel.output)


def global_pool(context: LoweringContext, op: Operation, feature: Feature, kind: str) -> Feature:
    """The sum (times one over the count) or the maximum of each channel over an image."""
    segments: list[Segment] = []
    whole = RowWindow(feature.height, 1, rows=feature.height, stride=feature.height)
    for segment in feature.segments:
        builder = BatchBuilder(feature.images, op)
        rows = builder.input(segment.value, whole)
        tile = _combine_rows(builder, kind, rows, feature.height, feature.columns, segment.width)
        if feature.columns > 1:
            tile = builder.apply(ReduceColumnsOp(kind, tile))
        if kind == "add" and feature.height * feature.columns > 1:
            count = np.full((1, segment.width), 1 / (feature.height * feature.columns), np.float32)
            tile = builder.apply(VMulOp(tile, builder.weight(count)))
        segments.append(context.emit_segment(builder, tile, segment))
    return Feature.of(segments, feature.images, 1, 1)


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


def _combine_rows(
    builder: BatchBuilder, kind: str, rows: SSAValue, count: int, columns: int, channels: int
) -> SSAValue:
    if count > 1:
        return builder.apply(ReduceRowsOp(kind, rows))
    return builder.view(rows, 0, 0, channels, columns, channels)


def _columns(builder: BatchBuilder, tile: SSAValue, kernel: Kernel, channels: int) -> list[SSAValue]:
    """One view of the tile for each kernel column."""
    step = kernel.stride[1] * channels
    return [
        builder.view(tile, 0, column * kernel.dilation[1] * channels, step, kernel.output[1], channels)
        for column in range(kernel.size[1])
    ]
