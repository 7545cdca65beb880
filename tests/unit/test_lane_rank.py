"""Ranks of lanes: the longest path, found by enumerating paths, and PEFT's optimistic cost where that sees the same."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.lane_rank import RankedBatch, Samples, arrival_order, lane_ranks, urgency_order
from tilec.analysis.peft import TaskGraph, optimistic_cost_table
from tilec.analysis.wavefront import LaneBatch, Read, lane_steps, validate_steps
from tilec.analysis.window import RowWindow

Lane = tuple[int, int]
"""Of which batch, and its number there."""


@st.composite
def networks(draw: st.DrawFn, alone: bool = False) -> list[RankedBatch]:
    """Random graphs of batches that read earlier ones, or the input. With ``alone``, every lane has its own replica and
    rows take no time to travel."""
    found: list[RankedBatch] = []
    for index in range(draw(st.integers(1, 5))):
        lanes = draw(st.integers(1, 7))
        reads: list[Read] = []
        for _ in range(draw(st.integers(0, 2))):
            producer = draw(st.integers(-1, index - 1))
            height = 7 if producer < 0 else found[producer].batch.lanes
            window = RowWindow(
                height,
                lanes,
                rows=draw(st.integers(1, height)),
                stride=draw(st.integers(0, 2)),
                pad_top=draw(st.integers(0, 1)),
            )
            reads.append(Read(None if producer < 0 else producer, window))
        replicas, travel = (lanes, 0) if alone else (draw(st.integers(1, lanes)), draw(st.integers(0, 9)))
        found.append(RankedBatch(LaneBatch(lanes, tuple(reads)), replicas, draw(st.integers(1, 20)), travel))
    return found


def row_edges(batches: list[RankedBatch]) -> set[tuple[Lane, Lane]]:
    """From each lane to those that read its row."""
    return {
        ((read.producer, int(row)), (index, lane))
        for index, one in enumerate(batches)
        for read in one.batch.reads
        if read.producer is not None
        for lane in range(one.batch.lanes)
        for row in read.window.rows_of(np.array([lane]))[0]
        if row >= 0
    }


def longest_paths(batches: list[RankedBatch]) -> list[list[int]]:
    """The definition: from a lane to the end through readers, after the travel, or through the next of the replica."""
    readers: dict[Lane, list[Lane]] = {}
    for source, target in row_edges(batches):
        readers.setdefault(source, []).append(target)

    @cache
    def longest(lane: Lane) -> int:
        index, number = lane
        one = batches[index]
        ways = [one.travel_cycles + longest(reader) for reader in readers.get(lane, ())]
        if number + one.replicas < one.batch.lanes:
            ways.append(longest((index, number + one.replicas)))
        return one.cycles + max(ways, default=0)

    return [[longest((index, lane)) for lane in range(one.batch.lanes)] for index, one in enumerate(batches)]


@settings(max_examples=300, deadline=None)
@given(networks())
def test_ranks_are_the_longest_paths(batches: list[RankedBatch]) -> None:
    assert [ranks.tolist() for ranks in lane_ranks(batches)] == longest_paths(batches)


@settings(max_examples=100, deadline=None)
@given(networks(alone=True), st.integers(1, 3), st.integers(0, 50))
def test_on_equal_cores_the_rank_is_the_optimistic_cost_and_the_own_one(
    batches: list[RankedBatch], cores: int, communication: int
) -> None:
    """PEFT's table is the same for all of equal cores, and what rows take to travel vanishes from it."""
    first = np.cumsum([0, *(one.batch.lanes for one in batches)])
    cost = np.repeat([one.cycles for one in batches], np.diff(first))[:, None] * np.ones(cores, np.int64)
    edges = [
        (first[source] + row, first[target] + lane, communication)
        for (source, row), (target, lane) in sorted(row_edges(batches))
    ]
    table = optimistic_cost_table(TaskGraph.build(cost, np.array(edges, np.int64).reshape(-1, 3)))
    ranks = np.concatenate(lane_ranks(batches))
    for core in range(cores):
        assert (table + cost)[:, core].tolist() == ranks.tolist()


