"""Addresses for buffers in a given order: each goes into a gap between those that live with it and came before."""

from __future__ import annotations

import bisect

import numpy as np

from .buffers import Buffers, Ints

NOWHERE = np.iinfo(np.int64).max
"""No address, and no size of a gap."""

_FEW = 200
"""Buffers up to which they are placed one gap after the other."""


def place(buffers: Buffers, order: Ints, best_fit: bool) -> Ints:
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
        where, tightest, floor = -1, NOWHERE, 0
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
        room = np.full(alive.size + 1, NOWHERE - 1)
        room[:-1] = begin[alive]
        room -= floor
        gap = int(np.where(room >= size, room, NOWHERE).argmin() if best_fit else (room >= size).argmax())
        where = int(floor[gap])
        address[buffer] = where
        at = int(begin[:count].searchsorted(where))
        for column, value in ((first, born), (last, dies), (begin, where), (end, where + size)):
            column[at + 1 : count + 1] = column[at:count]
            column[at] = value
        count += 1
    return address
