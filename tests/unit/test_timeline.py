"""The timeline of lanes: valid on random networks, bounded by paths and by work, and small cases by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.lane_rank import RankedBatch, lane_ranks
from tilec.analysis.message_times import message_steps, most_at_once, residences, row_reads
from tilec.analysis.timeline import TimedBatch, Timeline, TransferCosts, schedule_lanes, validate_timeline
from tilec.analysis.wavefront import LaneBatch, Read
from tilec.analysis.window import RowWindow

CORES = 4

SEND, RECEIVE, FLIGHT = 3, 5, 4


def costs(send: int = SEND, receive: int = RECEIVE, flight: int = FLIGHT) -> TransferCosts:
    def same(cycles: int) -> np.ndarray:
        return np.full((CORES, CORES), cycles)

    return TransferCosts(same(send), same(receive), same(flight), receive)


def batch(lanes: int, cycles: int, cores: list[int], *reads: Read, transfer: TransferCosts | None = None) -> TimedBatch:
    """A batch with a replica on each of ``cores``; each row of the network's inputs takes 2 cycles to load."""
    lane_cores = np.array(cores)[np.arange(lanes) % len(cores)]
    return TimedBatch(LaneBatch(lanes, reads), lane_cores, len(cores), cycles, transfer or costs(), (2,) * len(reads))


def row_by_row(producer: int | None, rows: int = 1) -> Read:
    return Read(producer, RowWindow(rows, rows))


