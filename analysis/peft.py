"""PEFT list scheduling of a task graph on heterogeneous cores, as published.

H. Arabnejad, J. G. Barbosa, "List Scheduling Algorithm for Heterogeneous Systems by an Optimistic Cost Table", IEEE
Transactions on Parallel and Distributed Systems 25(3), 2014. Three parts: the optimistic cost table (OCT), the rank
that is its mean over cores, and the list scheduler that gives the ready task of greatest rank to the core where
earliest finish plus OCT is least, filling idle gaps.

Every time is an integer number of cycles. Ties go to the lowest task id and to the lowest core id, so tasks that tie
in rank run in id order: number them in the order in which they should then run.

Not handled: contention between messages, and the cycles that a blocking transfer takes from its two cores (model these
as tasks of their own). The OCT does not look ahead at capacity.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints

Floats = npt.NDArray[np.float64]

INFEASIBLE = 1 << 60
"""Cost of a task on a core that cannot run it; greater than any time that a schedule can reach."""

_ROUTE_BLOCK = 1 << 21
"""Table entries that one block of the pairwise min-plus product may hold."""


class InfeasibleError(Exception):
    """No core can take ``task``: it needs ``demand`` of the resources, and the roomiest core has ``available``."""

    def __init__(self, task: int, demand: tuple[int, ...], available: tuple[int, ...], names: tuple[str, ...]) -> None:
        self.task = task
        self.demand = demand
        self.available = available
        self.names = names
        needs = ", ".join(
            f"{need} {name} (at most {have} left on a core that can run it)"
            for name, need, have in zip(names, demand, available, strict=True)
        )
        super().__init__(f"task {task} fits no core: needs {needs}" if needs else f"task {task} fits no core")


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """A directed acyclic graph of v tasks for p cores. Build it with :meth:`build`."""

    cost: Ints
    """[v, p] cycles of a task on a core, or ``INFEASIBLE``."""
    src: Ints
    """[e] producer of each edge; edges are sorted by (src, dst)."""
    dst: Ints
    """[e] consumer of each edge."""
    comm: Ints
    """[e] cycles that the edge's data travels between different cores; nothing within one core."""
    distance: Ints | None = None
    """[p, p] factor on ``comm`` from a core to a core, zero on the diagonal; None stands for 1 between any two."""

    first_out: Ints = field(init=False)
    """[v + 1] edges ``first_out[i]:first_out[i + 1]`` leave task i."""
    by_dst: Ints = field(init=False)
    """[e] edge ids sorted by (dst, src)."""
    first_in: Ints = field(init=False)
    """[v + 1] edges ``by_dst[first_in[i]:first_in[i + 1]]`` enter task i."""

    @classmethod
    def build(cls, cost: npt.ArrayLike, edges: npt.ArrayLike, distance: npt.ArrayLike | None = None) -> TaskGraph:
        """Makes the graph from ``cost`` [v, p] and ``edges`` [e, 3] of (src, dst, comm) in any order.

        Raises ValueError for wrong shapes, ids out of range, negative numbers, a distance with a diagonal, and numbers
        so large that a sum of them could reach ``INFEASIBLE``. A cycle is found by whoever walks the graph.
        """
        table = np.asarray(edges, dtype=np.int64).reshape(-1, 3)
        table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
        hops = None if distance is None else np.asarray(distance, dtype=np.int64)
        cycles = np.minimum(np.asarray(cost, dtype=np.int64), INFEASIBLE)
        return cls(cycles, table[:, 0], table[:, 1], table[:, 2], hops)

    def __post_init__(self) -> None:
        _check(self)
        by_dst = np.argsort(self.dst, kind="stable")
        ids = np.arange(self.task_count + 1)
        object.__setattr__(self, "first_out", np.searchsorted(self.src, ids))
        object.__setattr__(self, "by_dst", by_dst)
        object.__setattr__(self, "first_in", np.searchsorted(self.dst[by_dst], ids))

    @property
    def task_count(self) -> int:
        return self.cost.shape[0]

    @property
    def core_count(self) -> int:
        return self.cost.shape[1]

    def out_edges(self, tasks: Ints) -> Ints:
        """Ids of the edges that leave ``tasks``, task after task."""
        return _ranges(self.first_out, tasks)

    def in_edges(self, tasks: Ints) -> Ints:
        """Ids of the edges that enter ``tasks``, task after task."""
        return self.by_dst[_ranges(self.first_in, tasks)]

    def pairwise_distance(self) -> Ints:
        """[p, p] factor on ``comm``, written out."""
        if self.distance is not None:
            return self.distance
        return 1 - np.eye(self.core_count, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Capacity:
    """Resources of which a task takes some on its core, for good: arrays that hold weights, bytes that stay."""

    demand: Ints
    """[v, r] what each task takes."""
    available: Ints
    """[p, r] what each core has."""
    names: tuple[str, ...]
    """[r] what the resources are called in an error."""

    @classmethod
    def unlimited(cls, graph: TaskGraph) -> Capacity:
        """No resources at all, so that any number of tasks fits on any core."""
        nothing = np.zeros((graph.task_count, 0), dtype=np.int64), np.zeros((graph.core_count, 0), dtype=np.int64)
        return cls(*nothing, ())


@dataclass(frozen=True, eq=False)
class Schedule:
    """Where and when each of v tasks runs."""

    core: Ints
    """[v] core of each task."""
    start: Ints
    """[v] first cycle of each task."""
    finish: Ints
    """[v] first cycle after each task."""
    order: Ints
    """[v] task ids in the order in which the scheduler placed them; every task comes after its predecessors."""

    @property
    def makespan(self) -> int:
        """Cycles until the last task has finished."""
        return int(self.finish.max(initial=0))


def levels(graph: TaskGraph) -> list[Ints]:
    """Tasks by height: exit tasks first, then those whose longest path to an exit has one edge, and so on.

    Kahn's algorithm from the exits, one vectorised step a level. Ids ascend within a level. Raises ValueError when the
    graph has a cycle, naming one task that is on or before it.
    """
    waiting = np.diff(graph.first_out)
    level = np.flatnonzero(waiting == 0)
    found: list[Ints] = []
    while level.size:
        found.append(level)
        entering = graph.in_edges(level)
        producers, counts = np.unique(graph.src[entering], return_counts=True)
        waiting[producers] -= counts
        level = producers[waiting[producers] == 0]
    if (stuck := np.flatnonzero(waiting > 0)).size:
        raise ValueError(f"the task graph has a cycle; task {stuck[0]} is on it or leads into it")
    return found


def optimistic_cost_table(graph: TaskGraph) -> Ints:
    """OCT [v, p]: cycles from the end of task i on core k to the end of the program, in an otherwise empty machine.

        OCT(i, k) = max over j in succ(i) of min over q of  OCT(j, q) + w(j, q) + [q != k] c(i, j)

    The minimum needs only two candidates, the same core and the best core: O(p (e + v)) in all. With a distance matrix
    it is a min-plus product, O(p^2) per distinct (successor, comm) of a level. Exit tasks are 0. Entries are finite
    also where task i itself is infeasible. Raises InfeasibleError when a task has no feasible core.
    """
    hopeless = np.flatnonzero(graph.cost.min(axis=1, initial=INFEASIBLE) >= INFEASIBLE)
    if hopeless.size:
        raise InfeasibleError(int(hopeless[0]), (), (), ())
    table = np.zeros_like(graph.cost)
    to_end = graph.cost.copy()  # OCT + w, from the start of a task rather than its end
    for tasks in levels(graph)[1:]:
        edges = graph.out_edges(tasks)
        out_degree = graph.first_out[tasks + 1] - graph.first_out[tasks]
        routes = _cheapest_routes(graph, to_end, edges)
        table[tasks] = np.maximum.reduceat(routes, np.cumsum(out_degree) - out_degree, axis=0)
        to_end[tasks] = np.minimum(table[tasks] + graph.cost[tasks], INFEASIBLE)
    return table


def rank_oct(graph: TaskGraph, table: Ints) -> Floats:
    """[v] mean of the OCT over the cores that can run the task (the published mean, where every core can)."""
    feasible = graph.cost < INFEASIBLE
    return np.where(feasible, table, 0).sum(axis=1) / feasible.sum(axis=1)


def schedule_peft(graph: TaskGraph, capacity: Capacity | None = None) -> Schedule:
    """Schedules every task: the ready task of greatest rank goes to the core of least EFT + OCT.

    The earliest start on a core is in the first idle gap that is long enough, once the data of all predecessors is
    there. With ``capacity``, a core that cannot hold the task any more is infeasible for it. The choice is greedy, so
    InfeasibleError means that this order of placement found no core, not that none exists.
    """
    table = optimistic_cost_table(graph)
    rank = rank_oct(graph, table)
    distance = graph.pairwise_distance()
    capacity = capacity or Capacity.unlimited(graph)
    remaining = capacity.available.copy()
    waiting = np.diff(graph.first_in)
    core, start, finish = (np.zeros(graph.task_count, dtype=np.int64) for _ in range(3))
    order: list[int] = []
    gaps = _IdleGaps(graph.core_count, graph.task_count)
    ready = [(-rank[task], int(task)) for task in np.flatnonzero(waiting == 0)]
    heapq.heapify(ready)
    while ready:
        _, task = heapq.heappop(ready)
        entering = graph.by_dst[graph.first_in[task] : graph.first_in[task + 1]]
        producers = graph.src[entering]
        arrivals = finish[producers, None] + graph.comm[entering, None] * distance[core[producers]]
        cost = np.where((remaining >= capacity.demand[task]).all(axis=1), graph.cost[task], INFEASIBLE)
        if (cost >= INFEASIBLE).all():
            raise _does_not_fit(task, graph, capacity, remaining)
        core[task], start[task] = gaps.take(arrivals.max(axis=0, initial=0), cost, table[task])
        finish[task] = start[task] + cost[core[task]]
        remaining[core[task]] -= capacity.demand[task]
        order.append(task)
        for consumer in graph.dst[graph.first_out[task] : graph.first_out[task + 1]].tolist():
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                heapq.heappush(ready, (-rank[consumer], consumer))
    return Schedule(core, start, finish, np.array(order, dtype=np.int64))


def validate_schedule(graph: TaskGraph, schedule: Schedule, capacity: Capacity | None = None) -> list[str]:
    """Lists what is wrong with ``schedule``, in words; empty when it is valid. Shares nothing with the scheduler."""
    faults: list[str] = []
    core, start, finish = schedule.core.tolist(), schedule.start.tolist(), schedule.finish.tolist()
    distance = graph.pairwise_distance()
    for task in range(graph.task_count):
        if not 0 <= core[task] < graph.core_count:
            return [f"task {task} is on core {core[task]} of {graph.core_count}"]
        cycles = int(graph.cost[task, core[task]])
        if cycles >= INFEASIBLE:
            faults.append(f"task {task} is on core {core[task]}, which cannot run it")
        if start[task] < 0 or finish[task] != start[task] + cycles:
            faults.append(f"task {task} of {cycles} cycles runs from {start[task]} to {finish[task]}")
    for src, dst, comm in zip(graph.src.tolist(), graph.dst.tolist(), graph.comm.tolist(), strict=True):
        arrival = finish[src] + comm * int(distance[core[src], core[dst]])
        if start[dst] < arrival:
            faults.append(f"task {dst} starts at {start[dst]}, before the data of task {src} arrives at {arrival}")
    by_core = sorted(range(graph.task_count), key=lambda task: (core[task], start[task], finish[task]))
    for before, after in itertools.pairwise(by_core):
        if core[before] == core[after] and finish[before] > start[after]:
            faults.append(f"tasks {before} and {after} overlap on core {core[before]}")
    if sorted(schedule.order.tolist()) != list(range(graph.task_count)):
        return [*faults, "the order does not name every task once"]
    position = {task: index for index, task in enumerate(schedule.order.tolist())}
    for src, dst in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        if position[src] > position[dst]:
            faults.append(f"task {dst} comes before its predecessor {src} in the order")
    if capacity is not None:
        used = [[0] * len(capacity.names) for _ in range(graph.core_count)]
        for task in range(graph.task_count):
            for resource, need in enumerate(capacity.demand[task].tolist()):
                used[core[task]][resource] += need
        for place in range(graph.core_count):
            for resource, name in enumerate(capacity.names):
                if used[place][resource] > capacity.available[place, resource]:
                    have = capacity.available[place, resource]
                    faults.append(f"core {place} holds {used[place][resource]} {name} and has {have}")
    return faults


class _IdleGaps:
    """The idle intervals of all cores, in one flat table sorted by (core, start); the last gap of a core is open.

    Every placement adds at most one gap, so the table has at most v + p rows and one placement is a few vector
    operations over it, however unevenly the tasks lie on the cores.
    """

    def __init__(self, core_count: int, task_count: int) -> None:
        rows = core_count + task_count
        self._count = core_count
        self._core = np.zeros(rows, dtype=np.int64)
        self._begin = np.zeros(rows, dtype=np.int64)
        self._end = np.zeros(rows, dtype=np.int64)
        self._core[:core_count] = np.arange(core_count)
        self._end[:core_count] = 2 * INFEASIBLE

    def take(self, ready: Ints, cost: Ints, lookahead: Ints) -> tuple[int, int]:
        """Occupies the gap of least finish + lookahead; returns its core and the start. All arguments are [p]."""
        core = self._core[: self._count]
        end = self._end[: self._count]
        start = np.maximum(self._begin[: self._count], ready[core])
        finish = start + cost[core]
        score = np.where((finish <= end) & (start < end), finish + lookahead[core], 4 * INFEASIBLE)
        gap = int(score.argmin())  # the first of equals: lowest core, and on it the earliest gap
        chosen = int(core[gap]), int(start[gap])
        self._split(gap, int(start[gap]), int(finish[gap]))
        return chosen

    def _split(self, gap: int, start: int, finish: int) -> None:
        """Removes [start, finish) from ``gap``; drops what is left empty."""
        core, begin, end = int(self._core[gap]), int(self._begin[gap]), int(self._end[gap])
        pieces = [(low, high) for low, high in ((begin, start), (finish, end)) if low < high]
        old, new = slice(gap + 1, self._count), slice(gap + len(pieces), self._count + len(pieces) - 1)
        for column in (self._core, self._begin, self._end):
            column[new] = column[old].copy()
        self._count += len(pieces) - 1
        for row, (low, high) in enumerate(pieces, start=gap):
            self._core[row], self._begin[row], self._end[row] = core, low, high


def _cheapest_routes(graph: TaskGraph, to_end: Ints, edges: Ints) -> Ints:
    """[edges, p]: cycles from the end of the edge's producer on core k through its consumer to the program's end."""
    dst, comm = graph.dst[edges], graph.comm[edges]
    if graph.distance is None:
        best = to_end[dst].min(axis=1)
        return np.minimum(to_end[dst], (best + comm)[:, None])
    (dst, comm), inverse = np.unique(np.stack((dst, comm)), axis=1, return_inverse=True)
    routes = np.empty((dst.size, graph.core_count), dtype=np.int64)
    step = max(1, _ROUTE_BLOCK // max(1, graph.core_count**2))
    for low in range(0, dst.size, step):
        block = slice(low, low + step)
        travel = comm[block, None, None] * graph.distance  # [edge, k, q]
        routes[block] = (travel + to_end[dst[block], None, :]).min(axis=2)
    return routes[inverse.reshape(-1)]


def _ranges(first: Ints, rows: Ints) -> Ints:
    """The concatenation of ``first[r]:first[r + 1]`` for r in ``rows``."""
    counts = first[rows + 1] - first[rows]
    shift = first[rows] - (np.cumsum(counts) - counts)
    return np.arange(int(counts.sum())) + np.repeat(shift, counts)


def _does_not_fit(task: int, graph: TaskGraph, capacity: Capacity, remaining: Ints) -> InfeasibleError:
    usable = remaining[graph.cost[task] < INFEASIBLE]
    return InfeasibleError(
        task, tuple(capacity.demand[task].tolist()), tuple(usable.max(axis=0).tolist()), capacity.names
    )


def _check(graph: TaskGraph) -> None:
    """Raises ValueError unless the arrays of ``graph`` fit together and sums of them stay exact."""
    if graph.cost.ndim != 2:
        raise ValueError(f"cost must have shape [tasks, cores], not {list(graph.cost.shape)}")
    v, p = graph.cost.shape
    ends = np.concatenate((graph.src, graph.dst))
    if np.any((ends < 0) | (ends >= v)):
        raise ValueError(f"an edge names a task outside 0..{v - 1}")
    if np.any(np.diff(graph.src) < 0):
        raise ValueError("edges must be sorted by source; use TaskGraph.build")
    if graph.cost.min(initial=0) < 0 or graph.comm.min(initial=0) < 0:
        raise ValueError("cycles must not be negative")
    if graph.distance is not None:
        if graph.distance.shape != (p, p):
            raise ValueError(f"distance must have shape [{p}, {p}], not {list(graph.distance.shape)}")
        if graph.distance.min(initial=0) < 0 or np.any(np.diagonal(graph.distance)):
            raise ValueError("distance must not be negative, and zero from a core to itself")
    farthest = 1.0 if graph.distance is None else float(graph.distance.max(initial=0))
    finite = np.where(graph.cost < INFEASIBLE, graph.cost, 0)
    longest = float(finite.max(axis=1, initial=0).sum(dtype=np.float64)) + farthest * float(
        graph.comm.sum(dtype=np.float64)
    )
    if longest * max(1, p) >= INFEASIBLE:
        raise ValueError(f"cycles are too large: a path of up to {longest:.3g} cycles is not exact in 64 bits")
