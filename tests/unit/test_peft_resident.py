"""PEFT with weight residency: groups stay on one core, cores have room, nothing starts before what it needs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tilec.analysis.peft import InfeasibleError, TaskGraph
from tilec.analysis.peft_resident import Residency, ResidentSchedule, schedule_resident, validate_residency

Ints = NDArray[np.int64]
ROOM = 10**9


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)


@st.composite
def problems(draw: st.DrawFn) -> tuple[TaskGraph, Residency, int]:
    cores, groups = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    group = draw(st.lists(st.integers(0, groups - 1), min_size=groups, max_size=12))
    group[:groups] = range(groups)
    tasks = len(group)
    cost = np.array(draw(st.lists(st.integers(1, 50), min_size=tasks, max_size=tasks)))[:, None]
    pairs = st.tuples(st.integers(0, tasks - 1), st.integers(0, tasks - 1))
    chosen = draw(st.sets(pairs.filter(lambda pair: pair[0] < pair[1]), max_size=20)) if tasks > 1 else set()
    edges = [(*pair, draw(st.integers(0, 30))) for pair in sorted(chosen)]
    graph = TaskGraph.build(cost * np.ones(cores, np.int64), np.array(edges, np.int64).reshape(-1, 3))
    arrays = draw(st.lists(st.integers(0, 4), min_size=groups, max_size=groups))
    memory = draw(st.lists(st.integers(0, 20), min_size=groups, max_size=groups))
    residency = Residency(ints(*group), ints(*arrays), ints(*memory), draw(st.integers(4, 8)), draw(st.integers(5, 40)))
    return graph, residency, cores


def schedule(graph: TaskGraph, residency: Residency) -> ResidentSchedule:
    return schedule_resident(graph, residency, np.arange(graph.task_count))


def check(graph: TaskGraph, residency: Residency, cores: int, found: ResidentSchedule) -> None:
    """Short and dumb."""
    assert validate_residency(residency, found.core, cores) == []
    home = found.core[residency.group]
    assert (found.finish - found.start == graph.cost[np.arange(graph.task_count), home]).all()
    for edge in range(len(graph.src)):
        producer, consumer = graph.src[edge], graph.dst[edge]
        travel = graph.comm[edge] if home[producer] != home[consumer] else 0
        assert found.start[consumer] >= found.finish[producer] + travel
    for core in range(cores):
        mine = np.flatnonzero(home == core)
        mine = mine[np.argsort(found.start[mine], kind="stable")]
        assert (found.start[mine[1:]] >= found.finish[mine[:-1]]).all()


@settings(deadline=None)
@given(problems())
def test_one_column_stands_for_equal_cores(problem: tuple[TaskGraph, Residency, int]) -> None:
    graph, residency, cores = problem
    column = TaskGraph.build(graph.cost[:, :1], np.stack((graph.src, graph.dst, graph.comm), axis=1))
    priority = np.arange(graph.task_count)
    try:
        expected = schedule_resident(graph, residency, priority)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            schedule_resident(column, residency, priority, cores)
        return
    found = schedule_resident(column, residency, priority, cores)
    for name in ("core", "start", "finish"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


@settings(deadline=None)
@given(problems())
def test_schedule(problem: tuple[TaskGraph, Residency, int]) -> None:
    graph, residency, cores = problem
    try:
        found = schedule(graph, residency)
    except InfeasibleError:
        # First-fit decreasing leaves at most this much unused.
        assert residency.arrays.sum() > cores * (residency.arrays_per_core - residency.arrays.max() + 1) - 1
        return
    check(graph, residency, cores, found)
    again = schedule(graph, residency)
    assert np.array_equal(found.core, again.core)
    assert np.array_equal(found.start, again.start)


def independent(arrays: list[int], memory: list[int], cores: int, per_core: int, bytes_per_core: int) -> Ints:
    """The cores of groups of one task each."""
    count = len(arrays)
    graph = TaskGraph.build(np.ones((count, cores), np.int64), np.zeros((0, 3), np.int64))
    residency = Residency(np.arange(count), ints(*arrays), ints(*memory), per_core, bytes_per_core)
    found = schedule(graph, residency)
    check(graph, residency, cores, found)
    return found.core


def test_spreads() -> None:
    assert sorted(independent([1] * 4, [0] * 4, 4, 8, ROOM).tolist()) == [0, 1, 2, 3]


def test_leaves_room_for_those_to_come() -> None:
    # Two small groups come first; the large ones need a core each.
    core = independent([1, 1, 8, 7], [0] * 4, 2, 9, ROOM)
    assert core[2] != core[3]


def test_exact_fit() -> None:
    core = independent([4, 4, 4, 4], [0] * 4, 2, 8, ROOM)
    assert np.bincount(core).tolist() == [2, 2]


def test_memory_is_a_wish() -> None:
    # Both fit only one core's memory, and both have to go somewhere.
    assert len(independent([1, 1, 1], [10, 10, 10], 2, 8, 10)) == 3


def test_memory_gives_way_to_arrays() -> None:
    # The core with free memory has to be kept for the group that needs all its arrays.
    core = independent([4, 4, 8], [10, 10, 0], 2, 8, 10)
    assert core[0] == core[1] != core[2]


def test_does_not_fit() -> None:
    with pytest.raises(InfeasibleError):
        independent([5, 5, 5], [0] * 3, 2, 8, ROOM)


def test_validator() -> None:
    residency = Residency(ints(0, 1), ints(5, 5), ints(0, 0), 8, ROOM)
    assert validate_residency(residency, ints(0, 0), 2) == ["core 0 holds 10 arrays of 8"]
    assert validate_residency(residency, ints(0, 2), 2) == ["group 1 is on core 2 of 2"]
