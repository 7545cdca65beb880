"""A placement of replicas with the schedule on it, and the orders of lanes that there are to schedule by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..analysis.lane_columns import TimedGraph, sooner_first
from ..analysis.timeline import TimedBatch, Timeline
from ..support.arrays import Ints


class LaneOrder(NamedTuple):
    """In which order cores run lanes."""

    graph: TimedGraph
    """With what is urgent."""
    as_rows_come: bool = False
    """Whether lanes run in the order in which their rows have come, instead of that of urgency."""


def lane_orders(by_rank: TimedGraph) -> tuple[LaneOrder, ...]:
    """All orders that are tried, in this order, of lanes with their ranks (:mod:`..analysis.lane_rank`).

    That of ranks comes first: replicas are placed by it, and in large networks it is mostly the best. Ranks do not know
    for how long cores wait for messages; where they do most of the time, lanes may better go as early as they can.
    """
    by_arrival = sooner_first(by_rank)
    return (
        LaneOrder(by_rank),
        LaneOrder(by_arrival),
        LaneOrder(by_rank, as_rows_come=True),
        LaneOrder(by_arrival, as_rows_come=True),
    )


@dataclass(frozen=True, eq=False)
class PlacedLanes:
    """A placement, and the schedule on it."""

    cores: list[Ints]
    """[batches][replicas]"""
    order: LaneOrder
    timed: list[TimedBatch]
    timeline: Timeline
    excess: int
    """Bytes that seem to be missing in the core that needs most."""
    leads: Sequence[int]
    """By how many rows each batch may be ahead of its slowest reader."""
    room: int
    """Bytes of a core's memory that rows, constants and temporary tiles are to fit."""
    saved: int = 0
    """Cycles by which the search for moves has made the schedule shorter."""
    measured: int | None = None
    """Cycles that the program takes, if that has been counted on it."""

    @property
    def graph(self) -> TimedGraph:
        return self.order.graph

    @property
    def cycles(self) -> int:
        """That all takes."""
        return self.timeline.makespan if self.measured is None else self.measured

    @property
    def fits(self) -> bool:
        """Whether the local memories seem to suffice."""
        return not self.excess

    @property
    def cost(self) -> tuple[int, int]:
        """What schedules are compared by: first the bytes that are missing, then the cycles."""
        return self.excess, self.cycles


def best_of(found: Iterable[PlacedLanes]) -> PlacedLanes:
    """The one of least cost; of equals the first."""
    return min(found, key=lambda placed: placed.cost)
