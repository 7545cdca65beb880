"""The core of each replica: where it loses least time to others, then the place on the mesh that keeps traffic near.

What each replica would do with a core of its own is found by the scheduler itself (`analysis/timeline.py`), on as many
cores as there are replicas and with the network between them at its usual distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..analysis.core_packing import SCALE, Groups, pack_groups
from ..analysis.lane_columns import graph_of
from ..analysis.lane_events.layout import UNBOUNDED
from ..analysis.lane_graph import LaneGraph
from ..analysis.lane_rank import Samples
from ..analysis.lane_scheduler import LaneScheduler, lane_cores, schedule_lanes
from ..analysis.message_times import residences
from ..analysis.occupancy import busy_cycles
from ..analysis.placement import place_cores
from ..analysis.row_uses import row_uses
from ..analysis.timeline import TimedBatch, Timeline
from ..analysis.yardsticks import byte_hops_at_random, most_byte_hops
from ..dialects.spat import ComputeBatchOp
from ..support.arrays import Ints
from .lane_cost import BatchCosts
from .lane_tasks import moved_batches, timed_batches
from .placed_lanes import LaneOrder, PlacedLanes, lane_orders
from .schedule_memory import GAPS, estimated_peaks, slot_bytes, zero_rows
from .target import Target
from .transfer_costs import TransferModel, request_cycles, row_bytes

PERIODS = 128
"""Periods of the makespan that the packing tells apart. Fewer see collisions where there are none, more take times for
certain that are only expected. (+1.9 %, +0.5 %)"""

REACH = 2
"""Periods by which a lane may run earlier or later on a shared core than on one of its own: it counts as spread over
them. As `PERIODS`, the other way round. (+0.8 %, +1.5 %)"""

MEMORY_SHARE = 0.8
"""Share of a core's memory that the packing fills. The rest is for rows that come early, and for gaps between buffers:
more of it packs worse, less does not fit in the end."""

GAPS_OF_LOADS = (2, 3, 4, 6)
"""Times from a load to the next constant that is fetched, as multiples of what the port takes for the load; the longest
that hardly costs anything is taken. Where constants decide how long a network takes, they are to come soon; elsewhere
it is better not to have lanes wait that load something at other times than planned."""

TOLERANCE = 0.005
"""Share of the makespan that longer gaps may cost."""

PERIOD = 0.5
"""Time from the deadline of one sample to that of the next, as a share of the shortest possible interval. The shorter,
the more samples are in flight: cores wait less, and hold more rows."""

ROUNDS = 8
"""Placements to try, each for the times at which replicas are busy in the schedule on the one before. More takes the
compiler's time. (+0.1 %, +0.2 %)"""


