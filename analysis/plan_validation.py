"""What can be wrong with the addresses of a core's buffers. Shares nothing with the planner (`liveness.py`)."""

from __future__ import annotations

import bisect
import heapq

import numpy as np

from .buffers import Buffers, Ints, MemoryPlan

_PAIRWISE_LIMIT = 1_500
"""Buffers up to which the validator compares all pairs."""


def validate_plan(buffers: Buffers, plan: MemoryPlan, capacity: int) -> list[str]:
    """Lists what is wrong with ``plan``, in words; empty when it is valid. Shares nothing with the planner."""
    faults: list[str] = []
    address, size, group = plan.address.tolist(), buffers.size.tolist(), buffers.group.tolist()
    home: dict[int, int] = {}
    for buffer in range(len(buffers)):
        if address[buffer] < 0 or address[buffer] % int(buffers.alignment[buffer]):
            faults.append(f"buffer {buffer} is at {address[buffer]}, against its alignment")
        if address[buffer] + size[buffer] > capacity:
            faults.append(f"buffer {buffer} ends at {address[buffer] + size[buffer]} of {capacity} bytes")
        if group[buffer] >= 0 and home.setdefault(group[buffer], address[buffer]) != address[buffer]:
            faults.append(f"buffer {buffer} is at {address[buffer]}, its group {group[buffer]} elsewhere")
    if plan.peak != max((address[buffer] + size[buffer] for buffer in range(len(buffers))), default=0):
        faults.append(f"the peak is not {plan.peak}")
    find = overlap_pairwise if len(buffers) <= _PAIRWISE_LIMIT else overlap_sweep
    if not faults and (pair := find(buffers, plan.address)):
        faults.append(f"buffers {pair[0]} and {pair[1]} live at the same time and overlap")
    return faults


def overlap_pairwise(buffers: Buffers, address: Ints) -> tuple[int, int] | None:
    """Some two buffers that overlap in time and in memory, by comparing every pair."""
    end = address + buffers.size
    for buffer in range(len(buffers)):
        together = (buffers.first <= buffers.last[buffer]) & (buffers.last >= buffers.first[buffer])
        touching = (address < end[buffer]) & (end > address[buffer]) & (buffers.size > 0) & (buffers.size[buffer] > 0)
        stranger = (buffers.group != buffers.group[buffer]) | (buffers.group < 0)
        stranger[buffer] = False
        if (clash := np.flatnonzero(together & touching & stranger)).size:
            return buffer, int(clash[0])
    return None


def overlap_sweep(buffers: Buffers, address: Ints) -> tuple[int, int] | None:
    """As :func:`overlap_pairwise`, by a sweep over time that compares each buffer with its neighbours in memory.

    That is enough while no overlap has been found: then the live buffers are disjoint but for groups, whose members
    share their start. Needs the members of each group at one address.
    """
    live: list[tuple[int, int, int]] = []  # (start, end, buffer), ascending
    ends: list[tuple[int, tuple[int, int, int]]] = []  # heap of (last step, entry)
    for buffer in np.lexsort((np.arange(len(buffers)), buffers.first)).tolist():
        if buffers.size[buffer] == 0:
            continue
        while ends and ends[0][0] < buffers.first[buffer]:
            _, gone = heapq.heappop(ends)
            del live[bisect.bisect_left(live, gone)]
        start = int(address[buffer])
        entry = (start, start + int(buffers.size[buffer]), buffer)
        at = bisect.bisect_left(live, entry)
        for begin, end, other in live[max(0, at - 1) : at + 1]:
            colocated = buffers.group[buffer] >= 0 and buffers.group[buffer] == buffers.group[other]
            if begin < entry[1] and end > start and not colocated:
                return other, buffer
        live.insert(at, entry)
        heapq.heappush(ends, (int(buffers.last[buffer]), entry))
    return None
