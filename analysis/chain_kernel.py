"""The walk along a critical chain, from its end backwards: the loop of :mod:`.critical_chain`."""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Column, Numbers

RUN, CORE, TRAVEL, QUEUE, TAIL = range(5)
"""Kinds of steps. A lane runs, with what interrupts it; has its rows, but its core does something else, or loads; its
last row is sent and received; waits for messages before it or for its receiver. Or: all lanes have ended."""

STEPS, WAITS, QUEUES, THERE, SENT = range(5)
"""Of `found`: how many lines there are of each kind; of the lane at hand, when its last row was there and was sent."""
FOUND = 5

NONE = -1


class Facts(NamedTuple):
    """Of the schedule."""

    makespan: int


class Code(NamedTuple):
    """Its lanes and messages."""

    core: Numbers
    """Of each lane."""
    start: Numbers
    finish: Numbers
    mate_first: Numbers
    """Of each core, and one more: where its lanes begin in"""
    mate: Numbers
    """lanes by core, in order."""
    read_first: Numbers
    """Of each lane, and one more: where the rows begin that it reads, in"""
    rows_read: Numbers
    """rows by the lane that reads them, in order."""
    message_first: Numbers
    """Of each row, and one more: where its messages begin, by"""
    target: Numbers
    """the core that receives them,"""
    sent: Numbers
    """when they were sent,"""
    arrival: Numbers
    """and were there."""


class State(NamedTuple):
    """The chain, line after line; see :class:`.critical_chain.Chain`."""

    found: Numbers
    steps: Numbers
    waits: Numbers
    queues: Numbers


def run(facts: Facts, code: Code, state: State, lane: int) -> int:
    """Finds the chain behind a ``lane``, the one that ends last; returns the number of its steps."""
    step(state, TAIL, lane, 0 if lane == NONE else code.finish[lane], facts.makespan)
    while lane != NONE:
        step(state, RUN, lane, code.start[lane], code.finish[lane])
        row = last_row(code, state, lane)
        there = state.found[THERE]
        before = mates(code, state, lane)
        if before != NONE and code.finish[before] > there:
            step(state, CORE, lane, code.finish[before], code.start[lane])
            line(state.waits, state.found, WAITS, lane, before, code.start[lane] - max(there, code.start[before]))
            lane = before
        else:
            step(state, CORE, lane, there, code.start[lane])
            if row != NONE:
                sent = state.found[SENT]
                step(state, TRAVEL, row, sent, there)
                step(state, QUEUE, row, code.finish[row], sent)
                line(state.queues, state.found, QUEUES, lane, row, sent - code.finish[row])
            lane = row
    return state.found[STEPS]


def last_row(code: Code, state: State, lane: int) -> int:
    """Of the rows that a lane reads the one that is there last, the first of several; `NONE` if it reads none. When it
    is there and was sent is noted."""
    last = NONE
    state.found[THERE] = 0
    for read in range(code.read_first[lane], code.read_first[lane + 1]):
        row = code.rows_read[read]
        sent = code.finish[row]
        there = sent
        if code.core[row] != code.core[lane]:
            message = code.message_first[row]
            while code.target[message] != code.core[lane] and message + 1 < code.message_first[row + 1]:
                message += 1
            sent = code.sent[message]
            there = code.arrival[message]
        if last == NONE or there > state.found[THERE]:
            last = row
            state.found[THERE], state.found[SENT] = there, sent
    return last


def mates(code: Code, state: State, lane: int) -> int:
    """Of the lanes on the same core, the one that ends last before a lane starts, or `NONE`. Those that end while the
    lane is amid interrupt it: it waits for them."""
    before = NONE
    core, start, finish = code.core[lane], code.start[lane], code.finish[lane]
    for place in range(code.mate_first[core], code.mate_first[core + 1]):
        other = code.mate[place]
        ended = code.finish[other]
        if other == lane or ended > finish or (ended == finish and other > lane):
            continue
        if ended > start:
            line(state.waits, state.found, WAITS, lane, other, ended - code.start[other])
        elif before == NONE or ended >= code.finish[before]:
            before = other
    return before


def step(state: State, kind: int, lane: int, begin: int, end: int) -> None:
    """Adds a step to the chain, if it takes any time."""
    if begin < end:
        at = 4 * state.found[STEPS]
        state.steps[at], state.steps[at + 1], state.steps[at + 2], state.steps[at + 3] = kind, lane, begin, end
        state.found[STEPS] += 1


def line(lines: Column, found: Column, kind: int, lane: int, other: int, cycles: int) -> None:
    """Adds a line of one ``kind``."""
    at = 3 * found[kind]
    lines[at], lines[at + 1], lines[at + 2] = lane, other, cycles
    found[kind] += 1
