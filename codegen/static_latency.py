"""How long one sample takes, from the planned IR alone: before there is code, and without executing any.

Every core executes what the IR has for it in the order of events, one instruction after another. Interactions between
cores are simulated event by event: messages, with their requests and answers, and the queue of global memory. Scalar
instructions are not known before registers are allocated, and take no time here. A reorder buffer of more than one
entry, with which a core does several things at once, is not modelled. `docs/timing.md` states the error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from ..analysis.machine import Machine
from ..lowering.target import target_of
from ..support.arrays import Ints
from .emission import emission_of
from .event_path import CoreSchedule

F64 = npt.NDArray[np.float64]

_GLOBAL, _SEND, _RECEIVE = range(3)


def static_latency_cycles(module: ModuleOp) -> int:
    """Cycles until all cores are done, of a module that has addresses."""
    return latency_cycles(target_of(module).machine, emission_of(module).path.schedule)


def latency_cycles(machine: Machine, schedule: CoreSchedule) -> int:
    """The same of a schedule. Messages cannot wait for each other, since both cores have them in one order."""
    return _Chip(_steps(machine, schedule)).run()


class _Step(NamedTuple):
    """Something that a core does with others."""

    gap: int
    """Cycles of what it executes alone before that."""
    kind: int
    cycles: int
    """If nothing makes it wait."""
    partner: int
    """The other core of a message."""
    arrival: float
    """From its begin until its request is in global memory, or its request or answer at the partner."""
    service: float
    """Of global memory; of a message, from when the answer goes to the end of the data's flight."""


class _Steps(NamedTuple):
    """The steps of all cores, core by core."""

    steps: list[_Step]
    start: list[int]
    """Of each core, where its steps begin, and where the last one's end."""
    rest: list[int]
    """Of each core, the cycles that it executes alone after its last step."""


class _Chip:
    """Cores, their switches and global memory in time. Times are cycles."""

    def __init__(self, steps: _Steps) -> None:
        self.steps, self.start, self.rest = steps
        cores = len(self.rest)
        self.position = self.start[:-1]
        self.free = [0.0] * cores
        """When each core's switch is free."""
        self.memory_free = 0.0
        self.at_message: list[tuple[int, float] | None] = [None] * cores
        """The partner that each core waits for, and since when: its request's arrival, or when it began to receive."""
        self.end = 0.0
        self.events: list[tuple[float, int, bool]] = []
        """Time, core, and whether it is its request that arrives at global memory."""

    def run(self) -> int:
        for core in range(len(self.rest)):
            self._go_on(core, 0.0)
        events, steps, position, free = self.events, self.steps, self.position, self.free
        while events:
            now, core, arrives = heappop(events)
            step = steps[position[core]]
            if arrives:
                # Global memory serves in the order of arrival.
                begin = max(now, self.memory_free)
                self.memory_free = free[core] = begin + step.service
                position[core] += 1
                self._go_on(core, begin + step.cycles - step.arrival)
            elif step.kind == _GLOBAL:
                heappush(events, (max(now, free[core]) + step.arrival, core, True))
            else:
                self._meet(core, step, now)
        return round(self.end)

    def _go_on(self, core: int, now: float) -> None:
        """The core is free for its next step."""
        at = self.position[core]
        if at < self.start[core + 1]:
            heappush(self.events, (now + self.steps[at].gap, core, False))
        else:
            self.end = max(self.end, now + self.rest[core])

    def _meet(self, core: int, step: _Step, now: float) -> None:
        """One end of a message is reached; the message goes on if the other one was."""
        _, kind, _, partner, arrival, _ = step
        free, at_message, position = self.free, self.at_message, self.position
        if kind == _SEND:
            now = free[core] = max(now, free[core]) + arrival
        at_message[core] = (partner, now)
        other = at_message[partner]
        if other is None or other[0] != core or partner == core:
            return
        at_message[core] = at_message[partner] = None
        sender, receiver = (core, partner) if kind == _SEND else (partner, core)
        sending, receiving = self.steps[position[sender]], self.steps[position[receiver]]
        answers = max(now, other[1], free[receiver])
        free[receiver] = answers + receiving.arrival
        free[sender] = answers + sending.service
        position[sender] += 1
        position[receiver] += 1
        self._go_on(sender, answers + sending.cycles - sending.arrival)
        self._go_on(receiver, answers + receiving.cycles)


@dataclass(frozen=True, eq=False)
class _StepTable:
    """Steps of all cores, one row each."""

    place: Ints
    core: Ints
    begin: Ints
    """As :attr:`CoreSchedule.done`."""
    end: Ints
    kind: Ints
    cycles: Ints
    partner: Ints
    arrival: F64
    service: F64


def _steps(machine: Machine, schedule: CoreSchedule) -> _Steps:
    parts = [_global_steps(machine, schedule), *_message_steps(machine, schedule)]
    order = np.argsort(np.concatenate([part.place for part in parts]), kind="stable")
    core, begin, end, kind, cycles, partner, arrival, service = (
        np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("core", "begin", "end", "kind", "cycles", "partner", "arrival", "service")
    )
    first, last = schedule.ends()
    start = np.searchsorted(core, np.arange(schedule.cores + 1))
    until = np.append(first[core[:1]], end[:-1])  # what the core has done before each step
    has = start[:-1] < start[1:]
    until[start[:-1][has]] = first[has]
    done = first.copy()
    done[has] = end[start[1:][has] - 1]
    columns = (begin - until, kind, cycles, partner, arrival, service)
    steps = [*map(_Step, *(column.tolist() for column in columns))]
    return _Steps(steps, start.tolist(), (last - done).tolist())


def _global_steps(machine: Machine, schedule: CoreSchedule) -> _StepTable:
    rows = np.flatnonzero(schedule.global_bytes)
    core, cycles, begin = schedule.core_of(rows), schedule.cycles[rows], schedule.done[rows]
    size, stores = np.abs(schedule.global_bytes[rows]), schedule.global_bytes[rows] < 0
    flight = machine.flight_ns(core, machine.core_count, np.where(stores, size, 1))
    return _StepTable(
        schedule.place[rows],
        core,
        begin,
        begin + cycles,
        np.full(len(rows), _GLOBAL),
        cycles,
        np.full(len(rows), -1),
        (flight + np.where(stores, machine.local_read_ns(size), 0)) / machine.period_ns,
        machine.global_memory_ns(size, stores) / machine.period_ns,
    )


def _message_steps(machine: Machine, schedule: CoreSchedule) -> Iterator[_StepTable]:
    key, source, target, sending, receiving, size = schedule.messages.T
    request, answer = machine.flight_ns(source, target, 1), machine.flight_ns(target, source, 1)
    data = answer + machine.local_read_ns(size) + machine.flight_ns(source, target, size)
    for kind, core, partner, cycles, arrival in (
        (_SEND, source, target, sending, request),
        (_RECEIVE, target, source, receiving, answer),
    ):
        at = schedule.before(core, key)
        yield _StepTable(
            schedule.place_of(core, key),
            core,
            at,
            at,
            np.full(len(key), kind),
            cycles,
            partner,
            arrival / machine.period_ns,
            data / machine.period_ns,
        )
