"""PEFT with weight residency: tasks of one group share the core that holds their weights.

A *group* is one replica of one part of a layer; its tasks are runs of lanes. The first task of a group that is
scheduled chooses the core, by least EFT + OCT as in plain PEFT (:mod:`.peft`); from then on every other core is
infeasible for the group. The tasks that a core's groups have still to run count as if they came first: they are bound
to it. Among equal cores, the one that holds fewest groups is taken. A choice that would leave no room for the groups
still to come is passed over.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from .peft import InfeasibleError, Ints, TaskGraph, optimistic_cost_table


@dataclass(frozen=True, eq=False)
class Residency:
    """The groups of the tasks, and what each group takes of its core for good."""

    group: Ints
    """[v] group of each task."""
    arrays: Ints
    """[g] arrays that the weights of a group take."""
    memory: Ints
    """[g] estimated bytes of local memory; a core over the limit is taken only if all are."""
    arrays_per_core: int
    memory_per_core: int


@dataclass(frozen=True, eq=False)
class ResidentSchedule:
    """Where each group lives, and when each task runs."""

    core: Ints
    """[g] core of each group."""
    start: Ints
    """[v] first cycle of each task."""
    finish: Ints
    """[v] first cycle after each task."""


def schedule_resident(
    graph: TaskGraph, residency: Residency, priority: Ints, core_count: int | None = None
) -> ResidentSchedule:
    """Schedules every task; ``graph.cost`` need not differ between cores. Runs on a core are not preempted.

    With ``core_count``, the graph has one column, which stands for that many equal cores: a row of the optimistic cost
    table is then the same everywhere, and no table of all tasks on all cores is made.

    Of the tasks that are ready, the one of least ``priority`` [v] is next. Plain PEFT takes the one of greatest rank,
    but all rows of a layer have nearly the same rank, so that it would take layer after layer; a wavefront is wanted.
    Raises InfeasibleError (of the group's first task) if the groups do not fit the cores.
    """
    table = optimistic_cost_table(graph)
    assert core_count is None or (graph.core_count == 1 and graph.distance is None), "equal cores have one column"
    core_count = core_count or graph.core_count
    cost: Ints = np.broadcast_to(graph.cost, (graph.task_count, core_count))
    homes = _Homes(residency, core_count)
    core = np.full(len(residency.arrays), -1, np.int64)
    start, finish = np.zeros(graph.task_count, np.int64), np.zeros(graph.task_count, np.int64)
    available, pending = np.zeros(core_count, np.int64), np.zeros(core_count, np.int64)
    work = np.bincount(residency.group, graph.cost[:, 0], len(residency.arrays)).astype(np.int64)
    waiting = np.diff(graph.first_in)
    ready = [(int(priority[task]), int(task)) for task in np.flatnonzero(waiting == 0)]
    heapq.heapify(ready)
    while ready:
        _, task = heapq.heappop(ready)
        entering = graph.by_dst[graph.first_in[task] : graph.first_in[task + 1]]
        producers = graph.src[entering]
        producer_cores = core[residency.group[producers]]
        group = int(residency.group[task])
        if core[group] < 0:
            remote = producer_cores[:, None] != np.arange(core_count)
            arrival = (finish[producers, None] + graph.comm[entering, None] * remote).max(axis=0, initial=0)
            earliest = np.maximum(available, arrival) + cost[task]
            core[group] = homes.take(group, earliest + table[task] + pending, task)
            pending[core[group]] += work[group]
        home = int(core[group])
        arrived = finish[producers] + graph.comm[entering] * (producer_cores != home)
        start[task] = max(int(available[home]), int(arrived.max(initial=0)))
        finish[task] = start[task] + cost[task, home]
        available[home] = finish[task]
        pending[home] -= cost[task, home]
        for consumer in graph.dst[graph.first_out[task] : graph.first_out[task + 1]].tolist():
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                heapq.heappush(ready, (int(priority[consumer]), consumer))
    return ResidentSchedule(core, start, finish)


def validate_residency(residency: Residency, core: Ints, core_count: int) -> list[str]:
    """Lists what is wrong with the homes of the groups, in words. Shares nothing with the scheduler."""
    found: list[str] = []
    for group, home in enumerate(core.tolist()):
        if not 0 <= home < core_count:
            found.append(f"group {group} is on core {home} of {core_count}")
    for home in range(core_count):
        used = sum(int(residency.arrays[group]) for group in range(len(core)) if core[group] == home)
        if used > residency.arrays_per_core:
            found.append(f"core {home} holds {used} arrays of {residency.arrays_per_core}")
    return found


class _Homes:
    """Room on the cores, and a proof at every step that the groups without a home still fit."""

    def __init__(self, residency: Residency, core_count: int) -> None:
        self._residency = residency
        self._free = np.full(core_count, residency.arrays_per_core, np.int64)
        self._memory = np.full(core_count, residency.memory_per_core, np.int64)
        self._groups = np.zeros(core_count, np.int64)
        self._homeless = np.ones(len(residency.arrays), np.bool_)

    def take(self, group: int, objective: Ints, task: int) -> int:
        """Gives the group the core of least ``objective`` [p] that has room and leaves room for the others."""
        arrays, memory = int(self._residency.arrays[group]), int(self._residency.memory[group])
        fits = self._free >= arrays
        roomy = fits & (self._memory >= memory)
        candidates = np.flatnonzero(fits)
        order = np.lexsort((candidates, self._groups[candidates], objective[candidates], ~roomy[candidates]))
        self._homeless[group] = False
        tried: set[int] = set()
        for core in candidates[order].tolist():
            # Cores with the same room are the same to whoever comes later.
            if int(self._free[core]) in tried:
                continue
            self._free[core] -= arrays
            if self._others_fit():
                self._memory[core] -= memory
                self._groups[core] += 1
                return core
            self._free[core] += arrays
            tried.add(int(self._free[core]))
        available = (int(self._free.max()),)
        raise InfeasibleError(task, (arrays,), available, ("arrays",))

    def _others_fit(self) -> bool:
        """Whether first-fit decreasing finds room for every group without a home."""
        left = np.sort(self._residency.arrays[self._homeless])[::-1]
        left = left[left > 0]
        if left.sum() > self._free.sum():
            return False
        # While a core for each has room for the largest, first-fit finds one.
        if int((self._free >= left.max(initial=0)).sum()) >= len(left):
            return True
        free = self._free.copy()
        for arrays in left:
            room = np.flatnonzero(free >= arrays)
            if not room.size:
                return False
            free[room[0]] -= arrays
        return True
