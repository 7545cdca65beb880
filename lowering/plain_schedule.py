"""Plain schedules (:mod:`..analysis.plain_timeline`) of small networks, as others to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..analysis.plain_timeline import plain_timeline
from .placed_lanes import PlacedLanes
from .replica_placement import ReplicaPlacer


def plain_schedules(placer: ReplicaPlacer, placed: PlacedLanes) -> Iterator[PlacedLanes]:
    """Those on the same cores, and on cores that replicas take in turn."""
    for one in (placed, placer.in_turn_placement(placed.leads)):
        if one is not None:
            timeline = plain_timeline(one.graph, one.timed, placer.request)
            yield replace(one, timeline=timeline, excess=placer.excess(one.timed, timeline, one.room), saved=0)
