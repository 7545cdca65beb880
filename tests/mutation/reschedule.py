"""Gives the lanes of a module new places in the order, as wrong schedulers would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from ir_edits import array_of, batches_of, set_array
from numpy.typing import NDArray
from tilec.analysis.window import OUTSIDE
from tilec.dialects import spat
from xdsl.dialects.builtin import ModuleOp

Rank = Callable[[int, int], float]
"""From batch and lane to when a lane would like to run; the least first."""

Lane = tuple[int, int]
"""Batch and lane."""


def renumber(module: ModuleOp, rank: Rank) -> None:
    """Schedules all lanes anew on the cores that they have: of the lanes that can run, always the first by ``rank``.

    Each starts when its core is free and what it reads is there; transfers take no time.
    """
    batches = [op for op in batches_of(module) if isinstance(op, spat.BatchOp)]
    cores = [array_of(op, "cores")[np.arange(op.lane_count) % op.replica_count].tolist() for op in batches]
    needed = _reads(batches)
    missing = {lane: len(reads) for lane, reads in needed.items()}
    readers: dict[Lane, list[Lane]] = {}
    for lane, reads in needed.items():
        for read in reads:
            readers.setdefault(read, []).append(lane)
    can_run = [lane for lane, count in missing.items() if count == 0]
    start: dict[Lane, int] = {}
    free: dict[int, int] = {}
    while can_run:
        can_run.sort(key=lambda lane: (rank(*lane), lane))
        lane = can_run.pop(0)
        batch, number = lane
        core = cores[batch][number]
        there = max((start[read] + int(batches[read[0]].lane_spans[read[1]]) for read in needed[lane]), default=0)
        start[lane] = max(there + 1, free.get(core, 0))
        free[core] = start[lane] + int(batches[batch].lane_spans[lane[1]])
        for reader in readers.get(lane, ()):
            missing[reader] -= 1
            if missing[reader] == 0:
                can_run.append(reader)
    assert len(start) == len(needed)
    for index, op in enumerate(batches):
        set_array(op, "steps", np.array([start[index, number] for number in range(op.lane_count)]))
    forget_plans(module)


def forget_plans(module: ModuleOp) -> None:
    """Rows are sent at once, and constants loaded when a lane needs them: when else, was planned for the lanes as they
    were."""
    for op in batches_of(module):
        op.properties.pop("fetches", None)
        op.properties.pop("sends", None)


def _reads(batches: Sequence[spat.BatchOp]) -> dict[Lane, set[Lane]]:
    """The lanes that each lane reads."""
    made = {value: index for index, op in enumerate(batches) for value in op.outs}
    found: dict[Lane, set[Lane]] = {}
    for index, op in enumerate(batches):
        for lane in range(op.lane_count):
            found[index, lane] = set()
            for value, window in zip(op.inputs, op.row_windows, strict=True):
                source = value if value in made else getattr(value.owner, "source", None)
                if source in made:
                    rows = window.rows_of(np.array([lane]))[0]
                    found[index, lane] |= {(made[source], row) for row in rows[rows != OUTSIDE].tolist()}
    return found


def as_scheduled(module: ModuleOp) -> Rank:
    """The order that the lanes have."""
    steps: list[NDArray[np.int64]] = [array_of(op, "steps") for op in batches_of(module)]
    return lambda batch, lane: float(steps[batch][lane])
