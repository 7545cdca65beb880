"""What can be wrong with the addresses of a core's buffers. Shares nothing with the planner (`liveness.py`)."""

from __future__ import annotations

import bisect
import heapq

import numpy as np

from .buffers import Buffers, Ints, MemoryPlan

_PAIRWISE_LIMIT = 1_500
"""Buffers up to which the validator compares all pairs."""

_MOST_PAIRS = 1 << 22
"""Pairs of buffers of all cores that are compared at once."""


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


def overlap_anywhere(core: Ints, address: Ints, size: Ints, first: Ints, last: Ints) -> tuple[int, int] | None:
    """As :func:`overlap_pairwise`, for the buffers of all cores: each is compared with those of its core that begin
    while it lives. Where these are very many, core by core instead, by a sweep."""
    if not len(core):
        return None
    order = np.lexsort((first, core))
    moments = int(last.max() - first.min()) + 2
    home: Ints = core * moments - int(first.min())
    begin: Ints = (home + first)[order]
    end: Ints = (home + last)[order]
    behind = np.arange(1, len(order) + 1)
    later = np.searchsorted(begin, end, side="right").astype(np.int64) - behind
    if int(later.sum()) > _MOST_PAIRS:
        return _overlap_by_core(core, address, size, first, last)
    one = np.repeat(np.arange(len(order)), later)
    other = np.arange(len(one)) + np.repeat(behind - np.cumsum(later) + later, later)
    start, stop, some = address[order], (address + size)[order], (size > 0)[order]
    clash = (start[one] < stop[other]) & (start[other] < stop[one]) & some[one] & some[other]
    found = np.flatnonzero(clash)
    return (int(order[one[found[0]]]), int(order[other[found[0]]])) if found.size else None


def _overlap_by_core(core: Ints, address: Ints, size: Ints, first: Ints, last: Ints) -> tuple[int, int] | None:
    for home in np.unique(core).tolist():
        mine = np.flatnonzero(core == home)
        pair = overlap_sweep(Buffers.build(size[mine], first[mine], last[mine]), address[mine])
        if pair is not None:
            return int(mine[pair[0]]), int(mine[pair[1]])
    return None
