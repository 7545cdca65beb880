"""Swaps of places that save traffic: the loop of :mod:`.placement`, to be compiled."""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers


class Facts(NamedTuple):
    """How many there are."""

    busy: int
    """Cores with traffic."""
    places: int


class Code(NamedTuple):
    """What does not change."""

    traffic: Numbers
    """[busy, busy], both ways."""
    hops: Numbers
    """[places, places]"""
    number: Numbers
    """[places] which of the busy cores each core is; negative if it is none."""


class State(NamedTuple):
    """What the loop works on."""

    place: Numbers
    """[places] of each core."""
    product: Numbers
    """[busy, places] what the traffic of each core costs at each place."""


def run(facts: Facts, code: Code, state: State, rest: int) -> int:
    """Swaps until none saves for any of the last ``rest`` cores, which are all; returns the number of swaps."""
    swaps = 0
    core = 0
    unchanged = 0
    while unchanged < rest:
        other = partner(facts, code, state, core)
        if saving(facts, code, state, core, other) > 0:
            swap(facts, code, state, core, other)
            swaps += 1
            unchanged = 0
        else:
            unchanged += 1
        core += 1
        if core == facts.places:
            core = 0
    return swaps


def partner(facts: Facts, code: Code, state: State, core: int) -> int:
    """The core with which to swap saves most; the first one of several."""
    found = core
    most = 0
    for other in range(facts.places):
        saved = saving(facts, code, state, core, other)
        if saved > most:
            found = other
            most = saved
    return found


def saving(facts: Facts, code: Code, state: State, core: int, other: int) -> int:
    """What is saved if two cores swap places."""
    here = state.place[core]
    there = state.place[other]
    mine = code.number[core]
    its = code.number[other]
    saved = 0
    if mine >= 0:
        saved += state.product[mine * facts.places + here] - state.product[mine * facts.places + there]
    if its >= 0:
        saved += state.product[its * facts.places + there] - state.product[its * facts.places + here]
    if mine >= 0 and its >= 0:
        saved -= 2 * code.traffic[mine * facts.busy + its] * code.hops[here * facts.places + there]
    return saved


def swap(facts: Facts, code: Code, state: State, core: int, other: int) -> None:
    """Two cores swap places."""
    here = state.place[core]
    there = state.place[other]
    mine = code.number[core]
    its = code.number[other]
    for row in range(facts.busy):
        change = 0
        if mine >= 0:
            change += code.traffic[mine * facts.busy + row]
        if its >= 0:
            change -= code.traffic[its * facts.busy + row]
        if change != 0:
            for place in range(facts.places):
                moved = code.hops[there * facts.places + place] - code.hops[here * facts.places + place]
                state.product[row * facts.places + place] += change * moved
    state.place[core], state.place[other] = there, here
