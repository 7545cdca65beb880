"""Addresses for the buffers of one core: buffers that live at the same time never overlap, and the peak is low.

Minimising the peak is dynamic storage allocation, NP-hard (Garey and Johnson, SR2). The planner places buffers one by
one into the gaps that earlier ones leave, in several orders, and keeps the plan of least peak: greedy by size with
best fit (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020), by breadth, by area, by
duration, and by start and by end with first fit. It stops early at the lower bound, the greatest number of bytes that
live at one step. Then it promotes the buffer on top to the front of the order and places again: a few times, and for
as long as the plan does not fit the memory and effort is left.

Not handled: moving a buffer during its life, and splitting one. A colocated set counts as live from its first first
step to its last last step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .buffers import Buffers, Ints, MemoryPlan, holders_at, live_bytes
from .gap_placement import NOWHERE, place

DEFAULT_EFFORT = 40_000
"""Placements of a buffer that one plan may try; every buffer is placed at least once."""

_PROMOTIONS = 8
"""Promotions to try for a plan that fits already."""

_SHORT_PERIOD = 64
"""Buffers below which a period of its own does not pay."""


class CapacityError(Exception):
    """The plan needs ``need`` bytes and the memory has ``have``; ``holders`` are (buffer, bytes), largest first."""

    def __init__(self, plan: MemoryPlan, have: int, holders: list[tuple[int, int]], core: int | None = None) -> None:
        self.plan = plan
        self.need = plan.peak
        self.have = have
        self.holders = holders
        self.core = core
        where = "" if core is None else f"core {core}: "
        largest = ", ".join(f"buffer {buffer} {size}" for buffer, size in holders[:3])
        super().__init__(
            f"{where}needs {self.need} bytes of {have} (no plan needs less than {plan.lower_bound}); at step "
            f"{plan.peak_step} {len(holders)} buffers hold {sum(size for _, size in holders)}, the largest: {largest}"
        )


def plan_memory(buffers: Buffers, capacity: int, effort: int = DEFAULT_EFFORT) -> MemoryPlan:
    """Plans one core's memory of ``capacity`` bytes. Raises CapacityError when the best plan found does not fit."""
    if len(buffers) == 0:
        return MemoryPlan(np.zeros(0, dtype=np.int64), 0, 0, 0)
    whole, members = _merge_groups(buffers)
    lower_bound = _lower_bound(whole)
    address = np.zeros(len(whole), dtype=np.int64)
    target = lower_bound
    for part in _periods(whole):  # the fullest first, so that the others need only stay below it
        problem = _take(whole, part)
        share = effort * len(part) // len(whole)
        address[part] = _best_placement(problem, target, capacity, share)
        target = max(target, int((address[part] + problem.size).max()))
    placed = address[members]
    peak = int((placed + buffers.size).max())
    plan = MemoryPlan(placed, peak, lower_bound, _peak_step(buffers, placed))
    if peak > capacity:
        raise CapacityError(plan, capacity, holders_at(buffers, plan.peak_step))
    return plan


def plan_cores(cores: Sequence[Buffers], capacity: int, effort: int = DEFAULT_EFFORT) -> list[MemoryPlan]:
    """Plans every core; equal problems are planned once. A CapacityError names the first core that does not fit."""
    known: dict[bytes, MemoryPlan] = {}
    plans: list[MemoryPlan] = []
    for core, buffers in enumerate(cores):
        key = buffers.content()
        if key not in known:
            try:
                known[key] = plan_memory(buffers, capacity, effort)
            except CapacityError as error:
                raise CapacityError(error.plan, error.have, error.holders, core) from None
        plans.append(known[key])
    return plans


def _merge_groups(buffers: Buffers) -> tuple[Buffers, Ints]:
    """One buffer for each colocated set, and for every buffer the index of its set."""
    alone = np.arange(len(buffers)) + buffers.group.max() + 1
    _, members = np.unique(np.where(buffers.group < 0, alone, buffers.group), return_inverse=True)
    members = members.reshape(-1)
    count = int(members.max()) + 1
    size, last = np.zeros(count, dtype=np.int64), np.full(count, -NOWHERE)
    first, alignment = np.full(count, NOWHERE), np.ones(count, dtype=np.int64)
    np.maximum.at(size, members, buffers.size)
    np.minimum.at(first, members, buffers.first)
    np.maximum.at(last, members, buffers.last)
    np.lcm.at(alignment, members, buffers.alignment)
    return Buffers(size, first, last, alignment, np.full(count, -1)), members


