"""The timeline of lanes: valid on random networks, bounded by paths and by work, and small cases by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis import lane_scheduler
from tilec.analysis.lane_columns import graph_of
from tilec.analysis.lane_events.layout import COURTESY, PATIENCE
from tilec.analysis.lane_rank import RankedBatch, lane_ranks
from tilec.analysis.lane_scheduler import schedule_lanes
from tilec.analysis.message_times import message_steps, residences, row_reads
from tilec.analysis.timeline import Load, TimedBatch, Timeline, TransferCosts, validate_timeline
from tilec.analysis.wavefront import LaneBatch, Read
from tilec.analysis.window import RowWindow

CORES = 4

SEND, RECEIVE, FLIGHT = 3, 5, 4

CONSTANTS = (Load(7, 2), Load(4, 0))


def costs(send: int = SEND, receive: int = RECEIVE, flight: int = FLIGHT) -> TransferCosts:
    def same(cycles: int) -> np.ndarray:
        return np.full((CORES, CORES), cycles)

    return TransferCosts(same(send), same(receive), same(flight), receive)


def batch(lanes: int, cycles: int, cores: list[int], *reads: Read, transfer: TransferCosts | None = None) -> TimedBatch:
    """A batch with a replica on each of ``cores``, of instructions of one cycle each; each row of the network's inputs
    takes 2 cycles to load."""
    lane_cores = np.array(cores)[np.arange(lanes) % len(cores)]
    loads = (Load(2, 2),) * len(reads)
    lane_batch, begins = LaneBatch(lanes, reads), tuple(range(cycles))
    return TimedBatch(lane_batch, lane_cores, len(cores), cycles, transfer or costs(), loads, begins=begins)


def with_constants(batches: list[TimedBatch]) -> list[TimedBatch]:
    """Every second batch has some."""
    return [replace(one, constants=CONSTANTS) if index % 2 else one for index, one in enumerate(batches)]


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
@given(networks(), st.sampled_from([1, 2, 4, 1 << 30]), st.booleans())
def test_every_schedule_is_valid(batches: list[TimedBatch], lead: int, as_rows_come: bool) -> None:
    check_schedule(batches, lead, as_rows_come)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(networks(), st.sampled_from([1, 2, 4, 1 << 30]), st.booleans())
def test_every_one_of_many_schedules_is_valid(batches: list[TimedBatch], lead: int, as_rows_come: bool) -> None:
    check_schedule(batches, lead, as_rows_come)
    check_schedule(with_constants(batches), lead, as_rows_come)


def check_schedule(batches: list[TimedBatch], lead: int, as_rows_come: bool) -> None:
    timeline = schedule_lanes(batches, CORES, lead, as_rows_come=as_rows_come)
    assert validate_timeline(batches, timeline) == []
    for producer, row, index, lane in readers(batches):
        if batches[producer].cores[row] != batches[index].cores[lane]:
            assert timeline.start[index][lane] >= timeline.finish[producer][row] + RECEIVE
    assert timeline.makespan >= max(int(finish.max()) for finish in timeline.finish)


@settings(max_examples=200, deadline=None)
@given(networks(), st.sampled_from([1, 2, 1 << 30]), st.lists(st.integers(0, 9), min_size=CORES, max_size=CORES))
def test_every_core_loads_each_constant_before_it_needs_it(
    batches: list[TimedBatch], lead: int, request: list[int]
) -> None:
    """Whatever else happens, and however long requests take to global memory."""
    batches = with_constants(batches)
    timeline = schedule_lanes(batches, CORES, lead, request=np.array(request))
    assert validate_timeline(batches, timeline) == []


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


@settings(max_examples=100, deadline=None)
@given(
    networks(),
    st.sampled_from([1, 2, 1 << 30]),
    st.lists(st.sampled_from([(), (Load(7, 2), Load(4, 0))]), min_size=6),
    st.booleans(),
)
def test_machine_code_does_the_same(
    batches: list[TimedBatch], lead: int, constants: list[tuple[Load, ...]], as_rows_come: bool
) -> None:
    """With lanes that are long enough to be interrupted, and constants."""
    batches = [
        replace(one, cycles=300 * one.cycles, begins=tuple(range(0, 300 * one.cycles, 100)), constants=loads)
        for one, loads in zip(batches, constants, strict=False)
    ]
    interpreted = schedule_lanes(batches, CORES, lead, as_rows_come=as_rows_come)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lane_scheduler, "WORTH_COMPILING", 0)
        patch.setattr(lane_scheduler, "run", lambda *_: pytest.fail("it is not compiled"))
        compiled = schedule_lanes(batches, CORES, lead, as_rows_come=as_rows_come)
    for name in ("start", "finish", "resumes", "messages", "fetches"):
        for mine, other in zip(getattr(interpreted, name), getattr(compiled, name), strict=True):
            np.testing.assert_array_equal(mine, other, err_msg=name)
    assert interpreted.makespan == compiled.makespan


@settings(max_examples=200, deadline=None)
@given(networks())
def test_lanes_run_as_their_rows_come(batches: list[TimedBatch]) -> None:
    """On each core, a lane that starts later than another one had its rows no earlier, and interrupts none."""
    timeline = schedule_lanes(batches, CORES, as_rows_come=True)
    there = [np.zeros(one.batch.lanes, np.int64) for one in batches]
    arrival = {
        (producer, row, core): sent + RECEIVE
        for producer, lines in enumerate(timeline.messages)
        for row, core, sent in lines.tolist()
    }
    for producer, row, index, lane in readers(batches):
        core = int(batches[index].cores[lane])
        finish = int(timeline.finish[producer][row])
        there[index][lane] = max(there[index][lane], arrival.get((producer, row, core), finish))
    for core in range(CORES):
        mine = [
            (int(timeline.start[index][lane]), int(timeline.finish[index][lane]), int(there[index][lane]))
            for index, one in enumerate(batches)
            for lane in np.flatnonzero(one.cores == core).tolist()
        ]
        mine.sort()
        for (_, end, ready), (start, _, later) in pairwise(mine):
            assert start >= end
            assert later >= ready


def test_the_validator_sees_what_is_wrong() -> None:
    batches = chain([[0], [1]], [10, 10])
    timeline = schedule_lanes(batches, CORES)
    timeline.start[1][0] = timeline.finish[0][1]
    assert "lane 0 of batch 1 starts before row 1 of 0" in validate_timeline(batches, timeline)
    timeline = schedule_lanes(batches, CORES)
    timeline.start[0][1] = timeline.start[0][0] + 1
    assert any("is busy until" in problem for problem in validate_timeline(batches, timeline))
    timeline = schedule_lanes(batches, CORES)
    timeline.finish[0][5] = timeline.start[0][5] + 9
    ends = int(timeline.start[0][5])
    assert validate_timeline(batches, timeline) == [f"lane 5 of batch 0 ends at {ends + 9}, and is done at {ends + 10}"]
    timeline = schedule_lanes(batches, CORES)
    timeline.messages[0][2, 2] = timeline.finish[0][2] - 1
    assert "row 2 of batch 0 is sent before it is computed" in validate_timeline(batches, timeline)
    timeline = schedule_lanes(batches, CORES)
    timeline.messages[0] = timeline.messages[0][1:]
    assert "lane 0 of batch 1 starts before row 0 of 0" in validate_timeline(batches, timeline)


def starts(timeline: Timeline) -> list[list[int]]:
    return [one.tolist() for one in timeline.start]


def finishes(timeline: Timeline) -> list[list[int]]:
    return [one.tolist() for one in timeline.finish]


def test_a_row_goes_to_one_core_after_the_other() -> None:
    """The second message leaves when the first one has left the network; the most urgent goes first."""
    batches = [batch(1, 10, [0]), *(batch(1, 20 - core, [core], row_by_row(0)) for core in (1, 2, 3))]
    timeline = schedule_lanes(batches, CORES)
    first = 10
    second = first + SEND + FLIGHT
    third = second + SEND + FLIGHT
    assert starts(timeline) == [[0], [first + RECEIVE], [second + RECEIVE], [third + RECEIVE]]
    assert timeline.makespan == third + RECEIVE + 17


def test_a_receiver_in_the_middle_of_a_lane_is_held_up() -> None:
    """Core 1 is at work from 0 to 100, but for the 5 cycles of each of two messages."""
    batches = [batch(2, 10, [0]), batch(1, 100, [1]), batch(2, 30, [1], row_by_row(0, 2))]
    timeline = schedule_lanes(batches, CORES)
    assert starts(timeline) == [[0, 10 + SEND], [0], [110, 140]]
    assert finishes(timeline) == [[10, 20 + SEND], [100 + 2 * RECEIVE], [140, 170]]


def test_a_receiver_is_held_up_between_two_of_its_instructions() -> None:
    """The lane of core 1 has instructions at 0, 400 and 700; the row that is there at 200 waits until 400."""
    reader = batch(1, 30, [1], row_by_row(0))
    held = replace(batch(1, 1000, [1]), begins=(0, 400, 700))
    timeline = schedule_lanes([batch(1, 200, [0]), held, reader], CORES)
    assert timeline.messages[0].tolist() == [[0, 1, 400]]
    assert finishes(timeline)[1:] == [[1000 + RECEIVE], [1030 + RECEIVE]]


@pytest.mark.parametrize("begins", [(0, 400, 700), (0, 1, 700)])
def test_a_receiver_waits_a_little_for_a_message(begins: tuple[int, ...]) -> None:
    """Rather than begin an instruction that takes long, the first or another one: the row does not wait for its end."""
    reader = batch(1, 30, [1], row_by_row(0))
    batches = [batch(1, COURTESY, [0]), replace(batch(1, 1000, [1]), begins=begins), reader]
    timeline = schedule_lanes(batches, CORES)
    assert validate_timeline(batches, timeline) == []
    assert timeline.messages[0].tolist() == [[0, 1, COURTESY]]
    received, done = COURTESY + RECEIVE, begins[1] if begins[1] < COURTESY else 0
    assert starts(timeline)[1] == [0 if done else received]
    assert timeline.resumes[1].tolist() == ([[0, done, received]] if done else [])
    assert finishes(timeline)[1] == [received + 1000 - done]


def test_a_receiver_of_long_instructions_waits_longer() -> None:
    """A row that is there within a quarter of the usual instruction does not wait for the end of one."""
    long = 8 * PATIENCE
    for there, waits in ((long // 5, True), (long // 3, False)):
        held = replace(batch(3, 2 * long, [1]), begins=(0, long))
        batches = [batch(1, there, [0]), held, batch(1, 30, [1], row_by_row(0))]
        timeline = schedule_lanes(batches, CORES)
        assert validate_timeline(batches, timeline) == []
        assert timeline.messages[0].tolist() == [[0, 1, there if waits else long]]
        assert int(timeline.start[1][0]) == (there + RECEIVE if waits else 0)


def test_an_urgent_lane_interrupts_another_one() -> None:
    """Core 1 is in the middle of a long lane when the row comes that a longer one on core 2 waits for: the lane in
    between runs at once, between two instructions, and the long one goes on when its row has been sent."""
    long, middle, rest = 5 * PATIENCE, 100, 8 * PATIENCE
    begins = tuple(range(0, long, 1000))
    batches = [
        batch(1, 2500, [0]),
        replace(batch(1, long, [1]), begins=begins),
        batch(1, middle, [1], row_by_row(0)),
        batch(1, rest, [2], row_by_row(2)),
    ]
    timeline = schedule_lanes(batches, CORES)
    assert validate_timeline(batches, timeline) == []
    received = 3000 + RECEIVE
    assert timeline.start[2].tolist() == [received]
    sent = received + middle
    assert timeline.resumes[1].tolist() == [[0, 3000, received], [0, 3000, sent + SEND]]
    assert timeline.finish[1].tolist() == [long + RECEIVE + middle + SEND]
    # What is nearly done is not worth an interruption.
    nearly = replace(batch(1, 3000 + PATIENCE - 1, [1]), begins=(0, 1000, 2000, 3000))
    timeline = schedule_lanes([batches[0], nearly, *batches[2:]], CORES)
    assert timeline.start[2].tolist() == timeline.finish[1].tolist()


def test_of_rows_that_wait_one_that_can_go_goes_first() -> None:
    """Core 1 reads the more urgent row, but cannot take it for long; core 2 can."""
    long, there = 10 * PATIENCE, 3 * PATIENCE
    batches = [
        batch(1, there, [0]),
        replace(batch(1, long, [1]), begins=(0,)),
        batch(1, 99, [1], row_by_row(0)),
        batch(1, 9, [2], row_by_row(0)),
    ]
    assert schedule_lanes(batches, CORES).messages[0].tolist() == [[0, 1, long], [0, 2, there]]
    batches[0] = batch(1, 2 * COURTESY, [0])
    batches[1] = replace(batch(1, PATIENCE, [1]), begins=(0,))
    sent = schedule_lanes(batches, CORES).messages[0].tolist()
    assert sent == [[0, 1, PATIENCE], [0, 2, PATIENCE + SEND + FLIGHT]]


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
    received = 10 + RECEIVE
    assert starts(timeline) == [[0], [0], [received + RECEIVE + 50], [received], [received + SEND]]


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


def test_the_port_serves_others_while_a_row_is_on_its_way() -> None:
    """A load takes a core 7 cycles, of which global memory serves for 2; repeating a constant takes no port."""
    read = Read(None, RowWindow(1, 3, stride=0))
    slow = replace(batch(3, 10, [0, 1, 2], read), loads=(Load(7, 2),), constants=(Load(7, 2), Load(4, 0)))
    assert starts(schedule_lanes([slow], CORES)) == [[18, 20, 22]]


def test_constants_are_fetched_while_a_core_has_nothing_to_do() -> None:
    """Core 1 waits for the row of core 0, which it receives from 2 + 100 to 107; so it has its constants by then. It
    begins with them when the row of the input has been asked for, and twice the time that its load takes is over."""
    first = batch(1, 100, [0], row_by_row(None))
    second = replace(batch(1, 10, [1], row_by_row(0)), constants=CONSTANTS)
    timeline = schedule_lanes([first, second], CORES)
    assert starts(timeline) == [[2], [107]]
    assert timeline.fetches[1].tolist() == [[0, 1, 4], [1, 1, 11]]


def test_a_core_that_is_busy_loads_constants_when_it_needs_them() -> None:
    """Here both are on one core, and no other has any."""
    first = batch(1, 100, [0], row_by_row(None))
    second = replace(batch(1, 10, [0], row_by_row(0)), constants=CONSTANTS)
    timeline = schedule_lanes([first, second], CORES)
    assert starts(timeline) == [[2], [113]]
    assert timeline.fetches[1].tolist() == [[0, 0, 102], [1, 0, 109]]


def test_no_constants_are_fetched_while_rows_of_the_input_wait_for_the_port() -> None:
    """Three rows that take 50 cycles each: before the last one is asked for, core 3 does not fetch anything, and then
    not before the port is free again. Core 0 computes for 10 cycles and sends for 3 in between."""
    first = replace(batch(3, 10, [0, 0, 0], row_by_row(None, 3)), loads=(Load(50, 50),))
    second = replace(batch(1, 10, [3], Read(0, RowWindow(3, 1, rows=3))), constants=(Load(7, 2),))
    timeline = schedule_lanes([first, second], CORES, gap=1)
    assert starts(timeline)[0] == [50, 113, 176]
    assert timeline.fetches[1].tolist() == [[0, 3, 176]]


def test_one_constant_is_fetched_at_a_time_most_urgent_first() -> None:
    """Those of the longer way to the end; between them the port is free for as long as it was taken."""
    first = batch(1, 100, [0], row_by_row(None))
    short = replace(batch(1, 10, [1], row_by_row(0)), constants=(Load(7, 2),))
    long = replace(batch(1, 50, [2], row_by_row(0)), constants=(Load(7, 2),))
    timeline = schedule_lanes([first, short, long], CORES)
    assert timeline.fetches[2].tolist() == [[0, 2, 4]]
    assert timeline.fetches[1].tolist() == [[0, 1, 8]]


def test_global_memory_serves_requests_as_they_come() -> None:
    """Core 0 asks first, and is far away."""
    batches = [batch(3, 10, [0, 1, 2], Read(None, RowWindow(1, 3, stride=0)))]
    timeline = schedule_lanes(batches, CORES, request=np.array([9, 0, 1, 0]))
    assert starts(timeline) == [[11, 2, 4]]


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
    cores = np.concatenate([one.cores for one in batches])
    rings = [residences(graph_of(batches), cores, timeline).rings() for timeline in (early, late)]
    held = [int(mine[mine[:, 0] == 1, 4].max()) for mine in rings]
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


def test_messages_have_the_steps_that_are_planned() -> None:
    """What is planned before the row is there, or not before its first read, is no plan: without one, a row is sent at
    once."""
    reads = row_reads(np.array([[0, 1, 90, 99], [0, 2, 90, 95], [0, 2, 80, 85], [1, 1, 50, 60], [1, 3, 70, 80]]))
    assert reads.first.tolist() == [90, 80, 50, 70]
    assert reads.last.tolist() == [99, 95, 60, 80]
    ready = np.array([10, 10, 40, 40])
    assert message_steps(reads, ready, np.zeros((0, 3), np.int64)).tolist() == [10, 10, 40, 40]
    planned = np.array([[1, 1, 49], [0, 2, 9], [0, 1, 30], [1, 3, 70], [7, 1, 5]])
    assert message_steps(reads, ready, planned).tolist() == [30, 10, 49, 40]


@settings(max_examples=100, deadline=None)
@given(networks())
def test_rows_are_held_from_where_they_come_to_their_last_use(batches: list[TimedBatch]) -> None:
    """On the core that computes a row: until it is read there and has been sent. On others: from the message on."""
    timeline = schedule_lanes(batches, CORES)
    graph, cores = graph_of(batches), np.concatenate([timed.cores for timed in batches])
    held = residences(graph, cores, timeline)
    for index, timed in enumerate(batches):
        reads = row_reads(lines(batches, timeline, index))
        begin = {(row, int(timed.cores[row])): int(timeline.start[index][row]) for row in range(timed.batch.lanes)}
        end = {(row, int(timed.cores[row])): int(timeline.finish[index][row]) - 1 for row in range(timed.batch.lanes)}
        sent = {(row, core): step for row, core, step in timeline.messages[index].tolist()}
        for row, core, last in zip(reads.row.tolist(), reads.core.tolist(), reads.last.tolist(), strict=True):
            home = int(timed.cores[row])
            end[row, home] = max(end[row, home], last if core == home else sent[row, core])
            if core != home:
                begin[row, core], end[row, core] = sent[row, core], last
        expected = Counter((core, begin[row, core], end[row, core]) for row, core in begin)
        mine = [column[held.batch == index].tolist() for column in (held.core, held.first, held.last)]
        assert Counter(zip(*mine, strict=True)) == expected
        rings = held.rings()
        for core, first, last, slots in rings[rings[:, 0] == index, 1:].tolist():
            mine = [(b, e) for (c, b, e), count in expected.items() if c == core for _ in range(count)]
            assert (first, last) == (min(b for b, _ in mine), max(e for _, e in mine))
            assert 1 <= slots <= len(mine)
            assert slots >= max(sum(b <= moment <= e for b, e in mine) for moment, _ in mine)
