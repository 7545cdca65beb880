"""Which instructions of a body run in turns: some repeats of each, and again, instead of one after the other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block

from ..dialects.pim import IssueOp

CycleChains = tuple[tuple[tuple[int, ...], int], ...]
"""Of a lane's instructions in order: the cycles of those that run in turns, and how often they do."""


def chains_of(block: Block) -> list[list[IssueOp]]:
    """The instructions of a body, those that run in turns together: a chained one joins those before it if it takes
    as many turns."""
    chains: list[list[IssueOp]] = []
    for issue in block.ops:
        if isinstance(issue, IssueOp):
            if issue.chained is not None and chains and chains[-1][0].turn_count == issue.turn_count:
                chains[-1].append(issue)
            else:
                chains.append([issue])
    return chains


def cycle_chains(issues: Iterable[tuple[bool, int, int, int]]) -> CycleChains:
    """The chains of instructions, of which each is told whether it is chained, its turns, how often it repeats and its
    cycles."""
    found: list[tuple[list[int], int]] = []
    for chained, turns, repeat, cycles in issues:
        if not (chained and found and found[-1][1] == turns):
            found.append(([], turns))
        found[-1][0].extend([cycles] * (repeat // turns))
    return tuple([(tuple(cycles), turns) for cycles, turns in found])


def boundaries(chains: CycleChains) -> NDArray[np.int64]:
    """[k + 1] the cycles at which each of a lane's k instructions begins, and at which the last one ends."""
    cycles = [np.tile(np.array(costs, np.int64), repeat) for costs, repeat in chains]
    return np.cumsum(np.concatenate([np.zeros(1, np.int64), *cycles]))
