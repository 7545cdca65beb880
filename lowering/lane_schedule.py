"""The schedule of a module's lanes: a core for each replica, and when each lane runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from ..analysis.lane_events.layout import UNBOUNDED
from ..dialects.spat import ComputeBatchOp
from .lane_cost import BatchCosts
from .placement_search import shortened
from .replica_placement import PlacedLanes, ReplicaPlacer
from .row_leads import LeadShortener, short_leads

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Of a sample's rows, by how much each batch may be ahead of its readers; tried in this order while rows do not fit."""

FIRST_ROUNDS = 3
"""Placements to try with the same leads before going on to shorter ones."""


def schedule_replicas(
    batches: Sequence[ComputeBatchOp], costs: BatchCosts, samples: int = 1, lead: int = 0
) -> PlacedLanes:
    """The shortest schedule that is found, of those whose rows seem to fit the local memories.

    If they do not where nothing holds batches back, these may be less and less far ahead of their slowest reader, until
    a placement fits; and on the best placement that does not, those whose rows overfill cores even less. If nothing
    fits, the schedule is the one that needs least memory. If a ``lead`` is given, that of all batches is so many rows
    in the end, whether it fits or not. Raises `NoRoomError` if the weights do not fit.
    """
    placer = ReplicaPlacer(batches, costs, samples)
    shortener = LeadShortener(placer)
    least = short_leads(placer.timed)
    rows = [timed.batch.lanes / samples for timed in placer.timed]
    ways = [[UNBOUNDED] * len(rows)]
    for share in SHARES if samples > 1 else SHARES[1:]:
        ways.append([max(few, int(share * most)) for few, most in zip(least, rows, strict=True)])
    found: list[PlacedLanes] = []
    for leads in ways:
        rounds = placer.placements(leads)
        first = list(islice(rounds, FIRST_ROUNDS))
        found += first
        if any(placed.fits for placed in first):
            found += rounds
            break
        if (held := shortener.shorten(_best(first))) is not None:
            found.append(held)
    if (simple := placer.in_turn_placement(_best(found).leads)) is not None:
        found.append(simple)
    best = shortened(placer, _best(found))
    if not lead:
        return best
    leads = [lead] * len(rows)
    return replace(best, leads=leads, timeline=placer.scheduled(best.timed, leads))


def _best(found: Sequence[PlacedLanes]) -> PlacedLanes:
    return min(found, key=lambda placed: (placed.excess, placed.timeline.makespan))