def chain(cores: list[list[int]], cycles: list[int], rows: int = 6, kernel: int = 3) -> list[TimedBatch]:
    """Convolutions with padding, one after another; replica r of batch b on ``cores[b][r]``."""
    window = RowWindow(rows, rows, rows=kernel, pad_top=kernel // 2)
    return [
        batch(rows, work, replicas, Read(index - 1 if index else None, window))
        for index, (replicas, work) in enumerate(zip(cores, cycles, strict=True))
    ]


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
        found.append(batch(lanes, draw(st.integers(1, 40)), replicas, *reads))
    return found


def readers(batches: list[TimedBatch]) -> list[tuple[int, int, int, int]]:
    """(producer, row, reader, lane), each once."""
    return sorted(
        {
            (read.producer, int(row), index, lane)
            for index, timed in enumerate(batches)
            for read in timed.batch.reads
            if read.producer is not None
            for lane, rows in enumerate(read.window.rows_of(np.arange(timed.batch.lanes)))
            for row in rows
            if row >= 0
        }
    )


def messages(batches: list[TimedBatch]) -> list[tuple[int, int, int]]:
    """(producer, row, core that reads it and does not compute it), each once."""
    pairs = {(producer, row, int(batches[index].cores[lane])) for producer, row, index, lane in readers(batches)}
    return sorted((producer, row, core) for producer, row, core in pairs if core != batches[producer].cores[row])


@settings(max_examples=200, deadline=None)
@given(networks(), st.sampled_from([1, 2, 4, 1 << 30]))
def test_every_schedule_is_valid(batches: list[TimedBatch], lead: int) -> None:
    timeline = schedule_lanes(batches, CORES, lead)
    assert validate_timeline(batches, timeline) == []
    for producer, row, index, lane in readers(batches):
        if batches[producer].cores[row] != batches[index].cores[lane]:
            assert timeline.start[index][lane] >= timeline.finish[producer][row] + RECEIVE
    assert timeline.makespan >= max(int(finish.max()) for finish in timeline.finish)


@settings(max_examples=200, deadline=None)
@given(networks(), st.sampled_from([1, 2, 1 << 30]))
def test_takes_as_long_as_paths_and_work_and_no_longer_than_all_in_turn(batches: list[TimedBatch], lead: int) -> None:
    makespan = schedule_lanes(batches, CORES, lead).makespan
    work = np.zeros(CORES, np.int64)
    for timed in batches:
        np.add.at(work, timed.cores, timed.cycles)
    assert makespan >= work.max()
    paths = lane_ranks([RankedBatch(one.batch, one.batch.lanes, one.cycles, 0) for one in batches])
    assert makespan >= max(int(ranks.max()) for ranks in paths)
    loads = {
        (core, int(row))
        for timed in batches
        for read in timed.batch.reads
        if read.producer is None
        for core, rows in zip(timed.cores.tolist(), read.window.rows_of(np.arange(timed.batch.lanes)), strict=True)
        for row in rows
    }
    # At any moment something is at work, or on its way.
    assert makespan <= work.sum() + 2 * len(loads) + (SEND + RECEIVE + FLIGHT) * len(messages(batches))


@settings(max_examples=50, deadline=None)
@given(networks())
def test_the_same_batches_have_the_same_schedule(batches: list[TimedBatch]) -> None:
    one, other = schedule_lanes(batches, CORES), schedule_lanes(batches, CORES)
    assert [starts.tolist() for starts in one.start] == [starts.tolist() for starts in other.start]
    assert [ends.tolist() for ends in one.finish] == [ends.tolist() for ends in other.finish]


def test_the_validator_sees_what_is_wrong() -> None:
    batches = chain([[0], [1]], [10, 10])
    timeline = schedule_lanes(batches, CORES)
    timeline.start[1][0] = timeline.finish[0][1]
    assert validate_timeline(batches, timeline) == ["lane 0 of batch 1 starts before row 1 of 0"]
    timeline = schedule_lanes(batches, CORES)
    timeline.start[0][1] = timeline.start[0][0] + 1
    assert any("is busy until" in problem for problem in validate_timeline(batches, timeline))
    timeline = schedule_lanes(batches, CORES)
    timeline.finish[0][5] = timeline.start[0][5] + 9
    assert validate_timeline(batches, timeline) == ["a lane of batch 0 takes less than 10 cycles"]


def starts(timeline: Timeline) -> list[list[int]]:
    return [one.tolist() for one in timeline.start]


def finishes(timeline: Timeline) -> list[list[int]]:
    return [one.tolist() for one in timeline.finish]


def test_a_row_goes_to_one_core_after_the_other() -> None:
    """The second message leaves when the first one has left the network."""
    batches = [batch(1, 10, [0]), *(batch(1, 20, [core], row_by_row(0)) for core in (1, 2, 3))]
    timeline = schedule_lanes(batches, CORES)
    first = 10
    second = first + SEND + FLIGHT
    third = second + SEND + FLIGHT
    assert starts(timeline) == [[0], [first + RECEIVE], [second + RECEIVE], [third + RECEIVE]]
    assert timeline.makespan == third + RECEIVE + 20


def test_a_receiver_in_the_middle_of_a_lane_is_held_up() -> None:
    """Core 1 is at work from 0 to 100, but for the 5 cycles of each of two messages."""
    batches = [batch(2, 10, [0]), batch(1, 100, [1]), batch(2, 30, [1], row_by_row(0, 2))]
    timeline = schedule_lanes(batches, CORES)
    assert starts(timeline) == [[0, 10 + SEND], [0], [110, 140]]
    assert finishes(timeline) == [[10, 20 + SEND], [100 + 2 * RECEIVE], [140, 170]]


def test_a_receiver_in_the_middle_of_a_message_keeps_the_sender_waiting() -> None:
    """Cores 0 and 1 have a row for core 2 at the same time; that of core 1 is more urgent, and core 0 waits for it."""
    batches = [
        batch(1, 10, [0]),
        batch(1, 10, [1]),
        batch(1, 7, [2], row_by_row(0)),
        batch(1, 50, [2], row_by_row(1)),
        batch(1, 1, [0]),
    ]
    timeline = schedule_lanes(batches, CORES)
    received = 10 + RECEIVE + RECEIVE
    assert starts(timeline) == [[0], [0], [received + 50], [received], [10 + RECEIVE + SEND]]


def test_sending_takes_the_time_of_the_core() -> None:
    """Between its lanes, core 0 is busy with its row's messages; a reader on the same core costs nothing."""
    apart = [batch(2, 10, [0]), batch(2, 1, [1], row_by_row(0, 2)), batch(2, 1, [2], row_by_row(0, 2))]
    assert starts(schedule_lanes(apart, CORES))[0] == [0, 10 + SEND + FLIGHT + SEND]
    local = [batch(2, 10, [0]), batch(2, 1, [0], row_by_row(0, 2))]
    assert schedule_lanes(local, CORES).makespan == 22


def test_loads_queue_at_the_port() -> None:
    """Three cores load a row of the input each, 2 cycles long; each loads it once."""
    batches = [batch(6, 10, [0, 1, 2], Read(None, RowWindow(1, 6, stride=0)))]
    assert starts(schedule_lanes(batches, CORES)) == [[2, 4, 6, 12, 14, 16]]


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


def test_of_lanes_that_are_ready_the_most_urgent_one_runs() -> None:
    """Two rows are there at once; the one that a long layer waits for goes first, though its batch comes later."""
    batches = [batch(1, 10, [0]), batch(1, 10, [0]), batch(1, 5, [1], row_by_row(0)), batch(1, 90, [2], row_by_row(1))]
    timeline = schedule_lanes(batches, CORES)
    assert starts(timeline)[:2] == [[10 + SEND], [0]]


def test_a_lead_bounds_how_far_a_batch_runs_ahead() -> None:
    """Its reader takes ten times as long for each row."""
    batches = [batch(8, 10, [0]), batch(8, 100, [1], row_by_row(0, 8))]
    for lead in (1, 2, 3):
        timeline = schedule_lanes(batches, CORES, lead)
        for row in range(lead, 8):
            assert timeline.start[0][row] >= timeline.finish[1][row - lead]
    assert schedule_lanes(batches, CORES).start[0][7] < 8 * 20


def test_each_batch_may_have_a_lead_of_its_own() -> None:
    batches = [batch(8, 10, [0]), batch(8, 10, [1]), batch(8, 100, [2], row_by_row(0, 8), row_by_row(1, 8))]
    timeline = schedule_lanes(batches, CORES, [2, 8, 8])
    for row in range(2, 8):
        assert timeline.start[0][row] >= timeline.finish[2][row - 2]
    assert timeline.start[1][7] < timeline.start[0][3]
    assert validate_timeline(batches, timeline) == []


def test_a_lane_outside_the_image_waits_for_its_turn() -> None:
    """Of two images of four rows, the first lanes of a part for the row above read nothing."""
    above = Read(0, RowWindow(4, 4, pad_top=1))
    batches = [batch(8, 50, [0]), batch(8, 10, [1], above), batch(8, 10, [2], row_by_row(0, 4), row_by_row(1, 4))]
    early, late = schedule_lanes(batches, CORES), schedule_lanes(batches, CORES, in_turn=True)
    assert early.start[1][4] < early.start[1][1]
    assert late.start[1][4] >= late.finish[1][3]
    assert late.start[1][0] == early.start[1][0] == 0
    assert late.makespan <= early.makespan + 10
    assert validate_timeline(batches, late) == []
    held = [max(one.rings()[:, 3].tolist()) for one in (residences(batches, early)[1], residences(batches, late)[1])]
    assert held[1] < held[0]


def test_a_lead_yields_where_all_would_wait() -> None:
    """A lane that reads four rows, of which one may be ahead."""
    batches = [batch(4, 10, [0]), batch(1, 10, [1], Read(0, RowWindow(4, 1, rows=4)))]
    assert validate_timeline(batches, schedule_lanes(batches, CORES, 1)) == []


def lines(batches: list[TimedBatch], timeline: Timeline, index: int) -> np.ndarray:
    """Row, core, first and last step of each lane that reads a row of batch ``index``."""
    found = [
        (
            row,
            int(batches[reader].cores[lane]),
            int(timeline.start[reader][lane]),
            int(timeline.finish[reader][lane]) - 1,
        )
        for producer, row, reader, lane in readers(batches)
        if producer == index
    ]
    return np.array(found, np.int64).reshape(-1, 4)


@settings(max_examples=100, deadline=None)
@given(networks())
def test_messages_travel_between_the_lane_and_its_first_reader(batches: list[TimedBatch]) -> None:
    timeline = schedule_lanes(batches, CORES)
    for index, timed in enumerate(batches):
        reads = row_reads(lines(batches, timeline, index))
        reads = reads.where(reads.core != timed.cores[reads.row])
        ready = timeline.finish[index][reads.row] - 1
        steps = message_steps(reads, timed.cores[reads.row], ready, timed.transfer)
        assert (steps >= ready).all()
        assert (steps < reads.first).all()


def test_rows_are_sent_at_once() -> None:
    """Row 0 to three cores, one after the other, but before the last one's reader; row 1 to one."""
    reads = row_reads(np.array([[0, 1, 90, 99], [0, 2, 90, 95], [0, 2, 80, 85], [0, 3, 23, 30], [1, 1, 50, 60]]))
    assert reads.first.tolist() == [90, 80, 23, 50]
    assert reads.last.tolist() == [99, 95, 30, 60]
    ready = np.array([10, 10, 10, 40])
    steps = message_steps(reads, np.zeros(4, np.int64), ready, costs())
    assert steps.tolist() == [10, 10 + SEND + FLIGHT, 22, 40]
    # With no room before the first read, it is the step at which the row is computed.
    assert message_steps(reads, np.zeros(4, np.int64), np.array([10, 10, 23, 40]), costs()).tolist()[2] == 23


@settings(max_examples=100, deadline=None)
@given(networks())
def test_rows_are_held_from_where_they_come_to_their_last_use(batches: list[TimedBatch]) -> None:
    """On the core that computes a row: until it is read there and has been sent. On others: from the message on."""
    timeline = schedule_lanes(batches, CORES)
    for index, (timed, held) in enumerate(zip(batches, residences(batches, timeline), strict=True)):
        reads = row_reads(lines(batches, timeline, index))
        begin = {(row, int(timed.cores[row])): int(timeline.start[index][row]) for row in range(timed.batch.lanes)}
        end = {(row, int(timed.cores[row])): int(timeline.finish[index][row]) - 1 for row in range(timed.batch.lanes)}
        busy_until: dict[int, int] = {}
        for row, core, first, last in zip(
            reads.row.tolist(), reads.core.tolist(), reads.first.tolist(), reads.last.tolist(), strict=True
        ):
            home = int(timed.cores[row])
            if core != home:
                ready = int(timeline.finish[index][row]) - 1
                sent = max(min(ready + busy_until.get(row, 0), first - 1), ready)
                busy_until[row] = busy_until.get(row, 0) + SEND + FLIGHT
                begin[row, core], end[row, core] = sent, last
                end[row, home] = max(end[row, home], sent)
            else:
                end[row, home] = max(end[row, home], last)
        expected = Counter((core, begin[row, core], end[row, core]) for row, core in begin)
        assert Counter(zip(held.core.tolist(), held.first.tolist(), held.last.tolist(), strict=True)) == expected
        for core, first, last, slots in held.rings().tolist():
            mine = [(b, e) for (c, b, e), count in expected.items() if c == core for _ in range(count)]
            assert (first, last) == (min(b for b, _ in mine), max(e for _, e in mine))
            assert 1 <= slots <= len(mine)
            assert slots >= max(sum(b <= moment <= e for b, e in mine) for moment, _ in mine)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), min_size=1, max_size=20))
def test_most_at_once_against_counting(periods: list[tuple[int, int]]) -> None:
    first = np.array([begin for begin, _ in periods])
    last = np.array([begin + length for begin, length in periods])
    # Slots go round: an instance needs a slot from its beginning until every earlier one has let go of it.
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    naive = max(sum(first[j] <= last[i] for j in range(i, len(first))) for i in range(len(first)))
    assert most_at_once(first, last) == naive
