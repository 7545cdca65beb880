"""The graph of lanes that a schedule works on: which lanes read which rows, and in what order lanes are urgent.

It does not depend on cores, so that many placements can be scheduled on one graph. Lanes are numbered through all
batches, and a row has the number of the lane that computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..support.arrays import Ints
from .lane_rank import ONE_SAMPLE, RankedBatch, Samples, urgency_order
from .window import OUTSIDE, window_rows

WORTH_COMPILING = 1000
"""Lanes from which on loading llvmlite and the machine code takes less time than it saves, in all loops over lanes:
there are many rounds of schedules, and llvmlite, once loaded for one of the loops, is there for the others."""


@dataclass(frozen=True, eq=False)
class LaneGraph:
    """The n lanes of all batches."""

    first: Ints
    """[batches + 1] the number of each batch's first lane; last, n."""
    batch_of: Ints
    """[n]"""
    place: Ints
    """[n] the lane's place in the order of urgency."""
    row: Ints
    """[k] rows that are read, in order, and"""
    reader: Ints
    """[k] the lanes that read them, each pair once."""
    loads: Ints
    """[l, 3] the rows of the network's inputs that are read, by lane: the lane, which input of its batch, and a number
    that each row has."""

    @cached_property
    def by_urgency(self) -> Ints:
        """[k] the same as `reader`, for each row the most urgent lane first. Rows are in order in any case."""
        return self.reader[np.lexsort((self.place[self.reader], self.row))]

    @cached_property
    def row_first(self) -> Ints:
        """[n + 1] where the readers of each row begin in these."""
        return np.searchsorted(self.row, np.arange(len(self.batch_of) + 1))

    def read_counts(self) -> Ints:
        """[n] rows that each lane reads."""
        return np.bincount(self.reader, minlength=len(self.batch_of))

    def reader_counts(self) -> Ints:
        """[n] lanes that read each row."""
        return np.bincount(self.row, minlength=len(self.batch_of))


def lane_graph(batches: Sequence[RankedBatch], samples: Samples = ONE_SAMPLE) -> LaneGraph:
    """The graph of ``batches``, which are in topological order."""
    counts = np.array([one.batch.lanes for one in batches], np.int64)
    first = np.concatenate(([0], np.cumsum(counts)))
    place = np.concatenate([np.zeros(0, np.int64), *urgency_order(batches, samples)])
    lanes = int(first[-1])
    pairs = [np.zeros(0, np.int64)]
    loads = [np.zeros((0, 4), np.int64)]
    for index, one in enumerate(batches):
        for number, read in enumerate(one.batch.reads):
            rows = window_rows(read.window, one.batch.lanes)
            lane, column = np.nonzero(rows != OUTSIDE)
            row, reader = rows[lane, column], lane + first[index]
            if read.producer is not None:
                pairs.append((row + first[read.producer]) * lanes + reader)
            else:
                same = np.ones_like(row)
                loads.append(np.stack((reader, number * same, read.source * same, row), axis=1))
    row, reader = np.divmod(np.unique(np.concatenate(pairs)), max(lanes, 1))
    return LaneGraph(first, np.repeat(np.arange(len(batches)), counts), place, row, reader, _numbered(loads))


def _numbered(loads: Sequence[Ints]) -> Ints:
    """By lane; what was source and row becomes a number."""
    lines = np.concatenate(loads)
    lane, number, source, row = lines[np.argsort(lines[:, 0], kind="stable")].T
    return np.stack((lane, number, np.unique(source * (row.max(initial=0) + 1) + row, return_inverse=True)[1]), axis=1)
