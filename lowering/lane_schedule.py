"""The schedule of a module's lanes: a core for each replica, and when each lane runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from ..analysis.lane_events.layout import UNBOUNDED
from ..dialects.spat import ComputeBatchOp
from .lane_cost import BatchCosts
from .lane_tasks import spread_vector_batches
from .memory_relief import relieved
from .placement_search import shortened
from .plain_schedule import plain_schedules
from .replica_placement import PlacedLanes, ReplicaPlacer
from .row_leads import LeadShortener, short_leads

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Of a sample's rows, by how much each batch may be ahead of its readers; tried in this order while rows do not fit."""

WORTH_WHILE = 0.98
"""Of the shortest makespan so far, what shorter leads have to reach for even shorter ones to be tried."""

PATIENCE = 2
"""Steps to shorter leads without that, after which no shorter ones are tried."""

FIRST_ROUNDS = 3
"""Placements to try with the same leads before going on to shorter ones."""


FEW_LANES = 1000
"""Lanes of a network that is scheduled for several samples with more replicas as well: rows that wait for them take
little memory there, and their messages little time."""


Measure: TypeAlias = "Callable[[PlacedLanes], int | None]"
"""The cycles that the program takes with a schedule; None if they cannot be told."""


def schedule_spread(
    batches: Sequence[ComputeBatchOp],
    costs: BatchCosts,
    samples: int = 1,
    lead: int = 0,
    measure: Measure | None = None,
) -> PlacedLanes:
    """The schedule of :func:`schedule_replicas`, once batches without weights have replicas.

    Of several samples, these are as few as keep up. In small networks, they are also tried to be as many as for one
    sample, and stay so if all ends sooner. There, plain schedules are tried as well, if what they take can be measured.
    Not of one sample: ranks know all that there is to know, and what is wrong with an order would be hidden.
    """
    spread_vector_batches(batches, costs, samples)
    few = [batch.properties["replicas"] for batch in batches]
    if samples == 1 or sum(batch.lane_count for batch in batches) > FEW_LANES:
        return schedule_replicas(batches, costs, samples, lead)
    placed = schedule_replicas(batches, costs, samples, lead, measure)
    spread_vector_batches(batches, costs)
    if few == [batch.properties["replicas"] for batch in batches]:
        return placed
    more = schedule_replicas(batches, costs, samples, lead, measure)
    if _rank(more) < _rank(placed):
        return more
    for batch, replicas in zip(batches, few, strict=True):
        batch.properties["replicas"] = replicas
    return placed


def schedule_replicas(
    batches: Sequence[ComputeBatchOp],
    costs: BatchCosts,
    samples: int = 1,
    lead: int = 0,
    measure: Measure | None = None,
) -> PlacedLanes:
    """The shortest schedule that is found, of those whose rows seem to fit the local memories.

    If nothing fits, it is the one that needs least memory. If a ``lead`` is given, that of all batches is so many rows
    in the end, whether it fits or not. Raises `NoRoomError` if the weights do not fit.
    """
    placer = ReplicaPlacer(batches, costs, samples)
    best = shortened(placer, _placed(placer))
    best = _best([best, *placer.reordered(best)])
    if placer.is_far(best):
        # Cores near the port of global memory are quick to load, and may be far from each other.
        best = _nearer(placer, best)
    if not lead:
        return best if measure is None else _measured(placer, best, measure)
    leads = [lead] * len(batches)
    return replace(best, leads=leads, timeline=placer.scheduled(best.timed, leads, best.order))


def _placed(placer: ReplicaPlacer) -> PlacedLanes:
    """The best placement with leads that leave room for the rows.

    If they do not fit where nothing holds batches back, these may be less and less far ahead of their slowest reader,
    until a placement fits. Where none does, replicas move off the cores that rows overfill, and batches whose rows do
    that run even less far ahead, until shorter leads hardly give anything better.
    """
    shortener = LeadShortener(placer)
    least = short_leads(placer.timed)
    rows = [timed.batch.lanes / placer.samples for timed in placer.timed]
    ways = [[UNBOUNDED] * len(rows)]
    for share in SHARES if placer.samples > 1 else SHARES[1:]:
        ways.append([max(few, int(share * most)) for few, most in zip(least, rows, strict=True)])
    found: list[PlacedLanes] = []
    futile = 0
    for leads in ways:
        rounds = placer.placements(leads)
        first = list(islice(rounds, FIRST_ROUNDS))
        if any(placed.fits for placed in first):
            found += [*first, *rounds]
            break
        quickest = min(first, key=lambda placed: placed.timeline.makespan)
        if (moved := relieved(placer, quickest)) is not quickest:
            first.append(moved)
        first += [held for held in map(shortener.shorten, first) if held is not None]
        before = _best(found) if found else None
        found += first
        if before and before.fits and _best(first).timeline.makespan > WORTH_WHILE * before.timeline.makespan:
            futile += 1
        if futile == PATIENCE:
            break
    last = [_best(found), placer.in_turn_placement(_best(found).leads)]
    last = [placed for placed in last if placed is not None]
    return _best([*last, *(other for placed in last for other in placer.reordered(placed))])


def _measured(placer: ReplicaPlacer, placed: PlacedLanes, measure: Measure) -> PlacedLanes:
    """The schedule, or a plain one that fits, goes no farther, and with which the program takes less time."""
    best = replace(placed, measured=measure(placed))
    for plain in plain_schedules(placer, placed):
        if plain.excess > best.excess or (placer.is_far(plain) and not placer.is_far(placed)):
            continue
        cycles = measure(plain)
        if cycles is not None and cycles < best.cycles:
            best = replace(plain, measured=cycles, timeline=replace(plain.timeline, makespan=cycles))
    return best


def _nearer(placer: ReplicaPlacer, placed: PlacedLanes) -> PlacedLanes:
    """The best schedule with cores where on the mesh traffic is near, if it fits and traffic is not far any more."""
    near = placer.moved_near(placed)
    near = _best([near, *placer.reordered(near)])
    return placed if near.excess > placed.excess or placer.is_far(near) else near


def _best(found: Sequence[PlacedLanes]) -> PlacedLanes:
    return min(found, key=_rank)


def _rank(placed: PlacedLanes) -> tuple[int, int]:
    return placed.excess, placed.cycles
