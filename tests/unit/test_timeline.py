"""The timeline of lanes: valid on random networks, bounded by the work, and equal whatever the order of ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.message_times import message_steps, most_at_once, residences, row_reads
from tilec.analysis.timeline import TimedBatch, TransferCosts, schedule_lanes, validate_timeline
from tilec.analysis.wavefront import LaneBatch, Read
from tilec.analysis.window import RowWindow

CORES = 4


def costs(send: int = 3, receive: int = 5) -> TransferCosts:
    return TransferCosts(np.full((CORES, CORES), send), np.full((CORES, CORES), receive))


def chain(cores: list[list[int]], cycles: list[int], rows: int = 6, kernel: int = 3) -> list[TimedBatch]:
    """Convolutions with padding, one after another; replica r of batch b on ``cores[b][r]``."""
    found: list[TimedBatch] = []
    for index, (replicas, work) in enumerate(zip(cores, cycles, strict=True)):
        window = RowWindow(rows, rows, rows=kernel, pad_top=kernel // 2)
        batch = LaneBatch(rows, (Read(index - 1 if index else None, window),))
        lane_cores = np.array(replicas)[np.arange(rows) % len(replicas)]
        found.append(TimedBatch(batch, lane_cores, work, costs(), (2,)))
    return found


@st.composite
def networks(draw: st.DrawFn) -> list[TimedBatch]:
    """Random graphs of batches that read one or two earlier ones (or the input) through random windows."""
    found: list[TimedBatch] = []
    for index in range(draw(st.integers(1, 6))):
        lanes = draw(st.integers(1, 7))
        reads: list[Read] = []
        for _ in range(draw(st.integers(1, 2))):
            producer = draw(st.integers(-1, index - 1))
            height = 7 if producer < 0 else found[producer].batch.lanes
            kernel = draw(st.integers(1, height))
            window = RowWindow(
                height, lanes, rows=kernel, stride=draw(st.integers(0, 2)), pad_top=draw(st.integers(0, 1))
            )
            reads.append(Read(None if producer < 0 else producer, window))
        replicas = draw(st.lists(st.integers(0, CORES - 1), min_size=1, max_size=lanes))
        lane_cores = np.array(replicas)[np.arange(lanes) % len(replicas)]
        batch = LaneBatch(lanes, tuple(reads))
        found.append(TimedBatch(batch, lane_cores, draw(st.integers(1, 40)), costs(), (2,) * len(reads)))
    return found


@settings(max_examples=200, deadline=None)
@given(networks(), st.sampled_from([1, 2, 4, 1 << 30]))
def test_every_schedule_is_valid(batches: list[TimedBatch], lead: int) -> None:
    timeline = schedule_lanes(batches, CORES, lead)
    assert validate_timeline(batches, timeline) == []
    work = np.zeros(CORES, np.int64)
    for timed in batches:
        np.add.at(work, timed.cores, timed.cycles)
    assert timeline.makespan >= work.max()


def test_the_validator_sees_a_lane_before_its_row_and_two_lanes_at_once() -> None:
    batches = chain([[0], [1]], [10, 10])
    timeline = schedule_lanes(batches, CORES)
    timeline.start[1][0] = timeline.start[0][0]
    assert any("starts before row" in problem for problem in validate_timeline(batches, timeline))
    timeline = schedule_lanes(batches, CORES)
    timeline.start[0][1] = timeline.start[0][0] + 1
    assert any("is busy until" in problem for problem in validate_timeline(batches, timeline))


def test_layers_on_different_cores_run_at_the_same_time() -> None:
    pipelined = schedule_lanes(chain([[0], [1], [2]], [100, 100, 100]), CORES)
    serial = schedule_lanes(chain([[0], [0], [0]], [100, 100, 100]), CORES)
    assert serial.makespan >= 3 * 6 * 100
    # A layer can follow two rows behind the one before.
    assert pipelined.makespan < (6 + 2 * 2) * 100 + 200


def test_replicas_share_the_lanes() -> None:
    one = schedule_lanes(chain([[0]], [100]), CORES)
    two = schedule_lanes(chain([[0, 1]], [100]), CORES)
    assert one.makespan == pytest.approx(600, abs=30)
    assert two.makespan == pytest.approx(300, abs=30)


def test_a_late_layer_does_not_stop_an_early_one_on_its_core() -> None:
    """The core runs whatever is ready: lanes of its early layer while its late layer waits."""
    batches = chain([[0], [1], [2], [0]], [10, 500, 10, 10])
    timeline = schedule_lanes(batches, CORES)
    assert timeline.start[0].max() < timeline.start[3].min()


@settings(max_examples=100, deadline=None)
@given(networks())
def test_messages_travel_between_the_lane_and_its_first_reader(batches: list[TimedBatch]) -> None:
    timeline = schedule_lanes(batches, CORES)
    for index, timed in enumerate(batches):
        lines: list[tuple[int, int, int, int, int]] = []
        for reader, other in enumerate(batches):
            for read in other.batch.reads:
                if read.producer == index:
                    for lane, rows in enumerate(read.window.rows_of(np.arange(other.batch.lanes))):
                        start = int(timeline.start[reader][lane])
                        end = start + other.cycles - 1
                        lines += [
                            (int(row), int(other.cores[lane]), start, end, other.cycles) for row in rows if row >= 0
                        ]
        reads = row_reads(np.array(lines, np.int64).reshape(-1, 5))
        reads = reads.where(reads.core != timed.cores[reads.row])
        ready = timeline.start[index][reads.row] + timed.cycles - 1
        steps = message_steps(reads, timed.cores[reads.row], ready, timed.transfer)
        assert (steps >= ready).all()
        assert (steps < reads.first).all()


@settings(max_examples=100, deadline=None)
@given(networks())
def test_rows_are_held_where_they_are_computed_and_read(batches: list[TimedBatch]) -> None:
    timeline = schedule_lanes(batches, CORES)
    for timed, held in zip(batches, residences(batches, timeline), strict=True):
        assert (held.first <= held.last).all()
        assert set(timed.cores.tolist()) <= set(held.core.tolist())


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), min_size=1, max_size=20))
def test_most_at_once_against_counting(periods: list[tuple[int, int]]) -> None:
    first = np.array([begin for begin, _ in periods])
    last = np.array([begin + length for begin, length in periods])
    # Slots go round: an instance needs a slot from its beginning until every earlier one has let go of it.
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    naive = max(sum(first[j] <= last[i] for j in range(i, len(first))) for i in range(len(first)))
    assert most_at_once(first, last) == naive
