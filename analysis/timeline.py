"""When each lane runs and each row is sent: a list schedule with the machine's transfers in it, as
:mod:`.lane_scheduler` makes it.

A core that is free starts, of the lanes whose rows are there, the most urgent one (:mod:`.lane_rank`). A row is sent
after the lane that computes it, to one core after the other, first to those that can take it. Sending occupies the
sender, receiving the receiver, as blocking `send` and `recv` do, and the next message waits until the row has left the
network. A receiver in the middle of a lane is held up, between two of its instructions. Rows of the network's inputs
are loaded by the lane that needs them first on its core, through the one port of global memory. So are constants, or
before, by a core that has nothing else to do, once all rows of the inputs have been.

Times are those of the schedule, in cycles: the program need not keep them, only their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..support.arrays import Ints
from .lane_rank import RankedBatch
from .wavefront import LaneBatch
from .window import OUTSIDE


class CostTable(Protocol):
    """Cycles ``[sender, receiver]``: an array, or what computes its entries when they are asked for."""

    def __getitem__(self, pair: Any, /) -> Any: ...


class Load(NamedTuple):
    """What loading from global memory costs, in cycles."""

    core: int
    """Of the core, from when global memory serves its request."""
    port: int
    """Of global memory; others wait meanwhile."""


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
    by_kind: Callable[[], tuple[Ints, Ints]] | None = None
    """Kinds of pairs that are alike for rows of all sizes, [cores, cores], and the cycles of sending, of receiving and
    of the flight for each, [3, kinds]. The kinds are one and the same array for all costs that have it; None if they
    are not known."""


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
    loads: tuple[Load, ...] = field(default=())
    """Of one row of each input; only those of the network's inputs count."""
    constants: tuple[Load, ...] = field(default=())
    """Of the constants of a replica, before its first lane."""
    begins: Sequence[int] | Ints = (0,)
    """At which of a lane's cycles its instructions begin: messages go between two of them."""

    @property
    def ranked(self) -> RankedBatch:
        """The batch as the ranks see it."""
        return RankedBatch(self.batch, self.replicas, self.cycles, self.transfer.usual_cycles)


@dataclass(frozen=True, eq=False)
class Timeline:
    """The schedule of all lanes, in columns. Lanes are numbered through all batches, and a row is its lane's.

    What is told batch by batch, with lanes numbered from 0 in each, is only made when someone asks for it: most
    schedules that a search makes only have to be known to be too long.
    """

    makespan: int
    first: Ints
    """[batches + 1] the number of each batch's first lane; last, n."""
    starts: Ints
    """[n] first cycle of each lane's own work, after its loads."""
    finishes: Ints
    """[n] first cycle after each lane: later than its work takes by what interrupts it."""
    sent: tuple[Ints, Ints, Ints]
    """The m rows that are sent: row, core that receives it, first cycle; by row, then core."""
    resumed: tuple[Ints, Ints, Ints]
    """Where lanes go on after an interruption: lane, cycles of its work that it has done, and when; in no order."""
    fetched: tuple[Ints, Ints, Ints, Ints]
    """The constants that are loaded: batch, which of the batch, core, first cycle; in this order."""

    @cached_property
    def start(self) -> list[Ints]:
        """[batches][lanes] `starts`."""
        return _parts(self.starts, self.first)

    @cached_property
    def finish(self) -> list[Ints]:
        """[batches][lanes] `finishes`."""
        return _parts(self.finishes, self.first)

    @cached_property
    def messages(self) -> list[Ints]:
        """[batches][m, 3] `sent`: row, core, first cycle; by row, then core."""
        return self._by_batch(*self.sent)

    @cached_property
    def resumes(self) -> list[Ints]:
        """[batches][k, 3] `resumed`: lane, cycles of its work that it has done, and cycles since its start; in this
        order."""
        lane, done, cycle = np.stack(self.resumed)[:, np.lexsort(self.resumed[::-1])]
        return self._by_batch(lane, done, cycle - self.starts[lane])

    @cached_property
    def fetches(self) -> list[Ints]:
        """[batches][f, 3] `fetched`: which of the batch, core, first cycle; in this order."""
        batch, *columns = self.fetched
        return _parts(np.stack(columns, axis=1), np.searchsorted(batch, np.arange(len(self.first))))

    def _by_batch(self, lane: Ints, *columns: Ints) -> list[Ints]:
        """[batches][lines, columns + 1] lines that are sorted by ``lane``."""
        own = lane - np.repeat(self.first[:-1], np.diff(self.first))[lane]
        return _parts(np.stack((own, *columns), axis=1), np.searchsorted(lane, self.first))


