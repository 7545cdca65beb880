"""The event loop: cores, units, switches and memories in simulated time.

Order is what it is about. At one instant, first the waits that end then go on, in the order in which the simulator's
heap gives them (or in which they began); those that come after the clock there are seen one edge later. Then the
clock's edge happens on one core after another; then what these woke goes on, round after round; and a wait of no time
goes on after all of that.
"""

from __future__ import annotations

from .front_end import begin, edge, settle, stop
from .heaps import extract_wait, insert_wait, pop_edge, skip_idle_ticks
from .layout import (
    ARGUMENT_BITS,
    CLOCK,
    CUT,
    DONE,
    EDGE,
    EDGES,
    FREE_MESSAGE,
    LATER,
    NO_ROOM,
    OVERFLOW,
    PROGRESS,
    THREAD_BITS,
    WAITS,
    WOKEN,
    Code,
    Facts,
    State,
)
from .units import go_on


def run(facts: Facts, code: Code, state: State, limit: int) -> int:
    """Executes everything that happens before ``limit``: :data:`DONE`, :data:`CUT` or :data:`NO_ROOM`."""
    state.chip[FREE_MESSAGE] = -1
    begin(facts, code, state, limit)
    ending = run_with_heap(facts, code, state, limit) if facts.heap_order else run_in_turn(facts, code, state, limit)
    if facts.interprets:
        stop(facts, code, state)
    return ending


def run_in_turn(facts: Facts, code: Code, state: State, limit: int) -> int:
    """With waits of one instant in the order in which they began."""
    while state.chip[EDGES] > 0:
        now = state.edge_time[0]
        if now >= limit:
            return CUT
        while state.chip[EDGES] > 0 and state.edge_time[0] == now and state.edge_key[0] < EDGE:
            what = pop_edge(state) & ((1 << THREAD_BITS) - 1)
            go_on(facts, code, state, what >> 1, what & 1, now)
        rest_of_instant(facts, code, state, now)
        if state.chip[OVERFLOW]:
            return NO_ROOM
    return DONE


def run_with_heap(facts: Facts, code: Code, state: State, limit: int) -> int:
    """The same with the simulator's order of simultaneous events.

    Every tick of the clock and every step of the progress bar goes through its heap, since they move what else is
    there.
    """
    insert_wait(state, facts.progress, PROGRESS)
    insert_wait(state, facts.period, CLOCK)
    while state.chip[EDGES] > 0 or state.chip[WAITS] > 2:
        if state.wait_thread[0] == CLOCK:
            skip_idle_ticks(facts, state, limit)
        now = state.wait_time[0]
        if now >= limit:
            return CUT
        count = 0
        while state.chip[WAITS] > 0 and state.wait_time[0] == now:
            state.turn[count] = extract_wait(state)
            count += 1
        ticked = 0
        for place in range(count):
            thread = state.turn[place]
            if thread == CLOCK:
                ticked = 1
                insert_wait(state, now + facts.period, CLOCK)
            elif thread == PROGRESS:
                insert_wait(state, now + facts.progress, PROGRESS)
            else:
                go_on(facts, code, state, thread, 1 - ticked, now)
        rest_of_instant(facts, code, state, now)
        if state.chip[OVERFLOW]:
            return NO_ROOM
    return DONE


def rest_of_instant(facts: Facts, code: Code, state: State, now: int) -> None:
    """The edge, and what goes on because of it and of what happened before."""
    while edges(facts, code, state, now) + rounds(facts, code, state, now) > 0:
        pass


def edges(facts: Facts, code: Code, state: State, now: int) -> int:
    """What happens to cores at this instant's edge; how much that is."""
    found = 0
    at_edge = -1
    while state.chip[EDGES] > 0 and state.edge_time[0] == now:
        found += 1
        what = pop_edge(state) - EDGE
        core = what >> (ARGUMENT_BITS + 3)
        if core != at_edge:
            if at_edge >= 0:
                settle(facts, code, state, at_edge, now)
            at_edge = core
        edge(facts, code, state, core, (what >> ARGUMENT_BITS) & 7, what & ((1 << ARGUMENT_BITS) - 1), now)
    if at_edge >= 0:
        settle(facts, code, state, at_edge, now)
    return found


def rounds(facts: Facts, code: Code, state: State, now: int) -> int:
    """Threads that were woken go on, round after round, and at last those that wait no time; how many."""
    found = 0
    while state.chip[WOKEN] > 0 or state.chip[LATER] > 0:
        count = state.chip[WOKEN]
        if count > 0:
            for place in range(count):
                state.turn[place] = state.woken[place]
            state.chip[WOKEN] = 0
        else:
            count = state.chip[LATER]
            for place in range(count):
                state.turn[place] = state.later[count - 1 - place]
            state.chip[LATER] = 0
        for place in range(count):
            go_on(facts, code, state, state.turn[place], 0, now)
        found += count
    return found
