"""Layers with weights: convolutions and products with a constant matrix.

A convolution is a matrix product: each output position multiplies its window of the input, a vector of K elements, with
a K x N matrix of weights. The K rows of the matrix are cut into slices, one array group each, and the slices are dealt
to parts, one core each. A part is a batch that sums its own slices; if a layer has several parts, another batch adds
their results. N is cut only if the columns of one slice do not fit a core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ...analysis.slicing import Slice, direct_slices, gathered_slices, split_evenly
from ...analysis.window import RowWindow
from ...dialects.location import node_name
from ...dialects.spat import GatherOp, VAddOp, VMMOp, VMulOp, shape_of
from .batch_builder import BatchBuilder
from .context import LayerDemand, LoweringContext
from .feature import Channels, Feature, Segment

Weights = NDArray[np.float32]

SUM_FAN_IN = 8
"""Parts whose results one batch adds."""


@dataclass(frozen=True)
class Kernel:
    """The geometry of a convolution; pairs are (rows, columns)."""

    size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pad_top: int = 0
    pad_left: int = 0
    output: tuple[int, int] = (1, 1)
    """Rows and columns of one output image."""

    def pad_right(self, columns: int) -> int:
        """Columns to add on the right so that the last window has all its columns."""
        reach = (self.output[1] - 1) * self.stride[1] + (self.size[1] - 1) * self.dilation[1] + 1
        return max(0, reach - self.pad_left - columns)

    def row_window(self, feature: Feature, first: int = 0, rows: int | None = None, edge: str = "zero") -> RowWindow:
        """The access map of kernel rows ``first`` to ``first + rows`` (all by default)."""
        padded = edge == "zero"
        return RowWindow(
            height=feature.height,
            lanes=self.output[0],
            rows=self.size[0] if rows is None else rows,
            stride=self.stride[0],
            dilation=self.dilation[0],
            pad_top=self.pad_top - first * self.dilation[0],
            pad_left=self.pad_left if padded else 0,
            pad_right=self.pad_right(feature.columns) if padded else 0,
            edge=edge,
        )


@dataclass(frozen=True)
class Piece:
    """A run of input elements that lie side by side: one kernel row (or, dilated, one kernel position) of a segment."""

    segment: int
    row: int
    column: int
    columns: int

    def length(self, feature: Feature) -> int:
        return self.columns * feature.segments[self.segment].width


def convolve(
    context: LoweringContext, op: Operation, feature: Feature, weights: Weights, bias: Weights | None, kernel: Kernel
) -> Feature:
    """Emits the batches of a convolution with dense ``weights`` ``[N, channels, rows, columns]``."""
    pieces = _pieces(feature, kernel)
    matrix = _matrix(feature, weights, pieces)
    slices, gathered = _slices(context, feature, kernel, pieces)
    machine = context.machine
    columns = machine.array_cols_at(context.precision.weight_bits)
    tiles = -(-matrix.shape[1] // columns)
    column_parts = -(-tiles // machine.arrays_per_core)
    group_arrays = -(-tiles // column_parts)
    lanes = feature.images * kernel.output[0]
    mapping = context.map_layer(
        LayerDemand(
            node_name(op) or op.name,
            lanes,
            len(slices),
            group_arrays,
            column_parts,
            kernel.output[1] * int(machine.mvm_cycles(group_arrays, context.precision)),
            kernel.output[1] * min(group_arrays * columns, matrix.shape[1]),
        )
    )

    segments: list[Segment] = []
    for part in range(column_parts):
        first = part * group_arrays * columns
        last = min(first + group_arrays * columns, matrix.shape[1])
        partials = [
            _emit_part(
                context,
                op,
                feature,
                kernel,
                pieces,
                slices[span.start : span.stop],
                gathered,
                matrix[:, first:last],
                mapping.replicas,
            )
            for span in split_evenly(len(slices), mapping.row_parts)
        ]
        value = _emit_sum(context, op, partials, mapping.replicas)
        if bias is not None:
            value = _emit_bias(context, op, value, bias[first:last], mapping.replicas)
        segments.append(Segment(value, np.arange(first, last, dtype=np.int32)))
    return Feature.of(segments, feature.images, *kernel.output)


def convolve_depthwise(
    context: LoweringContext, op: Operation, feature: Feature, weights: Weights, bias: Weights | None, kernel: Kernel
) -> Feature:
    """Emits a convolution of each channel by itself, with ``weights`` ``[channels, 1, rows, columns]``, as vector ops.

    An array would hold one column per channel and be nearly empty; the vector unit multiplies whole rows.
    """
    lanes = feature.images * kernel.output[0]
    count = kernel.output[1]
    segments: list[Segment] = []
    for segment in feature.segments:
        builder = BatchBuilder(lanes, op)
        rows = builder.input(segment.value, kernel.row_window(feature))
        total: SSAValue | None = None
        for row in range(kernel.size[0]):
            for column in range(kernel.size[1]):
                start = column * kernel.dilation[1] * segment.width
                view = builder.view(rows, row, start, kernel.stride[1] * segment.width, count, segment.width)
                scale = builder.weight(weights[segment.channels, 0, row, column][None])
                product = builder.apply(VMulOp(view, scale))
                total = product if total is None else builder.apply(VAddOp(total, product))
        assert total is not None
        if bias is not None:
            total = builder.apply(VAddOp(total, builder.weight(bias[segment.channels][None])))
        segments.append(context.emit_segment(builder, total, segment))
    return Feature.of(segments, feature.images, *kernel.output)


def permute(context: LoweringContext, op: Operation, feature: Feature, channels: Channels) -> Feature:
    """The feature as one segment with its logical channels in the order ``channels``: a product with a permutation."""
    weights = np.zeros((len(channels), feature.channels, 1, 1), np.float32)
    weights[np.arange(len(channels)), channels] = 1
    kernel = Kernel((1, 1), output=(feature.height, feature.columns))
    moved = convolve(context, op, feature, weights, None, kernel)
    segments = [Segment(segment.value, channels[segment.channels]) for segment in moved.segments]
    return Feature(tuple(segments), feature.images, feature.height, feature.columns, feature.shape)


def _pieces(feature: Feature, kernel: Kernel) -> list[Piece]:
    """The runs of a window in the order of the weight matrix's rows."""
    rows, columns = kernel.size
    if kernel.dilation[1] == 1:
        spans = [(0, columns)]
    else:
        spans = [(column, 1) for column in range(columns)]
    return [
        Piece(segment, row, *span) for row in range(rows) for span in spans for segment in range(len(feature.segments))
    ]


