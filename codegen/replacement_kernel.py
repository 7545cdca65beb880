"""Belady's rule, core by core: the loop of :mod:`.register_replacement`, interpreted on lists or compiled on arrays."""

from __future__ import annotations

from typing import NamedTuple

Numbers = list[int]
"""A list, or an array for the compiled loop."""

NEVER = 1 << 62


class Facts(NamedTuple):
    """How many registers there are."""

    registers: int


class Code(NamedTuple):
    """Touches of values, in order."""

    value: Numbers
    """Of each touch. Values of different cores have different numbers."""
    following: Numbers
    """The next touch of the same value, or `NEVER`."""
    forced: Numbers
    """The first touch, from this one on and on its core, whose value has to be in the first register; or `NEVER`."""
    stop: Numbers
    """Of each core: the end of its touches."""
    apart: Numbers
    """Of each core: 1 if the first register is only for values that have to be in it, else 0."""


class State(NamedTuple):
    """What the loop works on and what it finds."""

    until: Numbers
    """Of each register: when its value is touched next."""
    held: Numbers
    """Of each register: its value; at first one that does not exist."""
    where: Numbers
    """The register of each value, and of one more that does not exist; -1 for none."""
    place: Numbers
    """The register of each touch: 0 is the first one."""
    load: Numbers
    """The touches for which a register is loaded."""


def run(facts: Facts, code: Code, state: State, cores: int) -> int:
    """Fills `place` and `load`; the number of loads."""
    loads = 0
    touch = 0
    for core in range(cores):
        for register in range(facts.registers):
            state.until[register] = NEVER
            state.where[state.held[register]] = -1
        while touch < code.stop[core]:
            value = code.value[touch]
            place = state.where[value]
            if place < 0:
                place = victim(facts, state, code.forced[touch], code.following[touch])
                if code.apart[core] == 1:
                    place = farthest(facts, state, 1)
                if code.forced[touch] == touch:
                    place = 0
                state.where[state.held[place]] = -1
                state.held[place] = value
                state.where[value] = place
                state.load[loads] = touch
                loads += 1
            state.until[place] = code.following[touch]
            state.place[touch] = place
            touch += 1
    return loads


def victim(facts: Facts, state: State, forced: int, following: int) -> int:
    """The register for a value that is touched next at ``following``.

    The first one is taken for something else at ``forced``. A value that is touched before that may come there, best in
    place of one that is not. One that is touched later would be lost there: it is, if all others are touched earlier.
    """
    if following <= forced:
        if state.until[0] > forced:
            return 0
        return farthest(facts, state, 0)
    other = farthest(facts, state, 1)
    if state.until[0] <= forced or state.until[other] > following:
        return other
    return 0


def farthest(facts: Facts, state: State, first: int) -> int:
    """The register whose value is touched last of all, from ``first`` on; the first one of several."""
    found = first
    register = first + 1
    while register < facts.registers:
        if state.until[register] > state.until[found]:
            found = register
        register += 1
    return found
