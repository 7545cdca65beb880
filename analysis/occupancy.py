"""How busy groups of lanes are in equal periods of time, in whole cycles."""

from __future__ import annotations

import numpy as np

from ..support.arrays import Ints
from ..support.kernel_columns import as_arrays
from ..support.machine_code import Kernel, can_compile
from . import occupancy_kernel
from .lane_graph import WORTH_COMPILING
from .occupancy_kernel import Facts

PERIODS = Kernel("periods", (occupancy_kernel,), occupancy_kernel)


def busy_cycles(group: Ints, groups: int, start: Ints, finish: Ints, width: int, periods: int) -> Ints:
    """[groups, periods] cycles of each period, ``width`` cycles long, in which lanes of each group run.

    Lane i, of ``group[i]``, runs from cycle ``start[i]`` to before ``finish[i]``, which is not behind the last period.
    """
    found = _compiled if len(group) >= WORTH_COMPILING and can_compile() else _vectorized
    return found(group, groups, start, finish, width, periods)


def _compiled(group: Ints, groups: int, start: Ints, finish: Ints, width: int, periods: int) -> Ints:
    """As machine code, lane by lane."""
    busy = np.zeros(groups * periods, np.int64)
    PERIODS.run(Facts(width, periods), as_arrays((group, start, finish)), [busy], len(group))
    return busy.reshape(groups, periods)


def _vectorized(group: Ints, groups: int, start: Ints, finish: Ints, width: int, periods: int) -> Ints:
    """The same by sums over the starts and the ends of all lanes."""
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
