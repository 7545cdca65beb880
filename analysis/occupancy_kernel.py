"""Cycles of groups of lanes by period: the loop of :mod:`.occupancy`, to be compiled."""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers


class Facts(NamedTuple):
    """Of the periods."""

    width: int
    """In cycles."""
    periods: int


class Code(NamedTuple):
    """The lanes."""

    group: Numbers
    start: Numbers
    finish: Numbers


class State(NamedTuple):
    """What is found."""

    busy: Numbers
    """[groups, periods]"""


def run(facts: Facts, code: Code, state: State, lanes: int) -> int:
    """Counts the cycles of all lanes."""
    for lane in range(lanes):
        begin = code.start[lane]
        finish = code.finish[lane]
        period = begin // facts.width
        while begin < finish:
            end = min(finish, (period + 1) * facts.width)
            state.busy[code.group[lane] * facts.periods + period] += end - begin
            begin = end
            period += 1
    return lanes
