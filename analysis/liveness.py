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

import bisect
import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

DEFAULT_EFFORT = 40_000
"""Placements of a buffer that one plan may try; every buffer is placed at least once."""

_PROMOTIONS = 8
"""Promotions to try for a plan that fits already."""

_NOWHERE = np.iinfo(np.int64).max
_SHORT_PERIOD = 64
"""Buffers below which a period of its own does not pay."""

_FEW = 200
"""Buffers up to which they are placed one gap after the other."""

_PAIRWISE_LIMIT = 1_500
"""Buffers up to which the validator compares all pairs."""


@dataclass(frozen=True, eq=False)
class Buffers:
    """The n buffers of a core, as columns."""

    size: Ints
    """[n] bytes; 0 is allowed and takes no room."""
    first: Ints
    """[n] first step at which the buffer holds something."""
    last: Ints
    """[n] last such step, inclusive."""
    alignment: Ints
    """[n] bytes of which the address must be a multiple."""
    group: Ints
    """[n] buffers of one non-negative group start at one address and may overlap each other; -1 stands alone."""

    @classmethod
    def build(
        cls,
        size: npt.ArrayLike,
        first: npt.ArrayLike,
        last: npt.ArrayLike,
        alignment: npt.ArrayLike = 1,
        group: npt.ArrayLike = -1,
    ) -> Buffers:
        """Makes the columns; ``alignment`` and ``group`` may be one number for all. Raises ValueError on nonsense."""
        sizes = np.asarray(size, dtype=np.int64)
        columns = (np.asarray(column, dtype=np.int64) for column in (first, last, alignment, group))
        buffers = cls(sizes, *(np.broadcast_to(column, sizes.shape) for column in columns))
        for fault, bad in (
            ("a negative size", buffers.size < 0),
            ("a last step before its first", buffers.last < buffers.first),
            ("an alignment below 1", buffers.alignment < 1),
        ):
            if bad.any():
                raise ValueError(f"buffer {int(bad.argmax())} has {fault}")
        return buffers

    def __len__(self) -> int:
        return self.size.shape[0]

    def content(self) -> bytes:
        """The columns as bytes: equal for equal planning problems."""
        return b"".join(column.tobytes() for column in (self.size, self.first, self.last, self.alignment, self.group))


@dataclass(frozen=True, eq=False)
class MemoryPlan:
    """Addresses of n buffers."""

    address: Ints
    """[n] bytes from the start of the memory."""
    peak: int
    """Bytes from address 0 to the end of the highest buffer."""
    lower_bound: int
    """Bytes that no plan can do with less than."""
    peak_step: int
    """Step that the peak is due to: of the steps of the highest buffer's life the one with most bytes live."""


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


def holders_at(buffers: Buffers, step: int) -> list[tuple[int, int]]:
    """(buffer, bytes) of all that live at ``step``, largest first; of a colocated set only the largest counts."""
    live = np.flatnonzero((buffers.first <= step) & (step <= buffers.last) & (buffers.size > 0))
    live = live[np.lexsort((live, -buffers.size[live]))]
    seen: set[int] = set()
    holders: list[tuple[int, int]] = []
    for buffer, group in zip(live.tolist(), buffers.group[live].tolist(), strict=True):
        if group < 0 or group not in seen:
            holders.append((buffer, int(buffers.size[buffer])))
            seen.add(group)
    return holders


def live_bytes(buffers: Buffers) -> tuple[Ints, Ints]:
    """(steps, bytes): from ``steps[i]`` until before ``steps[i + 1]``, ``bytes[i]`` are live. Groups are not merged."""
    steps, where = np.unique(np.concatenate((buffers.first, buffers.last + 1)), return_inverse=True)
    change = np.zeros(len(steps), dtype=np.int64)
    np.add.at(change, where.reshape(-1), np.concatenate((buffers.size, -buffers.size)))
    return steps, np.cumsum(change)


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


