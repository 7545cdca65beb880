"""The heaps of :mod:`.heaps` for the interpreted loop, by the standard library.

The column of events is a list that grows; that of lanes that wait is a list of such lists, one for each core.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import cast

from .layout import EVENTS, Code, State


def push_event(state: State, event: int) -> None:
    """As :func:`.heaps.push_event`."""
    state.chip[EVENTS] += 1
    heappush(state.events, event)


def pop_event(state: State) -> int:
    """As :func:`.heaps.pop_event`."""
    state.chip[EVENTS] -= 1
    return heappop(state.events)


def push_waiting(_: Code, state: State, core: int, turn: int) -> None:
    """As :func:`.heaps.push_waiting`."""
    state.waiting_count[core] += 1
    heappush(cast("list[list[int]]", state.waiting)[core], turn)


def pop_waiting(_: Code, state: State, core: int) -> int:
    """As :func:`.heaps.pop_waiting`."""
    state.waiting_count[core] -= 1
    return heappop(cast("list[list[int]]", state.waiting)[core])
