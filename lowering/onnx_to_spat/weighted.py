"""Layers with weights: convolutions and products with a constant matrix.

A convolution is a matrix product: each output position multiplies its window of the input, a vector of K elements, with
a K x N matrix of weights, or several windows at a time a larger one (`product.py`). The K rows of the matrix are cut
into slices, one array group each, and the slices are dealt to parts, one core each. A part is a batch that sums its own
slices; if a layer has several parts, other batches add their results. N is cut into column parts, whose results stay
apart, if it is large or the columns of one slice do not fit a core (`products`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ...analysis.slicing import Slice, split_evenly
from ...analysis.window import RowWindow
from ...dialects.array_layout import Rows
from ...dialects.location import node_name
from ...dialects.spat import GatherOp, VAddOp, VMMOp, VMulOp, shape_of, tile_type
from .batch_builder import BatchBuilder
from .context import LayerDemand, LayerMapping, LoweringContext
from .feature import Channels, Feature, Segment, segment_of
from .group_blocks import blocks_of, products_of
from .product import Kernel, Piece, Product

Weights = NDArray[np.float32]

SUM_FAN_IN = 4
"""Parts whose results one batch adds."""


def convolve(
    context: LoweringContext,
    op: Operation,
    feature: Feature,
    weights: Weights,
    bias: Weights | None,
    kernel: Kernel,
    groups: int = 1,
) -> Feature:
    """Emits the batches of a convolution with ``weights`` ``[N, channels of a group, rows, columns]``."""
    blocks = blocks_of(feature, kernel, weights.shape[0], groups, context.machine, context.precision)
    options = products_of(blocks, kernel, context.machine, context.precision)
    rows = feature.images * kernel.output[0]
    mapping = context.next_mapping()
    product = options[0] if mapping is None else mapping.product(options)
    products = [replace(product, feature=block.feature, outputs=len(block.outputs)) for block in blocks]
    spans = [_column_spans(one) for one in products]
    values: Sequence[SSAValue]
    if mapping is None:
        results = [tile_type(rows, kernel.output[1], len(span)) for mine in spans for span in mine]
        values = context.announce(LayerDemand(node_name(op) or op.name, rows, tuple(options)), feature, results)
    else:
        dense = [block.weights(weights) for block in blocks]
        values = [
            _emit_columns(context, op, one, mapping, own, block.bias(bias), span)
            for block, one, own, mine in zip(blocks, products, dense, spans, strict=True)
            for span in mine
        ]
    first = [block.outputs.start + span.start for block, mine in zip(blocks, spans, strict=True) for span in mine]
    segments = [segment_of(value, channel) for value, channel in zip(values, first, strict=True)]
    return Feature.of(segments, feature.images, *kernel.output)


def _column_spans(product: Product) -> list[range]:
    """The columns of the weight matrix that each column part has."""
    columns = product.windows * product.outputs
    width = product.group_arrays * product.array_columns
    return [range(first, min(first + width, columns)) for first in range(0, columns, width)]


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
    """The feature as one segment with its logical channels in the order ``channels``: a product with a permutation.

    Several layers may want the same order of one feature, which is then moved once.
    """
    moved = context.moved.setdefault(_content(feature), {})
    segments = moved.get(channels.tobytes())
    if segments is None:
        segments = moved[channels.tobytes()] = _permuted(context, op, feature, channels)
    return Feature(segments, feature.images, feature.height, feature.columns, feature.shape)


def _permuted(context: LoweringContext, op: Operation, feature: Feature, channels: Channels) -> tuple[Segment, ...]:
    weights = np.zeros((len(channels), feature.channels, 1, 1), np.float32)
    weights[np.arange(len(channels)), channels] = 1
    kernel = Kernel((1, 1), output=(feature.height, feature.columns))
    moved = convolve(context, op, feature, weights, None, kernel)
    return tuple([Segment(segment.value, channels[segment.channels]) for segment in moved.segments])


def _content(feature: Feature) -> object:
    """Where each channel of the feature is, whatever its shape."""
    segments = [(segment.value, segment.channels.tobytes()) for segment in feature.segments]
    return feature.images, feature.height, feature.columns, *segments


def _emit_columns(
    context: LoweringContext,
    op: Operation,
    product: Product,
    mapping: LayerMapping,
    weights: Weights,
    bias: Weights | None,
    columns: range,
) -> SSAValue:
    """Emits the batches of one column part, with dense ``weights`` ``[outputs, channels, rows, columns]``."""
    matrix = product.matrix(weights, columns.start, columns.stop)
    slices = _overlapping_first(product)
    partials = [
        _emit_part(context, op, product, slices[span.start : span.stop], matrix, mapping)
        for span in split_evenly(len(slices), min(mapping.row_parts, len(slices)))
    ]
    value = _emit_sum(context, op, partials, mapping.replicas)
    bias = None if bias is None else bias[columns.start : columns.stop]
    return _emit_bias(context, op, product, value, bias, mapping.replicas)


def _emit_part(
    context: LoweringContext,
    op: Operation,
    product: Product,
    slices: Sequence[Slice],
    matrix: Weights | Rows,
    mapping: LayerMapping,
) -> SSAValue:
    """Emits the batch that multiplies the slices of one part and adds their products."""
    feature, kernel, pieces = product.feature, product.padded_kernel, product.pieces
    builder = BatchBuilder(feature.images * kernel.output[0], op, mapping.replicas)
    used = {pieces[run.piece] for part in slices for run in part.runs}
    first_row = {s: min(p.row for p in used if p.segment == s) for s in sorted({p.segment for p in used})}
    last_row = {s: max(p.row for p in used if p.segment == s) for s in first_row}
    rows = {
        s: builder.input(
            feature.segments[s].value, kernel.row_window(feature, first_row[s], last_row[s] - first_row[s] + 1)
        )
        for s in first_row
    }
    held, starts = _rows_of(matrix, slices)
    weights = builder.weight(held)

    def read(piece: Piece, start: int, length: int) -> SSAValue:
        segment = feature.segments[piece.segment]
        return builder.view(
            rows[piece.segment],
            piece.row - first_row[piece.segment],
            piece.column * kernel.dilation[1] * segment.pitch + segment.first + start,
            product.step * segment.pitch,
            product.columns,
            length,
        )

    vectors: list[SSAValue]
    runs = [[read(pieces[run.piece], run.start, run.length) for run in part.runs] for part in slices]
    if any(len(run) > 1 for run in runs):
        window = builder.apply(GatherOp([view for part in runs for view in part]))
        total_length = sum(part.length for part in slices)
        vectors = [
            builder.view(window, 0, start, total_length, product.columns, part.length)
            for part, start in zip(slices, starts, strict=True)
        ]
    else:
        vectors = [view for part in runs for view in part]

    total: SSAValue | None = None
    for vector, start in zip(vectors, starts, strict=True):
        partial = builder.apply(VMMOp(vector, weights, start))
        total = partial if total is None else builder.apply(VAddOp(total, partial))
    assert total is not None
    return context.emit(builder, total)[0]


def _overlapping_first(product: Product) -> list[Slice]:
    """The slices in an order in which those that read the same of neighbouring windows follow each other.

    The elements that one slice reads of a window, another one reads of the next: where the window moves by so many
    elements as lie between them. Their addresses then are in registers still.
    """

    def place(part: Slice) -> tuple[int, ...]:
        piece = product.pieces[part.runs[0].piece]
        segment = product.feature.segments[piece.segment]
        position = piece.column * product.kernel.dilation[1] * segment.pitch + segment.first + part.runs[0].start
        return piece.row, piece.segment, position % (product.step * segment.pitch), position

    return list(product.slices) if product.copy_cycles else sorted(product.slices, key=place)


def _rows_of(matrix: Weights | Rows, slices: Sequence[Slice]) -> tuple[Weights | Rows, list[int]]:
    """The rows of the matrix that some slices multiply, in its own order; and of each slice, its first row there."""
    ordered = sorted(slices, key=lambda part: part.row)
    start: dict[Slice, int] = {}
    count = 0
    for part in ordered:
        start[part] = count
        count += part.length
    first = ordered[0].row
    if ordered[-1].row + ordered[-1].length == first + count:  # without gaps: without a copy
        rows = matrix[first : first + count]
    else:
        whole = matrix.array if isinstance(matrix, Rows) else matrix
        rows = np.concatenate([whole[part.row : part.row + part.length] for part in ordered])
    return rows, [start[part] for part in slices]


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


def _emit_bias(
    context: LoweringContext, op: Operation, product: Product, value: SSAValue, bias: Weights | None, replicas: int
) -> SSAValue:
    """Emits the batch that adds the bias, if there is one, and gives each window a column of its own."""
    channels = shape_of(value)[2]
    if bias is None and product.windows == 1:
        return value
    builder = _rowwise(op, value, replicas)
    row = builder.input(value, RowWindow(builder.lanes, builder.lanes))
    outputs = channels // product.windows
    tile = builder.view(row, 0, 0, outputs, product.kernel.output[1], outputs)
    if bias is not None:
        tile = builder.apply(VAddOp(tile, builder.weight(bias[None])))
    return context.emit(builder, tile)[0]


def _rowwise(op: Operation, value: SSAValue, replicas: int) -> BatchBuilder:
    """A batch of a lane for each row of a tensor."""
    return BatchBuilder(shape_of(value)[0], op, replicas)