def _merge_groups(buffers: Buffers) -> tuple[Buffers, Ints]:
    """One buffer for each colocated set, and for every buffer the index of its set."""
    alone = np.arange(len(buffers)) + buffers.group.max() + 1
    _, members = np.unique(np.where(buffers.group < 0, alone, buffers.group), return_inverse=True)
    members = members.reshape(-1)
    count = int(members.max()) + 1
    size, last = np.zeros(count, dtype=np.int64), np.full(count, -_NOWHERE)
    first, alignment = np.full(count, _NOWHERE), np.ones(count, dtype=np.int64)
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
    best, best_peak, best_order = np.zeros(0, dtype=np.int64), _NOWHERE, np.zeros(0, dtype=np.int64)
    for order, best_fit in _orders(buffers):
        address = _place(buffers, order, best_fit)
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
        address = _place(buffers, order, True)
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


def _place(buffers: Buffers, order: Ints, best_fit: bool) -> Ints:
    """[n] addresses: each buffer of ``order`` goes to the tightest (or the lowest) gap between those placed before."""
    return (_place_few if len(buffers) <= _FEW else _place_many)(buffers, order, best_fit)


def _place_few(buffers: Buffers, order: Ints, best_fit: bool) -> Ints:
    """As :func:`_place_many`, gap by gap: for a few buffers that takes less time than to set up whole arrays."""
    placed: list[tuple[int, int, int, int]] = []  # begin, end, first, last, by address
    begins: list[int] = []
    address = np.zeros(len(buffers), dtype=np.int64)
    columns = (buffers.size, buffers.first, buffers.last, buffers.alignment)
    rows = zip(order.tolist(), *(column[order].tolist() for column in columns), strict=True)
    for buffer, size, born, dies, alignment in rows:
        if size == 0:
            continue
        where, tightest, floor = -1, _NOWHERE, 0
        for begin, end, first, last in placed:
            if first <= dies and last >= born:
                room = begin - floor
                if size <= room < tightest:
                    where, tightest = floor, room
                    if not best_fit:
                        break
                if end > floor:
                    floor = -(-end // alignment) * alignment
        if where < 0:
            where = floor
        address[buffer] = where
        at = bisect.bisect_left(begins, where)
        begins.insert(at, where)
        placed.insert(at, (where, where + size, born, dies))
    return address


def _place_many(buffers: Buffers, order: Ints, best_fit: bool) -> Ints:
    """[n] addresses, by arrays of all that are alive with a buffer."""
    count = 0
    first, last, begin, end = (np.zeros(len(buffers), dtype=np.int64) for _ in range(4))  # of those placed, by address
    address = np.zeros(len(buffers), dtype=np.int64)
    columns = (buffers.size, buffers.first, buffers.last, buffers.alignment)
    rows = zip(order.tolist(), *(column[order].tolist() for column in columns), strict=True)
    for buffer, size, born, dies, alignment in rows:
        if size == 0:
            continue
        alive = np.flatnonzero((first[:count] <= dies) & (last[:count] >= born))
        floor = np.zeros(alive.size + 1, dtype=np.int64)
        np.maximum.accumulate(end[alive], out=floor[1:])
        if alignment > 1:
            floor = -(-floor // alignment) * alignment
        room = np.full(alive.size + 1, _NOWHERE - 1)
        room[:-1] = begin[alive]
        room -= floor
        gap = int(np.where(room >= size, room, _NOWHERE).argmin() if best_fit else (room >= size).argmax())
        where = int(floor[gap])
        address[buffer] = where
        at = int(begin[:count].searchsorted(where))
        for column, value in ((first, born), (last, dies), (begin, where), (end, where + size)):
            column[at + 1 : count + 1] = column[at:count]
            column[at] = value
        count += 1
    return address


def _peak_step(buffers: Buffers, address: Ints) -> int:
    """The fullest step in the life of the highest buffer, the earliest of equals."""
    top = int((address + buffers.size).argmax())
    steps, live = live_bytes(buffers)
    inside = (steps >= buffers.first[top]) & (steps <= buffers.last[top])
    return int(steps[inside][live[inside].argmax()])
