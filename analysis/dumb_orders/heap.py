"""A binary heap of numbers in a column. Interpreted, :mod:`.list_heap` is quicker."""

from __future__ import annotations

from .layout import State


def push(state: State, number: int) -> None:
    """Puts a number into the queue."""
    place = state.size[0]
    state.size[0] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        above = state.queue[parent]
        if above <= number:
            break
        state.queue[place] = above
        place = parent
    state.queue[place] = number


def pop(state: State) -> int:
    """The least number, which is not in the queue any more."""
    found = state.queue[0]
    count = state.size[0] - 1
    state.size[0] = count
    last = state.queue[count]
    place = 0
    child = 1
    while child < count:
        if child + 1 < count and state.queue[child + 1] < state.queue[child]:
            child += 1
        if state.queue[child] >= last:
            break
        state.queue[place] = state.queue[child]
        place = child
        child = 2 * place + 1
    state.queue[place] = last
    return found
