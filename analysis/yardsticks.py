"""Yardsticks: what short and dumb methods reach, to hold the decisions of passes against.

Where a pass decides something, there is nothing before it to compare with: an ONNX network has no replicas, a graph no
cores, a placement no messages. Then the guard compares with what a method of a few lines would have decided for the
same program. A pass may do better in any way it likes; it may not do worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .contract import MappingFunction
from .proxies import Counts, Proxies, counts
from .window import OUTSIDE

ROOM = 2
"""One part in so many that a method may miss its yardstick by, since it looks at more than the yardstick does."""


def deal_cores(lanes: Sequence[int], cycles: Sequence[int], cores: int) -> list[int]:
    """Replicas for layers of so many lanes of so many cycles each, when cores are dealt one by one.

    Each gets one. Then the layer that works longest gets as many more as it takes to have it work less long, as long as
    cores last. O(cores log layers).
    """
    replicas = [1] * len(lanes)
    free = cores - len(lanes)
    queue = [(-count * length, index) for index, (count, length) in enumerate(zip(lanes, cycles, strict=True))]
    heapify(queue)
    while queue and free > 0:
        _, index = queue[0]
        turns = -(-lanes[index] // replicas[index])
        more = -(-lanes[index] // (turns - 1)) - replicas[index] if turns > 1 else free + 1
        if more > free:
            break
        replicas[index] += more
        free -= more
        left = -(-lanes[index] // replicas[index])
        heapreplace(queue, (-left * cycles[index], index))
    return replicas


@dataclass(frozen=True, eq=False)
class LanesToPlace:
    """A batch whose lanes are to be put on cores."""

    lanes: int
    replicas: int
    cycles: int
    arrays: int
    """Of a replica."""
    reads: tuple[tuple[int, NDArray[np.int64]], ...]
    """Of other batches: which, and the rows that each lane reads, `[lanes, rows]`; OUTSIDE for none."""


def list_span(batches: Sequence[LanesToPlace], cores: int, arrays_per_core: int) -> int:
    """Cycles by list scheduling: the replica that works longest goes to the core that works least, and every core runs
    its lanes in the order in which what they read is there. Transfers take no time. Where the arrays do not suffice for
    that, it is one lane after the other.
    """
    placed = _place(batches, cores, arrays_per_core)
    if placed is None:
        return sum(batch.lanes * batch.cycles for batch in batches)
    first = [0, *np.cumsum([batch.lanes for batch in batches]).tolist()]
    on = [mine[lane % b.replicas] for b, mine in zip(batches, placed, strict=True) for lane in range(b.lanes)]
    takes = [batch.cycles for batch in batches for _ in range(batch.lanes)]
    readers, missing = _readers(batches, first)
    queue = [(0, lane) for lane, count in enumerate(missing) if count == 0]
    there = [0] * first[-1]
    free = [0] * cores
    while queue:
        time, lane = heappop(queue)
        end = max(time, free[on[lane]]) + takes[lane]
        free[on[lane]] = end
        for reader in readers[lane]:
            missing[reader] -= 1
            there[reader] = max(there[reader], end)
            if missing[reader] == 0:
                heappush(queue, (there[reader], reader))
    return max(free)


def _place(batches: Sequence[LanesToPlace], cores: int, arrays_per_core: int) -> list[list[int]] | None:
    """The core of each replica of each batch, the longest work first; if it does not fit so, the most arrays first."""
    runs = [
        (-len(range(replica, batch.lanes, batch.replicas)) * batch.cycles, -batch.arrays, index, replica)
        for index, batch in enumerate(batches)
        for replica in range(batch.replicas)
    ]
    by_arrays = sorted(runs, key=lambda run: (run[1], run[0], run[2], run[3]))
    for ordered in (sorted(runs), by_arrays):
        placed = [[-1] * batch.replicas for batch in batches]
        held = [0] * cores
        idlest = [(0, core) for core in range(cores)]
        for work, arrays, index, replica in ordered:
            full: list[tuple[int, int]] = []
            while idlest and held[idlest[0][1]] - arrays > arrays_per_core:
                full.append(heappop(idlest))
            if not idlest:
                break
            load, core = idlest[0]
            heapreplace(idlest, (load - work, core))
            held[core] -= arrays
            placed[index][replica] = core
            for one in full:
                heappush(idlest, one)
        else:
            return placed
    return None


def _readers(batches: Sequence[LanesToPlace], first: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """The lanes that read each lane's row, and of how many rows each lane has to wait for."""
    count = first[-1]
    pairs = [np.zeros(0, np.int64)]
    for index, batch in enumerate(batches):
        lane = np.arange(first[index], first[index + 1])[:, None]
        for producer, rows in batch.reads:
            pairs.append(((rows + first[producer]) * count + lane)[rows != OUTSIDE])
    row, lane = np.divmod(np.unique(np.concatenate(pairs)), count)
    lanes = lane.tolist()
    ends = np.cumsum(np.bincount(row, minlength=count)).tolist()
    readers = [lanes[begin:end] for begin, end in pairwise([0, *ends])]
    return readers, np.bincount(lane, minlength=count).tolist()


