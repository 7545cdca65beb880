"""The critical path of a scheduled program, from all that it depends on, as arrays.

What a program's cores execute when, and what travels, is the same after most passes as before them. A span is therefore
kept under a digest of everything that it follows from (:class:`SpanMemory`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from ..analysis.critical_path import PLACES, Boundaries, Events, LaneTimes, Pieces, Span, core_span, cut_lanes
from ..analysis.machine import Machine
from ..support.arrays import Ints
from .batch_facts import LaneReads, LaneSchedule, arrays_digest
from .event_order import Phase, event_key, step_of
from .instruction_chains import CycleChains, boundaries
from .transfer_costs import repeats

_NOTHING = np.zeros(0, np.int64)


class LaneRun(NamedTuple):
    """The lanes of one batch."""

    schedule: LaneSchedule
    cycles: int
    chains: CycleChains
    """What they are spent on: messages go between two instructions."""
    reads: LaneReads
    inputs: tuple[int, ...]
    """Of the inputs, those that are tensors."""
    tensors: tuple[int, ...]
    """Of these, which tensor each is."""
    makes: tuple[int, ...]
    """The tensors whose rows the lanes compute, one of each a lane."""


class Moves(NamedTuple):
    """What travels, tensor by tensor, in order of steps. Rows are numbered through all tensors."""

    loads: Ints
    """`[n, 4]` of row, core, step, bytes."""
    messages: Ints
    """`[n, 5]` of row, source, target, step, bytes."""
    constants: Ints
    """`[n, 4]` of core, bytes that come, bytes that they are repeated to, and step: each occupies its core before the
    lane that needs it."""


class ScheduledLanes(NamedTuple):
    """A scheduled program."""

    rows: tuple[int, ...]
    """Of each tensor."""
    computed: tuple[bool, ...]
    """Of each tensor, whether lanes make it."""
    runs: Sequence[LaneRun]
    rows_read: Callable[[], tuple[Ints, Ints]]
    """Finds all rows that lanes read, numbered through all tensors, and the lane of each, ascending."""

    def span(self) -> Span:
        """Transfers take no time."""
        return core_span(Events.join(self._lane_events(_NOTHING, False)), shared=True)

    def makespan(self, moves: Moves, machine: Machine) -> Span:
        """With messages and loads, all of which have steps."""
        events = _move_events(moves, machine)
        interrupts = distinct(np.concatenate([_places(found) for found in events]))
        everything = Events.join([*events, *self._lane_events(interrupts, True)])
        return core_span(everything, port_number=machine.core_count)

    def digest(self) -> bytes:
        """A hash of everything that the span follows from."""
        parts: list[bytes] = []
        for run in self.runs:
            parts += run.schedule.digest, _chains_digest(run.chains), run.reads.digest(run.inputs)
        numbers = [(run.cycles, run.tensors, run.makes) for run in self.runs]
        return blake2b(repr((self.rows, self.computed, numbers)).encode() + b"".join(parts), digest_size=32).digest()

    def digest_with(self, moves: Moves, machine: Machine, digest: bytes) -> bytes:
        """A hash of everything that the makespan follows from, with ``digest`` for the lanes."""
        return blake2b(digest + machine.digest().encode() + arrays_digest(moves), digest_size=32).digest()

    @property
    def first_row(self) -> list[int]:
        """Rows numbered through all tensors: the number of each one's first."""
        return [0, *accumulate(self.rows)]

    def _lane_events(self, interrupts: Ints, loaded: bool) -> list[Events]:
        """Lanes, cut where messages come between their instructions. ``loaded``: inputs have to come, too."""
        runs = self.runs
        first_row = np.array(self.first_row, np.int64)
        lanes = np.array([len(run.schedule.cores) for run in runs], np.int64)
        core = np.concatenate([run.schedule.cores for run in runs])
        step = np.concatenate([run.schedule.steps for run in runs])
        span = np.concatenate([run.schedule.spans for run in runs])
        cycles = np.repeat([run.cycles for run in runs], lanes)
        first_lane = np.cumsum(lanes) - lanes
        resumes = np.concatenate([run.schedule.resumes for run in runs])
        resumes[:, 0] += np.repeat(first_lane, [len(run.schedule.resumes) for run in runs])
        first_made = np.array([first_row[run.makes[0]] if run.makes else -1 for run in runs], np.int64)
        number = np.arange(len(core)) - np.repeat(first_lane, lanes)
        made = np.repeat(first_made, lanes)
        makes = np.where(made < 0, -1, made + number)
        needs, reader = self.rows_read()
        if not loaded:
            come = np.repeat(np.array(self.computed, np.bool_), self.rows)[needs]
            needs, reader = needs[come], reader[come]
        counts = np.bincount(reader, minlength=len(core))
        ends: dict[int, Ints] = {}
        if len(interrupts):
            # Batches share the costs of equal bodies.
            for run in runs:
                if id(run.chains) not in ends:
                    ends[id(run.chains)] = boundaries(run.chains)
        body = np.repeat(np.arange(len(lanes)), lanes)
        cuts = Boundaries.of(body, [ends.get(id(run.chains), _NOTHING) for run in runs])
        pieces = cut_lanes(LaneTimes(core, step, span, cycles, resumes), interrupts, cuts)
        lane = pieces.lane
        whole = Events(
            event_key(pieces.start, Phase.COMPUTE),
            core[lane],
            np.full(len(lane), -1),
            pieces.cycles,
            pieces.cycles,
            np.zeros(len(lane), np.int64),
            np.where(pieces.is_last, makes[lane], -1),
            needs,
            np.where(pieces.is_first, counts[lane], 0),
        )
        return [whole, *self._further_results(whole, pieces)]

    def _further_results(self, whole: Events, pieces: Pieces) -> list[Events]:
        """Of lanes that make several rows, all but the first: they are there when that is, and take no time."""
        found: list[Events] = []
        last = np.flatnonzero(pieces.is_last)
        begin = 0
        for run in self.runs:
            mine = last[begin : begin + len(run.schedule.cores)]
            begin += len(run.schedule.cores)
            for tensor in run.makes[1:]:
                none, ones = np.zeros(len(mine), np.int64), np.ones(len(mine), np.int64)
                row = np.arange(len(mine)) + self.first_row[tensor]
                first = whole.makes[mine]
                found.append(Events(whole.key[mine], whole.core[mine], -ones, none, none, none, row, first, ones))
        return found


