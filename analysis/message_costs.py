"""What the messages of many batches cost, looked up at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..support.arrays import Ints
from .lane_graph import LaneGraph
from .timeline import TimedBatch, TransferCosts

_PLACES_KEPT = 4
"""Tables that are kept: costs depend on sizes of rows alone, so that all placements of a network share one."""


def message_cycles(batches: Sequence[TimedBatch], graph: LaneGraph, row: Ints, home: Ints, target: Ints) -> Ints:
    """[3, m] cycles of sending, of receiving and of the flight of messages: of a ``row`` [m] from its ``home`` to its
    ``target``. Of no meaning where the two are one core."""
    batch = graph.batch_of[row]
    transfers = tuple([timed.transfer for timed in batches])
    table = _table(transfers)
    if table is not None:
        kind = table.kind.take(home * len(table.kind) + target)
        return table.cycles.take(kind + table.first[batch], axis=1)
    found = np.zeros((3, len(row)), np.int64)
    for transfer, mine in _by_transfer(transfers, batch):
        pair = home[mine], target[mine]
        found[:, mine] = transfer.send[pair], transfer.receive[pair], transfer.flight[pair]
    return found


class _Table(NamedTuple):
    """What messages of several batches cost by the kind of pair that exchanges them."""

    kind: Ints
    """[cores, cores]"""
    first: Ints
    """[batches] where the kinds of each batch's rows begin in"""
    cycles: Ints
    """[3, sizes of rows times kinds]"""


@lru_cache(_PLACES_KEPT)
def _table(transfers: tuple[TransferCosts, ...]) -> _Table | None:
    """None if kinds are not known."""
    number = {transfer: place for place, transfer in enumerate(dict.fromkeys(transfers))}
    known = [transfer.by_kind() for transfer in number if transfer.by_kind is not None]
    if not known or len(known) < len(number):
        return None
    kind = known[0][0]
    assert all(other is kind for other, _ in known), "messages of different machines"
    cycles = np.concatenate([costs for _, costs in known], axis=1)
    return _Table(kind, len(known[0][1][0]) * np.array([number[transfer] for transfer in transfers]), cycles)


def _by_transfer(transfers: Sequence[TransferCosts], batch: Ints) -> list[tuple[TransferCosts, Ints]]:
    """Places in ``batch`` [m], those of the rows that are sent, by what sending them costs."""
    number: dict[TransferCosts, int] = {}
    listed = [number.setdefault(transfer, len(number)) for transfer in transfers]
    # Numbers of 16 bits or less are sorted in one look at each.
    kind = np.array(listed, np.min_scalar_type(len(number)))[batch]
    order = np.argsort(kind, kind="stable")
    ends = np.cumsum(np.bincount(kind, minlength=len(number)))[:-1]
    return list(zip(number, np.split(order, ends), strict=False))