def _parts(lines: Ints, ends: Ints) -> list[Ints]:
    """[batches] the lines of each, which begin where ``ends`` [batches + 1] says."""
    places: list[int] = ends.tolist()
    return [lines[begin:end] for begin, end in pairwise(places)]


def validate_timeline(batches: Sequence[TimedBatch], timeline: Timeline) -> list[str]:
    """Lists what is wrong with a schedule, in words: a lane before its operands, two things at once on a core."""
    return _Validation(batches, timeline).problems()


class _Validation:
    """Goes through a schedule thing by thing. Shares nothing with the scheduler."""

    def __init__(self, batches: Sequence[TimedBatch], timeline: Timeline) -> None:
        self._batches, self._timeline = batches, timeline
        self._problems: list[str] = []
        self._busy: list[tuple[int, int, int]] = []
        """What cores do: core, first cycle, and first cycle after it."""
        self._arrival: dict[tuple[int, int, int], int] = {}
        """By batch, row and core: when the row is there."""

    def problems(self) -> list[str]:
        for index in range(len(self._batches)):
            self._messages(index)
        for index in range(len(self._batches)):
            self._constants(index)
            self._lanes(index)
            self._reads(index)
        spans = sorted(span for span in self._busy if span[1] < span[2])
        for (core, _, end), (other, start, _) in pairwise(spans):
            if core == other and start < end:
                self._problems.append(f"core {core} starts something at {start} and is busy until {end}")
        return self._problems

    def _messages(self, index: int) -> None:
        timed = self._batches[index]
        for row, core, sent in self._timeline.messages[index].tolist():
            home = int(timed.cores[row])
            if sent < self._timeline.finish[index][row]:
                self._problems.append(f"row {row} of batch {index} is sent before it is computed")
            there = self._arrival[index, row, core] = sent + int(timed.transfer.receive[home, core])
            self._busy.append((home, sent, sent + int(timed.transfer.send[home, core])))
            self._busy.append((core, sent, there))

    def _constants(self, index: int) -> None:
        timed, loads = self._batches[index], dict[int, int]()
        fetches: list[tuple[int, int, int]] = self._timeline.fetches[index].tolist()
        for number, core, fetched in fetches:
            loads[core] = loads.get(core, 0) + 1
            there = fetched + timed.constants[number].core
            self._busy.append((core, fetched, there))
            if there > self._timeline.start[index][timed.cores == core].min():
                self._problems.append(f"constant {number} of batch {index} comes after a lane that needs it")
        for core in np.unique(timed.cores).tolist():
            if loads.get(core, 0) != len(timed.constants):
                self._problems.append(f"core {core} does not load each constant of batch {index} once")

    def _lanes(self, index: int) -> None:
        timed, resumes = self._batches[index], self._timeline.resumes[index]
        begins = [*timed.begins, timed.cycles]
        times = timed.cores.tolist(), self._timeline.start[index].tolist(), self._timeline.finish[index].tolist()
        for lane, (core, start, finish) in enumerate(zip(*times, strict=True)):
            goes_on = [(0, 0), *resumes[resumes[:, 0] == lane, 1:].tolist()]
            for (done, since), (until, _) in pairwise([*goes_on, (timed.cycles, 0)]):
                self._busy.append((core, start + since, start + since + until - done))
            done_at = self._busy[-1][2]
            if finish != done_at:
                self._problems.append(f"lane {lane} of batch {index} ends at {finish}, and is done at {done_at}")
            if any(done not in begins for done, _ in goes_on):
                self._problems.append(f"lane {lane} of batch {index} is interrupted in the middle of an instruction")

    def _reads(self, index: int) -> None:
        timed = self._batches[index]
        for read in timed.batch.reads:
            if read.producer is None:
                continue
            producer, finish = self._batches[read.producer], self._timeline.finish[read.producer]
            for lane, rows in enumerate(read.window.rows_of(np.arange(timed.batch.lanes))):
                core = int(timed.cores[lane])
                for row in rows[rows != OUTSIDE].tolist():
                    is_here = producer.cores[row] == core
                    ready = finish[row] if is_here else self._arrival.get((read.producer, row, core))
                    if ready is None or self._timeline.start[index][lane] < ready:
                        what = f"lane {lane} of batch {index} starts before row {row} of {read.producer}"
                        self._problems.append(what)
