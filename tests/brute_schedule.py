"""What a small scheduled program comes to, found out lane by lane, message by message and step by step.

Nothing of the guard is used but the cycles of a lane's body and of a transfer, which the machine says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from ir_edits import array_of, ops_of
from tilec.analysis.window import OUTSIDE
from tilec.dialects.spat import (
    ChannelReceiveOp,
    ChannelSendOp,
    DeferredCommunicationOp,
    InputOp,
    ScheduledComputeBatchOp,
)
from tilec.lowering.body_content import body_content
from tilec.lowering.body_costs import tile_cost
from tilec.lowering.target import target_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Lane:
    batch: Operation
    number: int
    core: int
    step: int
    span: int
    ends: tuple[int, ...]
    """At which of its cycles each of its instructions ends."""
    resumes: tuple[tuple[int, int], ...]
    """Where it goes on after an interruption: cycles that are done, steps since its first."""
    needs: tuple[tuple[SSAValue, int], ...]
    """Rows of tensors."""
    makes: tuple[tuple[SSAValue, int], ...]

    @property
    def cycles(self) -> int:
        return self.ends[-1] if self.ends else 0

    def done(self, steps: int) -> int:
        """Cycles that are done so many steps after its first: of whole instructions, since one that has begun ends."""
        if steps == self.span:
            return self.cycles
        share = self.cycles * steps // self.span
        if self.resumes:
            moments = [(0, 0), *self.resumes, (self.cycles, self.span)]
            at = max(index for index, (_, since) in enumerate(moments) if since <= steps)
            share = min(moments[at][0] + steps - moments[at][1], moments[at + 1][0])
        return next((end for end in (0, *self.ends) if end >= share), self.cycles)


@dataclass(frozen=True)
class Outcome:
    """Named like the proxies that they are to agree with."""

    makespan_cycles: int
    unready_reads: int
    sends: int
    send_bytes: int
    byte_hops: int
    host_to_device_copies: int
    busy_cycles_max: int
    width: int
    compute_instances: int
    assignment: tuple[tuple[int, ...], ...]
    order: tuple[tuple[int, ...], ...]
    undecided: bool
    """Whether a row is read elsewhere of a tensor that nobody sends."""


LESS = (
    "makespan_cycles",
    "unready_reads",
    "sends",
    "send_bytes",
    "byte_hops",
    "host_to_device_copies",
    "busy_cycles_max",
)
MORE = ("width", "compute_instances")
SAME = ("assignment", "order")


def worse_fields(before: Outcome, after: Outcome) -> set[str]:
    """In what the second outcome is no good, if the first is what there was."""
    return {
        *(name for name in LESS if getattr(after, name) > getattr(before, name)),
        *(name for name in MORE if getattr(after, name) < getattr(before, name)),
        *(name for name in SAME if getattr(after, name) != getattr(before, name)),
    }


def root(value: SSAValue) -> SSAValue:
    """The tensor that a value stands for, before it travelled."""
    while isinstance(value.owner, DeferredCommunicationOp | ChannelReceiveOp):
        value = value.owner.source
    return value


def lanes_of(module: ModuleOp) -> list[Lane]:
    target = target_of(module)
    found: list[Lane] = []
    for op in ops_of(module, ScheduledComputeBatchOp):
        spent = [cycles for turn, repeat in tile_cost(body_content(op), target).chains for cycles in turn * repeat]
        ends = tuple(accumulate(spent))
        resumes = [] if op.lane_resumes is None else op.lane_resumes.tolist()
        cores, steps, spans = array_of(op, "cores"), array_of(op, "steps"), op.lane_spans
        for number in range(op.lane_count):
            needs = [
                (root(value), row)
                for value, window in zip(op.inputs, op.row_windows, strict=True)
                for row in window.rows_of(np.array([number]))[0].tolist()
                if row != OUTSIDE
            ]
            makes = tuple((result, number) for result in op.results)
            core = int(cores[number % op.replica_count])
            goes_on = tuple((done, since) for lane, done, since in resumes if lane == number)
            found.append(
                Lane(op, number, core, int(steps[number]), int(spans[number]), ends, goes_on, tuple(needs), makes)
            )
    return found


def outcome(module: ModuleOp) -> Outcome:
    """Runs the program: in the order of steps; at a step loads, then lanes, then messages, tensor by tensor."""
    target = target_of(module)
    machine, size = target.machine, target.element_bytes
    lanes = lanes_of(module)
    tensors = [result for op in ops_of(module, ScheduledComputeBatchOp) for result in op.results]
    messages = [
        (root(op.source), *map(int, line))
        for op in sorted(ops_of(module, ChannelSendOp), key=lambda op: tensors.index(root(op.source)))
        for line in array_of(op, "messages")
    ]

    def row_bytes(value: SSAValue) -> int:
        _, *row = value.type.get_shape()  # pyright: ignore
        return int(np.prod(row)) * size

    first_use: dict[tuple[SSAValue, int, int], int] = {}
    for lane in lanes:
        for value, row in lane.needs:
            if isinstance(value.owner, InputOp):
                key = value, row, lane.core
                first_use[key] = min(lane.step, first_use.get(key, lane.step))
    for op in ops_of(module, DeferredCommunicationOp):
        for row, core in array_of(op, "needs").tolist():
            first_use.setdefault((root(op.source), row, core), 0)  # what is said to be needed comes, read or not
    stops = {(core, step) for _, _, source, goal, step in messages for core in (source, goal)}

    # What happens: step, phase, and what it is
    events: list[tuple[int, int, int, object]] = []
    for number, (value, row, core) in enumerate(sorted(first_use, key=lambda use: use[1:])):
        events.append((first_use[value, row, core], 0, number, (value, row, core)))
    for number, lane in enumerate(lanes):
        begin = lane.step
        ends = {s + 1 for s in range(lane.step, lane.step + lane.span - 1) if (lane.core, s) in stops}
        ends |= {lane.step + since for _, since in lane.resumes}
        for end in [*sorted(ends - {lane.step}), lane.step + lane.span]:
            events.append((begin, 1, number, (lane, begin - lane.step, end - lane.step)))
            begin = end
    for number, message in enumerate(messages):
        events.append((message[-1], 2, number, message))

    free = dict.fromkeys(range(machine.core_count), 0)
    served: list[tuple[int, int]] = []
    """When the port of global memory is busy."""
    away = dict.fromkeys(range(machine.core_count), 0)
    """When what a core has sent has left the network."""
    there: dict[tuple[SSAValue, int, int], int] = {}
    unready = 0

    def ready(value: SSAValue, row: int, core: int) -> int:
        nonlocal unready
        unready += (value, row, core) not in there
        return there.get((value, row, core), 0)

    for _, phase, _, what in sorted(events, key=lambda event: event[:3]):
        match phase, what:
            case 0, (value, row, core):
                cycles = math.ceil(float(machine.global_memory_ns(row_bytes(value), write=False)) / machine.period_ns)
                moments = [free[core], *(end for _, end in served if end > free[core])]
                start = next(
                    moment
                    for moment in sorted(moments)
                    if all(end <= moment or moment + cycles <= begin for begin, end in served)
                )
                served.append((start, start + cycles))
                free[core] = start + int(machine.load_cycles(core, row_bytes(value)))
                there[value, row, core] = free[core]
            case 1, (lane, begin, end):
                start = free[lane.core]
                if begin == 0:
                    start = max([start, *(ready(value, row, lane.core) for value, row in lane.needs)])
                free[lane.core] = start + lane.done(end) - lane.done(begin)
                if end == lane.span:
                    there |= {(value, row, lane.core): free[lane.core] for value, row in lane.makes}
            case _, (value, row, source, goal, _):
                size_ = row_bytes(value)
                start = max(free[source], free[goal], ready(value, row, source), away[source], away[goal])
                free[goal] = start + int(machine.recv_cycles(source, goal, size_))
                free[source] = start + int(machine.send_cycles(source, goal, size_))
                away[source] = free[source] + int(machine.flight_cycles(source, goal, size_))
                there[value, row, goal] = free[goal]
            case _:
                raise AssertionError(what)
    first = min(lane.step for lane in lanes)
    busy = [sum(lane.cycles for lane in lanes if lane.core == core) for core in range(machine.core_count)]
    batches = ops_of(module, ScheduledComputeBatchOp)
    sent = {value for value, *_ in messages}
    home = {(value, row): lane.core for lane in lanes for value, row in lane.makes}
    undecided = any(
        lane.core != home.get(need, lane.core) and need[0] not in sent for lane in lanes for need in lane.needs
    )
    return Outcome(
        max(free.values()),
        unready,
        len(messages),
        sum(row_bytes(value) for value, *_ in messages),
        sum(row_bytes(value) * int(machine.hops[source, goal]) for value, _, source, goal, _ in messages),
        len(first_use),
        max(busy),
        len({lane.core for lane in lanes}),
        len(lanes),
        tuple(tuple(array_of(op, "cores").tolist()) for op in batches),
        tuple(tuple(lane.step - first for lane in lanes if lane.batch is op) for op in batches),
        undecided,
    )
