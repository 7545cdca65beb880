"""How busy groups of lanes are in equal periods of time, in whole cycles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def busy_cycles(group: Ints, groups: int, start: Ints, finish: Ints, width: int, periods: int) -> Ints:
    """[groups, periods] cycles of each period, ``width`` cycles long, in which lanes of each group run.

    Lane i, of ``group[i]``, runs from cycle ``start[i]`` to before ``finish[i]``, which is not behind the last period.
    """
    return _passed(group, groups, finish, width, periods) - _passed(group, groups, start, width, periods)


def _passed(group: Ints, groups: int, time: Ints, width: int, periods: int) -> Ints:
    """[groups, periods] sums over the times of each group: cycles of each period that have passed at that time."""
    period, rest = np.divmod(time, width)
    place, shape = group * (periods + 1) + period, (groups, periods + 1)
    # The rest is added exactly: sums of doubles below 2**53.
    inside = np.bincount(place, rest, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)
    ends = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)
    later = ends.sum(axis=1, keepdims=True) - np.cumsum(ends, axis=1)
    return (later * width + inside)[:, :periods]
