"""At which step each instruction of a lane is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def instruction_steps(start: Ints, span: Ints, resumes: Ints | None, begin: Ints) -> Ints:
    """[lanes, k] the steps of the instructions of all lanes of a batch.

    ``start`` and ``span`` [lanes] are those of the lanes; ``begin`` [k + 1] is at which cycle of a lane that nothing
    interrupts each instruction begins, and when the last one ends. A line of ``resumes`` [n, 3] is a lane, the cycles
    of its work that are done, and how many steps after its first it goes on; they are in this order. Without any, the
    instructions share the span.
    """
    cycles = max(int(begin[-1]), 1)
    if resumes is None:
        return start[:, None] + begin[None, :-1] * span[:, None] // cycles
    every = np.arange(len(start))[:, None] * (cycles + 1)
    at = every + begin[None, :-1]
    line = np.searchsorted(resumes[:, 0] * (cycles + 1) + np.minimum(resumes[:, 1], cycles), at, side="right") - 1
    behind = np.zeros(at.shape, np.bool_)
    if len(resumes):
        behind = (line >= 0) & (resumes[line, 0] == np.arange(len(start))[:, None])
    late = np.zeros(at.shape, np.int64)
    late[behind] = (resumes[:, 2] - resumes[:, 1])[line[behind]]
    return start[:, None] + np.minimum(begin[None, :-1] + late, span[:, None] - 1)
