"""Plain schedules: the dumb order of the yardsticks, made by other code, and what transfers make of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.dumb_schedules import DumbOrders, LanesToPlace
from tilec.analysis.lane_columns import graph_of
from tilec.analysis.plain_timeline import plain_starts, plain_timeline
from tilec.analysis.timeline import Load, TimedBatch, Timeline, TransferCosts, validate_timeline
from tilec.analysis.wavefront import LaneBatch, Read
from tilec.analysis.window import RowWindow, window_rows

CORES = 3
COSTS = TransferCosts(*(np.ones((CORES, CORES), np.int64) for _ in range(3)), 1)


@st.composite
def networks(draw: st.DrawFn, least: int = 1) -> list[TimedBatch]:
    """Batches that read earlier ones, each replica on some core; their lanes take at ``least`` so many cycles."""
    found: list[TimedBatch] = []
    for index in range(draw(st.integers(1, 5))):
        lanes = draw(st.integers(1, 6))
        reads: list[Read] = []
        for _ in range(draw(st.integers(0, 2)) if index else 0):
            producer = draw(st.integers(0, index - 1))
            height = found[producer].batch.lanes
            rows, stride = draw(st.integers(1, height)), draw(st.integers(0, 2))
            reads.append(Read(producer, RowWindow(height, lanes, rows=rows, stride=stride)))
        cores = draw(st.lists(st.integers(0, CORES - 1), min_size=1, max_size=3))
        at = np.array(cores)[np.arange(lanes) % len(cores)]
        cycles = draw(st.integers(least, 9))
        begins = [0, *range(draw(st.integers(1, 5)), cycles, draw(st.integers(1, 5)))]
        found.append(TimedBatch(LaneBatch(lanes, tuple(reads)), at, len(cores), cycles, COSTS, begins=begins))
    return found


@settings(max_examples=200, deadline=None)
@given(networks(least=0))
def test_lanes_start_in_the_dumb_order(batches: list[TimedBatch]) -> None:
    graph = graph_of(batches)
    lanes = [
        LanesToPlace(
            one.batch.lanes,
            one.replicas,
            one.cycles,
            0,
            tuple(
                (read.producer, window_rows(read.window, one.batch.lanes))
                for read in one.batch.reads
                if read.producer is not None
            ),
        )
        for one in batches
    ]
    orders = DumbOrders(lanes, CORES)
    core = np.concatenate([one.cores for one in batches])
    assert plain_starts(graph, core, orders.cycles).tolist() == orders.by_rows(core).tolist()


@settings(max_examples=200, deadline=None)
@given(networks())
def test_plain_schedules_are_schedules(batches: list[TimedBatch]) -> None:
    """No lane before its rows, nothing amid an instruction, and nothing at once on a core."""
    timeline = scheduled(batches)
    assert not validate_timeline(batches, timeline)
    core = np.concatenate([one.cores for one in batches])
    cycles = np.repeat([one.cycles for one in batches], np.diff(timeline.first))
    order = plain_starts(graph_of(batches), core, cycles)
    for one in range(CORES):
        mine = np.flatnonzero(core == one)
        assert (np.diff(order[mine[np.argsort(timeline.starts[mine])]]) >= 0).all(), "cores keep the plain order"


@settings(max_examples=200, deadline=None)
@given(networks())
def test_each_row_is_sent_once_to_each_core_that_reads_it(batches: list[TimedBatch]) -> None:
    wanted = {
        (read.producer, int(row), int(one.cores[lane]))
        for one in batches
        for read in one.batch.reads
        if read.producer is not None
        for lane, rows in enumerate(window_rows(read.window, one.batch.lanes))
        for row in rows
        if row >= 0 and batches[read.producer].cores[row] != one.cores[lane]
    }
    timeline = scheduled(batches)
    sent = [(index, *line) for index, lines in enumerate(timeline.messages) for line in lines.tolist()]
    assert {(index, row, core) for index, row, core, _ in sent} == wanted
    assert len(sent) == len(wanted)


@settings(max_examples=200, deadline=None)
@given(networks())
def test_messages_of_one_core_have_steps_of_their_own(batches: list[TimedBatch]) -> None:
    """Which of them goes first may not depend on their order in the text."""
    timeline = scheduled(batches)
    found = [
        (core, cycle)
        for one, lines in zip(batches, timeline.messages, strict=True)
        for row, target, cycle in lines.tolist()
        for core in (int(one.cores[row]), target)
    ]
    assert len(found) == len(set(found))


def test_a_message_comes_between_two_instructions() -> None:
    """A row that is made after 5 cycles comes when an instruction of 4, the second of three, has ended, and holds the
    third one up."""
    sender = TimedBatch(LaneBatch(1), np.array([0]), 1, 5, COSTS)
    running = TimedBatch(LaneBatch(1), np.array([1]), 1, 12, COSTS, begins=(0, 4, 8))
    reader = TimedBatch(LaneBatch(1, (Read(0, RowWindow(1, 1)),)), np.array([1]), 1, 2, COSTS)
    timeline = scheduled([sender, running, reader])
    assert timeline.messages[0].tolist() == [[0, 1, 8]]
    assert timeline.resumes[1].tolist() == [[0, 8, 9]]
    assert (timeline.starts.tolist(), timeline.finishes.tolist()) == ([0, 0, 13], [5, 13, 15])


def test_loads_wait_for_the_port() -> None:
    """Two cores load a row each, of 10 cycles, 6 of them of the port, which a request reaches in 1; the second lane of
    a core has its row already. Lanes start with the load, and go on when it is there."""
    one = Read(None, RowWindow(2, 4, rows=1, stride=0))
    batch = TimedBatch(LaneBatch(4, (one,)), np.array([0, 1, 0, 1]), 2, 3, COSTS, loads=(Load(10, 6),))
    timeline = plain_timeline(graph_of([batch]), [batch], np.ones(CORES, np.int64))
    assert timeline.starts.tolist() == [0, 0, 14, 20]
    assert timeline.resumes[0].tolist() == [[0, 0, 11], [1, 0, 17]]
    assert timeline.finishes.tolist() == [14, 20, 17, 23]


def scheduled(batches: list[TimedBatch]) -> Timeline:
    return plain_timeline(graph_of(batches), batches, np.zeros(CORES, np.int64))
