"""The order of lanes: as late as the lanes that need them allow, so that layers run as a wavefront.

Every lane gets an *urgency* between 0 and 1: how far the network's outputs can be computed before this lane is needed.
A lane of a last batch is as urgent as its share of the output. Any other lane is as urgent as the first lane that reads
its row. A consumer that needs a whole image at once does not say in which order its rows are to come; they are spread
evenly up to it. Sorted by urgency, then by the topological order of the batches, lanes follow everything they read, and
a row is computed just before it is used: buffers stay short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .window import OUTSIDE, RowWindow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Read:
    """One input of a batch: the batch that computes it (None for an input of the network) and the access map."""

    producer: int | None
    window: RowWindow


@dataclass(frozen=True)
class LaneBatch:
    """A batch as the order sees it."""

    lanes: int
    reads: tuple[Read, ...] = field(default=())


def urgency(batches: Sequence[LaneBatch]) -> list[Floats]:
    """The urgency of each lane of each batch; ``batches`` are in topological order."""
    found = [np.full(batch.lanes, np.inf) for batch in batches]
    for index in range(len(batches) - 1, -1, -1):
        batch, mine = batches[index], found[index]
        unread = np.isinf(mine)
        mine[unread] = ((np.arange(batch.lanes) + 1) / batch.lanes)[unread]
        for read in batch.reads:
            if read.producer is not None:
                _pass_on(read.window, mine, found[read.producer])
    return found


def lane_steps(batches: Sequence[LaneBatch]) -> list[Ints]:
    """The position of each lane of each batch in one order of all lanes: a permutation of ``range(sum(lanes))``."""
    if not batches:
        return []
    urgencies = np.concatenate(urgency(batches))
    lane_counts = np.array([batch.lanes for batch in batches])
    batch = np.repeat(np.arange(len(batches)), lane_counts)
    lane = np.concatenate([np.arange(count) for count in lane_counts])
    order = np.lexsort((lane, batch, urgencies))
    steps = np.empty(len(order), np.int64)
    steps[order] = np.arange(len(order))
    return np.split(steps, np.cumsum(lane_counts)[:-1])


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


def _pass_on(window: RowWindow, consumer: Floats, producer: Floats) -> None:
    """Lowers the producer's urgencies to those of the consumer's lanes that read its rows."""
    if window.reads_whole_image:
        before = np.concatenate(([0.0], consumer[:-1]))
        share = (np.arange(window.height) + 1) / window.height
        wanted = before[:, None] + np.maximum(consumer - before, 0)[:, None] * share
        np.minimum(producer, wanted.reshape(-1), out=producer)
        return
    rows = window.rows_of(np.arange(len(consumer)))
    inside = rows != OUTSIDE
    lanes = np.broadcast_to(np.arange(len(consumer))[:, None], rows.shape)
    np.minimum.at(producer, rows[inside], consumer[lanes[inside]])
