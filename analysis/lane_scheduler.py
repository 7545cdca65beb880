"""The scheduler of lanes: all cores at work, event by event.

What a schedule is, and what it takes into account, stands in :mod:`.timeline`. A core starts a lane, loads what that
needs and is not there, runs it, sends its row to all other cores that read it, and starts the next one. Between two
instructions of a lane it may receive, or run lanes of other batches that are more urgent. Here the columns are made on
which the event loop works (:mod:`.lane_events`), and the schedule of what it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..support import bisection, heap
from ..support.arrays import Ints
from ..support.kernel_columns import as_array, as_lists
from ..support.machine_code import Kernel, can_compile
from .lane_columns import TimedGraph, graph_columns, graph_of, placed_columns
from .lane_events import cores, fetches, heaps, layout, loop, messages
from .lane_events.layout import CHIP, INPUTS, NONE, UNBOUNDED, Code, Facts, State
from .lane_events.loop import run
from .lane_graph import WORTH_COMPILING, LaneGraph
from .row_uses import RowUses, row_uses
from .timeline import TimedBatch, Timeline

EVENT_LOOP = Kernel("lanes", (heap, bisection, heaps, messages, fetches, cores, loop), layout)

GAP = 2
"""Constants are fetched as early as this leaves half of the port's time to lanes, which may need it at other times than
planned."""

NEVER = 1 << 62
"""More than any event of the compiled loop."""


def schedule_lanes(
    batches: Sequence[TimedBatch],
    core_count: int,
    lead: int | Sequence[int] = UNBOUNDED,
    graph: TimedGraph | None = None,
    in_turn: bool = False,
    request: Ints | None = None,
    gap: int = GAP,
    as_rows_come: bool = False,
) -> Timeline:
    """Schedules all lanes on the cores that ``batches`` name; see :class:`LaneScheduler`."""
    graph = graph_of(batches) if graph is None else graph
    scheduler = LaneScheduler(batches, core_count, lead, graph, in_turn, request, gap, as_rows_come)
    return scheduler.schedule(lane_cores(batches))


def lane_cores(batches: Sequence[TimedBatch]) -> Ints:
    """[n] the core of each lane."""
    return np.concatenate([np.zeros(0, np.int64), *(timed.cores for timed in batches)])


class LaneScheduler:
    """Schedules the lanes of one graph, on one placement after another. What is the same on all is found once."""

    def __init__(
        self,
        batches: Sequence[TimedBatch],
        core_count: int,
        lead: int | Sequence[int],
        graph: TimedGraph,
        in_turn: bool = False,
        request: Ints | None = None,
        gap: int = GAP,
        as_rows_come: bool = False,
    ) -> None:
        """``batches`` are in topological order, whatever their cores; ``graph`` is theirs (:func:`graph_of`).

        ``lead`` is how many rows a batch, or each, may be ahead of its slowest reader; it yields where it would stop
        everything. With ``in_turn``, a lane that reads no rows, since its window is outside the image, waits for the
        one before it in its replica: it could run at once, but its row would then be held for all the samples that come
        before its own. ``request`` [cores] is how long a request of each core takes to global memory, which serves
        requests as they come; 0 by default. ``gap`` is how much time there is from a load to the next constant that is
        fetched, in times that the port takes for the load. With ``as_rows_come``, a core runs its lanes in the order in
        which their rows have come, and none interrupts another; those that are ready at the same time, and messages, go
        in order of urgency.
        """
        lanes = len(graph.batch_of)
        leads = [lead] * len(batches) if isinstance(lead, int) else list(lead)
        follower = _followers(batches, graph) if in_turn else np.full(lanes, NONE)
        request = np.zeros(core_count, np.int64) if request is None else request
        self._batches, self._graph = batches, graph
        self._facts = _facts(graph, core_count, leads, gap, as_rows_come)
        self._code = graph_columns(graph, self._facts, leads, follower, request)
        self._missing = as_array(graph.read_counts())
        self._missing[follower[follower != NONE]] = 1  # the lane before it
        self._unread = as_array(graph.reader_counts())

    def schedule(self, core: Ints) -> Timeline:
        """The schedule with each lane on its ``core`` [n]. O(n log n) in lanes, reads and messages."""
        graph, facts, lanes = self._graph, self._facts, len(core)
        uses = row_uses(graph, core)
        code = placed_columns(self._code, self._batches, graph, uses, core, facts)
        state = self._state(code)
        if lanes >= WORTH_COMPILING and _longest(graph, code) * facts.keys < NEVER and can_compile():
            resumes = EVENT_LOOP.run(facts, code, state, lanes)
        else:
            waiting: Any = [[] for _ in range(facts.cores)]
            state = State(*as_lists(state))._replace(events=[], waiting=waiting)
            resumes = run(facts, Code(*as_lists(code)), state, lanes)
        return _timeline(graph, uses, state, resumes)

    def _state(self, code: Code) -> State:
        """Before anything has happened."""
        facts, graph = self._facts, self._graph
        lanes, loads, uses, core_count = len(code.core), len(code.load_item), len(code.use_core), facts.cores
        items = np.asarray(code.load_item)
        chip = _filled(CHIP)
        chip[INPUTS] = len(np.unique(items[items >= facts.constants]))
        return State(
            chip=chip,
            events=_filled(lanes + 2),
            start=_filled(lanes, NONE),
            finish=_filled(lanes, NONE),
            missing=self._missing.copy(),
            ready=_filled(lanes),
            paused=_filled(lanes, NONE),
            stopped=_filled((len(graph.first) - 1) * core_count, NONE),
            current=_filled(core_count, NONE),
            origin=_filled(core_count, NONE),
            free=_filled(core_count),
            linked=_filled(core_count),
            switch=_filled(core_count),
            turn=as_array(graph.place.copy()),
            lane_at=as_array(graph.lane_at.copy()),
            waiting=_filled(2 * lanes),
            waiting_count=_filled(core_count),
            to_load=_filled(loads),
            load_next=_filled(core_count),
            load_end=_filled(core_count),
            load_left=_filled(core_count),
            asked=_filled(core_count),
            loaded=_filled(int(np.max(items, initial=-1)) + 1),
            fetched=_filled(facts.constants, NONE),
            fetch_next=as_array(code.fetch_first[:-1]).copy(),
            fetch_load=_filled(core_count),
            to_send=_filled(uses),
            send_next=_filled(core_count),
            send_end=_filled(core_count),
            begin=_filled(core_count),
            sent=_filled(uses, NONE),
            unread=self._unread.copy(),
            held=_filled(lanes),
            held_at=_filled(lanes, NONE),
            resume_lane=_filled(lanes + uses),
            resume_done=_filled(lanes + uses),
            resume_time=_filled(lanes + uses),
        )


def _facts(graph: TimedGraph, core_count: int, leads: Sequence[int], gap: int, as_rows_come: bool) -> Facts:
    lanes = len(graph.batch_of)
    loading = 2 * lanes
    sending = loading + core_count
    starting = sending + lanes * core_count
    held_back = int(min(leads, default=UNBOUNDED) < UNBOUNDED)
    fetching = starting + core_count
    constants = int(graph.constant_first[-1]) * core_count
    return Facts(
        core_count,
        held_back,
        fetching + 1,
        loading,
        sending,
        starting,
        fetching,
        constants,
        gap,
        graph.courtesy,
        int(as_rows_come),
    )


def _followers(batches: Sequence[TimedBatch], graph: LaneGraph) -> Ints:
    """Of each lane, the next one of its replica, if that reads no rows although its batch reads some of others."""
    idle = graph.read_counts() == 0
    found = np.full(len(idle), NONE)
    for timed, first in zip(batches, graph.first.tolist(), strict=False):
        if any(read.producer is not None for read in timed.batch.reads):
            lanes = first + np.flatnonzero(idle[first + timed.replicas : first + timed.batch.lanes])
            found[lanes] = lanes + timed.replicas
    return found


def _longest(graph: TimedGraph, code: Code) -> int:
    """Cycles after which nothing happens: several times what all takes in turn."""
    return 4 * (
        graph.work + sum(int(np.sum(column)) for column in (code.send, code.receive, code.flight, code.load_cycles))
    )


def _timeline(graph: TimedGraph, uses: RowUses, state: State, resumes: int) -> Timeline:
    """What the loop has found."""
    starts, finishes, sent = (np.asarray(column, np.int64) for column in (state.start, state.finish, state.sent))
    assert (finishes >= 0).all(), "a lane was never scheduled"
    lane, done, cycle = (
        np.array(column[:resumes], np.int64) for column in (state.resume_lane, state.resume_done, state.resume_time)
    )
    remote = np.flatnonzero(sent >= 0)
    return Timeline(
        makespan=int(np.max(state.free, initial=0)),
        first=graph.first,
        starts=starts,
        finishes=finishes,
        sent=(uses.row[remote], uses.core[remote], sent[remote]),
        resumed=(lane, done, cycle),
        fetched=_fetched(graph, np.asarray(state.fetched, np.int64), len(state.free)),
    )


def _fetched(graph: TimedGraph, begun: Ints, core_count: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The constants that cores load, by batch: ``begun`` says when, by constant and core."""
    place = np.flatnonzero(begun >= 0)
    constant, core = np.divmod(place, max(core_count, 1))
    batch = np.searchsorted(graph.constant_first, constant, side="right") - 1
    return batch, constant - graph.constant_first[batch], core, begun[place]


def _filled(length: int, value: int = 0) -> Any:
    return np.full(length, value, np.int64) if value else np.zeros(length, np.int64)
