"""The matrix product of a layer: how many windows one product computes, and how its weight matrix is cut to arrays.

An early convolution has few channels and many windows, so that one window fills neither the rows nor the columns of an
array. A product of several neighbouring windows puts shifted copies of the kernel side by side: its input vector is
the columns that the windows cover together, which overlap, and each window has columns of the matrix of its own. Arrays
hold more zeros, but a row of the output takes fewer products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...analysis.machine import Machine, Precision
from ...analysis.slicing import (
    Slice,
    direct_count,
    direct_slices,
    gathered_count,
    gathered_lengths,
    gathered_slices,
)
from ...analysis.window import RowWindow
from ...dialects.array_layout import Rows, contiguous, matrix_of
from .feature import Channels, Feature

Weights = NDArray[np.float32]

MOST_WINDOWS = 64
"""Windows of one product at most, unless one array does more: more would fill arrays with zeros."""


COLUMN_PART = 256
"""Outputs of one column part, in layers with several rows. Rows of more channels take a core's vector unit long, and
each has to be sent as a whole to all that read it; in parts, cores share both. Each part takes as many products."""


VECTOR_PART = 1024
"""The same of layers with one row, as fully connected ones: what is sent to many parts, one after the other, is short.
With fewer outputs, as measured, sums of parts are too many."""


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

    @property
    def reach(self) -> int:
        """Columns from the first one of the first window to the last one of the last, padding included."""
        return (self.output[1] - 1) * self.stride[1] + (self.size[1] - 1) * self.dilation[1] + 1

    def pad_right(self, columns: int) -> int:
        """Columns to add on the right so that the last window has all its columns."""
        return max(0, self.reach - self.pad_left - columns)

    def pad_bottom(self, rows: int) -> int:
        """Rows to add below so that the last window has all its rows."""
        last = (self.output[0] - 1) * self.stride[0] + (self.size[0] - 1) * self.dilation[0] + 1
        return max(0, last - self.pad_top - rows)

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
    """A run of input elements that lie side by side: of a segment, one row of the kernel or one position of it."""

    segment: int
    row: int
    column: int
    """The first kernel column."""
    columns: int
    """Columns of the input that the windows of one product cover together."""


@dataclass(frozen=True)
class Product:
    """One way to compute a layer: ``windows`` neighbouring windows at a time."""

    feature: Feature
    kernel: Kernel
    outputs: int
    windows: int
    column_parts: int
    machine: Machine
    precision: Precision
    blocks: int = 1
    """Of the layer, each with channels of the input and outputs of its own (`group_blocks.py`): this is one of them."""

    @property
    def parts(self) -> int:
        """Column parts of all blocks."""
        return self.blocks * self.column_parts

    @cached_property
    def columns(self) -> int:
        """Products of one lane: columns of the tiles that they give."""
        return -(-self.kernel.output[1] // self.windows)

    @property
    def padded_kernel(self) -> Kernel:
        """The kernel with as many windows in a row as the products compute; the last ones may be of no use."""
        return replace(self.kernel, output=(self.kernel.output[0], self.columns * self.windows))

    @property
    def step(self) -> int:
        """Input columns from one product to the next."""
        return self.windows * self.kernel.stride[1]

    @property
    def array_columns(self) -> int:
        return self.machine.array_cols_at(self.precision.weight_bits)

    @cached_property
    def group_arrays(self) -> int:
        """Arrays that one product drives: the column tiles of one column part."""
        tiles = -(-self.windows * self.outputs // self.array_columns)
        return -(-tiles // self.column_parts)

    @cached_property
    def mvm_cycles(self) -> int:
        return int(self.machine.mvm_cycles(self.group_arrays, self.precision))

    @cached_property
    def slice_cycles(self) -> int:
        """Cycles that one slice takes for one lane, its share of the copies included."""
        return self.columns * (self.mvm_cycles + self.copy_cycles // self.slice_count)

    @property
    def _spans(self) -> list[tuple[int, int]]:
        """First column, and number of columns, of the pieces of each kernel row."""
        moved = (self.windows - 1) * self.kernel.stride[1]
        if self._in_positions:
            return [(column, moved + 1) for column in range(self.kernel.size[1])]
        return [(0, moved + (self.kernel.size[1] - 1) * self.kernel.dilation[1] + 1)]

    @cached_property
    def _in_positions(self) -> bool:
        """Whether what is read at two positions of the kernel does not lie side by side.

        Between the columns that all windows together read there are others, or other channels between those of two
        columns.
        """
        has_gaps = (self.windows - 1) * self.kernel.stride[1] + 1 < self.kernel.dilation[1]
        return has_gaps or any(segment.is_narrowed for segment in self.feature.segments)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The runs of the input vector in the order of the weight matrix's rows."""
        return tuple(
            Piece(segment, row, *span)
            for row in range(self.kernel.size[0])
            for span in self._spans
            for segment in range(len(self.feature.segments))
        )

    @cached_property
    def lengths(self) -> list[int]:
        """Elements of each piece."""
        widths = [segment.width for segment in self.feature.segments]
        return [columns * width for _, columns in self._spans for width in widths] * self.kernel.size[0]

    @cached_property
    def _gathering(self) -> tuple[int, int]:
        """The number of slices, and the cycles of gathering the pieces of one product: whichever way takes less time.

        Nothing is gathered in 0 cycles. Slices themselves are only made of the way that is chosen.
        """
        height = self.machine.array_rows
        direct, gathered = direct_count(self.lengths, height), gathered_count(self.lengths, height)
        if gathered < direct:
            lengths = gathered_lengths(self.lengths, height)
            cycles = int(self.machine.copy_cycles(lengths * self.precision.input_bytes).sum())
            if cycles < (direct - gathered) * self.mvm_cycles:
                return gathered, cycles
        return direct, 0

    @property
    def slice_count(self) -> int:
        return self._gathering[0]

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        height = self.machine.array_rows
        direct = self.slice_count == direct_count(self.lengths, height)
        found = direct_slices(self.lengths, height) if direct else gathered_slices(self.lengths, height)
        assert len(found) == self.slice_count
        return found

    @property
    def copy_cycles(self) -> int:
        """Cycles of gathering the input vector of one product."""
        return self._gathering[1]

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """Rows and columns of the weight matrix."""
        return sum(self.lengths), self.windows * self.outputs

    def matrix(self, weights: Weights, first: int, last: int) -> Weights | Rows:
        """Columns ``first`` to ``last`` of the weight matrix for ``weights`` ``[outputs, channels, rows, columns]``.

        Its rows follow the pieces, its columns the windows, each with all outputs.
        """
        if self.windows == 1:  # large ones: without a copy of all columns
            return self._matrix_of_one(weights[first:last])
        return self._matrix(weights.transpose(2, 3, 1, 0))[:, first:last]

    def _matrix_of_one(self, weights: Weights) -> Weights | Rows:
        """The matrix of one window."""
        by_position = weights.transpose(2, 3, 1, 0)
        segments = self.feature.segments
        if not self._in_positions and self.kernel.size[1] > 1 and len(segments) > 1:
            return self._matrix(by_position)
        # Position after position, each with all channels.
        channels = _as_slice(np.concatenate([segment.channels for segment in segments]))
        if self.kernel.size == (1, 1):  # Each array's part is laid out when it is written.
            return by_position[:, :, channels].reshape(self.matrix_shape[0], -1)
        if isinstance(channels, slice):
            return matrix_of(by_position[:, :, channels], len(weights))
        return _in_runs(by_position)[:, :, channels].reshape(self.matrix_shape[0], -1)

    def _matrix(self, by_position: Weights) -> Weights:
        by_position = _in_runs(by_position)
        segments = self.feature.segments
        taken = 1 if self._in_positions else self.kernel.size[1]
        outputs = by_position.shape[-1]
        found = np.zeros((self.matrix_shape[0], self.windows, outputs), np.float32)
        row = 0
        for piece, length in zip(self.pieces, self.lengths, strict=True):
            segment = segments[piece.segment]
            positions = by_position[piece.row, piece.column : piece.column + taken]
            kernel = positions[:, _as_slice(segment.channels)]
            columns = found[row : row + length].reshape(piece.columns, segment.width, self.windows, outputs)
            for window in range(self.windows):
                first = window * self.kernel.stride[1]
                columns[first :: self.kernel.dilation[1], :, window][:taken] = kernel
            row += length
        return found.reshape(len(found), -1)


