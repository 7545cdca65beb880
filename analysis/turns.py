"""Lanes that take turns: of each replica one after the other, as soon as each may."""

from __future__ import annotations

import numpy as np

from ..support.arrays import Ints


def starts_in_turns(ready: Ints, slots: int, cycles: int) -> Ints:
    """[n] when each lane starts that takes so many cycles and may at ``ready`` [n], which is not negative.

    Lane i runs in slot i mod ``slots``, after lane i - ``slots``: it starts at the latest of all ``ready[j] + (lanes
    between) * cycles`` in its slot, a running maximum.
    """
    turns = -(-len(ready) // slots)
    table = np.zeros(turns * slots, np.int64)
    table[: len(ready)] = ready
    before = np.arange(turns)[:, None] * cycles
    starts = np.maximum.accumulate(table.reshape(turns, slots) - before, axis=0) + before
    return starts.reshape(-1)[: len(ready)]
