"""Heaps in columns: of events, and of the lanes that wait on each core. Interpreted, :mod:`.list_heaps` is quicker."""

from __future__ import annotations

from ...support.heap import heap_pop, heap_push
from .layout import EVENTS, Code, State


def push_event(state: State, event: int) -> None:
    """Puts an event among those to come."""
    heap_push(state.events, 0, state.chip[EVENTS], event)
    state.chip[EVENTS] += 1


def pop_event(state: State) -> int:
    """The first event, which is not to come any more."""
    found = heap_pop(state.events, 0, state.chip[EVENTS])
    state.chip[EVENTS] -= 1
    return found


def push_waiting(code: Code, state: State, core: int, turn: int) -> None:
    """The lane of this turn waits on the core."""
    heap_push(state.waiting, code.waiting_first[core], state.waiting_count[core], turn)
    state.waiting_count[core] += 1


def pop_waiting(code: Code, state: State, core: int) -> int:
    """The turn of the first lane that waits on the core, which does not wait any more."""
    found = heap_pop(state.waiting, code.waiting_first[core], state.waiting_count[core])
    state.waiting_count[core] -= 1
    return found
