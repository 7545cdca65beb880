"""The critical chain of a schedule: hand-made schedules with known answers, and chains that add up on random ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from tilec.analysis import critical_chain, occupancy
from tilec.analysis.critical_chain import CORE, MINOR, QUEUE, RUN, TAIL, TRAVEL, Chain, ChainFinder
from tilec.analysis.lane_columns import graph_of
from tilec.analysis.lane_scheduler import schedule_lanes
from tilec.analysis.occupancy import busy_cycles
from tilec.analysis.timeline import TimedBatch, TransferCosts
from tilec.analysis.wavefront import LaneBatch, Read
from tilec.analysis.window import RowWindow
from timelines import timeline_of

CORES = 3
RECEIVE = 5

Ints = NDArray[np.int64]
NOTHING = np.zeros((0, 3), np.int64)


def batch(cores: list[int], cycles: int, *producers: int) -> TimedBatch:
    """One lane on each of ``cores``; it reads the row of the same number of each producer."""
    same = [np.full((CORES, CORES), cost) for cost in (3, RECEIVE, 4)]
    lanes = len(cores)
    reads = tuple(Read(producer, RowWindow(lanes, lanes)) for producer in producers)
    transfer = TransferCosts(*same, RECEIVE)
    return TimedBatch(LaneBatch(lanes, reads), np.array(cores), lanes, cycles, transfer, begins=tuple(range(cycles)))


def found(batches: list[TimedBatch], spans: list[list[tuple[int, int]]], messages: list[Ints], makespan: int) -> Chain:
    """The chain of a schedule with the first cycle, and the one after the last, of each lane."""
    start, finish = ([np.array([span[end] for span in mine]) for mine in spans] for end in (0, 1))
    timeline = timeline_of(start, finish, messages, makespan)
    return ChainFinder(graph_of(batches)).find(batches, timeline)


def test_a_lane_waits_for_the_one_that_has_its_core() -> None:
    """Lane 1 could begin at 10 and finds its core with lane 2 from 4 to 30; 2 cycles later it begins."""
    batches = [batch([0], 10), batch([0], 8, 0), batch([0], 26)]
    chain = found(batches, [[(0, 3)], [(32, 40)], [(4, 30)]], [NOTHING] * 3, 40)
    assert chain.steps.tolist() == [
        [RUN, 1, 32, 40],
        [CORE, 1, 30, 32],
        [RUN, 2, 4, 30],
        [CORE, 2, 3, 4],
        [RUN, 0, 0, 3],
    ]
    # Lane 2 reads nothing: it waits for lane 0 from the beginning.
    assert chain.waits.tolist() == [[1, 2, 32 - 4], [2, 0, 4]]
    assert chain.queues.tolist() == []
    assert chain.burden(3).tolist() == [400, 2800 + MINOR * 2, 3200 + MINOR]


def test_only_cycles_in_which_all_rows_are_there_are_waited() -> None:
    """The row of lane 0 is on core 1 at 20: of what lane 2 runs there, 12 to 27, the rest is in the way."""
    batches = [batch([0], 10), batch([1], 8, 0), batch([1], 15)]
    messages = [np.array([[0, 1, 15]]), NOTHING, NOTHING]
    chain = found(batches, [[(0, 10)], [(27, 35)], [(12, 27)]], messages, 35)
    assert chain.waits.tolist() == [[1, 2, 7]]
    assert chain.steps.tolist() == [[RUN, 1, 27, 35], [RUN, 2, 12, 27], [CORE, 2, 0, 12]]


def test_a_row_that_is_sent_late_is_queued_and_travels() -> None:
    """Computed at 10, sent at 16, there 5 cycles later; the core then loads for 2 cycles."""
    batches = [batch([0], 10), batch([1], 8, 0)]
    chain = found(batches, [[(0, 10)], [(23, 31)]], [np.array([[0, 1, 16]]), NOTHING], 31)
    assert chain.steps.tolist() == [
        [RUN, 1, 23, 31], [CORE, 1, 21, 23], [TRAVEL, 0, 16, 21], [QUEUE, 0, 10, 16], [RUN, 0, 0, 10]
    ]  # fmt: skip
    assert chain.waits.tolist() == []
    assert chain.queues.tolist() == [[1, 0, 6]]
    assert chain.burden(2).tolist() == [MINOR * 6, MINOR * 6 + MINOR * 2]


def test_the_last_of_several_rows_is_on_the_chain() -> None:
    """One row is computed on the same core at 30, the other one comes at 25."""
    batches = [batch([0], 10), batch([1], 30), batch([1], 8, 0, 1)]
    spans = [[(0, 10)], [(0, 30)], [(30, 38)]]
    chain = found(batches, spans, [np.array([[0, 1, 20]]), NOTHING, NOTHING], 38)
    assert chain.steps.tolist() == [[RUN, 2, 30, 38], [RUN, 1, 0, 30]]
    assert chain.waits.tolist() == []
    later = found(batches, [[(0, 10)], [(0, 24)], [(30, 38)]], [np.array([[0, 1, 25]]), NOTHING, NOTHING], 38)
    assert later.steps[1:3, :2].tolist() == [[TRAVEL, 0], [QUEUE, 0]]


def test_lanes_that_interrupt_are_waited_for() -> None:
    """Lane 1 is stopped for lanes 0 and 2; lane 3, of another core, is not in its way."""
    batches = [batch([0], 4), batch([0], 20), batch([0], 5), batch([1], 30)]
    chain = found(batches, [[(2, 6)], [(0, 31)], [(10, 15)], [(0, 30)]], [NOTHING] * 4, 31)
    assert sorted(chain.waits.tolist()) == [[1, 0, 4], [1, 2, 5]]
    assert chain.steps.tolist() == [[RUN, 1, 0, 31]]


def test_what_comes_behind_all_lanes_is_a_step_too() -> None:
    chain = found([batch([0], 4)], [[(0, 4)]], [NOTHING], 9)
    assert chain.steps.tolist() == [[TAIL, 0, 4, 9], [RUN, 0, 0, 4]]
    assert found([], [], [], 0).steps.tolist() == []


@st.composite
def networks(draw: st.DrawFn) -> list[TimedBatch]:
    """Batches of several lanes and windows on few cores, so that much waits and is interrupted."""
    batches: list[TimedBatch] = []
    for index in range(draw(st.integers(1, 7))):
        lanes = draw(st.integers(1, 7))
        reads: list[Read] = []
        for producer in draw(st.lists(st.integers(0, index - 1), max_size=2)) if index else []:
            height = batches[producer].batch.lanes
            window = RowWindow(height, lanes, rows=draw(st.integers(1, height)), stride=draw(st.integers(0, 2)))
            reads.append(Read(producer, window))
        replicas = draw(st.lists(st.integers(0, CORES - 1), min_size=1, max_size=lanes))
        cycles = draw(st.sampled_from([5, 900, 7000]))
        one = batch([replicas[lane % len(replicas)] for lane in range(lanes)], cycles)
        begins = tuple(range(0, cycles, 100))
        batches.append(
            TimedBatch(LaneBatch(lanes, tuple(reads)), one.cores, len(replicas), cycles, one.transfer, begins=begins)
        )
    return batches


@settings(max_examples=300, deadline=None)
@given(networks(), st.sampled_from([1, 2, 1 << 30]))
def test_steps_add_up_to_the_makespan(batches: list[TimedBatch], lead: int) -> None:
    """They follow one another without a gap; lanes run when the schedule says, and whoever is waited for is there."""
    timeline = schedule_lanes(batches, CORES, lead)
    graph = graph_of(batches)
    chain = ChainFinder(graph).find(batches, timeline)
    assert (chain.steps[:, 3] - chain.steps[:, 2]).sum() == timeline.makespan == chain.steps[0, 3]
    assert chain.steps[:-1, 2].tolist() == chain.steps[1:, 3].tolist()
    start, finish = np.concatenate(timeline.start), np.concatenate(timeline.finish)
    core = np.concatenate([one.cores for one in batches])
    for kind, lane, begin, end in chain.steps.tolist():
        if kind == RUN:
            assert (begin, end) == (start[lane], finish[lane])
        if kind in (TRAVEL, QUEUE):
            assert lane in graph.row
    ready = {(int(row), int(lane)) for row, lane in zip(graph.row, graph.reader, strict=True)}
    for lane, other, cycles in chain.waits.tolist():
        assert core[lane] == core[other]
        assert lane != other
        assert 0 < cycles <= max(finish[other], start[lane]) - start[other]
    for lane, row, cycles in chain.queues.tolist():
        assert (row, lane) in ready
        assert cycles >= 0
    on_chain = set(chain.steps[:, 1].tolist()) | set(chain.waits[:, 1].tolist()) | set(chain.queues[:, 0].tolist())
    assert set(np.flatnonzero(chain.burden(len(start))).tolist()) <= on_chain


@given(networks())
def test_machine_code_finds_the_same_chain(batches: list[TimedBatch]) -> None:
    timeline, finder = schedule_lanes(batches, CORES), ChainFinder(graph_of(batches))
    found: list[list[object]] = []
    for lanes in (0, 1 << 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(critical_chain, "WORTH_COMPILING", lanes)
            chain = finder.find(batches, timeline)
            found.append([chain.steps.tolist(), chain.waits.tolist(), chain.queues.tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize("compiled", [False, True])
def test_busy_cycles_are_those_in_which_lanes_run(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted cycle by cycle."""
    monkeypatch.setattr(occupancy, "WORTH_COMPILING", 0 if compiled else 1 << 30)
    _check_busy_cycles()


