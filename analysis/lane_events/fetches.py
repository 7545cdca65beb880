"""The port of global memory: what lanes load, and constants that idle cores fetch for lanes that are to come."""

from __future__ import annotations

from .layout import FETCHES, FETCHING, INPUTS, NONE, PORT, Code, Facts, State
from .list_heaps import push_event


def served(facts: Facts, code: Code, state: State, core: int, number: int, arrival: int) -> int:
    """When the core has what it loads, whose request is in global memory at ``arrival``; requests wait in a queue, and
    fetches for longer."""
    if code.load_port[number] == 0:
        return arrival + code.load_cycles[number]
    begin = max(arrival, state.chip[PORT])
    state.chip[PORT] = begin + code.load_port[number]
    state.chip[FETCHES] = begin + facts.gap * code.load_port[number]
    return begin + code.load_cycles[number]


def note_load(facts: Facts, code: Code, state: State, item: int, time: int) -> None:
    """A load begins. After the last one of a row of inputs, cores that are idle may fetch constants."""
    if item < facts.constants:
        state.fetched[item] = time
        return
    state.chip[INPUTS] -= 1
    for core in range(facts.cores):
        fetch_soon(facts, code, state, core, time)


def fetch_soon(facts: Facts, code: Code, state: State, core: int, time: int) -> None:
    """The core may have time to fetch constants, if it needs any. There is one event for this at a time.

    Not while rows of inputs are to be loaded, which have to pass the same port.
    """
    if state.chip[INPUTS] > 0 or state.chip[FETCHING] > 0 or state.fetch_next[core] == code.fetch_first[core + 1]:
        return
    fetch_at(facts, state, max(time, max(state.chip[PORT], state.chip[FETCHES])))


def fetch_at(facts: Facts, state: State, time: int) -> None:
    """What is to be fetched is decided at that time."""
    state.chip[FETCHING] = 1
    push_event(state, time * facts.keys + facts.fetching)


def fetch(facts: Facts, code: Code, state: State, time: int) -> None:
    """Of the cores that have nothing else to do, the one with the most urgent lane to come loads a constant for it; if
    nobody else loads anything."""
    state.chip[FETCHING] = 0
    chosen = NONE
    urgency = 0
    soonest = NONE
    for core in range(facts.cores):
        number = NONE
        if state.current[core] == NONE and state.send_next[core] == state.send_end[core]:
            if state.waiting_count[core] == 0:
                number = next_constant(facts, code, state, core)
        if number != NONE:
            place = code.place[code.fetch_lane[state.fetch_next[core]]]
            if state.free[core] > time:
                soonest = state.free[core] if soonest == NONE else min(soonest, state.free[core])
            elif chosen == NONE or place < urgency:
                chosen = core
                urgency = place
    if chosen != NONE and state.chip[PORT] <= time:
        load_constant(facts, code, state, chosen, time)
    if chosen != NONE:
        fetch_at(facts, state, max(time, max(state.chip[PORT], state.chip[FETCHES])))
    elif soonest != NONE:
        fetch_at(facts, state, soonest)


def load_constant(facts: Facts, code: Code, state: State, core: int, time: int) -> None:
    """The core loads the next constant."""
    number = state.fetch_load[core]
    item = code.load_item[number]
    state.loaded[item] = 1
    state.fetched[item] = time
    state.free[core] = served(facts, code, state, core, number, time + code.request[core])


def next_constant(facts: Facts, code: Code, state: State, core: int) -> int:
    """The first load of a constant that is not there, of the lanes that are to come; `NONE` if there is none."""
    while state.fetch_next[core] < code.fetch_first[core + 1]:
        lane = code.fetch_lane[state.fetch_next[core]]
        number = max(state.fetch_load[core], code.load_first[lane])
        while number < code.load_first[lane + 1]:
            item = code.load_item[number]
            if item < facts.constants and state.loaded[item] == 0:
                state.fetch_load[core] = number
                return number
            number += 1
        state.fetch_next[core] += 1
        state.fetch_load[core] = 0
    return NONE
