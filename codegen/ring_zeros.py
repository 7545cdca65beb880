"""The columns of zeros beside the rows of a ring: which instructions write them, once, before its first row comes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dialects import pim
from ..lowering.event_order import Phase, event_key, step_of
from ..lowering.target import Target
from ..support.arrays import Ints


class Fills(NamedTuple):
    """n instructions that fill local memory with zeros."""

    core: Ints
    key: Ints
    address: Ints
    size: Ints
    """Bytes."""


def ring_zeros(op: pim.RowsOp, target: Target) -> Fills:
    """What writes the zeros of all rings of ``op``: one instruction fills a whole ring, or several fill only the
    columns, whichever takes less time. Those on the right of a row and on the left of the next one may be neighbours.
    """
    if not any(op.pads) or op.rings is None:
        nothing = np.zeros(0, np.int64)
        return Fills(nothing, nothing, nothing, nothing)
    core, address, size, first = op.rings.array.astype(np.int64).T
    offset, width, slot = _columns(op, target)
    depth = size // slot
    begin = address - offset  # of a first run that is as wide as those between two rows
    ring = np.repeat(np.arange(len(core)), depth + 1)
    number = np.arange(len(ring)) - np.repeat(np.cumsum(depth + 1) - depth - 1, depth + 1)
    start = np.maximum(begin[ring] + number * slot, address[ring])
    length = np.minimum(begin[ring] + number * slot + width, address[ring] + size[ring]) - start
    some = length > 0
    ring, start, length = ring[some], start[some], length[some]
    parts = np.bincount(ring, target.machine.fill_cycles(length), len(core))
    apart = parts < target.machine.fill_cycles(size)
    kept = apart[ring]
    whole = np.flatnonzero(~apart)
    owner = np.concatenate((ring[kept], whole))
    key = event_key(step_of(first), Phase.FILL)
    return Fills(
        core[owner],
        key[owner],
        np.concatenate((start[kept], address[whole])),
        np.concatenate((length[kept], size[whole])),
    )


def _columns(op: pim.RowsOp, target: Target) -> tuple[int, int, int]:
    """In bytes: from where the zeros behind one row begin to the next row's place, from there to that row's first
    column of data, and from place to place."""
    _, columns, channels = pim.shape_of(op.result)
    left, right = (pad * channels for pad in op.pads)
    slack = op.slack.value.data  # may be overwritten
    behind = right + slack
    unit = target.element_bytes
    return behind * unit, (behind + left) * unit, (left + columns * channels + behind) * unit
