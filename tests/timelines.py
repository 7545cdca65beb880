"""Schedules of lanes from what is known of each batch, for tests that make them by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tilec.analysis.timeline import Timeline

Ints = NDArray[np.int64]


def timeline_of(
    start: Sequence[Ints], finish: Sequence[Ints], messages: Sequence[Ints] = (), makespan: int = 0
) -> Timeline:
    """Lanes that run from ``start`` to before ``finish`` [batches][lanes] without an interruption, and whose rows are
    sent as ``messages`` [batches][m, 3] say: row, core, cycle."""
    first = np.cumsum([0, *map(len, start)])
    none = np.zeros(0, np.int64)
    lines = [np.zeros((0, 3), np.int64)] + [
        table + np.array([begin, 0, 0]) for table, begin in zip(messages, first.tolist(), strict=False)
    ]
    row, core, cycle = np.concatenate(lines).T
    return Timeline(
        makespan=makespan,
        first=first,
        starts=np.concatenate([none, *start]),
        finishes=np.concatenate([none, *finish]),
        sent=(row, core, cycle),
        resumed=(none, none, none),
        fetched=(none, none, none, none),
    )
