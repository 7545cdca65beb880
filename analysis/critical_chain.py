"""What the end of a schedule waits for: its critical chain, and who holds up whom on it.

Backwards from the lane that ends last, there is at every moment one thing without which the end would come sooner: a
lane that runs, a core that is taken, a row on its way. These are the *steps* of the chain; they follow one another
without a gap, so that their cycles add up to the makespan. A lane that had its rows and found its core with another
lane, or was interrupted by one, *waits* for that; so far from each other, the two would not have met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..support.arrays import Ints
from ..support.kernel_columns import as_array, as_lists
from ..support.machine_code import Kernel, can_compile
from . import chain_kernel
from .chain_kernel import CORE, FOUND, NONE, QUEUE, QUEUES, RUN, TAIL, TRAVEL, WAITS, Code, Facts, State, run
from .lane_columns import TimedGraph, firsts
from .lane_graph import WORTH_COMPILING
from .message_costs import message_cycles
from .timeline import TimedBatch, Timeline

__all__ = ["CORE", "QUEUE", "RUN", "TAIL", "TRAVEL", "Chain", "ChainFinder"]


WALK = Kernel("chain", (chain_kernel,), chain_kernel)

MINOR = 30
"""Hundredths of a delay that a lane bears which may well be as long on any other core."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The critical chain of a schedule, from the end of all backwards."""

    steps: Ints
    """[n, 4] kind, lane, first cycle, and first cycle after it, which is the first one of the step before. The lane of
    a row that travels or is queued is the one that computes it."""
    waits: Ints
    """[m, 3] a lane, the one on the same core that held it up, and for how many cycles."""
    queues: Ints
    """[q, 3] a lane, the one whose row was late because other messages went first or its receiver was busy, and for how
    many cycles."""

    def burden(self, lanes: int) -> Ints:
        """[lanes] cycles of the chain that might go if each lane were on another core, in hundredths.

        Of a wait for another lane, both bear all; of a late row, its sender and its reader the share `MINOR`, and so
        does a lane whose core is taken by messages or loads, since these may follow it.
        """
        found = np.zeros(lanes, np.int64)
        np.add.at(found, self.waits[:, :2], 100 * self.waits[:, 2:])
        np.add.at(found, self.queues[:, :2], MINOR * self.queues[:, 2:])
        taken = self.steps[self.steps[:, 0] == CORE]
        np.add.at(found, taken[:, 1], MINOR * (taken[:, 3] - taken[:, 2]))
        return found


class ChainFinder:
    """Finds chains in schedules of one graph, on whatever cores."""

    def __init__(self, graph: TimedGraph) -> None:
        self._graph = graph
        self._read_first = firsts(graph.read_counts())

    def find(self, batches: Sequence[TimedBatch], timeline: Timeline) -> Chain:
        """The chain of ``timeline``, a schedule of ``batches``. O(n + m + s k) in lanes, messages, and lanes k on the
        cores of its s steps."""
        graph = self._graph
        core = np.concatenate([graph.row[:0], *(one.cores for one in batches)])
        finish = timeline.finishes
        lanes, cores = len(core), int(core.max(initial=0)) + 1
        row, target, sent = timeline.sent
        code = Code(
            core=as_array(core),
            start=as_array(timeline.starts),
            finish=as_array(finish),
            mate_first=as_array(firsts(np.bincount(core, minlength=cores))),
            mate=as_array(np.argsort(core.astype(np.min_scalar_type(cores)), kind="stable")),
            read_first=as_array(self._read_first),
            rows_read=as_array(graph.rows_read),
            message_first=as_array(firsts(np.bincount(row, minlength=lanes))),
            target=as_array(target),
            sent=as_array(sent),
            arrival=as_array(sent + message_cycles(batches, graph, row, core[row], target)[1]),
        )
        last = int(finish.argmax()) if lanes else NONE
        # Each lane is on a chain once at most, in up to four steps, and waited for as one before and as one between.
        state = State(*[as_array(np.zeros(size, np.int64)) for size in (FOUND, 16 * lanes + 4, 6 * lanes, 3 * lanes)])
        return _walk(Facts(timeline.makespan), code, state, last)


def _walk(facts: Facts, code: Code, state: State, last: int) -> Chain:
    if len(code.core) >= WORTH_COMPILING and can_compile():
        steps = WALK.run(facts, code, state, last)
    else:
        state = State(*as_lists(state))
        steps = run(facts, Code(*as_lists(code)), state, last)
    return Chain(
        _lines(state.steps, steps, 4),
        _lines(state.waits, state.found[WAITS], 3),
        _lines(state.queues, state.found[QUEUES], 3),
    )


def _lines(column: Any, count: int, width: int) -> Ints:
    """[count, width]"""
    return np.array(column[: count * width], np.int64).reshape(-1, width)
