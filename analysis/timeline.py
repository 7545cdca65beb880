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

from .lane_rank import RankedBatch, urgency_order
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


def schedule_lanes(batches: Sequence[TimedBatch], core_count: int, lead: int = UNBOUNDED) -> Timeline:
    """Schedules all lanes; ``batches`` are in topological order. O(n log n) in lanes, reads and messages."""
    return _Simulation(batches, core_count, lead).run()


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

    def __init__(self, batches: Sequence[TimedBatch], core_count: int, lead: int) -> None:
        counts = [timed.batch.lanes for timed in batches]
        self._batches = batches
        self._lead = lead
        self._first = [0, *np.cumsum(counts).tolist()]
        self._batch_of: list[int] = np.repeat(np.arange(len(batches)), counts).tolist()
        self._rank = _joined(urgency_order([timed.ranked for timed in batches]))
        self._core = _joined([timed.cores for timed in batches])
        self._targets = _targets(batches)
        self._readers, self._missing = _dependencies(batches, self._first)
        self._unread = [0] * self._first[-1]
        for (row, _), lanes in self._readers.items():
            self._unread[row] += len(lanes)
        self._held: dict[int, int] = {}
        self._ready_at = [0] * self._first[-1]
        self._start = [-1] * self._first[-1]
        self._finish = [-1] * self._first[-1]
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
        self._events: list[tuple[int, int, int, int]] = []

    def run(self) -> Timeline:
        for lane, missing in enumerate(self._missing):
            if missing == 0:
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
        heappush(self._events, (time, len(self._rank) + what if kind == FREE else self._rank[what], kind, what))

    def _make_ready(self, lane: int, time: int) -> None:
        index = self._batch_of[lane]
        behind = lane - self._lead
        if behind >= self._first[index] and self._unread[behind] > 0:
            self._held[behind] = lane
            return
        core = self._core[lane]
        heappush(self._waiting[core], (self._rank[lane], lane))
        self._dispatch(core, time)

    def _let_go(self) -> None:
        """Nothing can happen any more but for the lead: the most urgent lane that it holds back goes on."""
        behind, lane = min(self._held.items(), key=lambda pair: self._rank[pair[1]])
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
        self._push(start + self._batches[self._batch_of[lane]].cycles, END, lane)

    def _end(self, lane: int, time: int) -> None:
        core = self._core[lane]
        if self._held_up[core]:
            self._push(time + self._held_up[core], END, lane)
            self._held_up[core] = 0
            return
        self._running[core] = False
        self._finish[lane] = time
        self._finish_reads(lane, time)
        self._arrive(lane, core, time)
        self._free_at[core] = max(self._free_at[core], self._send(lane, core, time))
        self._push(self._free_at[core], FREE, core)

    def _send(self, lane: int, core: int, time: int) -> int:
        """Sends the row of ``lane`` to one core after the other; the time at which the last message has left.

        A receiver that is in the middle of another message keeps the sender waiting.
        """
        costs = self._batches[self._batch_of[lane]].transfer
        for target in self._targets[lane]:
            begin = max(time, self._linked[target], self._switch[core], self._switch[target])
            receive = int(costs.receive[core, target])
            self._linked[target] = begin + receive
            if self._running[target]:
                self._held_up[target] += receive
            else:
                self._free_at[target] = max(self._free_at[target], begin + receive)
            self._arrive(lane, target, begin + receive)
            time = begin + int(costs.send[core, target])
            self._switch[core] = time + int(costs.flight[core, target])
        self._linked[core] = max(self._linked[core], time)
        return time

    def _arrive(self, row: int, core: int, time: int) -> None:
        """The row of lane ``row`` is on ``core``: lanes there may have all they need."""
        for lane in self._readers.get((row, core), ()):
            self._missing[lane] -= 1
            self._ready_at[lane] = max(self._ready_at[lane], time)
            if self._missing[lane] == 0:
                self._push(self._ready_at[lane], READY, lane)

    def _finish_reads(self, lane: int, time: int) -> None:
        """A lane has read its rows: batches that the lead holds back may go on."""
        if self._lead >= UNBOUNDED:
            return
        for row in self._rows_read(lane):
            self._unread[row] -= 1
            if self._unread[row] == 0 and row in self._held:
                self._push(time, READY, self._held.pop(row))

    def _rows_read(self, lane: int) -> list[int]:
        index = self._batch_of[lane]
        at = np.array([lane - self._first[index]])
        found: set[int] = set()
        for read in self._batches[index].batch.reads:
            if read.producer is not None:
                rows = read.window.rows_of(at)[0]
                found.update((rows[rows != OUTSIDE] + self._first[read.producer]).tolist())
        return sorted(found)

    def _load(self, lane: int, core: int, time: int) -> int:
        """Loads what the lane reads of the network's inputs and is not there yet; when it is there."""
        index = self._batch_of[lane]
        timed = self._batches[index]
        for number, read in enumerate(timed.batch.reads):
            if read.producer is None:
                for row in read.window.rows_of(np.array([lane - self._first[index]]))[0].tolist():
                    key = (read.source, core, row)
                    if row != OUTSIDE and key not in self._loaded:
                        self._loaded.add(key)
                        self._port = max(self._port, time) + timed.load_cycles[number]
                        time = self._port
        return time


def _dependencies(
    batches: Sequence[TimedBatch], first: Sequence[int]
) -> tuple[dict[tuple[int, int], list[int]], list[int]]:
    """The lanes that wait for a row, by (lane that computes it, core that reads it); how many rows each lane awaits."""
    pairs = [np.zeros((0, 3), np.int64)]
    for index, timed in enumerate(batches):
        for read in timed.batch.reads:
            if read.producer is not None:
                rows = read.window.rows_of(np.arange(timed.batch.lanes))
                inside = rows != OUTSIDE
                lanes = np.broadcast_to(np.arange(timed.batch.lanes)[:, None], rows.shape)[inside]
                columns = (rows[inside] + first[read.producer], timed.cores[lanes], lanes + first[index])
                pairs.append(np.stack(columns, axis=1))
    table = np.unique(np.concatenate(pairs), axis=0)
    readers: dict[tuple[int, int], list[int]] = {}
    for row, core, lane in table.tolist():
        readers.setdefault((row, core), []).append(lane)
    return readers, np.bincount(table[:, 2], minlength=first[-1]).tolist()


def _joined(tables: Sequence[Ints]) -> list[int]:
    return np.concatenate([np.zeros(0, np.int64), *tables]).tolist()


def _targets(batches: Sequence[TimedBatch]) -> list[list[int]]:
    """For each lane, the cores that need its row and do not compute it, ascending."""
    needs: list[list[Ints]] = [[np.zeros((0, 2), np.int64)] for _ in batches]
    for timed in batches:
        for read in timed.batch.reads:
            if read.producer is not None:
                rows = read.window.rows_of(np.arange(timed.batch.lanes))
                inside = rows != OUTSIDE
                cores = np.broadcast_to(timed.cores[:, None], rows.shape)[inside]
                needs[read.producer].append(np.stack((rows[inside], cores), axis=1))
    found: list[list[int]] = []
    for timed, tables in zip(batches, needs, strict=True):
        mine: list[list[int]] = [[] for _ in range(timed.batch.lanes)]
        pairs = np.unique(np.concatenate(tables), axis=0)
        remote: list[list[int]] = pairs[pairs[:, 1] != timed.cores[pairs[:, 0]]].tolist()
        for row, core in remote:
            mine[row].append(core)
        found += mine
    return found
