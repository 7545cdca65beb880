"""The memory planner against its validator, its lower bound and the optimum of tiny cases."""

from __future__ import annotations

import itertools
import time
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis import gap_placement, plan_validation
from tilec.analysis.buffers import Buffers, MemoryPlan, holders_at, live_bytes
from tilec.analysis.liveness import CapacityError, plan_cores, plan_memory
from tilec.analysis.plan_validation import overlap_pairwise, overlap_sweep, validate_plan

PLENTY = 1 << 40


@st.composite
def problems(draw: st.DrawFn, most: int = 40) -> Buffers:
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    first = rng.integers(0, n, n)
    last = first + rng.integers(0, draw(st.integers(1, n)), n)
    alignment = rng.choice(draw(st.sampled_from([[1], [8], [1, 2, 8], [3, 4]])), n)
    group = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.3])), rng.integers(0, n, n), -1)
    return Buffers.build(rng.integers(0, 50, n), first, last, alignment, group)


def optimum(buffers: Buffers) -> int:
    """Least peak: some order places each buffer at its lowest free address in an optimal plan, so try all orders."""
    best = PLENTY
    columns = (buffers.size, buffers.first, buffers.last, buffers.alignment)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    for order in itertools.permutations(rows):
        placed: list[tuple[int, int, int, int]] = []
        for size, first, last, alignment in order:
            alive = [(low, high) for low, high, born, dies in placed if born <= last and dies >= first]
            starts = (-(-low // alignment) * alignment for low in [0, *(high for _, high in alive)])
            where = min(s for s in starts if all(s + size <= low or high <= s for low, high in alive))
            if size:
                placed.append((where, where + size, first, last))
        best = min(best, max((high for _, high, _, _ in placed), default=0))
    return best


@settings(deadline=None)
@given(problems())
def test_plan_is_valid_and_between_its_bounds(buffers: Buffers) -> None:
    check_plan(buffers)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(problems())
def test_many_plans_are_valid_and_between_their_bounds(buffers: Buffers) -> None:
    check_plan(buffers)


def check_plan(buffers: Buffers) -> None:
    plan = plan_memory(buffers, PLENTY)
    assert validate_plan(buffers, plan, plan.peak) == []
    assert plan.lower_bound <= plan.peak <= int((buffers.size + buffers.alignment).sum())
    if (buffers.group < 0).all():
        assert plan.lower_bound >= live_bytes(buffers)[1].max()


@settings(deadline=None)
@given(problems(most=6))
def test_plan_is_near_the_optimum(buffers: Buffers) -> None:
    alone = Buffers.build(buffers.size, buffers.first, buffers.last, buffers.alignment)
    plan, best = _plan_hard(alone), optimum(alone)
    assert plan.lower_bound <= best <= plan.peak
    assert plan.peak <= 1.25 * best


def _plan_hard(buffers: Buffers) -> MemoryPlan:
    """The plan after every promotion, which a memory without any room asks for."""
    try:
        return plan_memory(buffers, 0, effort=1_000)
    except CapacityError as error:
        return error.plan


@settings(deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_the_two_overlap_tests_agree(buffers: Buffers, seed: int) -> None:
    rng = np.random.default_rng(seed)
    address = plan_memory(buffers, PLENTY).address.copy()
    assert overlap_pairwise(buffers, address) is None
    assert overlap_sweep(buffers, address) is None
    moved = rng.integers(len(buffers))
    address[(np.arange(len(buffers)) == moved) | ((buffers.group == buffers.group[moved]) & (buffers.group >= 0))] = (
        rng.integers(0, 100)
    )
    assert (overlap_pairwise(buffers, address) is None) == (overlap_sweep(buffers, address) is None)


@settings(deadline=None)
@given(problems(), st.integers(0, 2**32), st.booleans())
def test_overlaps_on_all_cores_are_those_on_each(buffers: Buffers, seed: int, at_once: bool) -> None:
    """All cores together, or one after another where there is much to compare."""
    rng = np.random.default_rng(seed)
    core, address = rng.integers(0, 3, len(buffers)), rng.integers(0, 200, len(buffers))
    expected = set[frozenset[int]]()
    for one, other in itertools.combinations(range(len(buffers)), 2):
        together = core[one] == core[other] and max(buffers.first[[one, other]]) <= min(buffers.last[[one, other]])
        end = address + buffers.size
        if together and max(address[[one, other]]) < min(end[[one, other]]) and buffers.size[[one, other]].all():
            expected.add(frozenset((one, other)))
    with patch.object(plan_validation, "_MOST_PAIRS", PLENTY if at_once else -1):
        found = plan_validation.overlap_anywhere(core, address, buffers.size, buffers.first, buffers.last)
    assert (found is None) == (not expected)
    assert found is None or frozenset(found) in expected


@settings(deadline=None)
@given(problems())
def test_plan_is_deterministic_and_ignores_time_between_events(buffers: Buffers) -> None:
    stretched = Buffers.build(buffers.size, buffers.first * 7, buffers.last * 7, buffers.alignment, buffers.group)
    peaks = [plan_memory(b, PLENTY).peak for b in (buffers, buffers)]
    assert peaks[0] == peaks[1]
    assert np.array_equal(plan_memory(buffers, PLENTY).address, plan_memory(buffers, PLENTY).address)
    assert plan_memory(stretched, PLENTY).lower_bound == plan_memory(buffers, PLENTY).lower_bound


@settings(deadline=None)
@given(problems())
def test_live_bytes_are_sums_over_live_buffers(buffers: Buffers) -> None:
    steps, live = live_bytes(buffers)
    for step, count in zip(steps.tolist(), live.tolist(), strict=True):
        assert count == buffers.size[(buffers.first <= step) & (step <= buffers.last)].sum()


def test_a_chain_needs_two_buffers() -> None:
    n = np.arange(10)
    plan = plan_memory(Buffers.build(np.full(10, 100), n, n + 1), 200)
    assert plan.peak == plan.lower_bound == 200


def test_separate_periods_share_addresses() -> None:
    plan = plan_memory(Buffers.build([10, 20, 5], [0, 0, 5], [3, 3, 9]), 30)
    assert plan.peak == 30
    assert plan.address[2] == 0


def test_colocated_buffers_share_their_address() -> None:
    buffers = Buffers.build([8, 4, 6], [0, 3, 2], [3, 6, 4], group=[5, 5, -1])
    plan = plan_memory(buffers, 14)
    assert plan.address[0] == plan.address[1]
    assert plan.peak == 14
    assert validate_plan(buffers, plan, 14) == []
    assert holders_at(buffers, 3) == [(0, 8), (2, 6)]


def test_alignment_is_kept_and_bounds_the_peak() -> None:
    plan = plan_memory(Buffers.build([5, 5, 5], [0] * 3, [0] * 3, alignment=8), 21)
    assert sorted(plan.address.tolist()) == [0, 8, 16]
    assert plan.peak == plan.lower_bound == 21


def test_too_small_a_memory_names_who_holds_the_peak() -> None:
    buffers = Buffers.build([10, 30, 20], [0, 1, 9], [2, 3, 9])
    with pytest.raises(CapacityError, match=r"needs 40 bytes of 39 .*the largest: buffer 1 30, buffer 0 10") as caught:
        plan_memory(buffers, 39)
    assert (caught.value.need, caught.value.have, caught.value.holders) == (40, 39, [(1, 30), (0, 10)])
    with pytest.raises(CapacityError, match="core 1: needs 40"):
        plan_cores([Buffers.build([39], [0], [0]), buffers], 39)


def test_equal_cores_are_planned_once() -> None:
    cores = [Buffers.build([10, 30], [0, 1], [2, 3]) for _ in range(3)]
    plans = plan_cores(cores, 40)
    assert plans[0] is plans[1] is plans[2]


def test_no_buffers() -> None:
    assert plan_memory(Buffers.build([], [], []), 0).peak == 0


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="buffer 1 has a negative size"):
        Buffers.build([1, -1], [0, 0], [0, 0])
    with pytest.raises(ValueError, match="buffer 0 has a last step before its first"):
        Buffers.build([1], [2], [1])
    with pytest.raises(ValueError, match="buffer 0 has an alignment below 1"):
        Buffers.build([1], [0], [0], 0)


def test_validator_finds_each_kind_of_fault() -> None:
    buffers = Buffers.build([4, 4, 4], [0, 0, 5], [1, 1, 5], 4, [0, -1, 0])

    def faults(address: list[int], peak: int, capacity: int = 100) -> str:
        return "; ".join(validate_plan(buffers, MemoryPlan(np.array(address), peak, 0, 0), capacity))

    assert faults([0, 4, 0], 8) == ""
    assert "overlap" in faults([0, 0, 0], 4)
    assert "alignment" in faults([0, 6, 0], 10)
    assert "alignment" in faults([0, -4, 0], 4)
    assert "ends at 8 of 7" in faults([0, 4, 0], 8, 7)
    assert "group 0 elsewhere" in faults([0, 4, 4], 8)
    assert "the peak is not 9" in faults([0, 4, 0], 9)


def test_scale() -> None:
    """10 000 buffers of one core."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 10_000, 10_000)
    buffers = Buffers.build(rng.integers(1, 4000, 10_000), first, first + rng.geometric(1 / 50, 10_000), 32)
    began = time.process_time()
    plan = plan_memory(buffers, PLENTY)
    assert time.process_time() - began < 3
    assert validate_plan(buffers, plan, plan.peak) == []
    assert plan.peak <= 1.1 * plan.lower_bound


def test_many_short_periods_cost_no_more_than_a_long_one() -> None:
    n = np.arange(10_000)
    buffers = Buffers.build(1 + n % 77, 2 * (n // 2), 2 * (n // 2) + 1)
    began = time.process_time()
    plan = plan_memory(buffers, PLENTY)
    assert time.process_time() - began < 2
    assert plan.peak == plan.lower_bound
    assert validate_plan(buffers, plan, plan.peak) == []


@pytest.mark.parametrize("alignment", [1, 4, 12])
def test_few_buffers_are_placed_as_many_are(alignment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are two ways to find the same gaps."""
    draw = np.random.default_rng(alignment)
    for count in (*range(1, 12), 40, 90):
        first = draw.integers(0, 40, count)
        sizes, last = draw.integers(0, 50, count), first + draw.integers(0, 20, count)
        buffers = Buffers.build(sizes.tolist(), first.tolist(), last.tolist(), alignment)
        plans: list[MemoryPlan] = []
        for few in (0, count):
            monkeypatch.setattr(gap_placement, "_FEW", few)
            plans.append(plan_memory(buffers, 1 << 40))
        assert np.array_equal(plans[0].address, plans[1].address)
        assert plans[0].peak == plans[1].peak