class ReplicaPlacer:
    """Places the replicas of ``batches``. Methods raise `NoRoomError` if the weights do not fit."""

    def __init__(self, batches: Sequence[ComputeBatchOp], costs: BatchCosts, samples: int = 1) -> None:
        replicas = np.array([batch.replica_count for batch in batches])
        target = costs.target
        self.batches, self.costs, self.target, self.samples = batches, costs, target, samples
        self.in_turn = samples > 1
        self.first, self.count = np.cumsum(replicas)[:-1], int(replicas.sum())
        groups = np.split(np.arange(self.count), self.first)
        self.timed = timed_batches(batches, groups, costs, TransferModel(target, uniform=True))
        self.group_of = [one.cores for one in self.timed]
        work = sum(one.cycles * one.batch.lanes for one in self.timed)
        share = work // (samples * target.machine.core_count)
        self.graph = graph_of(self.timed, Samples(samples, int(PERIOD * share)))
        self.slots = [slot_bytes(batch, target) for batch in batches]
        self.zeros = zero_rows(batches, target)
        model = TransferModel(target)
        self.transfers = [model.of(batch.outs[0]) for batch in batches]
        self.scratch = np.repeat([costs.of(batch).scratch_bytes for batch in batches], replicas)
        self.arrays = np.repeat([costs.of(batch).arrays for batch in batches], replicas)
        self.owner = np.repeat(np.arange(len(batches)), replicas)
        self.request = request_cycles(target.machine)
        self.gap = GAPS_OF_LOADS[0]
        """Is chosen on the first placement."""
        self._is_paced = False
        self.room = target.machine.local_memory_bytes
        if samples > 1:
            self.room = int((1 - GAPS) * self.room)

    @cached_property
    def orders(self) -> tuple[LaneOrder, ...]:
        """That of ranks, by which replicas are placed, and the others."""
        return lane_orders(self.graph)

    def placements(self, leads: Sequence[int] | None = None) -> Iterator[PlacedLanes]:
        """Placements, each for the times at which replicas are busy on the one before; nothing is held back without
        ``leads``."""
        leads = [UNBOUNDED] * len(self.batches) if leads is None else leads
        machine, constants = self.target.machine, [self.costs.of(batch).constant_bytes for batch in self.batches]
        timeline = schedule_lanes(self.timed, self.count, leads, self.graph, self.in_turn)
        memory = _memory(self.graph, self.timed, timeline, self.slots, constants)
        limit = int(MEMORY_SHARE * machine.local_memory_bytes)
        for _ in range(ROUNDS):
            groups = Groups(_busy(self.group_of, timeline, self.count), memory, self.scratch, self.arrays, self.owner)
            core = pack_groups(groups, machine.core_count, machine.arrays_per_core, limit)
            placed = self._placed(core, leads, self.room)
            if not self._is_paced:
                placed = self._paced(placed)
            timeline = placed.timeline
            yield placed

    def in_turn_placement(self, leads: Sequence[int]) -> PlacedLanes | None:
        """One core after the other gets the next replica, if it has room for its arrays; None if none has any more.

        In small networks, of which each core holds little, that is as good as any other.
        """
        free, core = [self.target.machine.arrays_per_core] * self.target.machine.core_count, 0
        found: list[int] = []
        for arrays in self.arrays.tolist():
            turns = (at % len(free) for at in range(core, core + len(free)))
            where = next((at for at in turns if free[at] >= arrays), None)
            if where is None:
                return None
            free[where] -= arrays
            found.append(where)
            core = where + 1
        return self._placed(np.array(found, np.int64), leads, self.room)

    def _paced(self, placed: PlacedLanes) -> PlacedLanes:
        """With the longest gaps between loads that hardly make the schedule longer."""
        self._is_paced = True
        found: dict[int, Timeline] = {self.gap: placed.timeline}
        for self.gap in GAPS_OF_LOADS[1:]:
            found[self.gap] = self.scheduled(placed.timed, placed.leads)
        least = min(timeline.makespan for timeline in found.values())
        self.gap = max(gap for gap, timeline in found.items() if timeline.makespan <= (1 + TOLERANCE) * least)
        timeline = found[self.gap]
        return replace(placed, timeline=timeline, excess=self.excess(placed.timed, timeline, placed.room))

    def moved_near(self, placed: PlacedLanes) -> PlacedLanes:
        """The schedule with the same groups on one core, and cores moved to where on the mesh traffic is near."""
        return self._placed(np.concatenate(placed.cores), placed.leads, placed.room, placed.order)

    def is_far(self, placed: PlacedLanes) -> bool:
        """Whether traffic goes hardly less far than between cores at random, so that the guard would not accept it."""
        hops = self.target.machine.hops
        traffic = core_traffic(
            self.batches, placed.graph, np.concatenate([one.cores for one in placed.timed]), self.target
        )
        sent = int(traffic.sum() - traffic.trace())
        return int((traffic * hops).sum()) > most_byte_hops(byte_hops_at_random(sent, hops), len(hops))

    def reordered(self, placed: PlacedLanes) -> Iterator[PlacedLanes]:
        """The schedules on the same cores with lanes in each of the other orders."""
        for order in self.orders:
            if order != placed.order:
                timeline = self.scheduled(placed.timed, placed.leads, order)
                excess = self.excess(placed.timed, timeline, placed.room)
                yield replace(placed, order=order, timeline=timeline, excess=excess)

    def scheduled(self, timed: list[TimedBatch], leads: Sequence[int], order: LaneOrder | None = None) -> Timeline:
        """The schedule of ``timed``, the batches on some cores; in order of ranks, if no other one is given."""
        return self.scheduler(timed, leads, order).schedule(lane_cores(timed))

    def scheduler(self, timed: list[TimedBatch], leads: Sequence[int], order: LaneOrder | None = None) -> LaneScheduler:
        """What schedules ``timed``, whatever their cores."""
        graph, as_rows_come = self.orders[0] if order is None else order
        in_turn = self.in_turn and not as_rows_come
        cores = self.target.machine.core_count
        return LaneScheduler(timed, cores, leads, graph, in_turn, self.request, self.gap, as_rows_come)

    def peaks(self, timed: list[TimedBatch], timeline: Timeline) -> Ints:
        """[cores] bytes that seem to be held at the moment when they are most."""
        return estimated_peaks(self.batches, timed, timeline, self.costs, self.slots, self.graph, self.zeros)

    def excess(self, timed: list[TimedBatch], timeline: Timeline, room: int) -> int:
        """Bytes that seem to be missing in the core that needs most, if each has ``room``."""
        return max(0, int(self.peaks(timed, timeline).max()) - room)

    def with_cores(self, timed: list[TimedBatch], batch: int, core: Ints) -> list[TimedBatch]:
        """The batches when only replicas of one have moved: ``core`` [groups] is where all are."""
        moved = list(timed)
        moved[batch] = replace(timed[batch], cores=core[self.group_of[batch]])
        return moved

    def _placed(self, core: Ints, leads: Sequence[int], room: int, order: LaneOrder | None = None) -> PlacedLanes:
        """The schedule with each group on its ``core``, wherever on the mesh these are."""
        core = core_places(self.batches, self.graph, core[np.concatenate(self.group_of)], self.target)[core]
        cores = np.split(core, self.first)
        timed = moved_batches(self.timed, cores, self.transfers)
        order = self.orders[0] if order is None else order
        timeline = self.scheduled(timed, leads, order)
        return PlacedLanes(cores, order, timed, timeline, self.excess(timed, timeline, room), leads, room)


