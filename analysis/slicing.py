"""Slices: how the rows of a weight matrix are cut to the height of an array.

The input vector of a product comes in *pieces*, runs of elements that lie next to each other in local memory (a kernel
row of one segment of channels). An array group reads one contiguous vector. So either no slice crosses a piece
(*direct*: the arrays read the activations where they lie), or the pieces are copied side by side first (*gathered*:
fewer slices, but copies).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Run:
    """Elements ``start`` to ``stop`` of one piece."""

    piece: int
    start: int
    stop: int

    @property
    def length(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Slice:
    """A range of weight rows that one array group holds, and the runs of input elements that they multiply."""

    row: int
    runs: tuple[Run, ...]

    @property
    def length(self) -> int:
        return sum(run.length for run in self.runs)


def direct_slices(pieces: Sequence[int], height: int) -> tuple[Slice, ...]:
    """Slices of at most ``height`` rows, none of which crosses a piece. ``pieces`` are lengths in elements."""
    slices: list[Slice] = []
    row = 0
    for piece, length in enumerate(pieces):
        for start in range(0, length, height):
            stop = min(start + height, length)
            slices.append(Slice(row + start, (Run(piece, start, stop),)))
        row += length
    return tuple(slices)


def gathered_slices(pieces: Sequence[int], height: int) -> tuple[Slice, ...]:
    """The fewest slices of at most ``height`` rows; a slice may take runs of several pieces."""
    slices: list[Slice] = []
    runs: list[Run] = []
    row = free = 0
    for piece, length in enumerate(pieces):
        start = 0
        while start < length:
            if free == 0:
                if runs:
                    slices.append(Slice(row, tuple(runs)))
                    row += slices[-1].length
                runs, free = [], height
            stop = min(start + free, length)
            runs.append(Run(piece, start, stop))
            free -= stop - start
            start = stop
    slices.append(Slice(row, tuple(runs)))
    return tuple(slices)


def direct_count(pieces: Sequence[int], height: int) -> int:
    """The number of :func:`direct_slices`."""
    return sum(-(-length // height) for length in pieces)


def gathered_count(pieces: Sequence[int], height: int) -> int:
    """The number of :func:`gathered_slices`."""
    return max(1, -(-sum(pieces) // height))


def gathered_lengths(pieces: Sequence[int], height: int) -> NDArray[np.int64]:
    """The lengths of the runs in :func:`gathered_slices`, in order."""
    ends = np.cumsum(pieces, dtype=np.int64)
    cuts = np.concatenate((np.zeros(1, np.int64), ends, np.arange(height, int(ends[-1]), height)))
    return np.diff(np.unique(cuts))


def split_evenly(count: int, parts: int) -> list[range]:
    """``parts`` consecutive ranges of ``range(count)`` whose sizes differ by at most one, larger ones first."""
    size, larger = divmod(count, parts)
    bounds = [0]
    for part in range(parts):
        bounds.append(bounds[-1] + size + (part < larger))
    return [range(*pair) for pair in pairwise(bounds)]
