"""When each lane runs: list scheduling by events, with the machine's transfers in the times.

A core that is free starts, of the lanes whose rows are there, the most urgent one (:mod:`.lane_rank`). A row is sent
right after the lane that computes it, to one core after the other: sending occupies the sender, receiving the receiver,
as blocking `send` and `recv` do, and the next message waits until the row has left the network; a receiver in the
middle of a lane is held up. Rows of the network's inputs are loaded by the lane that reads them first on its core,
through the one port of global memory.

Times are those of the schedule, in cycles: the program need not keep them, only their order. ``lead`` bounds how many
rows a batch may run ahead of its slowest reader, and so how many rows anyone has to hold. It yields where it would stop
everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .lane_graph import LaneGraph, RowUses, lane_graph, row_uses
from .lane_rank import RankedBatch
from .wavefront import LaneBatch
from .window import OUTSIDE

Ints = NDArray[np.int64]

UNBOUNDED = 1 << 30
"""A lead that holds nothing back."""


class CostTable(Protocol):
    """Cycles ``[sender, receiver]``: an array, or what computes its entries when they are asked for."""

    def __getitem__(self, pair: Any, /) -> Any: ...


@dataclass(frozen=True, eq=False)
class TransferCosts:
    """What moving one row costs, in cycles; ``[cores, cores]`` from sender to receiver."""

    send: CostTable
    """How long the sender is occupied when the receiver waits already."""
    receive: CostTable
    """How long the receiver is occupied, until the row is there."""
    flight: CostTable
    """How long the row is on the network, behind the send; until then nothing else leaves the sender."""
    usual_cycles: int
    """From the start of the send until the row is there, at the distance that is usual."""


@dataclass(frozen=True, eq=False)
class TimedBatch:
    """A batch with a core for each lane."""

    batch: LaneBatch
    cores: Ints
    """[lanes]"""
    replicas: int
    """Lane i is on the core of replica `i mod replicas`."""
    cycles: int
    """Of one lane, without transfers."""
    transfer: TransferCosts
    """Of a row of its result."""
    load_cycles: tuple[int, ...] = field(default=())
    """Of one row of each input; only those of the network's inputs count."""
    constant_cycles: int = 0
    """Of loading the constants of a replica, before its first lane."""

    @property
    def ranked(self) -> RankedBatch:
        """The batch as the ranks see it."""
        return RankedBatch(self.batch, self.replicas, self.cycles, self.transfer.usual_cycles)


@dataclass(frozen=True, eq=False)
class Timeline:
    """The schedule of all lanes."""

    start: list[Ints]
    """[batches][lanes] first cycle of each lane's own work, after its loads."""
    finish: list[Ints]
    """[batches][lanes] first cycle after each lane: later than its work takes by the messages that interrupt it."""
    makespan: int


def schedule_lanes(
    batches: Sequence[TimedBatch],
    core_count: int,
    lead: int | Sequence[int] = UNBOUNDED,
    graph: LaneGraph | None = None,
    in_turn: bool = False,
) -> Timeline:
    """Schedules all lanes; ``batches`` are in topological order. O(n log n) in lanes, reads and messages.

    ``lead`` is one for all batches or one for each. ``graph``, if it is known already, is that of the batches
    (:func:`graph_of`). With ``in_turn``, a lane that reads no
    rows, since its window is outside the image, waits for the one before it in its replica: it could run at once, but
    its row would then be held for all the samples that come before its own.
    """
    leads = [lead] * len(batches) if isinstance(lead, int) else list(lead)
    return _Simulation(batches, graph_of(batches) if graph is None else graph, core_count, leads, in_turn).run()


def graph_of(batches: Sequence[TimedBatch]) -> LaneGraph:
    """What is the same for every choice of cores."""
    return lane_graph([timed.ranked for timed in batches])


def validate_timeline(batches: Sequence[TimedBatch], timeline: Timeline) -> list[str]:
    """Lists what is wrong with a schedule, in words: a lane before its operands, two lanes at once on a core."""
    problems: list[str] = []
    for index, timed in enumerate(batches):
        if (timeline.finish[index] - timeline.start[index] < timed.cycles).any():
            problems.append(f"a lane of batch {index} takes less than {timed.cycles} cycles")
        for read in timed.batch.reads:
            if read.producer is None:
                continue
            producer = batches[read.producer]
            for lane, rows in enumerate(read.window.rows_of(np.arange(timed.batch.lanes))):
                for row in rows[rows != OUTSIDE]:
                    ready = timeline.finish[read.producer][row]
                    local = producer.cores[row] == timed.cores[lane]
                    if timeline.start[index][lane] < ready + (not local):
                        problems.append(f"lane {lane} of batch {index} starts before row {row} of {read.producer}")
    spans = sorted(
        (int(core), int(start), int(finish))
        for timed, starts, finishes in zip(batches, timeline.start, timeline.finish, strict=True)
        for core, start, finish in zip(timed.cores, starts, finishes, strict=True)
    )
    for (core, _, end), (other, start, _) in pairwise(spans):
        if core == other and start < end:
            problems.append(f"core {core} starts a lane at {start} and is busy until {end}")
    return problems


