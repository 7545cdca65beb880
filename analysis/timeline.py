"""When each lane runs: list scheduling in one pass over the lanes, with the machine's transfers in the times.

Lanes are taken in the order in which a demand-driven evaluation computes them (:mod:`.wavefront`). Each starts as soon
as its core is free and its rows are there. A row is sent right after the lane that computes it, to one core after the
other: sending occupies the sender, receiving the receiver, as blocking `send` and `recv` do. Rows of the network's
inputs are loaded by the lane that reads them first on its core, through the one port of global memory.

Times are those of the schedule, in cycles: the program need not keep them, only their order. ``lead`` bounds how many
rows a batch may run ahead of its slowest reader, and so how many rows anyone has to hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .wavefront import LaneBatch, lane_steps
from .window import OUTSIDE

Ints = NDArray[np.int64]

UNBOUNDED = 1 << 30
"""A lead that holds nothing back."""


@dataclass(frozen=True, eq=False)
class TransferCosts:
    """What moving one row costs, in cycles; ``[cores, cores]`` from sender to receiver."""

    send: Ints
    """How long the sender is occupied when the receiver waits already."""
    receive: Ints
    """How long the receiver is occupied, until the row is there."""


@dataclass(frozen=True, eq=False)
class TimedBatch:
    """A batch with a core for each lane."""

    batch: LaneBatch
    cores: Ints
    """[lanes]"""
    cycles: int
    """Of one lane, without transfers."""
    transfer: TransferCosts
    """Of a row of its result."""
    load_cycles: tuple[int, ...] = field(default=())
    """Of one row of each input; only those of the network's inputs count."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """The schedule of all lanes."""

    start: list[Ints]
    """[batches][lanes] first cycle of each lane's own work, after its loads."""
    makespan: int


def schedule_lanes(batches: Sequence[TimedBatch], core_count: int, lead: int = UNBOUNDED) -> Timeline:
    """Schedules all lanes; ``batches`` are in topological order. Linear in lanes, reads and messages."""
    timer = _Timer(batches, core_count, lead)
    order = np.concatenate(lane_steps([timed.batch for timed in batches]) or [np.zeros(0, np.int64)])
    batch_of = np.repeat(np.arange(len(batches)), [timed.batch.lanes for timed in batches])
    lane_of = np.concatenate([np.arange(timed.batch.lanes) for timed in batches] or [np.zeros(0, np.int64)])
    for position in np.argsort(order).tolist():
        timer.run(int(batch_of[position]), int(lane_of[position]))
    return Timeline(timer.start, int(timer.free.max(initial=0)))


def validate_timeline(batches: Sequence[TimedBatch], timeline: Timeline) -> list[str]:
    """Lists what is wrong with a schedule, in words: a lane before its operands, two lanes at once on a core."""
    problems: list[str] = []
    for index, timed in enumerate(batches):
        for read in timed.batch.reads:
            if read.producer is None:
                continue
            producer = batches[read.producer]
            for lane, rows in enumerate(read.window.rows_of(np.arange(timed.batch.lanes))):
                for row in rows[rows != OUTSIDE]:
                    ready = timeline.start[read.producer][row] + producer.cycles
                    local = producer.cores[row] == timed.cores[lane]
                    if timeline.start[index][lane] < ready + (not local):
                        problems.append(f"lane {lane} of batch {index} starts before row {row} of {read.producer}")
    spans = sorted(
        (int(core), int(start), int(start) + timed.cycles)
        for timed, starts in zip(batches, timeline.start, strict=True)
        for core, start in zip(timed.cores, starts, strict=True)
    )
    for (core, _, end), (other, start, _) in zip(spans, spans[1:], strict=False):
        if core == other and start < end:
            problems.append(f"core {core} starts a lane at {start} and is busy until {end}")
    return problems


