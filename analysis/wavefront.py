"""The order of lanes: each row is computed just before it is first read.

The order is the one in which a demand-driven evaluation would go. It starts from the lanes of the last batch, in order;
batch by batch, against the direction of the data, the lanes of a producer are put right before the first lane that
reads them. Lanes so follow everything that they read, consecutive layers run as a wavefront, and rows are held only as
long as the shapes of windows require, however large the image. A batch that reads a whole image at once asks for its
rows one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..support.arrays import Ints
from .window import OUTSIDE, RowWindow

NEVER = np.iinfo(np.int64).max
"""First read of a row that nobody reads."""


@dataclass(frozen=True)
class Read:
    """One input of a batch: the batch that computes it (None for an input of the network) and the access map."""

    producer: int | None
    window: RowWindow
    source: int = 0
    """Which of the network's inputs is read, if no batch computes it."""


@dataclass(frozen=True)
class LaneBatch:
    """A batch as the order sees it."""

    lanes: int
    reads: tuple[Read, ...] = field(default=())


def lane_steps(batches: Sequence[LaneBatch]) -> list[Ints]:
    """The position of each lane of each batch in one order of all lanes: a permutation of ``range(sum(lanes))``.

    ``batches`` are in topological order. Takes one insertion into all lanes so far per batch.
    """
    readers: list[list[tuple[int, RowWindow]]] = [[] for _ in batches]
    for index, batch in enumerate(batches):
        for read in batch.reads:
            if read.producer is not None:
                readers[read.producer].append((index, read.window))
    batch_of, lane_of = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for index in range(len(batches) - 1, -1, -1):
        # Lanes come right before the position of their first reader, which is never before that of the lane before.
        before = _first_reads(batches[index].lanes, readers[index], batch_of, lane_of)
        batch_of = np.insert(batch_of, before, index)
        lane_of = np.insert(lane_of, before, np.arange(len(before)))
    steps = [np.empty(batch.lanes, np.int64) for batch in batches]
    for index, mine in enumerate(steps):
        position = np.flatnonzero(batch_of == index)
        mine[lane_of[position]] = position
    return steps


def validate_steps(batches: Sequence[LaneBatch], steps: Sequence[Ints]) -> list[str]:
    """Lists the lanes that come before something they read, in words."""
    problems: list[str] = []
    for index, batch in enumerate(batches):
        for read in batch.reads:
            if read.producer is None:
                continue
            for lane, rows in enumerate(read.window.rows_of(np.arange(batch.lanes))):
                for row in rows:
                    if row != OUTSIDE and steps[read.producer][row] >= steps[index][lane]:
                        problems.append(f"lane {lane} of batch {index} comes before row {row} of batch {read.producer}")
    return problems


def _first_reads(lanes: int, readers: Sequence[tuple[int, RowWindow]], batch_of: Ints, lane_of: Ints) -> Ints:
    """For each of a batch's lanes, the position in the order of the first lane that reads its row.

    A row that nobody reads goes with the next one that somebody does, and behind everything if there is none.
    """
    first = np.full(lanes, NEVER)
    for reader, window in readers:
        position = np.flatnonzero(batch_of == reader)
        rows = window.rows_of(lane_of[position])
        inside = rows != OUTSIDE
        np.minimum.at(first, rows[inside], np.broadcast_to(position[:, None], rows.shape)[inside])
    earliest = np.minimum.accumulate(first[::-1])[::-1]
    return np.where(earliest == NEVER, len(batch_of), earliest)
