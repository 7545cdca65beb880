"""The heap of :mod:`.heap` for the interpreted loops, by the standard library: the queue is a list that grows."""

from __future__ import annotations

from heapq import heappop, heappush

from .layout import State


def push(state: State, number: int) -> None:
    """As :func:`.heap.push`."""
    state.size[0] += 1
    heappush(state.queue, number)


def pop(state: State) -> int:
    """As :func:`.heap.pop`."""
    state.size[0] -= 1
    return heappop(state.queue)
