"""Allocation of cores to layers: the least bottleneck on tiny cases, and validity always."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.replication import Allocation, Choice, InfeasibleError, Layer, Spread, allocate, validate_allocation


def mvm_cycles(arrays: int) -> int:
    return 50 + 3 * arrays


@st.composite
def layers(draw: st.DrawFn, most: int = 4) -> list[Layer]:
    def layer(number: int) -> Layer:
        return Layer.grid(
            f"layer{number}",
            rows=draw(st.integers(1, 6)),
            windows_per_row=draw(st.integers(1, 9)),
            slices=draw(st.integers(1, 5)),
            tiles=draw(st.integers(1, 3)),
            arrays_per_core=4,
            mvm_cycles=mvm_cycles,
        )

    return [layer(number) for number in range(draw(st.integers(1, most)))]


def least_bottleneck(problem: list[Layer], cores: int) -> int:
    """By trying every number of replicas and every spread of every layer, one part a core."""
    best = 1 << 60
    options = (
        [Choice(replicas, spread) for replicas in range(1, layer.rows + 1) for spread in range(len(layer.spreads))]
        for layer in problem
    )
    for choices in itertools.product(*options):
        pairs = list(zip(problem, choices, strict=True))
        if sum(layer.cores(choice) for layer, choice in pairs) <= cores:
            best = min(best, max(layer.cycles(choice) for layer, choice in pairs))
    return best


@settings(deadline=None)
@given(layers(most=3), st.integers(0, 25))
def test_bottleneck_is_the_least_when_no_core_is_shared(problem: list[Layer], spare: int) -> None:
    cores = sum(layer.spreads[0].parts for layer in problem) + spare
    allocation = allocate(problem, cores, 4)
    assert validate_allocation(problem, allocation, cores, 4) == []
    assert allocation.bottleneck_cycles == least_bottleneck(problem, cores)
    homes = np.concatenate([home.reshape(-1) for home in allocation.home])
    assert len(np.unique(homes)) == len(homes)


@settings(deadline=None)
@given(layers(), st.integers(1, 30))
def test_allocation_is_valid_or_refused(problem: list[Layer], cores: int) -> None:
    arrays = sum(layer.arrays for layer in problem)
    try:
        allocation = allocate(problem, cores, 4)
    except InfeasibleError as error:
        refused = error
    else:
        assert validate_allocation(problem, allocation, cores, 4) == []
        return
    assert refused.arrays_needed == arrays
    assert [need[1] for need in refused.needs] == sorted((layer.arrays for layer in problem), reverse=True)
    if arrays <= 4 * cores:  # parts of several arrays may fail to pack, but never into twice the arrays
        assert 2 * arrays > 4 * cores


@settings(deadline=None)
@given(layers(), st.integers(1, 12))
def test_more_cores_are_not_slower(problem: list[Layer], spare: int) -> None:
    cores = sum(layer.spreads[0].parts for layer in problem)
    assert allocate(problem, cores + spare, 4).bottleneck_cycles <= allocate(problem, cores, 4).bottleneck_cycles


@settings(deadline=None)
@given(layers(), st.integers(0, 12))
def test_sharing_is_never_slower(problem: list[Layer], spare: int) -> None:
    cores = sum(layer.spreads[0].parts for layer in problem) + spare
    shared = allocate(problem, cores, 4, share=True)
    assert validate_allocation(problem, shared, cores, 4) == []
    assert shared.bottleneck_cycles <= allocate(problem, cores, 4).bottleneck_cycles


def least_shared_bottleneck(problem: list[Layer], cores: int, arrays_per_core: int) -> int:
    """By trying every choice of every layer, and every packing of their parts."""
    best = 1 << 60

    def pack(parts: list[tuple[int, int]], load: list[int], free: list[int]) -> int:
        if max(load) >= best:
            return best
        if not parts:
            return max(load)
        (cycles, arrays), found = parts[0], best
        for core in range(cores):
            if free[core] >= arrays:
                more = [*load[:core], load[core] + cycles, *load[core + 1 :]]
                less = [*free[:core], free[core] - arrays, *free[core + 1 :]]
                found = min(found, pack(parts[1:], more, less))
        return found

    options = (
        [Choice(replicas, spread) for replicas in range(1, layer.rows + 1) for spread in range(len(layer.spreads))]
        for layer in problem
    )
    for choices in itertools.product(*options):
        pairs = list(zip(problem, choices, strict=True))
        parts = [
            (layer.cycles(choice), layer.spreads[choice.spread].part_arrays)
            for layer, choice in pairs
            for _ in range(layer.cores(choice))
        ]
        if sum(arrays for _, arrays in parts) <= cores * arrays_per_core:
            best = min(best, pack(sorted(parts, reverse=True), [0] * cores, [arrays_per_core] * cores))
    return best


def test_shared_cores_are_near_the_optimum() -> None:
    ratios: list[float] = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = [
            Layer.grid(
                str(number),
                rows=int(rng.integers(1, 4)),
                windows_per_row=int(rng.integers(1, 9)),
                slices=int(rng.integers(1, 4)),
                tiles=int(rng.integers(1, 3)),
                arrays_per_core=5,
                mvm_cycles=mvm_cycles,
            )
            for number in range(3)
        ]
        if sum(layer.arrays for layer in problem) <= 10:
            got = allocate(problem, 2, 5).bottleneck_cycles
            ratios.append(got / least_shared_bottleneck(problem, 2, 5))
    assert len(ratios) > 15
    assert min(ratios) >= 1
    assert max(ratios) <= 1.25
    assert np.mean(ratios) <= 1.05


def test_rest_goes_to_the_next_slowest_layer() -> None:
    problem = [Layer("stuck", 1, 1, (Spread(1, 100, 1),)), Layer("b", 8, 1, (Spread(1, 10, 1),))]
    allocation = allocate(problem, 4, 1)
    assert allocation.replicas.tolist() == [1, 3]
    assert allocation.core_cycles.tolist() == [100, 30, 30, 30]


def test_spread_is_preferred_where_it_saves_more() -> None:
    # Two replicas of one part take 5 * 10 cycles, one replica of two parts 9 * 5.
    problem = [Layer("a", 9, 4, (Spread(1, 10, 4), Spread(2, 5, 2)))]
    allocation = allocate(problem, 2, 4)
    assert (allocation.replicas.tolist(), allocation.spread.tolist()) == ([1], [1])


def test_small_machine_shares_cores() -> None:
    problem = [Layer(name, 4, 2, (Spread(1, cycles, 2),)) for name, cycles in (("a", 30), ("b", 20), ("c", 10))]
    allocation = allocate(problem, 2, 4)
    assert validate_allocation(problem, allocation, 2, 4) == []
    # Two replicas of a on both cores would leave no room for b and c.
    assert allocation.core_cycles.tolist() == [120, 120]
    roomy = allocate(problem, 2, 8)
    assert roomy.bottleneck_cycles <= allocation.bottleneck_cycles


def test_too_small_a_machine_names_the_layers() -> None:
    problem = [Layer("small", 1, 3, (Spread(1, 1, 3),)), Layer("large", 1, 6, (Spread(2, 1, 3),))]
    with pytest.raises(InfeasibleError, match=r"need 9 arrays, the machine has 8 \(2 cores of 4\); .*large 6, small 3"):
        allocate(problem, 2, 4)
    with pytest.raises(InfeasibleError, match="no way was found to pack") as caught:
        allocate([*problem, Layer("third", 1, 3, (Spread(1, 1, 3),))], 3, 4)
    assert caught.value.needs == [("large", 6), ("small", 3), ("third", 3)]
    with pytest.raises(InfeasibleError):
        allocate([Layer("wide", 1, 5, (Spread(1, 1, 5),))], 9, 4)


def test_grid_keeps_the_cuts_that_pay() -> None:
    layer = Layer.grid(
        "a", rows=2, windows_per_row=10, slices=4, tiles=2, arrays_per_core=4, mvm_cycles=lambda arrays: 100 + arrays
    )
    assert layer.spreads == (Spread(2, 2040, 4), Spread(4, 1020, 2), Spread(8, 1010, 1))
    assert layer.arrays == 8


def test_no_layers() -> None:
    allocation = allocate([], 4, 4)
    assert allocation.bottleneck_cycles == 0
    assert validate_allocation([], allocation, 4, 4) == []


def test_validator_finds_each_kind_of_fault() -> None:
    problem = [Layer("a", 2, 4, (Spread(2, 5, 2),))]

    def faults(replicas: int, home: list[list[int]], core_cycles: list[int]) -> str:
        allocation = Allocation(np.array([replicas]), np.array([0]), (np.array(home),), np.array(core_cycles))
        return "; ".join(validate_allocation(problem, allocation, 2, 3))

    assert faults(1, [[0, 1]], [10, 10]) == ""
    assert "a has 3 replicas for 2 rows" in faults(3, [[0, 1]], [10, 10])
    assert "not as many homes" in faults(2, [[0, 1]], [5, 5])
    assert "core 2 of 2" in faults(1, [[0, 2]], [10, 10])
    assert "core 0 holds 4 arrays of 3" in faults(1, [[0, 0]], [20, 0])
    assert "not the sums" in faults(1, [[0, 1]], [10, 9])


def test_scale() -> None:
    """200 layers on 1024 cores, and 60 layers that share 40 cores."""
    rng = np.random.default_rng(1)

    def network(count: int, slices: int) -> list[Layer]:
        return [
            Layer.grid(
                str(number),
                rows=int(rng.integers(7, 225)),
                windows_per_row=int(rng.integers(7, 225)),
                slices=int(rng.integers(1, slices)),
                tiles=int(rng.integers(1, 17)),
                arrays_per_core=64,
                mvm_cycles=lambda arrays: 1628 + 60 * arrays,
            )
            for number in range(count)
        ]

    began = time.perf_counter()
    for problem, cores in ((network(200, 40), 1024), (network(60, 4), 40)):
        allocation = allocate(problem, cores, 64)
        assert validate_allocation(problem, allocation, cores, 64) == []
    assert time.perf_counter() - began < 6
