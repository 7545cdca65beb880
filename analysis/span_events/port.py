"""The one port of global memory, which serves loads as their requests come.

Events are taken in the order of the chip, and a core may be late: what another one asks for meanwhile is served before.
So times at which the port has nothing to do are kept.
"""

from __future__ import annotations

from ...support.bisection import first_not_below
from .layout import Facts, State


def serve(facts: Facts, state: State, asked: int, cycles: int) -> int:
    """When the port begins to serve a load of so many cycles that is asked for at the cycle ``asked``."""
    place = first_gap(state, asked + cycles)
    while place < state.gaps[0]:
        begin = max(state.gap_begin[place], asked)
        if begin + cycles <= state.gap_end[place]:
            fill_gap(state, place, begin, begin + cycles)
            return begin
        place += 1
    end = state.free[facts.port]
    begin = max(end, asked)
    if begin > end:
        state.gap_begin[state.gaps[0]] = end
        state.gap_end[state.gaps[0]] = begin
        state.gaps[0] += 1
    state.free[facts.port] = begin + cycles
    return begin


def first_gap(state: State, time: int) -> int:
    """The first gap that ends at ``time`` or later; the number of gaps if there is none."""
    return first_not_below(state.gap_end, 0, state.gaps[0], time)


def fill_gap(state: State, place: int, begin: int, end: int) -> None:
    """Takes a part of a gap; what is left before and behind stays."""
    first = state.gap_begin[place]
    last = state.gap_end[place]
    if first == begin and last == end:
        for number in range(state.gaps[0] - place - 1):
            state.gap_begin[place + number] = state.gap_begin[place + number + 1]
            state.gap_end[place + number] = state.gap_end[place + number + 1]
        state.gaps[0] -= 1
    elif first == begin:
        state.gap_begin[place] = end
    elif last == end:
        state.gap_end[place] = begin
    else:
        for number in range(state.gaps[0] - place):
            behind = state.gaps[0] - number
            state.gap_begin[behind] = state.gap_begin[behind - 1]
            state.gap_end[behind] = state.gap_end[behind - 1]
        state.gaps[0] += 1
        state.gap_end[place] = begin
        state.gap_begin[place + 1] = end
