"""What is to come, in two binary heaps: edges of cores, and waits of threads.

The heap of *edges* is ordered by time and then by a key that holds core, kind and argument. Under the rule "first come,
first served" it holds the waits as well, with keys below :data:`.layout.EDGE` that count up.

The heap of *waits* is the simulator's own (``sc_core::sc_ppq`` of SystemC), with the clock and the progress bar in it:
what has the same time leaves it in the order in which it happens to lie there.

Neither can be `support/heap.py`, whose entries are one number each: time and key of an edge have no room in 64 bits,
and a wait may not be ordered by anything but its time.
"""

from __future__ import annotations

from .layout import (
    ARGUMENT_BITS,
    CLOCK,
    EDGE,
    EDGES,
    LATER,
    ORDER,
    OVERFLOW,
    THREAD_BITS,
    WAITS,
    WOKEN,
    Facts,
    State,
)


def wake(facts: Facts, state: State, thread: int) -> None:
    """The thread goes on in the next round of this instant."""
    if state.chip[WOKEN] == facts.room:
        state.chip[OVERFLOW] = 1
        return
    state.woken[state.chip[WOKEN]] = thread
    state.chip[WOKEN] += 1


def sleep(facts: Facts, state: State, thread: int, delay: int, before: int, now: int) -> None:
    """The thread goes on after ``delay``: before the clock of that instant if its wait began before the clock's."""
    if delay == 0:
        if state.chip[LATER] == facts.room:
            state.chip[OVERFLOW] = 1
            return
        state.later[state.chip[LATER]] = thread
        state.chip[LATER] += 1
        return
    if facts.heap_order:
        insert_wait(state, now + delay, thread)
        return
    early = delay > facts.period or (delay == facts.period and before == 1)
    state.chip[ORDER] += 1
    push_edge(facts, state, now + delay, (state.chip[ORDER] << THREAD_BITS) + thread * 2 + (1 if early else 0))


def edge_at(facts: Facts, state: State, time: int, core: int, what: int, argument: int) -> None:
    """Something happens to a core at an edge."""
    push_edge(facts, state, time, EDGE + (core << (ARGUMENT_BITS + 3)) + (what << ARGUMENT_BITS) + argument)


def push_edge(facts: Facts, state: State, time: int, key: int) -> None:
    """Into the heap of edges."""
    place = state.chip[EDGES]
    if place == facts.edge_room:
        state.chip[OVERFLOW] = 1
        return
    state.chip[EDGES] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        above = state.edge_time[parent]
        if above < time or (above == time and state.edge_key[parent] <= key):
            break
        state.edge_time[place] = above
        state.edge_key[place] = state.edge_key[parent]
        place = parent
    state.edge_time[place] = time
    state.edge_key[place] = key


def pop_edge(state: State) -> int:
    """The key of the first entry, which leaves the heap of edges."""
    first = state.edge_key[0]
    count = state.chip[EDGES] - 1
    state.chip[EDGES] = count
    time = state.edge_time[count]
    key = state.edge_key[count]
    place = 0
    child = 1
    while child < count:
        least = state.edge_time[child]
        if child + 1 < count:
            other = state.edge_time[child + 1]
            if other < least or (other == least and state.edge_key[child + 1] < state.edge_key[child]):
                child += 1
                least = other
        if least > time or (least == time and state.edge_key[child] >= key):
            break
        state.edge_time[place] = least
        state.edge_key[place] = state.edge_key[child]
        place = child
        child = 2 * place + 1
    state.edge_time[place] = time
    state.edge_key[place] = key
    return first


def insert_wait(state: State, time: int, thread: int) -> None:
    """Into the heap of waits, up as far as the parents are later."""
    place = state.chip[WAITS]
    state.chip[WAITS] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if state.wait_time[parent] <= time:
            break
        state.wait_time[place] = state.wait_time[parent]
        state.wait_thread[place] = state.wait_thread[parent]
        place = parent
    state.wait_time[place] = time
    state.wait_thread[place] = thread


def extract_wait(state: State) -> int:
    """The first thread. The last entry takes its place and sinks, to the left when both children are alike."""
    first = state.wait_thread[0]
    count = state.chip[WAITS] - 1
    state.chip[WAITS] = count
    time = state.wait_time[count]
    thread = state.wait_thread[count]
    place = 0
    child = 1
    while child < count:
        if child + 1 < count and state.wait_time[child + 1] < state.wait_time[child]:
            child += 1
        if state.wait_time[child] >= time:
            break
        state.wait_time[place] = state.wait_time[child]
        state.wait_thread[place] = state.wait_thread[child]
        place = child
        child = 2 * place + 1
    state.wait_time[place] = time
    state.wait_thread[place] = thread
    return first


def skip_idle_ticks(facts: Facts, state: State, limit: int) -> None:
    """Moves the clock, which is the first wait, on to the next tick at which something else happens.

    A tick takes the clock out of the heap, where the last entry sinks from the top instead, and puts it back as the
    last one, from where it rises to the top. After the first such tick each undoes itself, but for ties on the path
    from the top to the last entry:

    - If the last entry is as late as another one of the path, it sinks no deeper than that: from there to the last
      place, all of which are alike, entries move on by one place.
    - If an entry of the path is as late as its left sibling, that one rises in its place. The path is without it
      then, so that this happens a few times only.
    """
    until = state.wait_time[1] - 1
    if state.chip[WAITS] > 2:
        until = min(until, state.wait_time[2] - 1)
    if state.chip[EDGES] > 0:
        until = min(until, state.edge_time[0])
    idle = (min(until, limit) - state.wait_time[0]) // facts.period
    settled = 0
    while idle > 0 and settled == 0:
        idle -= 1
        now = state.wait_time[0]
        extract_wait(state)
        insert_wait(state, now + facts.period, CLOCK)
        settled = settle_path(state, idle)
    if idle > 0:
        state.wait_time[0] += idle * facts.period


def settle_path(state: State, ticks: int) -> int:
    """Whether so many more ticks change nothing but the places of entries that are as late as the last one."""
    count = state.chip[WAITS]
    depth = 0
    while count >> (depth + 1) > 1:
        depth += 1
    while depth > 0:
        place = (count >> depth) - 1
        if state.wait_time[place] == state.wait_time[count - 1]:
            turns = ticks % (depth + 1)
            while turns > 0:
                turns -= 1
                turn_path(state, depth)
            return 1
        if place & 1 == 0 and state.wait_time[place - 1] == state.wait_time[place]:
            return 0
        depth -= 1
    return 1


def turn_path(state: State, depth: int) -> None:
    """Moves the entries of the last place and of so many of its ancestors down by one, and the last to their top."""
    count = state.chip[WAITS]
    thread = state.wait_thread[count - 1]
    above = 0
    while above < depth:
        state.wait_thread[(count >> above) - 1] = state.wait_thread[(count >> (above + 1)) - 1]
        above += 1
    state.wait_thread[(count >> depth) - 1] = thread