def _matrix(feature: Feature, weights: Weights, pieces: Sequence[Piece]) -> Weights:
    """The K x N weight matrix whose rows follow the pieces."""
    by_position = weights.transpose(2, 3, 1, 0)
    blocks = [
        by_position[piece.row, piece.column : piece.column + piece.columns][
            :, feature.segments[piece.segment].channels
        ].reshape(-1, weights.shape[0])
        for piece in pieces
    ]
    return np.ascontiguousarray(np.concatenate(blocks))


def _slices(
    context: LoweringContext, feature: Feature, kernel: Kernel, pieces: Sequence[Piece]
) -> tuple[tuple[Slice, ...], bool]:
    """The slices of a layer, and whether its windows are gathered: whichever takes less time per window."""
    machine, lengths = context.machine, [piece.length(feature) for piece in pieces]
    direct = direct_slices(lengths, machine.array_rows)
    gathered = gathered_slices(lengths, machine.array_rows)
    if len(direct) == len(gathered):
        return direct, False
    mvm_cycles = int(machine.mvm_cycles(1, context.precision))
    element_bytes = context.precision.input_bytes
    copies = sum(int(machine.copy_cycles(run.length * element_bytes)) for part in gathered for run in part.runs)
    gain = (len(direct) - len(gathered)) * mvm_cycles
    return (gathered, True) if copies < gain else (direct, False)


