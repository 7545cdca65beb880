"""Placement on the mesh against exhaustive search, its incremental savings against recomputed costs."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis import network, placement
from tilec.analysis.placement import Ints, place_cores, placement_cost, validate_placement


def mesh_hops(height: int, width: int) -> Ints:
    """[p, p] hops between all places of a mesh."""
    return network.mesh_hops((height, width), height * width)


@st.composite
def problems(draw: st.DrawFn, most: int = 5) -> tuple[Ints, Ints]:
    """(traffic, hops) with at least as many places as cores; a share of the traffic is zero."""
    height, width = draw(st.integers(1, most)), draw(st.integers(1, most))
    cores = draw(st.integers(1, height * width))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    traffic = rng.integers(0, 100, (cores, cores)) * (rng.random((cores, cores)) < draw(st.sampled_from([0.1, 0.6])))
    return traffic, mesh_hops(height, width)


@settings(deadline=None)
@given(problems())
def test_placement_is_valid_and_no_swap_improves_it(problem: tuple[Ints, Ints]) -> None:
    traffic, hops = problem
    place = place_cores(traffic, hops)
    assert validate_placement(traffic, hops, place) == []
    cost = placement_cost(traffic, hops, place)
    for a, b in itertools.combinations(range(len(place)), 2):
        swapped = place.copy()
        swapped[[a, b]] = swapped[[b, a]]
        assert placement_cost(traffic, hops, swapped) >= cost
    assert np.array_equal(place, place_cores(traffic, hops))


@settings(deadline=None, max_examples=200)
@given(problems(8), st.integers(0, 2**32))
def test_the_compiled_loop_swaps_as_the_one_in_numpy(problem: tuple[Ints, Ints], seed: int) -> None:
    """From any start, also with cores that have no traffic."""
    traffic, hops = problem
    traffic = traffic + traffic.T
    np.fill_diagonal(traffic, 0)
    busy = np.flatnonzero(traffic.any(axis=1))
    among, start = traffic[np.ix_(busy, busy)], np.random.default_rng(seed).permutation(len(hops))
    swapped = placement._interpreted(busy, among, hops, start)  # pyright: ignore[reportPrivateUsage]
    assert placement._compiled(busy, among, hops, start).tolist() == swapped.tolist()  # pyright: ignore[reportPrivateUsage]


def test_idle_cores_are_places_to_swap_with() -> None:
    traffic = np.zeros((64, 64), dtype=np.int64)
    traffic[3, 60] = traffic[60, 17] = 5
    place = place_cores(traffic, mesh_hops(8, 8))
    assert sorted(place.tolist()) == list(range(64))
    assert placement_cost(traffic, mesh_hops(8, 8), place) == 10


def test_few_busy_cores_of_many_are_placed_at_once() -> None:
    traffic = np.zeros((2500, 2500), dtype=np.int64)
    traffic[np.arange(20), np.arange(20) * 100 + 99] = 7
    start = time.process_time()
    place_cores(traffic, mesh_hops(50, 50))
    assert time.process_time() - start < 10


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_tiny_placements_are_near_the_optimum(seed: int) -> None:
    traffic, hops = np.random.default_rng(seed).integers(0, 20, (6, 6)), mesh_hops(2, 3)
    np.fill_diagonal(traffic, 0)
    best = min(placement_cost(traffic, hops, np.array(place)) for place in itertools.permutations(range(6)))
    assert best <= placement_cost(traffic, hops, place_cores(traffic, hops)) <= 1.1 * best


def test_mesh_hops_are_manhattan() -> None:
    hops = mesh_hops(3, 4)
    for a, b in itertools.product(range(12), repeat=2):
        assert hops[a, b] == abs(a // 4 - b // 4) + abs(a % 4 - b % 4)


def test_a_shuffled_chain_is_unwound() -> None:
    order = np.random.default_rng(3).permutation(16)
    traffic = np.zeros((16, 16), dtype=np.int64)
    traffic[order[:-1], order[1:]] = 10
    place = place_cores(traffic, mesh_hops(4, 4))
    assert placement_cost(traffic, mesh_hops(4, 4), place) <= 200  # 150 when every step is one hop


def test_identity_stays_where_nothing_is_sent() -> None:
    assert place_cores(np.zeros((5, 5), dtype=np.int64), mesh_hops(3, 3)).tolist() == [0, 1, 2, 3, 4]
    assert place_cores(np.zeros((0, 0), dtype=np.int64), mesh_hops(1, 1)).tolist() == []


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        place_cores(np.zeros((5, 5), dtype=np.int64), mesh_hops(2, 2))
    with pytest.raises(ValueError, match="symmetric"):
        place_cores(np.zeros((2, 2), dtype=np.int64), np.array([[0, 1], [2, 0]]))
    with pytest.raises(ValueError, match="not exact"):
        place_cores(np.full((2, 2), 1 << 60), mesh_hops(1, 2))


def test_validator_finds_each_kind_of_fault() -> None:
    traffic, hops = np.array([[0, 5, 0], [0, 0, 5], [0, 0, 0]]), mesh_hops(1, 3)
    assert validate_placement(traffic, hops, np.array([2, 1, 0])) == []
    assert validate_placement(traffic, hops, np.array([0, 1, 3])) == ["core 2 is at place 3 of 3"]
    assert "cores 0 and 2 are both at place 0" in validate_placement(traffic, hops, np.array([0, 1, 0]))
    assert validate_placement(traffic, hops, np.array([0, 1])) == ["2 of 3 cores have a place"]
    assert "that of the identity 10" in validate_placement(traffic, hops, np.array([0, 2, 1]))[0]


def test_scale() -> None:
    """144 cores, each of which sends to four others."""
    rng = np.random.default_rng(1)
    traffic = np.zeros((144, 144), dtype=np.int64)
    traffic[np.repeat(np.arange(144), 4), rng.integers(0, 144, 576)] = rng.integers(1, 10_000, 576)
    hops = mesh_hops(12, 12)
    began = time.process_time()
    place = place_cores(traffic, hops)
    assert time.process_time() - began < 3
    assert validate_placement(traffic, hops, place) == []
    assert placement_cost(traffic, hops, place) < 0.8 * placement_cost(traffic, hops, np.arange(144))
