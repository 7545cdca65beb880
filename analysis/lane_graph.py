"""The graph of lanes that a schedule works on: which lanes read which rows, and in what order lanes are urgent.

It does not depend on cores, so that many placements can be scheduled on one graph. Lanes are numbered through all
batches, and a row has the number of the lane that computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .lane_rank import RankedBatch, urgency_order
from .window import OUTSIDE

Ints = NDArray[np.int64]


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
    """[k] rows that are read, and"""
    reader: Ints
    """[k] the lanes that read them, each pair once."""
    loads: dict[int, list[tuple[int, int, int]]]
    """For lanes that read the network's inputs: which input of the batch, whose source, and which row."""

    def read_counts(self) -> Ints:
        """[n] rows that each lane reads."""
        return np.bincount(self.reader, minlength=len(self.batch_of))

    def reader_counts(self) -> Ints:
        """[n] lanes that read each row."""
        return np.bincount(self.row, minlength=len(self.batch_of))


def lane_graph(batches: Sequence[RankedBatch]) -> LaneGraph:
    """The graph of ``batches``, which are in topological order."""
    counts = np.array([one.batch.lanes for one in batches], np.int64)
    first = np.concatenate(([0], np.cumsum(counts)))
    place = np.concatenate([np.zeros(0, np.int64), *urgency_order(batches)])
    pairs = [np.zeros((0, 2), np.int64)]
    loads: dict[int, list[tuple[int, int, int]]] = {}
    for index, one in enumerate(batches):
        for number, read in enumerate(one.batch.reads):
            rows = read.window.rows_of(np.arange(one.batch.lanes))
            lane, column = np.nonzero(rows != OUTSIDE)
            lines = np.stack((rows[lane, column], lane + first[index]), axis=1)
            if read.producer is not None:
                pairs.append(lines + np.array([first[read.producer], 0]))
                continue
            for row, reader in lines.tolist():
                loads.setdefault(reader, []).append((number, read.source, row))
    row, reader = np.unique(np.concatenate(pairs), axis=0).T
    return LaneGraph(first, np.repeat(np.arange(len(batches)), counts), place, row, reader, loads)


@dataclass(frozen=True, eq=False)
class RowUses:
    """The uses of rows on cores: m of them, by row, then core."""

    first: list[int]
    """[n + 1] the first use of each row."""
    core: Ints
    """[m] where the row is read."""
    row: Ints
    """[m]"""
    start: list[int]
    """[m + 1] the first of each use's readers in"""
    readers: list[int]
    """lanes that read the row there."""


def row_uses(graph: LaneGraph, core: Ints) -> RowUses:
    """The uses of rows when each lane is on its ``core`` [n]."""
    here = core[graph.reader]
    order = np.lexsort((graph.place[graph.reader], here, graph.row))
    row, at, lanes = graph.row[order], here[order], graph.reader[order]
    begins = np.ones(len(row), np.bool_)
    begins[1:] = (row[1:] != row[:-1]) | (at[1:] != at[:-1])
    start = np.flatnonzero(begins)
    first = np.searchsorted(row[start], np.arange(len(core) + 1))
    return RowUses(first.tolist(), at[start], row[start], [*start.tolist(), len(row)], lanes.tolist())