def _emit_part(
    context: LoweringContext,
    op: Operation,
    feature: Feature,
    kernel: Kernel,
    pieces: Sequence[Piece],
    slices: Sequence[Slice],
    gathered: bool,
    matrix: Weights,
    replicas: int,
) -> SSAValue:
    """Emits the batch that multiplies the slices of one part and adds their products."""
    builder = BatchBuilder(feature.images * kernel.output[0], op, replicas)
    used = {pieces[run.piece] for part in slices for run in part.runs}
    first_row = {s: min(p.row for p in used if p.segment == s) for s in sorted({p.segment for p in used})}
    last_row = {s: max(p.row for p in used if p.segment == s) for s in first_row}
    rows = {
        s: builder.input(
            feature.segments[s].value, kernel.row_window(feature, first_row[s], last_row[s] - first_row[s] + 1)
        )
        for s in first_row
    }
    first = slices[0].row
    held = builder.weight(matrix[first : slices[-1].row + slices[-1].length])

    def read(piece: Piece, start: int, length: int) -> SSAValue:
        width = feature.segments[piece.segment].width
        return builder.view(
            rows[piece.segment],
            piece.row - first_row[piece.segment],
            piece.column * kernel.dilation[1] * width + start,
            kernel.stride[1] * width,
            kernel.output[1],
            length,
        )

    vectors: list[SSAValue]
    runs = [[read(pieces[run.piece], run.start, run.length) for run in part.runs] for part in slices]
    if gathered and any(len(run) > 1 for run in runs):
        window = builder.apply(GatherOp([view for part in runs for view in part]))
        total_length = sum(part.length for part in slices)
        vectors = [
            builder.view(window, 0, part.row - first, total_length, kernel.output[1], part.length) for part in slices
        ]
    else:
        vectors = [view for part in runs for view in part]

    total: SSAValue | None = None
    for part, vector in zip(slices, vectors, strict=True):
        product = builder.apply(VMMOp(vector, held, part.row - first))
        total = product if total is None else builder.apply(VAddOp(total, product))
    assert total is not None
    return context.emit(builder, total)[0]


def _emit_sum(context: LoweringContext, op: Operation, partials: Sequence[SSAValue], replicas: int) -> SSAValue:
    """Emits the batches that add the results of the parts: a tree, so that no core has to hold or add all of them."""
    level = list(partials)
    while len(level) > 1:
        groups = split_evenly(len(level), -(-len(level) // SUM_FAN_IN))
        level = [_emit_sum_of(context, op, level[group.start : group.stop], replicas) for group in groups]
    return level[0]


def _emit_sum_of(context: LoweringContext, op: Operation, partials: Sequence[SSAValue], replicas: int) -> SSAValue:
    if len(partials) == 1:
        return partials[0]
    builder = _rowwise(op, partials[0], replicas)
    identity = RowWindow(builder.lanes, builder.lanes)
    tiles = [builder.input_tile(partial, identity) for partial in partials]
    total = tiles[0]
    for tile in tiles[1:]:
        total = builder.apply(VAddOp(total, tile))
    return context.emit(builder, total)[0]


def _emit_bias(context: LoweringContext, op: Operation, value: SSAValue, bias: Weights, replicas: int) -> SSAValue:
    builder = _rowwise(op, value, replicas)
    tile = builder.input_tile(value, RowWindow(builder.lanes, builder.lanes))
    return context.emit(builder, builder.apply(VAddOp(tile, builder.weight(bias[None]))))[0]


def _rowwise(op: Operation, value: SSAValue, replicas: int) -> BatchBuilder:

    return BatchBuilder(shape_of(value)[0], op, replicas)
