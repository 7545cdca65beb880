"""At which step each instruction of a lane is."""

from __future__ import annotations

import numpy as np

from ..support.arrays import Ints


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
    found = start[:, None] + np.minimum(begin[None, :-1], span[:, None] - 1)
    if not len(resumes):
        return found
    lanes = np.unique(resumes[:, 0])  # the others are never interrupted
    every = lanes[:, None] * (cycles + 1)
    at = every + begin[None, :-1]
    line = np.searchsorted(resumes[:, 0] * (cycles + 1) + np.minimum(resumes[:, 1], cycles), at, side="right") - 1
    late = np.where(resumes[line, 0] == lanes[:, None], (resumes[:, 2] - resumes[:, 1])[line], 0)
    late[line < 0] = 0
    found[lanes] = start[lanes, None] + np.minimum(begin[None, :-1] + late, span[lanes, None] - 1)
    return found