def _take(buffers: Buffers, rows: Ints) -> Buffers:
    columns = (buffers.size, buffers.first, buffers.last, buffers.alignment, buffers.group)
    return Buffers(*(column[rows] for column in columns))


def _lower_bound(buffers: Buffers) -> int:
    """Most bytes live at one step, where every buffer but the highest fills whole units of the common alignment."""
    unit = int(np.gcd.reduce(buffers.alignment))
    padded = -(-buffers.size // unit) * unit
    plain = int(live_bytes(buffers)[1].max())
    whole_units = int(live_bytes(_resized(buffers, padded))[1].max())
    return max(plain, whole_units - int((padded - buffers.size).max()))


def _resized(buffers: Buffers, size: Ints) -> Buffers:
    return Buffers(size, buffers.first, buffers.last, buffers.alignment, buffers.group)


def _periods(buffers: Buffers) -> list[Ints]:
    """Sets of buffers such that no life reaches from one set into another, the set of most live bytes first.

    Short periods stay together with the next, as a set costs more than its buffers.
    """
    by_first = np.argsort(buffers.first, kind="stable")
    reach = np.maximum.accumulate(buffers.last[by_first])
    cuts = [0]
    for cut in (np.flatnonzero(buffers.first[by_first][1:] > reach[:-1]) + 1).tolist():
        if cut - cuts[-1] >= _SHORT_PERIOD:
            cuts.append(cut)
    parts = np.split(by_first, cuts[1:])
    return sorted(parts, key=lambda part: -int(live_bytes(_take(buffers, part))[1].max()))


def _best_placement(buffers: Buffers, target: int, capacity: int, effort: int) -> Ints:
    """Addresses by the order of least peak; stops at a peak of ``target`` or when ``effort`` placements are spent.

    A peak within ``capacity`` gets only a few promotions, which are many tries for a small gain.
    """
    best, best_peak, best_order = np.zeros(0, dtype=np.int64), NOWHERE, np.zeros(0, dtype=np.int64)
    for order, best_fit in _orders(buffers):
        address = place(buffers, order, best_fit)
        peak = int((address + buffers.size).max())
        if peak < best_peak:
            best, best_peak, best_order = address, peak, order
        effort -= len(buffers)
        if best_peak <= target or effort < len(buffers):
            return best
    order, address = best_order, best
    tries = 0
    while best_peak > target and effort >= len(buffers) and (best_peak > capacity or tries < _PROMOTIONS):
        tries += 1
        top = int((address + buffers.size).argmax())
        if order[0] == top:
            break
        order = np.concatenate(([top], order[order != top]))
        address = place(buffers, order, True)
        peak = int((address + buffers.size).max())
        if peak < best_peak:
            best, best_peak = address, peak
        effort -= len(buffers)
    return best


def _orders(buffers: Buffers) -> Iterator[tuple[Ints, bool]]:
    """(order, whether best fit or first fit), the most promising first. Ties go to the earlier start, then the id."""
    duration = buffers.last - buffers.first + 1
    keys: list[tuple[Callable[[], Ints], bool]] = [
        (lambda: -buffers.size, True),
        (lambda: -_breadth(buffers), True),
        (lambda: -buffers.size * duration, True),
        (lambda: -duration, True),
        (lambda: buffers.first, False),
        (lambda: -buffers.last, False),
    ]
    ids = np.arange(len(buffers))
    for key, best_fit in keys:
        yield np.lexsort((ids, buffers.first, -buffers.size, key())), best_fit


def _breadth(buffers: Buffers) -> Ints:
    """[n] most bytes that live at one step of each buffer's life."""
    steps, live = live_bytes(buffers)
    low, high = np.searchsorted(steps, buffers.first), np.searchsorted(steps, buffers.last, side="right")
    bounds = np.column_stack((low, high)).reshape(-1)
    return np.maximum.reduceat(np.append(live, 0), bounds)[::2]


def _peak_step(buffers: Buffers, address: Ints) -> int:
    """The fullest step in the life of the highest buffer, the earliest of equals."""
    top = int((address + buffers.size).argmax())
    steps, live = live_bytes(buffers)
    inside = (steps >= buffers.first[top]) & (steps <= buffers.last[top])
    return int(steps[inside][live[inside].argmax()])
