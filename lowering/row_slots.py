"""Which slots of a core's local memory rows take, one after another.

A row takes the slot that was left last, so that addresses recur soon: registers hold those that were used lately. The
rows of a tensor take slots of the tensor's ring. Rows that only pass, which a core computes and no lane there reads,
take slots that all tensors share, whatever their sizes: the results of a core's products come to the same few places.
A slot as long as a row that comes late is then held all the time before. Where that takes too much memory, slots are
others after a moment at which rows of none of them pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..support.arrays import Ints

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SlotPlan:
    """The slots of n rows, and the m areas of memory that slots lie in: a ring, or one slot for passing rows."""

    area: Ints
    """[n] of each row."""
    offset: Ints
    """[n] bytes from the beginning of the area to the row's slot."""
    core: Ints
    """[m] ascending."""
    size: Ints
    """[m] bytes."""
    first: Ints
    """[m] key of the first event at which a row is there."""
    last: Ints
    """[m] key of the last one."""
    tensor: Ints
    """[m] whose ring it is, or of those that share it the one whose rows are longest."""
    shared: Mask
    """[m] whether it is a slot that tensors share."""


def plan_slots(
    tensor: Ints, core: Ints, first: Ints, last: Ints, passing: Mask, slot_bytes: Ints, divided: Mask
) -> SlotPlan:
    """Slots for n rows, each of a tensor, on a core from one key to another, both included.

    ``slot_bytes`` [tensors] is what a row takes, with all that stands beside it. On ``divided`` cores [cores], passing
    rows have other slots after a moment without any.
    """
    pools = 2 * (int(tensor.max(initial=0)) + 1)
    own = np.where(passing, 0, 2 * tensor + 1)
    apart = np.flatnonzero(passing & divided[core])
    own[apart] = 2 * periods_apart(tensor[apart], core[apart], first[apart], last[apart])
    pool = core * pools + own
    slot = last_left_first_taken(pool, first, last)
    most = int(slot.max(initial=0)) + 1
    # Passing rows need not be as long as each other: each of their slots is an area of its own.
    place = pool * most + np.where(passing, slot, 0)
    _, row, area = np.unique(place, return_index=True, return_inverse=True)
    area, count = area.reshape(-1), len(row)
    needed = slot_bytes[tensor]
    depth, size = np.zeros(count, np.int64), np.zeros(count, np.int64)
    begin, end = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(depth, area, np.where(passing, 0, slot) + 1)
    np.maximum.at(size, area, needed)
    np.minimum.at(begin, area, first)
    np.maximum.at(end, area, last)
    offset = np.where(passing, 0, slot * needed)
    longest = np.lexsort((-tensor, needed))
    named = np.zeros(count, np.int64)
    named[area[longest]] = tensor[longest]
    return SlotPlan(area, offset, core[row], depth * size, begin, end, named, passing[row])


def periods_apart(tensor: Ints, core: Ints, first: Ints, last: Ints) -> Ints:
    """[n] of each row how often, before it on its core, all of the tensors end that have begun, and others begin.

    A tensor's life is from its first row's first key there to its last row's last one, both included."""
    tensors = int(tensor.max(initial=0)) + 1
    pairs, row = np.unique(core * tensors + tensor, return_inverse=True)
    begin, end = np.full(len(pairs), np.iinfo(np.int64).max), np.full(len(pairs), np.iinfo(np.int64).min)
    np.minimum.at(begin, row, first)
    np.maximum.at(end, row, last)
    home = pairs // tensors
    order = np.lexsort((begin, home))
    home, begin, end = home[order], begin[order] - first.min(initial=0), end[order] - first.min(initial=0)
    behind = int(end.max(initial=0)) + 1
    ended = np.maximum.accumulate(home * behind + end)
    starts = np.append(True, home[1:] * behind + begin[1:] > ended[:-1])[: len(home)]
    period = np.cumsum(starts)
    found = np.empty(len(pairs), np.int64)
    found[order] = period - period[np.searchsorted(home, home)]
    return found[row.reshape(-1)]


def last_left_first_taken(pool: Ints, first: Ints, last: Ints) -> Ints:
    """[n] slots in their pools, from 0 on, for what is held from ``first`` to ``last``, both included.

    Each takes the slot that was left last, and a new one if none is free: there are as many as are ever held at once.
    """
    count = len(pool)
    every = np.arange(count)
    # An event for each moment that a slot is taken, and for each that it is left; at one moment all are taken first.
    key = np.concatenate((2 * first, 2 * last + 1))
    order = np.lexsort((np.concatenate((every, every)), key, np.concatenate((pool, pool))))
    thing, leaves = np.where(order < count, order, order - count), order >= count
    # Slots that are left lie on a stack. Who takes one finds that of the last event that made the stack as high.
    height = np.cumsum(np.where(leaves, 1, -1))
    level = np.where(leaves, height, height + 1)
    owner = pool[thing]
    by_level = np.lexsort((level, owner))
    thing, leaves, level, owner = thing[by_level], leaves[by_level], level[by_level], owner[by_level]
    met = leaves[:-1] & ~leaves[1:] & (owner[:-1] == owner[1:]) & (level[:-1] == level[1:])
    root = every.copy()
    root[thing[1:][met]] = thing[:-1][met]
    while (root[root] != root).any():
        root = root[root]
    fresh = np.flatnonzero(root == every)
    fresh = fresh[np.lexsort((fresh, first[fresh], pool[fresh]))]
    number = np.zeros(count, np.int64)
    number[fresh] = np.arange(len(fresh)) - np.searchsorted(pool[fresh], pool[fresh])
    return number[root]
