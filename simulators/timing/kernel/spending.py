"""Where the time of a core goes, and when each of its elements did what."""

from __future__ import annotations

from .layout import (
    COPY,
    EVENT_TIME,
    GLOBAL_QUEUE,
    GLOBAL_TIME,
    LOCAL_TIME,
    MOMENTS,
    RECV,
    RECV_TIME,
    RECV_WAIT,
    SCALAR_TIME,
    SEND,
    SEND_TIME,
    SEND_WAIT,
    SPENT,
    SYNC,
    VECTOR,
    Code,
    Facts,
    State,
)


def note(facts: Facts, state: State, element: int, what: int, now: int) -> None:
    """Something happened to the element, if that is recorded."""
    if facts.records:
        state.moments[element * MOMENTS + what] = now


def account(code: Code, state: State, core: int, rob_size: int, now: int) -> None:
    """The core's time up to now goes to the oldest instruction that it had in flight, or to the front end."""
    since = state.accounted[core]
    state.accounted[core] = now
    spent = core * SPENT
    if state.in_flight[core] == 0:
        state.spent[spent + SCALAR_TIME] += now - since
        return
    element = state.rob_element[core * rob_size + state.head[core]]
    kind = code.kind[element]
    if kind <= VECTOR:
        state.spent[spent + kind] += now - since
    elif kind <= COPY:
        state.spent[spent + LOCAL_TIME] += now - since
    elif kind >= SYNC:
        state.spent[spent + EVENT_TIME] += now - since
    else:
        own = GLOBAL_TIME
        waiting = GLOBAL_QUEUE
        if kind == SEND:
            own, waiting = SEND_TIME, SEND_WAIT
        elif kind == RECV:
            own, waiting = RECV_TIME, RECV_WAIT
        waited = max(0, min(now, state.wait_until[core]) - max(since, state.wait_from[core]))
        state.waited[element] += waited
        state.spent[spent + waiting] += waited
        state.spent[spent + own] += now - since - waited
