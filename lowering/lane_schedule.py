"""The schedule of a module's lanes: a core for each replica, and when each lane runs.

There are several ways to each decision, none of which is always best. All are tried, and the best schedule stays: the
one of which least memory is missing, and of those the one that ends first (`PlacedLanes.cost`).

1. :func:`first_schedule`: replicas are packed, or go to one core after the other; lanes run in each of the orders of
   :func:`.placed_lanes.lane_orders`.
2. `IMPROVEMENTS`, each on the best schedule of the one before.
3. :func:`or_plain`: of a small network, plain schedules are measured against it.
4. :func:`schedule_spread` does all of that again with more replicas of what has no weights, of several samples of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, TypeAlias

from ..analysis.lane_events.layout import UNBOUNDED
from ..dialects.spat import ComputeBatchOp
from .lane_cost import BatchCosts
from .lane_tasks import spread_vector_batches
from .memory_relief import relieved
from .placed_lanes import PlacedLanes, best_of
from .placement_search import shortened
from .plain_schedule import plain_schedules
from .replica_placement import ReplicaPlacer
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
"""Lanes of a network for which plain schedules are tried as well, which takes no time to speak of there; and, for
several samples, more replicas: rows that wait for them take little memory, and their messages little time."""

CLEARLY = 50
"""Of one sample, a plain schedule has to be shorter by one part in so many. What is by less is as often longer by the
clock."""


class Measured(NamedTuple):
    """What a schedule is found to come to on the program."""

    is_crowded: bool
    """Whether one core has so much more to do than if replicas took cores in turn that the guard would not accept it,
    though all may end soon."""
    cycles: int


Measure: TypeAlias = "Callable[[PlacedLanes], Measured | None]"
"""None if it cannot be told."""


def schedule_spread(
    batches: Sequence[ComputeBatchOp],
    costs: BatchCosts,
    samples: int = 1,
    lead: int = 0,
    measure: Measure | None = None,
) -> PlacedLanes:
    """The schedule of :func:`schedule_replicas`, once batches without weights have replicas.

    Of several samples, these are as few as keep up. In small networks, they are also tried to be as many as for one
    sample, and stay so if all ends sooner. Of those, plain schedules are tried as well, if what they take can be
    measured: where lanes are few, which one a core takes first may cost more than any rank can tell.
    """
    spread_vector_batches(batches, costs, samples)
    few = [batch.properties["replicas"] for batch in batches]
    if sum(batch.lane_count for batch in batches) > FEW_LANES:
        return schedule_replicas(batches, costs, samples, lead)
    placed = schedule_replicas(batches, costs, samples, lead, measure)
    if samples == 1:
        return placed
    spread_vector_batches(batches, costs)
    if few == [batch.properties["replicas"] for batch in batches]:
        return placed
    more = schedule_replicas(batches, costs, samples, lead, measure)
    if more.cost < placed.cost:
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
    placed = first_schedule(placer)
    for improved in IMPROVEMENTS:
        placed = improved(placer, placed)
    if lead:
        leads = [lead] * len(batches)
        return replace(placed, leads=leads, timeline=placer.scheduled(placed.timed, leads, placed.order))
    return placed if measure is None else or_plain(placer, placed, measure)


# First schedules


def first_schedule(placer: ReplicaPlacer) -> PlacedLanes:
    """The best of two placements, each in all orders of lanes: the best one that is packed, and replicas in turn with
    the same leads, which is as good in small networks."""
    packed = best_of(_packed(placer))
    in_turn = placer.in_turn_placement(packed.leads)
    placements = [packed] if in_turn is None else [packed, in_turn]
    return best_of([*placements, *(other for placed in placements for other in placer.reordered(placed))])


def _packed(placer: ReplicaPlacer) -> list[PlacedLanes]:
    """Placements where replicas collide least, with leads that leave room for the rows.

    If they do not fit where nothing holds batches back, these may be less and less far ahead of their slowest reader,
    until a placement fits. Where none does, replicas move off the cores that rows overfill, and batches whose rows do
    that run even less far ahead, until shorter leads hardly give anything better.
    """
    shortener = LeadShortener(placer)
    found: list[PlacedLanes] = []
    futile = 0
    for leads in _leads_to_try(placer):
        rounds = placer.placements(leads)
        first = list(islice(rounds, FIRST_ROUNDS))
        if any(placed.fits for placed in first):
            return [*found, *first, *rounds]
        quickest = min(first, key=lambda placed: placed.timeline.makespan)
        if (moved := relieved(placer, quickest)) is not quickest:
            first.append(moved)
        first += [held for held in map(shortener.shorten, first) if held is not None]
        before = best_of(found) if found else None
        found += first
        if before and before.fits and best_of(first).timeline.makespan > WORTH_WHILE * before.timeline.makespan:
            futile += 1
        if futile == PATIENCE:
            break
    return found


def _leads_to_try(placer: ReplicaPlacer) -> list[list[int]]:
    """[ways][batches] by how many rows each may be ahead: first as far as it comes, then shares of a sample's rows."""
    rows = [timed.batch.lanes / placer.samples for timed in placer.timed]
    least = short_leads(placer.timed)
    shares = SHARES if placer.samples > 1 else SHARES[1:]  # of one sample, a lead of all its rows is none
    held = [[max(few, int(share * most)) for few, most in zip(least, rows, strict=True)] for share in shares]
    return [[UNBOUNDED] * len(rows), *held]


# Improvements


def in_best_order(placer: ReplicaPlacer, placed: PlacedLanes) -> PlacedLanes:
    """The best schedule on the same cores, with lanes in any order."""
    return best_of([placed, *placer.reordered(placed)])


def brought_near(placer: ReplicaPlacer, placed: PlacedLanes) -> PlacedLanes:
    """If traffic goes far, the best schedule with cores where on the mesh it is near; if that fits, and is near.

    Cores near the port of global memory are quick to load, and may be far from each other.
    """
    if not placer.is_far(placed):
        return placed
    near = in_best_order(placer, placer.moved_near(placed))
    return placed if near.excess > placed.excess or placer.is_far(near) else near


Improvement: TypeAlias = Callable[[ReplicaPlacer, PlacedLanes], PlacedLanes]

IMPROVEMENTS: tuple[Improvement, ...] = (shortened, in_best_order, brought_near)
"""What is done to the first schedule, one after another: single replicas move away from those that they hold up, lanes
go in another order, cores move to where traffic is near. Each gives what it got if it finds none better."""


def or_plain(placer: ReplicaPlacer, placed: PlacedLanes, measure: Measure) -> PlacedLanes:
    """The schedule, or a plain one that fits, goes no farther, and with which the program clearly takes less time, or
    is not crowded if it was."""
    found = measure(placed)
    if found is None:
        return placed
    best = replace(placed, measured=found.cycles)
    limit = found._replace(cycles=found.cycles - found.cycles // CLEARLY) if placer.samples == 1 else found
    for plain in plain_schedules(placer, placed):
        if plain.excess > best.excess or (placer.is_far(plain) and not placer.is_far(placed)):
            continue
        found = measure(plain)
        if found is not None and found < limit:
            limit = found
            best = replace(plain, measured=found.cycles, timeline=replace(plain.timeline, makespan=found.cycles))
    return best
