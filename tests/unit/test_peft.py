"""PEFT against its published example, naive references and the invariants that any schedule has."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.peft import (
    INFEASIBLE,
    Capacity,
    InfeasibleError,
    Schedule,
    TaskGraph,
    levels,
    optimistic_cost_table,
    rank_oct,
    schedule_peft,
    validate_schedule,
)

EXAMPLE = json.loads((Path(__file__).parents[1] / "data" / "peft_example.json").read_text())


@st.composite
def graphs(draw: st.DrawFn, least_cost: int = 0, distances: bool = True) -> TaskGraph:
    """Random task graphs: edges lead to higher ids, up to half of the costs are infeasible."""
    v, p = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cost = rng.integers(least_cost, 20, (v, p))
    cost[rng.random((v, p)) < draw(st.sampled_from([0.0, 0.5]))] = INFEASIBLE
    cost[np.arange(v), rng.integers(0, p, v)] = rng.integers(least_cost, 20, v)
    pairs = np.argwhere(np.triu(rng.random((v, v)) < draw(st.sampled_from([0.1, 0.4])), 1))
    edges = np.column_stack((pairs, rng.integers(0, 30, len(pairs))))
    distance = None
    if distances and draw(st.booleans()):
        distance = rng.integers(0, 4, (p, p)) * (1 - np.eye(p, dtype=np.int64))
    return TaskGraph.build(cost, rng.permutation(edges), distance)


def naive_oct(graph: TaskGraph) -> npt.NDArray[np.int64]:
    """The published recursion, word for word. Tasks are numbered topologically."""
    p, distance = graph.core_count, graph.pairwise_distance()
    table = np.zeros_like(graph.cost)
    for i in reversed(range(graph.task_count)):
        for k in range(p):
            for j, comm in zip(graph.dst[graph.src == i], graph.comm[graph.src == i], strict=True):
                routes = [
                    table[j, q] + graph.cost[j, q] + comm * distance[k, q]
                    for q in range(p)
                    if graph.cost[j, q] < INFEASIBLE
                ]
                table[i, k] = max(table[i, k], min(routes))
    return table


def naive_schedule(graph: TaskGraph) -> tuple[list[int], list[int], list[int]]:
    """Core, start and order by the published loop: lists, no gap table, every start tried that can be earliest."""
    table, distance = naive_oct(graph), graph.pairwise_distance()
    feasible = graph.cost < INFEASIBLE
    rank = [float(table[i][feasible[i]].sum() / feasible[i].sum()) for i in range(graph.task_count)]
    core, start, finish = ([-1] * graph.task_count for _ in range(3))
    busy: list[list[tuple[int, int]]] = [[] for _ in range(graph.core_count)]
    order: list[int] = []
    while len(order) < graph.task_count:
        ready = [
            i for i in range(graph.task_count) if i not in order and all(m in order for m in graph.src[graph.dst == i])
        ]
        task = min(ready, key=lambda i: (-rank[i], i))
        options: list[tuple[int, int, int]] = []
        for k in np.flatnonzero(feasible[task]).tolist():
            entering = np.flatnonzero(graph.dst == task)
            data = max(
                (
                    finish[m] + c * distance[core[m], k]
                    for m, c in zip(graph.src[entering], graph.comm[entering], strict=True)
                ),
                default=0,
            )
            cost = int(graph.cost[task, k])
            begin = min(
                t
                for t in [data, *(f for _, f in busy[k] if f >= data)]
                if all(t + cost <= s or f <= t for s, f in busy[k])
            )
            options.append((begin + cost + int(table[task, k]), k, begin))
        _, core[task], start[task] = min(options)
        finish[task] = start[task] + int(graph.cost[task, core[task]])
        busy[core[task]].append((start[task], finish[task]))
        order.append(task)
    return core, start, order


def test_published_example() -> None:
    edges = [(src - 1, dst - 1, comm) for src, dst, comm in EXAMPLE["edges"]]
    graph = TaskGraph.build(EXAMPLE["cost"], edges)
    table = optimistic_cost_table(graph)
    assert table.tolist() == EXAMPLE["oct"]
    assert np.round(rank_oct(graph, table), 1).tolist() == EXAMPLE["rank_oct"]
    schedule = schedule_peft(graph)
    assert (schedule.order + 1).tolist() == EXAMPLE["order"]
    assert (schedule.core + 1).tolist() == EXAMPLE["processor_of_task"]
    assert schedule.makespan == EXAMPLE["makespan"]
    assert validate_schedule(graph, schedule) == []


def test_rank_may_rise_along_an_edge() -> None:
    graph = TaskGraph.build([[10, 10], [1, 1], [10, 10000]], [(0, 1, 0), (1, 2, 5000)])
    rank = rank_oct(graph, optimistic_cost_table(graph))
    assert rank.tolist() == [11, 2510, 0]
    assert schedule_peft(graph).order.tolist() == [0, 1, 2]


@settings(deadline=None)
@given(graphs())
def test_oct_equals_the_published_recursion(graph: TaskGraph) -> None:
    assert np.array_equal(optimistic_cost_table(graph), naive_oct(graph))


@settings(deadline=None)
@given(graphs(least_cost=1))
def test_schedule_equals_the_published_loop(graph: TaskGraph) -> None:
    schedule = schedule_peft(graph)
    assert (schedule.core.tolist(), schedule.start.tolist(), schedule.order.tolist()) == naive_schedule(graph)


@settings(deadline=None)
@given(graphs())
def test_schedule_is_valid_and_above_its_lower_bounds(graph: TaskGraph) -> None:
    schedule = schedule_peft(graph)
    assert validate_schedule(graph, schedule) == []
    least = graph.cost.min(axis=1)
    longest = least.copy()  # path that ends with the task, communication left out
    for src, dst in zip(graph.src, graph.dst, strict=True):
        longest[dst] = max(longest[dst], longest[src] + least[dst])
    assert schedule.makespan >= longest.max()
    assert schedule.makespan * graph.core_count >= least.sum()


@settings(deadline=None)
@given(graphs(), st.integers(0, 2**32))
def test_order_of_the_edges_does_not_matter(graph: TaskGraph, seed: int) -> None:
    edges = np.random.default_rng(seed).permutation(np.column_stack((graph.src, graph.dst, graph.comm)))
    first, second = schedule_peft(graph), schedule_peft(TaskGraph.build(graph.cost, edges, graph.distance))
    for name in ("core", "start", "finish", "order"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


@settings(deadline=None)
@given(graphs())
def test_on_equal_cores_the_oct_ignores_communication(graph: TaskGraph) -> None:
    cost = np.repeat(graph.cost.min(axis=1, keepdims=True), graph.core_count, axis=1)
    equal = TaskGraph.build(cost, np.column_stack((graph.src, graph.dst, graph.comm)), graph.distance)
    silent = TaskGraph.build(cost, np.column_stack((graph.src, graph.dst, 0 * graph.comm)))
    table = optimistic_cost_table(equal)
    assert np.array_equal(table, optimistic_cost_table(silent))
    assert (table == table[:, :1]).all()


@settings(deadline=None)
@given(graphs())
def test_levels_are_heights(graph: TaskGraph) -> None:
    height = np.zeros(graph.task_count, dtype=np.int64)
    for i in reversed(range(graph.task_count)):
        height[i] = max((height[j] + 1 for j in graph.dst[graph.src == i]), default=0)
    expected = [np.flatnonzero(height == h).tolist() for h in range(height.max() + 1)]
    assert [level.tolist() for level in levels(graph)] == expected


@settings(deadline=None)
@given(graphs(), st.integers(1, 4))
def test_capacity_is_respected_or_refused(graph: TaskGraph, arrays: int) -> None:
    rng = np.random.default_rng(graph.task_count)
    available = np.column_stack((np.full(graph.core_count, arrays), np.full(graph.core_count, 100)))
    demand = np.column_stack((rng.integers(0, 3, graph.task_count), rng.integers(0, 50, graph.task_count)))
    capacity = Capacity(demand, available, ("arrays", "bytes"))
    try:
        schedule = schedule_peft(graph, capacity)
    except InfeasibleError:
        return
    assert validate_schedule(graph, schedule, capacity) == []


def test_capacity_spreads_tasks_and_then_refuses() -> None:
    graph = TaskGraph.build([[1, 9], [1, 9], [1, 9]], [])
    two = Capacity(np.array([[2], [2], [2]]), np.array([[4], [2]]), ("arrays",))
    assert schedule_peft(graph, two).core.tolist() == [0, 0, 1]
    with pytest.raises(InfeasibleError, match="task 2 fits no core: needs 2 arrays") as caught:
        schedule_peft(graph, Capacity(two.demand, np.array([[4], [1]]), ("arrays",)))
    assert (caught.value.task, caught.value.demand, caught.value.available) == (2, (2,), (1,))


def test_task_without_a_core_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="task 1 fits no core"):
        schedule_peft(TaskGraph.build([[1, 1], [INFEASIBLE, INFEASIBLE]], []))


def test_task_that_fits_a_gap_fills_it() -> None:
    # Task 1 waits for data until 10, which leaves core 0 idle from 1; task 2 fits in between.
    graph = TaskGraph.build([[INFEASIBLE, 1], [5, INFEASIBLE], [4, INFEASIBLE]], [(0, 1, 9)])
    schedule = schedule_peft(graph)
    assert schedule.start.tolist() == [0, 10, 0]
    assert validate_schedule(graph, schedule) == []


def test_empty_graph() -> None:
    graph = TaskGraph.build(np.zeros((0, 4), dtype=np.int64), [])
    assert schedule_peft(graph).makespan == 0
    assert levels(graph) == []


@pytest.mark.parametrize(
    ("cost", "edges", "distance", "message"),
    [
        ([1, 2], [], None, "shape"),
        ([[1], [2]], [(0, 2, 1)], None, "outside"),
        ([[1], [-2]], [], None, "negative"),
        ([[1], [2]], [(0, 1, -1)], None, "negative"),
        ([[1, 1]], [], [[0, 1]], "shape"),
        ([[1, 1]], [], [[0, 1], [1, 1]], "itself"),
        ([[1 << 59]] * 2, [], None, "too large"),
    ],
)
def test_bad_graphs_are_refused(cost: object, edges: object, distance: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TaskGraph.build(cost, edges, distance)  # pyright: ignore[reportArgumentType]


def test_cycle_is_refused() -> None:
    graph = TaskGraph.build([[1], [1], [1]], [(0, 1, 0), (1, 2, 0), (2, 1, 0)])
    with pytest.raises(ValueError, match="cycle; task 0"):
        schedule_peft(graph)


def test_validator_finds_each_kind_of_fault() -> None:
    graph = TaskGraph.build([[2, 2], [2, INFEASIBLE], [2, 2]], [(0, 1, 3)])
    good = schedule_peft(graph)
    capacity = Capacity(np.ones((3, 1), dtype=np.int64), np.array([[1], [1]]), ("arrays",))

    def faults(**changes: list[int]) -> str:
        fields = {
            name: np.array(changes.get(name, getattr(good, name))) for name in ("core", "start", "finish", "order")
        }
        return "; ".join(validate_schedule(graph, Schedule(**fields), capacity))

    assert "cannot run it" in faults(core=[0, 1, 1])
    assert "on core 2 of 2" in faults(core=[0, 2, 1])
    assert "runs from" in faults(finish=[2, 4, 3])
    assert "before the data" in faults(core=[1, 0, 1], start=[0, 4, 2], finish=[2, 6, 4])
    assert "overlap" in faults(core=[0, 0, 0], start=[0, 2, 1], finish=[2, 4, 3])
    assert "comes before its predecessor" in faults(order=[1, 0, 2])
    assert "every task once" in faults(order=[0, 0, 2])
    assert "core 0 holds 2 arrays and has 1" in faults()


def test_scale() -> None:
    """5 000 tasks, 144 cores, 20 000 edges."""
    rng = np.random.default_rng(1)
    src = rng.integers(0, 4900, 20_000)
    edges = np.column_stack((src, src + rng.integers(1, 100, 20_000), rng.integers(0, 50, 20_000)))
    graph = TaskGraph.build(rng.integers(1, 100, (5_000, 144)), edges)
    began = time.process_time()
    schedule = schedule_peft(graph)
    assert time.process_time() - began < 3
    assert validate_schedule(graph, schedule) == []
