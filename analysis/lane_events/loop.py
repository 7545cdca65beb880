"""The event loop: what happens next, until all lanes have run."""

from __future__ import annotations

from .cores import dispatch, end_lane, held_lane, load, make_ready, release
from .fetches import fetch, fetch_soon
from .layout import EVENTS, HELD, RESUMES, Code, Facts, State
from .list_heaps import pop_event, push_event
from .messages import send


def run(facts: Facts, code: Code, state: State, lanes: int) -> int:
    """Schedules all lanes: fills `start`, `finish`, `free` and `sent`, and the resumes, whose number it returns."""
    for lane in range(lanes):
        if state.missing[lane] == 0:
            push_event(state, 2 * code.place[lane])
    for core in range(facts.cores):
        fetch_soon(facts, code, state, core, 0)
    while state.chip[EVENTS] > 0 or state.chip[HELD] > 0:
        if state.chip[EVENTS] == 0:
            let_go(facts, code, state)
        event = pop_event(state)
        happen(facts, code, state, event % facts.keys, event // facts.keys)
    return state.chip[RESUMES]


def happen(facts: Facts, code: Code, state: State, key: int, time: int) -> None:
    """One event."""
    if key < facts.loading:
        lane = code.lane_at[key >> 1]
        if key & 1:
            end_lane(facts, code, state, lane, time)
        else:
            make_ready(facts, code, state, lane, time)
    elif key < facts.sending:
        load(facts, code, state, key - facts.loading, time)
    elif key < facts.starting:
        send(facts, code, state, (key - facts.sending) % facts.cores, time)
    elif key < facts.fetching:
        dispatch(facts, code, state, key - facts.starting, time)
    else:
        fetch(facts, code, state, time)


def let_go(facts: Facts, code: Code, state: State) -> None:
    """Nothing can happen any more but for the lead: the most urgent lane that it holds back goes on."""
    time = 0
    for core in range(facts.cores):
        time = max(time, state.free[core])
    row = state.held[0]
    for number in range(state.chip[HELD]):
        other = state.held[number]
        if code.place[held_lane(code, other)] < code.place[held_lane(code, row)]:
            row = other
    state.unread[row] = 0
    release(facts, code, state, row, time)
