"""Heaps in columns: of events, and of the lanes that wait on each core. Interpreted, :mod:`.list_heaps` is quicker."""

from __future__ import annotations

from .layout import EVENTS, Code, State


def push_event(state: State, event: int) -> None:
    """Puts an event among those to come."""
    place = state.chip[EVENTS]
    state.chip[EVENTS] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        above = state.events[parent]
        if above <= event:
            break
        state.events[place] = above
        place = parent
    state.events[place] = event


def pop_event(state: State) -> int:
    """The first event, which is not to come any more."""
    found = state.events[0]
    count = state.chip[EVENTS] - 1
    state.chip[EVENTS] = count
    last = state.events[count]
    place = 0
    child = 1
    while child < count:
        if child + 1 < count and state.events[child + 1] < state.events[child]:
            child += 1
        if state.events[child] >= last:
            break
        state.events[place] = state.events[child]
        place = child
        child = 2 * place + 1
    state.events[place] = last
    return found


def push_waiting(code: Code, state: State, core: int, urgency: int) -> None:
    """The lane of this place in the order of urgency waits on the core."""
    first = code.waiting_first[core]
    place = state.waiting_count[core]
    state.waiting_count[core] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        above = state.waiting[first + parent]
        if above <= urgency:
            break
        state.waiting[first + place] = above
        place = parent
    state.waiting[first + place] = urgency


def pop_waiting(code: Code, state: State, core: int) -> int:
    """The place of the most urgent lane that waits on the core, which does not wait any more."""
    first = code.waiting_first[core]
    found = state.waiting[first]
    count = state.waiting_count[core] - 1
    state.waiting_count[core] = count
    last = state.waiting[first + count]
    place = 0
    child = 1
    while child < count:
        if child + 1 < count and state.waiting[first + child + 1] < state.waiting[first + child]:
            child += 1
        if state.waiting[first + child] >= last:
            break
        state.waiting[first + place] = state.waiting[first + child]
        place = child
        child = 2 * place + 1
    state.waiting[first + place] = last
    return found