def _in_runs(by_position: Weights) -> Weights:
    """Weights ``[rows, columns, channels, outputs]`` with outputs side by side: copied from here, they come in runs."""
    return by_position if by_position.strides[-1] == by_position.itemsize else contiguous(by_position)


def _as_slice(channels: Channels) -> Channels | slice:
    """The same channels as a slice if they follow one another, so that they are not copied."""
    first = int(channels[0])
    return slice(first, first + len(channels)) if (np.diff(channels) == 1).all() else channels


def products(
    feature: Feature, kernel: Kernel, outputs: int, machine: Machine, precision: Precision, blocks: int = 1
) -> list[Product]:
    """The ways to compute a layer: one window at a time, then more of them while one core has the arrays for it. One of
    several ``blocks`` of a layer computes one window at a time."""
    columns = machine.array_cols_at(precision.weight_bits)
    tiles = -(-outputs // columns)
    column_parts = -(-tiles // machine.arrays_per_core)
    width = COLUMN_PART if kernel.output[0] > 1 else VECTOR_PART
    column_parts = max(column_parts, _column_parts(outputs, columns, width))
    found = [Product(feature, kernel, outputs, 1, column_parts, machine, precision, blocks)]
    if column_parts == 1 and blocks == 1:
        for windows in range(2, min(kernel.output[1], max(MOST_WINDOWS, columns // outputs)) + 1):
            one = Product(feature, kernel, outputs, windows, 1, machine, precision, blocks)
            if one.group_arrays <= machine.arrays_per_core:
                found.append(one)
    return found


def _column_parts(outputs: int, array_columns: int, most: int) -> int:
    """Parts of ``most`` outputs or fewer; one part less if the last one would not even fill half an array."""
    parts = -(-outputs // most)
    width = -(-outputs // (parts * array_columns)) * array_columns
    last = (outputs - 1) % width + 1
    return parts - 1 if parts > 1 and 2 * last < array_columns else parts
