"""How busy groups of lanes are in equal periods of time, in whole cycles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def busy_cycles(group: Ints, groups: int, start: Ints, finish: Ints, width: int, periods: int) -> Ints:
    """[groups, periods] cycles of each period, ``width`` cycles long, in which lanes of each group run.

    Lane i, of ``group[i]``, runs from cycle ``start[i]`` to before ``finish[i]``, which is not behind the last period.
    """
    place = group * (periods + 1)
    begins, begun = np.divmod(start, width)
    ends, ended = np.divmod(finish, width)
    # In the period of an end, what of it has passed counts, and in each one behind it all of it; the same of a start,
    # to be taken away. Sums of doubles are exact below 2**53.
    places = np.concatenate((place + ends, place + begins))
    rests, counts = np.concatenate((ended, -begun)), np.repeat((1.0, -1.0), len(group))
    size, shape = groups * (periods + 1), (groups, periods + 1)
    inside = np.bincount(places, rests, minlength=size).reshape(shape)
    behind = np.cumsum(np.bincount(places, counts, minlength=size).reshape(shape), axis=1)
    return (inside - width * behind)[:, :periods].astype(np.int64)