@lru_cache(4096)
def _chains_digest(chains: CycleChains) -> bytes:
    return blake2b(repr(chains).encode(), digest_size=32).digest()


def _move_events(moves: Moves, machine: Machine) -> list[Events]:
    """Loads, those of constants too, then messages."""
    row, core, step, size = moves.loads.T
    loads = _load_events(row, core, size, event_key(step, Phase.LOAD), machine)
    core, size, total, step = moves.constants.T
    constants = _load_events(np.full(len(core), -1), core, size, event_key(step, Phase.FILL), machine)
    constants = constants._replace(partner_cycles=constants.partner_cycles + _repeat_cycles(size, total, machine))
    row, source, target, step, size = moves.messages.T
    send, receive = (of(source, target, size) for of in (machine.send_cycles, machine.recv_cycles))
    ones = np.ones(len(row), np.int64)
    away = send + machine.flight_cycles(source, target, size)
    messages = Events(event_key(step, Phase.MESSAGE), source, target, send, receive, away, row, row, ones)
    return [loads, constants, messages]


def _load_events(row: Ints, core: Ints, size: Ints, key: Ints, machine: Machine) -> Events:
    """Loads go through one port. It serves the next one while what it has read is on its way, and written."""
    port, none = np.full(len(core), machine.core_count), np.zeros(len(core), np.int64)
    served = np.ceil(machine.global_memory_ns(size, write=False) / machine.period_ns).astype(np.int64)
    return Events(key, port, core, served, machine.load_cycles(core, size), none, row, _NOTHING, none)


def _repeat_cycles(size: Ints, total: Ints, machine: Machine) -> Ints:
    """Cycles of the copies that repeat so many bytes until they are ``total``."""
    kinds, kind = np.unique(np.stack((size, total), axis=1), axis=0, return_inverse=True)
    found = [sum(int(machine.copy_cycles(part)) for part in repeats(*pair)) for pair in kinds.tolist()]
    return np.array(found, np.int64)[kind.reshape(-1)]


def _places(events: Events) -> Ints:
    """Cores and steps of messages, as one number, for both cores. Loads come before the lane that reads them."""
    step = step_of(events.key)
    messages = events.need_counts > 0
    return np.concatenate([core[messages] * PLACES + step[messages] for core in (events.core, events.partner)])


def distinct(numbers: Ints) -> Ints:
    """Each number once, ascending. `np.unique` takes several times as long if most differ."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]


KeyT = TypeVar("KeyT", bound=Hashable)
FoundT = TypeVar("FoundT")


class SpanMemory(Generic[KeyT, FoundT]):
    """The last few spans, by what they follow from or a digest of it."""

    def __init__(self, limit: int = 8) -> None:
        self.limit = limit
        self._known: dict[KeyT, FoundT] = {}

    def get(self, key: KeyT, compute: Callable[[], FoundT]) -> FoundT:
        """What has been found for this key, or is found now."""
        if key not in self._known:
            self._known[key] = compute()
            if len(self._known) > self.limit:
                del self._known[next(iter(self._known))]
        return self._known[key]
