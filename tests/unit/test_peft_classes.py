"""Classes, lanes and water filling against the full table, the loop and the one-by-one greedy that they replace."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.peft import INFEASIBLE, Ints, TaskGraph, optimistic_cost_table
from tilec.analysis.peft_classes import (
    Classes,
    block_lanes,
    lane_finish,
    quotient,
    quotient_of_rows,
    strided_lanes,
    validate_classes,
    water_fill,
)


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    """Random graphs with few distinct rows and comms, so that classes have several members."""
    v, p, kinds = draw(st.integers(1, 25)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = rng.integers(1, 9, (kinds, p))
    rows[:, 1:][rng.random((kinds, p - 1)) < 0.3] = INFEASIBLE
    pairs = np.argwhere(np.triu(rng.random((v, v)) < draw(st.sampled_from([0.05, 0.2])), 1))
    edges = np.column_stack((pairs, rng.integers(0, 3, len(pairs))))
    distance = rng.integers(0, 4, (p, p)) * (1 - np.eye(p, dtype=np.int64)) if draw(st.booleans()) else None
    return TaskGraph.build(rows[rng.integers(0, kinds, v)], edges, distance)


def convolutions(layers: int, side: int, cores: int) -> tuple[Ints, Ints, Ints]:
    """(row of each task, rows, edges) of 3 x 3 convolutions over ``side`` x ``side`` windows; each layer has a row."""
    y, x = np.divmod(np.arange(side * side), side)
    edges: list[Ints] = []
    for layer in range(layers - 1):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                inside = (y + dy >= 0) & (y + dy < side) & (x + dx >= 0) & (x + dx < side)
                src = layer * side * side + np.flatnonzero(inside)
                dst = src + side * side + dy * side + dx
                edges.append(np.column_stack((src, dst, np.full(src.size, 12))))
    rows = np.random.default_rng(1).integers(1, 100, (layers, cores))
    return np.repeat(np.arange(layers), side * side), rows, np.concatenate(edges)


@settings(deadline=None)
@given(graphs())
def test_quotient_has_the_same_optimistic_cost_table(graph: TaskGraph) -> None:
    classes = quotient(graph)
    assert validate_classes(graph, classes) == []
    assert np.array_equal(optimistic_cost_table(classes.graph)[classes.of_task], optimistic_cost_table(graph))


@settings(deadline=None)
@given(graphs())
def test_quotient_is_coarsest(graph: TaskGraph) -> None:
    """No two classes could be merged: their rows or their successors differ."""
    classes = quotient(graph).graph
    signatures = {
        (
            tuple(classes.cost[number].tolist()),
            frozenset(zip(classes.dst[edges].tolist(), classes.comm[edges].tolist(), strict=True)),
        )
        for number in range(classes.task_count)
        for edges in [classes.out_edges(np.array([number]))]
    }
    assert len(signatures) == classes.task_count


@settings(deadline=None)
@given(graphs(), st.integers(0, 2**32))
def test_classes_do_not_depend_on_the_order_of_edges(graph: TaskGraph, seed: int) -> None:
    edges = np.random.default_rng(seed).permutation(np.column_stack((graph.src, graph.dst, graph.comm)))
    first, second = quotient(graph), quotient(TaskGraph.build(graph.cost, edges, graph.distance))
    assert np.array_equal(first.of_task, second.of_task)
    assert np.array_equal(first.graph.cost, second.graph.cost)


def test_convolutions_have_few_classes() -> None:
    row, rows, edges = convolutions(6, 10, 5)
    classes = quotient_of_rows(row, rows, edges)
    full = TaskGraph.build(rows[row], edges)
    # Padding hides itself: every window has some successor of the one class of the next layer.
    assert classes.graph.task_count == 6
    assert validate_classes(full, classes) == []
    assert np.array_equal(optimistic_cost_table(classes.graph)[classes.of_task], optimistic_cost_table(full))


def test_validator_finds_each_kind_of_fault() -> None:
    graph = TaskGraph.build([[1], [1], [2]], [(0, 2, 5)])
    assert validate_classes(graph, quotient(graph)) == []
    merged = Classes(TaskGraph.build([[1], [2]], [(0, 1, 5)]), np.array([0, 0, 1]))
    assert validate_classes(graph, merged) == ["task 1 does not have the successors of its class 0"]
    wrong = Classes(TaskGraph.build([[1], [1], [3]], [(0, 2, 5)]), np.array([0, 1, 2]))
    assert validate_classes(graph, wrong) == ["task 2 does not cost what its class 2 costs"]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), min_size=1), st.integers(0, 60))
def test_lane_equals_the_loop(instances: list[tuple[int, int]], available: int) -> None:
    expected: list[int] = []
    free = available
    for ready, cycles in instances:
        free = max(free, ready) + cycles
        expected.append(free)
    ready, cycles = np.array(instances, dtype=np.int64).T
    assert lane_finish(ready, cycles, available).tolist() == expected


def test_lanes_run_side_by_side() -> None:
    ready = np.array([[0, 0, 9], [5, 5, 5]])
    assert lane_finish(ready, 3, [1, 0]).tolist() == [[4, 7, 12], [8, 11, 14]]
    assert lane_finish(np.zeros(0, dtype=np.int64), 3).tolist() == []


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 9))
def test_lanes_share_all_instances(count: int, lanes: int) -> None:
    for split in (strided_lanes, block_lanes):
        parts = split(count, lanes)
        assert len(parts) == lanes
        assert sorted(np.concatenate(parts).tolist()) == list(range(count))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


@settings(deadline=None)
@given(
    st.integers(0, 60),
    st.integers(0, 30),
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from([1, 2, 3, 5, INFEASIBLE])), min_size=1, max_size=6),
    st.booleans(),
)
def test_water_filling_equals_greedy(count: int, ready: int, cores: list[tuple[int, int]], equal: bool) -> None:
    available, cycles = np.array(cores, dtype=np.int64).T
    cycles = np.where(equal, 4, cycles)
    if count and (cycles >= INFEASIBLE).all():
        with pytest.raises(ValueError, match="no core"):
            water_fill(count, ready, cycles, available)
        return
    free, taken, finish = np.maximum(available, ready), [0] * len(cores), ready
    for _ in range(count):
        core = int((free + cycles).argmin())
        free[core] += cycles[core]
        taken[core] += 1
        finish = int(free[core])
    got, last = water_fill(count, ready, cycles, available)
    assert (got.tolist(), last) == (taken, finish)


def test_water_filling_of_a_million_tasks() -> None:
    taken, finish = water_fill(10**12, 5, 7, np.arange(144))
    assert taken.sum() == 10**12
    assert finish == int((np.maximum(np.arange(144), 5) + 7 * taken).max())


def test_scale() -> None:
    """10 layers of 56 x 56 windows on 144 cores: 31 360 tasks, 248 000 edges, one row a layer."""
    row, rows, edges = convolutions(10, 56, 144)
    began = time.perf_counter()
    classes = quotient_of_rows(row, rows, edges)
    table = optimistic_cost_table(classes.graph)
    assert time.perf_counter() - began < 3
    assert table.shape == (10, 144)