READY, FREE, END = range(3)
"""Kinds of events: a lane has all its rows, a core has nothing to do, a lane has run."""


class _Simulation:
    """All cores at work. Lanes are numbered through all batches."""

    def __init__(
        self, batches: Sequence[TimedBatch], graph: LaneGraph, core_count: int, leads: list[int], in_turn: bool
    ) -> None:
        lanes = len(graph.place)
        cores = np.concatenate([np.zeros(0, np.int64), *(timed.cores for timed in batches)])
        uses = row_uses(graph, cores)
        self._batches = batches
        self._graph = graph
        self._leads = leads
        self._first: list[int] = graph.first.tolist()
        self._batch_of: list[int] = graph.batch_of.tolist()
        self._place: list[int] = graph.place.tolist()
        self._core: list[int] = cores.tolist()
        self._cycles: list[int] = [timed.cycles for timed in batches]
        self._use_first, self._use_start, self._readers = uses.first, uses.start, uses.readers
        self._use_core: list[int] = uses.core.tolist()
        self._send_cycles, self._receive_cycles, self._flight_cycles = _message_costs(batches, graph, uses, cores)
        self._missing: list[int] = graph.read_counts().tolist()
        self._following = _followers(batches, graph) if in_turn else {}
        self._unread: list[int] = graph.reader_counts().tolist()
        self._rows_read = _rows_by_reader(graph) if min(leads, default=UNBOUNDED) < UNBOUNDED else []
        self._held: dict[int, int] = {}
        self._ready_at = [0] * lanes
        self._start = [-1] * lanes
        self._finish = [-1] * lanes
        self._waiting: list[list[tuple[int, int]]] = [[] for _ in range(core_count)]
        self._free_at = [0] * core_count
        self._running = [False] * core_count
        self._held_up = [0] * core_count
        self._linked = [0] * core_count
        """Until when each core is sending or receiving."""
        self._switch = [0] * core_count
        """Until when what each core has sent is on the network."""
        self._port = 0
        self._loaded: set[tuple[int, int, int]] = set()
        self._supplied: set[tuple[int, int]] = set()
        """Batches and cores whose constants are there."""
        self._events: list[tuple[int, int, int, int]] = []

    def run(self) -> Timeline:
        followers = set(self._following.values())
        for lane, missing in enumerate(self._missing):
            if missing == 0 and lane not in followers:
                self._push(0, READY, lane)
        while self._events or self._held:
            if not self._events:
                self._let_go()
            time, _, kind, what = heappop(self._events)
            if kind == READY:
                self._make_ready(what, time)
            elif kind == FREE:
                self._dispatch(what, time)
            else:
                self._end(what, time)
        start, finish = np.array(self._start, np.int64), np.array(self._finish, np.int64)
        assert (finish >= 0).all(), "a lane was never scheduled"
        split = self._first[1:-1]
        return Timeline(np.split(start, split), np.split(finish, split), max(self._free_at, default=0))

    def _push(self, time: int, kind: int, what: int) -> None:
        # At equal times, ends and readiness go by urgency, then come cores.
        heappush(self._events, (time, len(self._place) + what if kind == FREE else self._place[what], kind, what))

    def _make_ready(self, lane: int, time: int) -> None:
        behind = lane - self._leads[self._batch_of[lane]]
        if behind >= self._first[self._batch_of[lane]] and self._unread[behind] > 0:
            self._held[behind] = lane
            return
        core = self._core[lane]
        heappush(self._waiting[core], (self._place[lane], lane))
        self._dispatch(core, time)

    def _let_go(self) -> None:
        """Nothing can happen any more but for the lead: the most urgent lane that it holds back goes on."""
        behind, lane = min(self._held.items(), key=lambda pair: self._place[pair[1]])
        del self._held[behind]
        self._unread[behind] = 0
        self._push(max(self._free_at), READY, lane)

    def _dispatch(self, core: int, time: int) -> None:
        if self._running[core] or not self._waiting[core]:
            return
        if self._free_at[core] > time:
            self._push(self._free_at[core], FREE, core)
            return
        _, lane = heappop(self._waiting[core])
        start = self._load(lane, core, time)
        self._start[lane] = start
        self._running[core] = True
        self._push(start + self._cycles[self._batch_of[lane]], END, lane)

    def _end(self, lane: int, time: int) -> None:
        core = self._core[lane]
        if self._held_up[core]:
            self._push(time + self._held_up[core], END, lane)
            self._held_up[core] = 0
            return
        self._running[core] = False
        self._finish[lane] = time
        if self._rows_read:
            self._finish_reads(lane, time)
        if lane in self._following:
            self._push(time, READY, self._following[lane])
        self._free_at[core] = max(self._free_at[core], self._pass_on(lane, core, time))
        self._push(self._free_at[core], FREE, core)

    def _pass_on(self, lane: int, core: int, time: int) -> int:
        """Sends the row of ``lane`` to one core after the other; the time at which the last message has left.

        A receiver that is in the middle of another message keeps the sender waiting.
        """
        done = time
        for use in range(self._use_first[lane], self._use_first[lane + 1]):
            target = self._use_core[use]
            if target == core:
                self._arrive(use, done)
                continue
            begin = max(time, self._linked[target], self._switch[core], self._switch[target])
            received = begin + self._receive_cycles[use]
            self._linked[target] = received
            if self._running[target]:
                self._held_up[target] += self._receive_cycles[use]
            else:
                self._free_at[target] = max(self._free_at[target], received)
            self._arrive(use, received)
            time = begin + self._send_cycles[use]
            self._switch[core] = time + self._flight_cycles[use]
        self._linked[core] = max(self._linked[core], time)
        return time

    def _arrive(self, use: int, time: int) -> None:
        """A row is on a core where it is used: lanes there may have all they need."""
        for at in range(self._use_start[use], self._use_start[use + 1]):
            lane = self._readers[at]
            self._missing[lane] -= 1
            self._ready_at[lane] = max(self._ready_at[lane], time)
            if self._missing[lane] == 0:
                self._push(self._ready_at[lane], READY, lane)

    def _finish_reads(self, lane: int, time: int) -> None:
        """A lane has read its rows: batches that the lead holds back may go on."""
        for row in self._rows_read[lane]:
            self._unread[row] -= 1
            if self._unread[row] == 0 and row in self._held:
                self._push(time, READY, self._held.pop(row))

    def _load(self, lane: int, core: int, time: int) -> int:
        """Loads what the lane reads of global memory and is not there yet; when it is there."""
        index = self._batch_of[lane]
        if self._batches[index].constant_cycles and (index, core) not in self._supplied:
            self._supplied.add((index, core))
            time = self._port = max(self._port, time) + self._batches[index].constant_cycles
        for number, source, row in self._graph.loads.get(lane, ()):
            if (source, core, row) not in self._loaded:
                self._loaded.add((source, core, row))
                cycles = self._batches[index].load_cycles[number]
                time = self._port = max(self._port, time) + cycles
        return time