# Mappings


def with_room(name: str, part: int = ROOM) -> MappingFunction:
    """The yardstick ``name`` of the record after, and one part in ``part`` more."""

    def mapped(before: Proxies, after: Proxies) -> object:
        yardstick = getattr(after, name)
        return None if yardstick is None else yardstick + yardstick // part

    return mapped


def part_of(name: str, part: int) -> MappingFunction:
    """One part in ``part`` of the field ``name`` of the record after."""

    def mapped(before: Proxies, after: Proxies) -> object:
        value = getattr(after, name)
        return None if value is None else value // part

    return mapped


def before_with_room(name: str, part: int = ROOM) -> MappingFunction:
    """The yardstick ``name`` of the record before, and one part in ``part`` more."""
    return lambda before, after: with_room(name, part)(after, before)


def replicas_as_cores(before: Proxies, after: Proxies) -> int | None:
    """As many cores as the replicas of the layer that has most: they do not share one."""
    if before.width_of_node is None:
        return None
    return max((replicas for _, replicas in before.width_of_node), default=1)


def replicas_apart(before: Proxies, after: Proxies) -> int | None:
    """Replicas of one layer are on different cores, but for a few. Layers may share cores."""
    if before.product_slots is None or after.product_slots is None:
        return None
    return before.product_slots - before.product_slots // 4


def replicas_on_cores(before: Proxies, after: Proxies) -> Counts | None:
    """At least half of the replicas of each layer have cores of their own, unless all layers together have more
    replicas than there are cores. Then some share one, and what that costs is bounded by the busiest core."""
    if before.width_of_node is None or after.width_of_node is None:
        return None
    if before.product_slots is None or after.cores is None:
        return None
    if before.product_slots <= after.cores:
        return counts((name, replicas - replicas // 2) for name, replicas in before.width_of_node)
    found = dict(after.width_of_node)
    return counts((name, min(replicas, found.get(name, 0))) for name, replicas in before.width_of_node)


def schedule_on_cores(before: Proxies, after: Proxies) -> int | None:
    """What list scheduling takes, a sixteenth more, and four times what transfers take of the busiest core: a schedule
    may keep lanes together to save them."""
    if after.list_span_cycles is None or after.transfer_cycles_max is None:
        return None
    return after.list_span_cycles + after.list_span_cycles // 16 + 4 * after.transfer_cycles_max


def needed_copies(name: str, needed: str) -> MappingFunction:
    """The field ``name`` with the copies that save what would be overwritten."""

    def mapped(before: Proxies, after: Proxies) -> object:
        old, more = getattr(before, name), getattr(before, needed)
        return None if old is None or more is None else old + more

    return mapped


def passes_of_fused_nodes(before: Proxies, after: Proxies) -> Counts | None:
    """By node, where nodes that came together are one: what each may compute is what its parts did.

    A node whose name is in the names of fused nodes counts with all nodes that are there, too.
    """
    if before.element_passes_of_node is None or after.element_passes_of_node is None:
        return None
    old, new = dict(before.element_passes_of_node), dict(after.element_passes_of_node)
    group: dict[str, str] = {}

    def find(name: str) -> str:
        while group.setdefault(name, name) != name:
            name = group[name]
        return name

    for name in (*old, *new):
        first, *others = name.split("+")
        for other in others:
            group[find(other)] = find(first)
    had: dict[str, int] = {}
    has: dict[str, int] = {}
    for table, total in ((old, had), (new, has)):
        for name, passes in table.items():
            root = find(name.partition("+")[0])
            total[root] = total.get(root, 0) + passes
    fine = {root for root, passes in has.items() if passes <= had.get(root, 0)}
    return counts(
        (name, passes if find(name.partition("+")[0]) in fine else old.get(name, 0)) for name, passes in new.items()
    )
