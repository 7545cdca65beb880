"""How urgent each lane is: the cycles from its start to the end of all, along the longest path.

This is the rank by which list schedulers order tasks (the bottom level of HEFT; on equal cores, PEFT's optimistic cost
plus the task's own). Two things are added to the graph of rows that lanes read. A row takes time to travel. And the
lanes of one replica run one after another, since the weights are at one place: lane i is followed by lane i + replicas,
so that the first rows of a layer with much work and few replicas are urgent, however short the way from there on.

Of several samples in flight, that alone would run the first layers on all samples before the last ones run on any, with
all their rows held meanwhile. So each sample has a deadline one period after the one before it, and the lane goes first
that has least time left for the way to its sample's end: earliest deadline first.

Ranks look ahead, and know nothing of how long cores wait for messages. Where these take most of the time, it may be
better that each lane simply goes when its rows have come (:func:`arrival_order`): then rows leave as early as they can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..support.arrays import Ints
from .turns import starts_in_turns
from .wavefront import LaneBatch, lane_steps
from .window import OUTSIDE


@dataclass(frozen=True)
class RankedBatch:
    """A batch as the ranks see it."""

    batch: LaneBatch
    replicas: int
    """Lanes that can run at once."""
    cycles: int
    """Of one lane."""
    travel_cycles: int
    """That a row takes from the core that computes it to one that reads it."""


class Samples(NamedTuple):
    """Samples in flight: equal parts of the lanes of each batch; lanes that are no such parts belong to the first."""

    number: int
    period: int
    """Cycles from the deadline of one to that of the next."""


ONE_SAMPLE = Samples(1, 0)


def lane_ranks(batches: Sequence[RankedBatch]) -> list[Ints]:
    """[batches][lanes] cycles from the start of each lane to the end; ``batches`` are in topological order."""
    ranks = [np.zeros(one.batch.lanes, np.int64) for one in batches]
    for one, mine in zip(reversed(batches), reversed(ranks), strict=True):
        # So far `mine` is the longest way from the end of each lane on, through its readers.
        # Lane i + replicas runs after lane i: seen from the end, lanes take turns the other way round.
        mine[:] = starts_in_turns(mine[::-1], one.replicas, one.cycles)[::-1] + one.cycles
        for read in one.batch.reads:
            if read.producer is not None:
                rows = read.window.rows_of(np.arange(one.batch.lanes))
                inside = rows != OUTSIDE
                way = np.broadcast_to((mine + batches[read.producer].travel_cycles)[:, None], rows.shape)
                np.maximum.at(ranks[read.producer], rows[inside], way[inside])
    return ranks


def urgency_order(batches: Sequence[RankedBatch], samples: Samples = ONE_SAMPLE) -> list[Ints]:
    """[batches][lanes] the place of each lane in one order of all: greatest rank first, or earliest deadline.

    Lanes of equal rank go in the order of a demand-driven evaluation (:mod:`.wavefront`).
    """
    demand = np.concatenate([np.zeros(0, np.int64), *lane_steps([one.batch for one in batches])])
    ranks = [_by_deadline(mine, samples) for mine in lane_ranks(batches)]
    rank = np.concatenate([np.zeros(0, np.int64), *ranks])
    return _split_places(np.lexsort((demand, -rank)), ranks)


def arrival_order(batches: Sequence[RankedBatch]) -> list[Ints]:
    """[batches][lanes] the place of each lane in one order of all: that in which their rows come at the earliest.

    A row comes when its lane has run and it has travelled, if nothing holds up a lane but the one before it in its
    replica. Lanes whose rows come at the same time go batch by batch, and in order. ``batches`` are in topological
    order.
    """
    ready: list[Ints] = []
    sent: list[Ints] = []
    for one in batches:
        there = np.zeros(one.batch.lanes, np.int64)
        for read in one.batch.reads:
            if read.producer is not None:
                rows = read.window.rows_of(np.arange(one.batch.lanes))
                comes = np.where(rows == OUTSIDE, 0, sent[read.producer][np.maximum(rows, 0)])
                np.maximum(there, comes.max(axis=1, initial=0), out=there)
        start = starts_in_turns(there, one.replicas, one.cycles)
        ready.append(start)
        sent.append(start + one.cycles + one.travel_cycles)
    return _split_places(np.argsort(np.concatenate([np.zeros(0, np.int64), *ready]), kind="stable"), ready)


def _by_deadline(rank: Ints, samples: Samples) -> Ints:
    """Ranks of all samples from that of the last one, which no other follows: so much more for each one after it."""
    parts = samples.number if len(rank) % samples.number == 0 else 1
    rows = len(rank) // parts
    later = samples.number - 1 - np.arange(parts)
    return np.tile(rank[len(rank) - rows :], parts) + np.repeat(later * samples.period, rows)


def _split_places(order: Ints, parts: Sequence[Ints]) -> list[Ints]:
    """Of all lanes in some order, the place of each, in parts that are as long as ``parts``."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return np.split(place, np.cumsum([len(part) for part in parts])[:-1])