def _message_costs(
    batches: Sequence[TimedBatch], graph: LaneGraph, uses: RowUses, cores: Ints
) -> tuple[list[int], list[int], list[int]]:
    """Cycles of sending, of receiving and of the flight of each use of a row; of no meaning where it is computed."""
    send, receive, flight = (np.zeros(len(uses.row), np.int64) for _ in range(3))
    ends = np.searchsorted(uses.row, graph.first)
    for timed, begin, end in zip(batches, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        pair = cores[uses.row[begin:end]], uses.core[begin:end]
        send[begin:end] = timed.transfer.send[pair]
        receive[begin:end] = timed.transfer.receive[pair]
        flight[begin:end] = timed.transfer.flight[pair]
    return send.tolist(), receive.tolist(), flight.tolist()


def _followers(batches: Sequence[TimedBatch], graph: LaneGraph) -> dict[int, int]:
    """By lane, the next one of its replica, if that reads no rows although its batch reads some of other batches."""
    idle = graph.read_counts() == 0
    found: dict[int, int] = {}
    for timed, first in zip(batches, graph.first.tolist(), strict=False):
        if any(read.producer is not None for read in timed.batch.reads):
            lanes = first + np.flatnonzero(idle[first + timed.replicas : first + timed.batch.lanes])
            found.update((lane, lane + timed.replicas) for lane in lanes.tolist())
    return found


def _rows_by_reader(graph: LaneGraph) -> list[list[int]]:
    """The rows that each lane reads."""
    order = np.lexsort((graph.row, graph.reader))
    ends = np.cumsum(graph.read_counts())[:-1]
    return [rows.tolist() for rows in np.split(graph.row[order], ends)]
