"""The queue of lanes as a heap in a column. Interpreted, :mod:`.list_heap` is quicker."""

from __future__ import annotations

from ...support.heap import heap_pop, heap_push
from .layout import State


def push(state: State, number: int) -> None:
    """Puts a number into the queue."""
    heap_push(state.queue, 0, state.size[0], number)
    state.size[0] += 1


def pop(state: State) -> int:
    """The least number, which is not in the queue any more."""
    found = heap_pop(state.queue, 0, state.size[0])
    state.size[0] -= 1
    return found
