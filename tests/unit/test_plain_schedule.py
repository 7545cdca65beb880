"""Plain schedules: the dumb order of the yardsticks, made by other code, with each row sent when it is made."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.dumb_schedules import DumbOrders, LanesToPlace
from tilec.analysis.lane_columns import graph_of
from tilec.analysis.timeline import TimedBatch, TransferCosts
from tilec.analysis.wavefront import LaneBatch, Read
from tilec.analysis.window import RowWindow, window_rows
from tilec.lowering.plain_schedule import plain_timeline

CORES = 3
COSTS = TransferCosts(*(np.ones((CORES, CORES), np.int64) for _ in range(3)), 1)


@st.composite
def networks(draw: st.DrawFn) -> list[TimedBatch]:
    """Batches that read earlier ones, each replica on some core."""
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
        found.append(TimedBatch(LaneBatch(lanes, tuple(reads)), at, len(cores), draw(st.integers(0, 9)), COSTS))
    return found


@settings(max_examples=200, deadline=None)
@given(networks())
def test_lanes_run_in_the_dumb_order_and_send_at_once(batches: list[TimedBatch]) -> None:
    timeline = plain_timeline(graph_of(batches), batches)
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
    assert timeline.starts.tolist() == orders.by_rows(np.concatenate([one.cores for one in batches])).tolist()
    assert (timeline.finishes - timeline.starts).tolist() == orders.cycles.tolist()
    assert timeline.makespan == int(timeline.finishes.max())
    wanted = {
        (read.producer, int(row), int(one.cores[lane]))
        for one in batches
        for read in one.batch.reads
        if read.producer is not None
        for lane, rows in enumerate(window_rows(read.window, one.batch.lanes))
        for row in rows
        if row >= 0 and batches[read.producer].cores[row] != one.cores[lane]
    }
    sent = [(index, *line) for index, lines in enumerate(timeline.messages) for line in lines.tolist()]
    assert {(index, row, core) for index, row, core, _ in sent} == wanted
    assert len(sent) == len(wanted)
    for index, row, _, cycle in sent:
        assert cycle == timeline.finish[index][row] - 1