def test_a_chain_by_hand() -> None:
    """Four rows on two replicas, then a kernel of two rows on one, then all rows at once."""
    rows = RankedBatch(LaneBatch(4), 2, 10, 3)
    pairs = RankedBatch(LaneBatch(3, (Read(0, RowWindow(4, 3, rows=2)),)), 1, 100, 3)
    whole = RankedBatch(LaneBatch(1, (Read(1, RowWindow(3, 1, rows=3)),)), 1, 5, 3)
    assert [ranks.tolist() for ranks in lane_ranks([rows, pairs, whole])] == [
        [10 + 3 + 308, 10 + 3 + 308, 10 + 3 + 208, 10 + 3 + 108],
        [100 + 100 + 100 + 3 + 5, 100 + 100 + 3 + 5, 100 + 3 + 5],
        [5],
    ]


def test_the_first_rows_of_a_layer_with_few_replicas_are_urgent() -> None:
    """Two layers without readers and of equal work: the one that cannot spread goes first, but for its last lane."""
    spread, bound = RankedBatch(LaneBatch(8), 8, 10, 0), RankedBatch(LaneBatch(8), 1, 10, 0)
    for batches, which in (([spread, bound], 1), ([bound, spread], 0)):
        order = urgency_order(batches)
        assert order[which][:-1].tolist() == list(range(7))


@settings(max_examples=200, deadline=None)
@given(networks())
def test_the_order_is_one_of_all_lanes_and_keeps_what_lanes_read(batches: list[RankedBatch]) -> None:
    lanes = [one.batch for one in batches]
    order = urgency_order(batches)
    assert sorted(np.concatenate(order).tolist()) == list(range(sum(batch.lanes for batch in lanes)))
    assert validate_steps(lanes, order) == []
    for one, places in zip(batches, order, strict=True):
        for lane in range(one.batch.lanes - one.replicas):
            assert places[lane] < places[lane + one.replicas]
    # Greatest rank first; equal ranks in order of demand.
    demand, ranks = np.concatenate(lane_steps(lanes)), np.concatenate(lane_ranks(batches))
    by_place = np.argsort(np.concatenate(order))
    keys = list(zip((-ranks[by_place]).tolist(), demand[by_place].tolist(), strict=True))
    assert keys == sorted(keys)


@settings(max_examples=200, deadline=None)
@given(networks(), st.integers(1, 3), st.integers(0, 60))
def test_of_several_samples_the_earliest_deadline_goes_first(
    batches: list[RankedBatch], samples: int, period: int
) -> None:
    """The time left for a lane's way to the end of its sample, which it has alone, counts down to the deadline."""
    several = [
        replace(one, batch=replace(one.batch, lanes=samples * one.batch.lanes), replicas=one.replicas)
        for one in batches
    ]
    latest_start = [
        sample * period - rank for ranks in longest_paths(batches) for sample in range(samples) for rank in ranks
    ]
    demand = np.concatenate(lane_steps([one.batch for one in several])).tolist()
    order = np.concatenate(urgency_order(several, Samples(samples, period)))
    assert np.argsort(order).tolist() == sorted(range(len(order)), key=lambda lane: (latest_start[lane], demand[lane]))


@settings(max_examples=200, deadline=None)
@given(networks())
def test_the_order_of_arrival_is_that_of_earliest_starts(batches: list[RankedBatch]) -> None:
    """The longest path from the beginning, by its definition: through rows, which travel, or the lane before."""
    reads: dict[Lane, list[Lane]] = {}
    for source, target in row_edges(batches):
        reads.setdefault(target, []).append(source)

    @cache
    def start(lane: Lane) -> int:
        index, number = lane
        one = batches[index]
        ways = [end(source) + batches[source[0]].travel_cycles for source in reads.get(lane, ())]
        if number >= one.replicas:
            ways.append(end((index, number - one.replicas)))
        return max(ways, default=0)

    def end(lane: Lane) -> int:
        return start(lane) + batches[lane[0]].cycles

    lanes = [(index, lane) for index, one in enumerate(batches) for lane in range(one.batch.lanes)]
    places = np.concatenate(arrival_order(batches)).tolist()
    assert [lanes[number] for number in np.argsort(places)] == sorted(lanes, key=lambda lane: (start(lane), lane))


def test_lanes_that_no_samples_share_equally_belong_to_the_first() -> None:
    shared, alone = RankedBatch(LaneBatch(4), 1, 10, 0), RankedBatch(LaneBatch(1), 1, 15, 0)
    assert [places.tolist() for places in urgency_order([shared, alone], Samples(2, 100))] == [[0, 2, 3, 4], [1]]
