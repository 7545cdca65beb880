"""Plain schedules: lanes in the order in which their rows would come if transfers took no time. For several samples of
small networks.

Each row is sent at once. So messages come in the order in which rows are made, and a core takes one before it begins
with what came later, where the scheduler of lanes (`analysis/lane_scheduler.py`) would have the sender wait for it. Of
a few lanes that mostly send and receive, this is sometimes the better schedule. How long it takes, it does not say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from ..analysis.lane_graph import LaneGraph
from ..analysis.row_uses import row_uses
from ..analysis.timeline import TimedBatch, Timeline
from .placed_lanes import PlacedLanes
from .replica_placement import ReplicaPlacer

Ints = NDArray[np.int64]


def plain_schedules(placer: ReplicaPlacer, placed: PlacedLanes) -> Iterator[PlacedLanes]:
    """Those on the same cores, and on cores that replicas take in turn; their makespans leave transfers out."""
    for one in (placed, placer.in_turn_placement(placed.leads)):
        if one is not None:
            timeline = plain_timeline(one.graph, one.timed)
            yield replace(one, timeline=timeline, excess=placer.excess(one.timed, timeline, one.room), saved=0)


def plain_timeline(graph: LaneGraph, batches: list[TimedBatch]) -> Timeline:
    """Each core runs its lanes in the order in which their rows come, and sends each row when it is made."""
    core = np.concatenate([one.cores for one in batches])
    cycles = np.repeat([max(1, one.cycles) for one in batches], np.diff(graph.first))
    start = _starts(graph, core, cycles)
    finish = start + cycles
    uses = row_uses(graph, core)
    away = np.flatnonzero(uses.core != core[uses.row])
    row, target = uses.row[away], uses.core[away]
    none = row[:0]
    return Timeline(
        makespan=int(finish.max(initial=0)),
        first=graph.first,
        starts=start,
        finishes=finish,
        sent=(row, target, finish[row] - 1),  # the lane's last cycle: before anything that begins when it has ended
        resumed=(none, none, none),
        fetched=(none, none, none, none),
    )


def _starts(graph: LaneGraph, core: Ints, cycles: Ints) -> Ints:
    """List scheduling: the start of each lane."""
    missing: list[int] = graph.read_counts().tolist()
    length: list[int] = cycles.tolist()
    home: list[int] = core.tolist()
    first: list[int] = graph.row_first.tolist()
    readers: list[int] = graph.reader.tolist()
    start, there, free = [0] * len(home), [0] * len(home), [0] * (int(core.max(initial=0)) + 1)
    queue = [(0, lane) for lane, count in enumerate(missing) if not count]
    heapify(queue)
    while queue:
        ready, lane = heappop(queue)
        start[lane] = max(ready, free[home[lane]])
        end = free[home[lane]] = start[lane] + length[lane]
        for reader in readers[first[lane] : first[lane + 1]]:
            missing[reader] -= 1
            there[reader] = max(there[reader], end)
            if not missing[reader]:
                heappush(queue, (there[reader], reader))
    return np.array(start, np.int64)