@settings(max_examples=200, deadline=None)
@given(
    arrays.arrays(np.int64, st.tuples(st.integers(0, 12), st.just(3)), elements=st.integers(0, 40)),
    st.integers(1, 15),
    st.integers(1, 9),
)
def _check_busy_cycles(lines: Ints, width: int, groups: int) -> None:
    group, start, length = (column.astype(np.int64) for column in lines.T)
    group, finish = group % groups, start + length
    periods = -(-max(int(finish.max(initial=0)), 1) // width)
    counted = np.zeros((groups, periods), np.int64)
    for mine, begin, end in zip(group.tolist(), start.tolist(), finish.tolist(), strict=True):
        for cycle in range(begin, end):
            counted[mine, cycle // width] += 1
    assert busy_cycles(group, groups, start, finish, width, periods).tolist() == counted.tolist()


@settings(max_examples=60, deadline=None)
@given(networks())
def test_joined_columns_are_those_of_all_batches(batches: list[TimedBatch]) -> None:
    timeline = schedule_lanes(batches, CORES)
    graph = graph_of(batches)
    found = timeline.starts.tolist(), timeline.finishes.tolist(), [column.tolist() for column in timeline.sent]
    starts = [start for one in timeline.start for start in one.tolist()]
    finishes = [finish for one in timeline.finish for finish in one.tolist()]
    sent = [
        (first + row, core, cycle)
        for first, messages in zip(graph.first.tolist(), timeline.messages, strict=False)
        for row, core, cycle in messages.tolist()
    ]
    columns = [list(column) for column in zip(*sent, strict=True)] or [[], [], []]
    assert found == (starts, finishes, columns)
