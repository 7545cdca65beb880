"""Parts of a feature: slices, splits and zero padding. Whole segments are only renamed, the rest is copied once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ...analysis.window import RowWindow
from ...dialects import onnx
from ...dialects.onnx_base import normal_axis, shape_of
from .batch_builder import BatchBuilder
from .context import LoweringContext, refuse
from .feature import Channels, Feature, Segment
from .operands import feature_of
from .weighted import permute

MOST_RUNS = 4
"""Runs of neighbouring channels of a segment that are copied one by one; where there are more, a product selects."""


def lower_slice(context: LoweringContext, op: onnx.SliceOp) -> Feature:
    return _sliced(context, op, feature_of(context, op, op.data), op.slices())


def lower_split(context: LoweringContext, op: onnx.SplitOp) -> list[Feature]:
    feature = feature_of(context, op, op.input)
    rank = len(feature.shape)
    axis = normal_axis(op.axis.value.data, rank)
    stops = np.cumsum(op.split.get_values()).tolist()
    pieces: list[Feature] = []
    for piece, start, stop in zip(op.pieces, [0, *stops], stops, strict=False):
        if piece.first_use is None:  # what nobody reads takes no arrays
            pieces.append(Feature((), feature.images, feature.height, feature.columns, shape_of(piece)))
        else:
            slices = [slice(start, stop) if i == axis else slice(None) for i in range(rank)]
            pieces.append(_sliced(context, op, feature, slices))
    return pieces


def lower_pad(context: LoweringContext, op: onnx.PadOp) -> Feature:
    feature = feature_of(context, op, op.data)
    mode, value, pads = op.mode.data, op.value.value.data, op.pads.get_values()
    if mode != "constant" or value != 0:
        raise refuse(op, f"padding with {f'{value:g}' if mode == 'constant' else f'mode {mode!r}'}", "pad with zeros")
    shape = shape_of(op.output)
    if feature.shape != feature.extents or shape[:2] != feature.shape[:2] or any(pads[:2]):
        what = f"a padding of {list(feature.shape)} to {list(shape)}"
        raise refuse(op, what, "only rows and columns of images can be padded")
    rows, columns = _Positions(-pads[2], 1, shape[2]), _Positions(-pads[3], 1, shape[3])
    return _Crop(context, op, feature, rows, columns).of(np.arange(feature.channels))


def _sliced(context: LoweringContext, op: Operation, feature: Feature, slices: Sequence[slice]) -> Feature:
    """The part of a feature that a slice of each axis of its shape selects."""
    ranges = [_positions(extent, part) for part, extent in zip(slices, feature.shape, strict=True)]
    shape = [len(positions) for positions in ranges]
    what = f"a slice of {list(feature.shape)} to {shape}"
    if 0 in shape:
        raise refuse(op, what, "nothing is left: remove it from the model")
    cut = {axis for axis, positions in enumerate(ranges) if positions != range(feature.shape[axis])}
    rows, columns = _Positions(0, 1, feature.height), _Positions(0, 1, feature.columns)
    axes = feature.channel_axes()
    if feature.shape == feature.extents:
        if any(ranges[axis].step < 0 for axis in cut & {2, 3}):
            raise refuse(op, f"{what} in reverse order", "rows and columns have to keep their order")
        rows, columns = (_Positions(positions.start, positions.step, len(positions)) for positions in ranges[2:])
        axes, cut = range(1, 2), cut - {2, 3}
    if axes is None or not cut <= set(axes):
        if feature.shape != feature.extents and feature.height * feature.columns > 1:
            raise refuse(op, f"{what}, in which positions of an image are flattened", "slice before you flatten")
        raise refuse(op, what, "channels, and the rows and columns of images, can be sliced")
    extents = [feature.shape[axis] for axis in axes]
    channels = np.arange(feature.channels).reshape(extents)[tuple(slices[axis] for axis in axes)]
    return _Crop(context, op, feature, rows, columns).of(channels.reshape(-1)).reshaped(shape)


def _positions(extent: int, part: slice) -> range:
    """Those of an axis that a slice selects; a single one has no step."""
    found = range(extent)[part]
    return range(found.start, found.start + 1) if len(found) == 1 else found


@dataclass(frozen=True)
class _Positions:
    """``count`` positions along an axis of an image, from ``start`` on, ``step`` apart; zeros lie outside of it."""

    start: int
    step: int
    count: int

    def pads(self, extent: int) -> tuple[int, int]:
        """How many of them an axis of this extent lacks before and after."""
        return max(0, -self.start), max(0, self.start + (self.count - 1) * self.step + 1 - extent)


@dataclass(frozen=True)
class _Crop:
    """Some rows and columns of a feature."""

    context: LoweringContext
    op: Operation
    feature: Feature
    rows: _Positions
    columns: _Positions

    def of(self, channels: NDArray[np.int64]) -> Feature:
        """The crop with these logical channels, each once, in this order."""
        name = np.full(self.feature.channels, -1, np.int32)
        name[channels] = np.arange(len(channels), dtype=np.int32)
        found: list[Segment] = []
        scattered: list[Segment] = []
        for segment in self.feature.segments:
            names = name[segment.channels]
            runs = _runs(names >= 0)
            if len(runs) > MOST_RUNS:
                scattered.append(Segment(self._copied(segment, range(segment.width)), names))
            else:
                found += [Segment(self._copied(segment, run), names[run.start : run.stop]) for run in runs]
        if scattered:
            found += self._selected(scattered)
        return Feature.of(found, self.feature.images, self.rows.count, self.columns.count)

    def _copied(self, segment: Segment, channels: range) -> SSAValue:
        """Neighbouring channels of a segment; a batch copies them, unless they are all of it."""
        height, columns = self.feature.height, self.feature.columns
        if len(channels) == segment.width and self.rows.count == height and self.columns.count == columns:
            if self.rows.start == self.columns.start == 0:
                return segment.value
        left, right = self.columns.pads(columns)
        rows = self.rows
        window = RowWindow(height, rows.count, stride=rows.step, pad_top=-rows.start, pad_left=left, pad_right=right)
        builder = BatchBuilder(self.feature.images * rows.count, self.op)
        source = builder.input(segment.value, window)
        start = (left + self.columns.start) * segment.width + channels.start
        step = self.columns.step * segment.width
        tile = builder.view(source, 0, start, step, self.columns.count, len(channels))
        return self.context.emit(builder, tile)[0]

    def _selected(self, segments: Sequence[Segment]) -> list[Segment]:
        """One product with a selection of channels: those that have a name, which is not negative."""
        names = np.concatenate([segment.channels for segment in segments])
        first = np.cumsum([0, *(segment.width for segment in segments)]).tolist()
        numbered = [
            Segment(segment.value, np.arange(start, start + segment.width, dtype=np.int32))
            for segment, start in zip(segments, first, strict=False)
        ]
        whole = Feature.of(numbered, self.feature.images, self.rows.count, self.columns.count)
        chosen: Channels = np.flatnonzero(names >= 0).astype(np.int32)
        selected = permute(self.context, self.op, whole, chosen)
        return [Segment(segment.value, names[segment.channels]) for segment in selected.segments]


def _runs(kept: NDArray[np.bool_]) -> list[range]:
    """Where neighbours are kept, each run of them as a range of positions."""
    edges = np.flatnonzero(np.diff(kept.astype(np.int8), prepend=0, append=0)).tolist()
    return [range(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
