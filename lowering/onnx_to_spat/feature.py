"""What an ONNX tensor becomes: a few distributed tensors and the logical channels that each of them holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ...dialects.spat import shape_of

Channels = NDArray[np.int32]


@dataclass(frozen=True)
class Segment:
    """A distributed tensor of ``images * height`` rows; its channel j is the logical channel ``channels[j]``.

    In a narrowed feature, the segment is ``channels`` of the tensor's, those from ``first`` on.
    """

    value: SSAValue
    channels: Channels
    first: int = 0

    @property
    def width(self) -> int:
        """Channels of the segment."""
        return len(self.channels)

    @property
    def pitch(self) -> int:
        """Elements from a column to the next: all channels of the tensor."""
        return shape_of(self.value)[2]

    @property
    def is_narrowed(self) -> bool:
        """Whether the tensor has other channels as well."""
        return self.width < self.pitch


@dataclass(frozen=True)
class Feature:
    """An ONNX tensor in space.

    ``shape`` is its logical shape: any row-major reshape of ``(images, channels, height, columns)``. Concatenation,
    channel slices, channel permutations and reshapes only change this record: they cost nothing.
    """

    segments: tuple[Segment, ...]
    images: int
    height: int
    columns: int
    shape: tuple[int, ...]

    @staticmethod
    def of(segments: Sequence[Segment], images: int, height: int, columns: int, rank: int = 4) -> Feature:
        """A feature in its natural shape: rank 4, or rank 2 if it has one position per image."""
        channels = sum(segment.width for segment in segments)
        shape = (images, channels, height, columns) if rank == 4 else (images, channels)
        assert math.prod(shape) == images * channels * height * columns
        return Feature(tuple(segments), images, height, columns, shape)

    @property
    def channels(self) -> int:
        return sum(segment.width for segment in self.segments)

    @property
    def rows(self) -> int:
        return self.images * self.height

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """Images, channels, height, columns."""
        return self.images, self.channels, self.height, self.columns

    @property
    def is_vector(self) -> bool:
        """Whether there is one position per image."""
        return self.height == self.columns == 1

    def reshaped(self, shape: Sequence[int]) -> Feature:
        return replace(self, shape=tuple(shape))

    def channel_axes(self) -> range | None:
        """The axes of ``shape`` that make up the channels, or None if no axes do exactly."""
        start, product = 0, 1
        while start < len(self.shape) and product < self.images:
            product *= self.shape[start]
            start += 1
        if product != self.images:
            return None
        if self.images == 1 and self.shape and self.shape[0] == 1:
            start = 1
        stop, product = start, 1
        while stop < len(self.shape) and product < self.channels:
            product *= self.shape[stop]
            stop += 1
        return range(start, stop) if product == self.channels else None

    def narrowed(self, channels: range) -> Feature | None:
        """Some of the logical channels, as numbered from 0 on, where they are; None if there are others between them.

        Only products can read it.
        """
        segments: list[Segment] = []
        for segment in self.segments:
            (places,) = np.nonzero((segment.channels >= channels.start) & (segment.channels < channels.stop))
            if not len(places):
                continue
            first, last = int(places[0]), int(places[-1])
            if last - first + 1 > len(places):
                return None
            names = segment.channels[first : last + 1] - channels.start
            segments.append(Segment(segment.value, names.astype(np.int32), segment.first + first))
        return Feature.of(segments, self.images, self.height, self.columns)

    def permuted_channels(self, new_index: Channels, shape: Sequence[int]) -> Feature:
        """The feature in which the logical channel c is called ``new_index[c]``."""
        segments = tuple(Segment(s.value, new_index[s.channels].astype(np.int32)) for s in self.segments)
        return replace(self, segments=segments, shape=tuple(shape))


def segment_of(value: SSAValue, first_channel: int = 0) -> Segment:
    """A segment that holds the logical channels from ``first_channel`` on in order."""
    channels = shape_of(value)[2]
    return Segment(value, np.arange(first_channel, first_channel + channels, dtype=np.int32))