def core_places(batches: Sequence[ComputeBatchOp], graph: LaneGraph, core: Ints, target: Target) -> Ints:
    """[cores] the place on the mesh of each core, when the lanes are on ``core`` [n], that keeps traffic near."""
    return place_cores(core_traffic(batches, graph, core, target), target.machine.hops)


def core_traffic(batches: Sequence[ComputeBatchOp], graph: LaneGraph, core: Ints, target: Target) -> Ints:
    """[cores, cores] bytes of rows from the core that computes them to each that reads them, when the lanes are on
    ``core`` [n]; those that stay are on the diagonal."""
    uses = row_uses(graph, core)
    size = np.array([row_bytes(batch.outs[0], target) for batch in batches])[graph.batch_of[uses.row]]
    traffic = np.zeros((target.machine.core_count, target.machine.core_count), np.int64)
    np.add.at(traffic, (core[uses.row], uses.core), size)
    return traffic


def _busy(group_of: Sequence[Ints], timeline: Timeline, count: int) -> Ints:
    """[groups, PERIODS] the share of each period that each group's lanes take, spread over its neighbours, in parts of
    `SCALE`."""
    width = -(-max(timeline.makespan, 1) // PERIODS)
    found = busy_cycles(np.concatenate(group_of), count, timeline.starts, timeline.finishes, width, PERIODS)
    total = np.cumsum(np.pad(found, ((0, 0), (REACH + 1, REACH))), axis=1)
    near = total[:, 2 * REACH + 1 :] - total[:, : -2 * REACH - 1]
    return SCALE * near // ((2 * REACH + 1) * width)


def _memory(
    graph: LaneGraph, timed: list[TimedBatch], timeline: Timeline, slots: Sequence[int], constants: Sequence[int]
) -> Ints:
    """[groups, PERIODS] bytes of the rows that each group holds, and of its constants."""
    group = np.concatenate([one.cores for one in timed])
    found = np.zeros((int(group.max()) + 1, PERIODS), np.int64)
    width = max(timeline.makespan, 1) / PERIODS
    for one, constant in zip(timed, constants, strict=True):
        found[np.unique(one.cores)] += constant
    for batch, core, first, last, rows in residences(graph, group, timeline).rings().tolist():
        begin, end = int(first / width) - REACH, int(last / width) + REACH + 1
        found[core, max(begin, 0) : end] += rows * slots[batch]
    return found
