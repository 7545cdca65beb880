"""Slots of rows: no two at once in one place, as few as possible, and the one that was left last is taken first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.lowering.row_slots import last_left_first_taken, periods_apart, plan_slots

LIVES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 9)), max_size=24)
"""Pool, first key and how many more keys."""
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 30), st.integers(0, 9), st.booleans()),
    min_size=1,
    max_size=24,
)
"""Tensor, core, first key, how many more keys, and whether the row only passes."""
SLOT_BYTES = (64, 96, 200)
NONE, BOTH = np.zeros(2, np.bool_), np.ones(2, np.bool_)
"""Which of two cores are divided."""


def by_hand(lives: list[tuple[int, int, int]]) -> list[int]:
    """The slots, taken from and put back on a stack, one moment after another."""
    found = [-1] * len(lives)
    stacks: dict[int, list[int]] = {}
    slots: dict[int, int] = {}
    takes = [(first, 0, number) for number, (_, first, _) in enumerate(lives)]
    leaves = [(first + more, 1, number) for number, (_, first, more) in enumerate(lives)]
    for _, leaving, number in sorted(takes + leaves):
        pool = lives[number][0]
        stack = stacks.setdefault(pool, [])
        if leaving:
            stack.append(found[number])
        elif stack:
            found[number] = stack.pop()
        else:
            found[number] = slots.get(pool, 0)
            slots[pool] = found[number] + 1
    return found


@given(LIVES)
def test_slots_are_those_of_a_stack(lives: list[tuple[int, int, int]]) -> None:
    pool, first, more = np.array(lives, np.int64).reshape(-1, 3).T
    assert last_left_first_taken(pool, first, first + more).tolist() == by_hand(lives)


@given(ROWS, st.tuples(st.booleans(), st.booleans()))
def test_rows_that_are_held_at_once_lie_apart(
    rows: list[tuple[int, int, int, int, bool]], divided: tuple[bool, bool]
) -> None:
    check_slots(rows, divided)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(ROWS, st.tuples(st.booleans(), st.booleans()))
def test_rows_of_many_that_are_held_at_once_lie_apart(
    rows: list[tuple[int, int, int, int, bool]], divided: tuple[bool, bool]
) -> None:
    check_slots(rows, divided)


def check_slots(rows: list[tuple[int, int, int, int, bool]], divided: tuple[bool, bool]) -> None:
    tensor, core, first, more, passing = np.array(rows, np.int64).T
    plan = plan_slots(tensor, core, first, first + more, passing != 0, np.array(SLOT_BYTES), np.array(divided))
    begin = plan.offset
    end = begin + np.array(SLOT_BYTES)[tensor]
    for one in range(len(rows)):
        area = plan.area[one]
        assert plan.core[area] == core[one]
        assert plan.shared[area] == passing[one]
        assert plan.shared[area] or plan.tensor[area] == tensor[one]
        assert plan.first[area] <= first[one]
        assert first[one] + more[one] <= plan.last[area]
        assert begin[one] >= 0
        assert end[one] <= plan.size[area]
        for other in range(one):
            at_once = first[one] <= first[other] + more[other] and first[other] <= first[one] + more[one]
            if at_once and plan.area[other] == area:
                assert end[other] <= begin[one] or end[one] <= begin[other]


@given(ROWS)
def test_a_ring_has_as_many_slots_as_rows_are_held_at_once(rows: list[tuple[int, int, int, int, bool]]) -> None:
    tensor, core, first, more, _ = np.array(rows, np.int64).T
    plan = plan_slots(tensor, core, first, first + more, np.zeros(len(rows), np.bool_), np.array(SLOT_BYTES), NONE)
    for area, (owner, place) in enumerate(zip(plan.tensor.tolist(), plan.core.tolist(), strict=True)):
        mine = (tensor == owner) & (core == place)
        held = [int((mine & (first <= moment) & (moment <= first + more)).sum()) for moment in range(40)]
        assert plan.size[area] == max(held) * SLOT_BYTES[owner]


def test_a_slot_that_tensors_share_is_as_long_as_the_longest() -> None:
    """Rows of 64, 96 and 200 bytes, one after another, then two at once."""
    tensor, first = np.array([0, 1, 2, 0, 1]), np.array([0, 2, 4, 6, 6])
    every = np.ones(5, np.bool_)
    plan = plan_slots(tensor, np.zeros(5, np.int64), first, first + 1, every, np.array(SLOT_BYTES), NONE)
    assert plan.area.tolist() == [0, 0, 0, 0, 1]
    assert plan.size.tolist() == [200, 96]
    assert plan.tensor.tolist() == [2, 1]
    assert plan.shared.all()


def test_after_a_moment_without_any_passing_rows_have_other_slots() -> None:
    """Rows of 64 and 96 bytes alternate; when both are over, one of 200 bytes comes, which takes them no memory."""
    tensor, first = np.array([0, 1, 0, 1, 2]), np.array([0, 2, 4, 6, 9])
    every, core = np.ones(5, np.bool_), np.zeros(5, np.int64)
    columns = tensor, core, first, first + 1, every, np.array(SLOT_BYTES)
    whole, divided = plan_slots(*columns, NONE), plan_slots(*columns, BOTH)
    assert whole.size.tolist() == [200]
    assert divided.area.tolist() == [0, 0, 0, 0, 1]
    assert divided.size.tolist() == [96, 200]
    assert divided.first.tolist() == [0, 9]
    assert divided.last.tolist() == [7, 10]


@given(ROWS)
def test_periods_are_divided_by_moments_in_the_life_of_no_tensor(rows: list[tuple[int, int, int, int, bool]]) -> None:
    tensor, core, first, more, _ = np.array(rows, np.int64).T
    found = periods_apart(tensor, core, first, first + more).tolist()
    for row, (home, since) in enumerate(zip(core.tolist(), first.tolist(), strict=True)):
        lives = [
            set(range(first[mine].min(), (first + more)[mine].max() + 1))
            for one in range(3)
            if (mine := (core == home) & (tensor == one)).any()
        ]
        alive = set[int]().union(*lives)
        begins = [moment for moment in alive if moment - 1 not in alive and min(alive) < moment <= since]
        # Lives that follow one another without a moment between them are apart, too.
        begins += [
            moment
            for moment in alive
            if moment - 1 in alive and moment <= since and not any({moment - 1, moment} <= life for life in lives)
        ]
        assert found[row] == len(begins)


@pytest.mark.parametrize("passing", [False, True])
def test_no_rows(passing: bool) -> None:
    none = np.zeros(0, np.int64)
    plan = plan_slots(none, none, none, none, np.full(0, passing), none, NONE)
    assert len(plan.core) == len(plan.area) == 0