class _Timer:
    """The state of all cores while lanes are scheduled one after the other."""

    def __init__(self, batches: Sequence[TimedBatch], core_count: int, lead: int) -> None:
        self._batches = batches
        self._lead = lead
        self._port = 0
        self.free = np.zeros(core_count, np.int64)
        self.start = [np.zeros(timed.batch.lanes, np.int64) for timed in batches]
        self._rows = [
            [read.window.rows_of(np.arange(timed.batch.lanes)) for read in timed.batch.reads] for timed in batches
        ]
        self._targets = _targets(batches, self._rows)
        self._arrival = [np.zeros((core_count, timed.batch.lanes), np.int64) for timed in batches]
        self._read_until = [np.zeros(timed.batch.lanes, np.int64) for timed in batches]
        self._loaded: set[tuple[int, int, int]] = set()

    def run(self, index: int, lane: int) -> None:
        timed = self._batches[index]
        core = int(timed.cores[lane])
        ready = int(self.free[core])
        for rows, read in zip(self._rows[index], timed.batch.reads, strict=True):
            if read.producer is not None:
                mine = rows[lane]
                mine = mine[mine != OUTSIDE]
                if mine.size:
                    ready = max(ready, int(self._arrival[read.producer][core, mine].max()))
        if lane >= self._lead:
            ready = max(ready, int(self._read_until[index][lane - self._lead]))
        start = self._load(index, lane, core, ready)
        self.start[index][lane] = start
        end = start + timed.cycles
        self.free[core] = end
        self._send(index, lane, core, end)
        for rows, read in zip(self._rows[index], timed.batch.reads, strict=True):
            if read.producer is not None:
                mine = rows[lane]
                mine = mine[mine != OUTSIDE]
                until = self._read_until[read.producer]
                until[mine] = np.maximum(until[mine], end)

    def _load(self, index: int, lane: int, core: int, ready: int) -> int:
        """Loads what the lane reads of the network's inputs and is not there yet; when it is there."""
        timed = self._batches[index]
        for number, read in enumerate(timed.batch.reads):
            if read.producer is None:
                for row in self._rows[index][number][lane].tolist():
                    key = (read.source, core, row)
                    if row != OUTSIDE and key not in self._loaded:
                        self._loaded.add(key)
                        self._port = max(self._port, ready) + timed.load_cycles[number]
                        ready = self._port
        return ready

    def _send(self, index: int, lane: int, core: int, end: int) -> None:
        timed = self._batches[index]
        arrival = self._arrival[index]
        arrival[core, lane] = end
        time = end
        for target in self._targets[index][lane]:
            received = time + int(timed.transfer.receive[core, target])
            arrival[target, lane] = received
            time += int(timed.transfer.send[core, target])
            # A receiver in the middle of a lane is held up; an idle one waits for the row.
            self.free[target] = max(int(self.free[target]) + int(timed.transfer.receive[core, target]), received)
        self.free[core] = time


def _targets(batches: Sequence[TimedBatch], rows: Sequence[Sequence[Ints]]) -> list[list[list[int]]]:
    """[batches][lanes] the cores that need the row of a lane and do not compute it, ascending."""
    needs: list[list[Ints]] = [[] for _ in batches]
    for index, timed in enumerate(batches):
        for read, windows in zip(timed.batch.reads, rows[index], strict=True):
            if read.producer is not None:
                inside = windows != OUTSIDE
                cores = np.broadcast_to(timed.cores[:, None], windows.shape)[inside]
                needs[read.producer].append(np.stack((windows[inside], cores), axis=1))
    found: list[list[list[int]]] = []
    for timed, tables in zip(batches, needs, strict=True):
        mine: list[list[int]] = [[] for _ in range(timed.batch.lanes)]
        if tables:
            pairs = np.unique(np.concatenate(tables), axis=0)
            pairs = pairs[pairs[:, 1] != timed.cores[pairs[:, 0]]]
            for row, core in pairs.tolist():
                mine[row].append(core)
        found.append(mine)
    return found
