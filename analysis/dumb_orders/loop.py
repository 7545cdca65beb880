"""Two orders of lanes: as their rows come, and as they are asked for."""

from __future__ import annotations

from .layout import ASKED, DONE, Code, Facts, State
from .list_heap import pop, push


def run(facts: Facts, code: Code, state: State, lanes: int) -> int:
    """Fills the starts of all lanes; how many of them have run."""
    if facts.on_demand:
        return on_demand(facts, code, state)
    return by_rows(code, state, lanes)


def by_rows(code: Code, state: State, lanes: int) -> int:
    """Every core runs its lanes in the order in which their rows come."""
    for lane in range(lanes):
        if state.missing[lane] == 0:
            push(state, lane)
    done = 0
    while state.size[0] > 0:
        first = pop(state)
        lane = first % lanes
        end = begin(code, state, lane, first // lanes)
        done += 1
        for number in range(code.first[lane + 1] - code.first[lane]):
            reader = code.others[code.first[lane] + number]
            state.missing[reader] -= 1
            state.there[reader] = max(state.there[reader], end)
            if state.missing[reader] == 0:
                push(state, state.there[reader] * lanes + reader)
    return done


def on_demand(facts: Facts, code: Code, state: State) -> int:
    """A row that nobody reads asks for all that its lane reads, the first row first, and so on; then its lane runs."""
    done = 0
    for number in range(facts.unread):
        state.queue[0] = code.unread[number]
        size = 1
        while size > 0:
            lane = state.queue[size - 1]
            if state.missing[lane] == 0:
                state.missing[lane] = ASKED
                size = ask(code, state, lane, size)
                continue
            size -= 1
            if state.missing[lane] == ASKED:
                state.missing[lane] = DONE
                begin(code, state, lane, ready(code, state, lane))
                done += 1
    return done


def ask(code: Code, state: State, lane: int, size: int) -> int:
    """Asks for what the lane reads, if it is not yet asked for; the size of the stack."""
    last = code.first[lane + 1] - 1
    for number in range(last + 1 - code.first[lane]):
        need = code.others[last - number]
        if state.missing[need] == 0:
            state.queue[size] = need
            size += 1
    return size


def ready(code: Code, state: State, lane: int) -> int:
    """The cycle at which the last of the lane's rows is there."""
    found = 0
    for number in range(code.first[lane + 1] - code.first[lane]):
        need = code.others[code.first[lane] + number]
        found = max(found, state.start[need] + code.cycles[need])
    return found


def begin(code: Code, state: State, lane: int, ready: int) -> int:
    """The lane runs from the cycle ``ready`` on, as soon as its core is free; its end."""
    core = code.core[lane]
    state.start[lane] = max(ready, state.free[core])
    state.free[core] = state.start[lane] + code.cycles[lane]
    return state.free[core]
