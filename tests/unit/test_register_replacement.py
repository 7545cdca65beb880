"""Belady's rule against all ways to hold values in a few registers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.codegen import register_replacement
from tilec.codegen.register_replacement import Assignment, assign_registers

ROWS = st.lists(st.tuples(*[st.integers(0, 6)] * 3), max_size=9)


FORCED = st.lists(st.sampled_from([-1, -1, 0, 3, 4]), min_size=9, max_size=9)
"""What instructions need in the first register: some the same numbers as in others, which do not count there."""


def assigned(
    rows: list[tuple[int, ...]], pool: range, core: list[int] | None = None, forced: list[int] | None = None
) -> Assignment:
    numbers = np.array([0] * len(rows) if core is None else core, np.int32)
    needs = None if forced is None else np.array(forced[: len(rows)], np.int64)
    return assign_registers(numbers, np.array(rows, np.int64).reshape(-1, 3), pool, needs)


def fewest_loads(rows: list[tuple[int, ...]], count: int) -> int:
    """By trying everything: the sets of values that registers can hold after each instruction."""
    states: dict[frozenset[int], int] = {frozenset(): 0}
    for row in rows:
        needed = frozenset(row) - {0}
        following: dict[frozenset[int], int] = {}
        for held, loads in states.items():
            for keeps in product((False, True), repeat=len(held - needed)):
                kept = {value for value, keep in zip(sorted(held - needed), keeps, strict=True) if keep}
                after = needed | kept
                if len(after) <= count:
                    cost = loads + len(needed - held)
                    following[after] = min(cost, following.get(after, cost))
        states = following
    return min(states.values())


@settings(deadline=None)
@given(ROWS, st.integers(3, 4))
def test_as_few_loads_as_possible(rows: list[tuple[int, ...]], count: int) -> None:
    found = assigned(rows, range(5, 5 + count))
    assert len(found.load_row) == fewest_loads(rows, count)


@settings(deadline=None)
@given(ROWS, st.lists(st.integers(0, 2), min_size=9, max_size=9))
def test_every_operand_finds_its_value(rows: list[tuple[int, ...]], cores: list[int]) -> None:
    core = sorted(cores[: len(rows)])
    found = assigned(rows, range(2, 5), core)
    held: dict[int, int] = {}
    loads = list(zip(found.load_row.tolist(), found.load_register.tolist(), found.load_value.tolist(), strict=True))
    for row, values in enumerate(rows):
        if row and core[row] != core[row - 1]:
            held = {}
        while loads and loads[0][0] == row:
            _, register, value = loads.pop(0)
            assert 2 <= register < 5
            held[register] = value
        assert [held.get(int(register), 0) for register in found.register[row]] == list(values)
    assert not loads


@settings(deadline=None)
@given(ROWS, st.lists(st.integers(0, 2), min_size=9, max_size=9), FORCED)
def test_every_operand_finds_its_value_beside_what_has_to_be_in_the_first_register(
    rows: list[tuple[int, ...]], cores: list[int], forced: list[int]
) -> None:
    core = sorted(cores[: len(rows)])
    found = assigned(rows, range(2, 7), core, forced)
    held: dict[int, int] = {}
    loads = list(zip(found.load_row.tolist(), found.load_register.tolist(), found.load_value.tolist(), strict=True))
    for row, values in enumerate(rows):
        if row and core[row] != core[row - 1]:
            held = {}
        while loads and loads[0][0] == row:
            _, register, value = loads.pop(0)
            held[register] = value
        assert [held.get(int(register), 0) for register in found.register[row]] == list(values)
        assert forced[row] < 0 or held[2] == forced[row]
    assert not loads


def fewest_with_first(rows: list[tuple[int, ...]], forced: list[int], count: int) -> int:
    """By trying everything, as above; a state is what the first register holds, and the set that the others hold.

    What the first register has to hold is another value than any of an operand, even of the same number.
    """
    states: dict[tuple[object, frozenset[int]], int] = {(None, frozenset()): 0}
    for row, number in zip(rows, forced, strict=False):
        needed = frozenset(row) - {0}
        must = ("global", number) if number >= 0 else None
        following: dict[tuple[object, frozenset[int]], int] = {}
        for (first, others), loads in states.items():
            firsts = [must] if must else [first, *needed]
            for now in firsts:
                missing = needed - others - {now}
                loaded = len(missing) + (now != first)
                for keeps in product((False, True), repeat=len(others - needed)):
                    kept = {value for value, keep in zip(sorted(others - needed), keeps, strict=True) if keep}
                    after = (others & needed) | missing | kept
                    if len(after) < count:
                        state = (now, frozenset(after))
                        following[state] = min(loads + loaded, following.get(state, loads + loaded))
        states = following
    return min(states.values())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=6), FORCED)
def test_sharing_the_first_register_is_between_the_best_and_keeping_it_apart(
    rows: list[tuple[int, ...]], forced: list[int]
) -> None:
    needs = [number for number in forced[: len(rows)] if number >= 0]
    apart = fewest_loads(rows, 4) + sum(one != other for one, other in zip(needs, [-1, *needs], strict=False))
    loads = len(assigned(rows, range(2, 7), forced=forced).load_row)
    assert fewest_with_first(rows, forced, 5) <= loads <= apart


def test_the_first_register_holds_other_values_until_it_is_needed() -> None:
    """Four values in turns have room in four registers, if the first one serves: each is loaded once."""
    rows = [(1 + number % 4, 0, 0) for number in range(12)]
    found = assigned([*rows, (0, 0, 0)], range(2, 6), forced=[-1] * 12 + [7])
    assert found.load_value.tolist() == [1, 2, 3, 4, 7]
    assert found.load_register.tolist()[-1] == 2


@settings(deadline=None)
@given(ROWS, st.lists(st.integers(0, 2), min_size=9, max_size=9), st.none() | FORCED)
def test_machine_code_does_the_same(rows: list[tuple[int, ...]], cores: list[int], forced: list[int] | None) -> None:
    core = sorted(cores[: len(rows)])
    interpreted = assigned(rows, range(2, 7), core, forced)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(register_replacement, "WORTH_COMPILING", 0)
        patch.setattr(register_replacement, "run", lambda *_: pytest.fail("it is not compiled"))
        compiled = assigned(rows, range(2, 7), core, forced)
    for name, column in vars(interpreted).items():
        np.testing.assert_array_equal(getattr(compiled, name), column, err_msg=name)


@pytest.mark.parametrize("length", [30, 31, 45, 90])
def test_a_loop_of_addresses_keeps_what_fits(length: int) -> None:
    """Of n values in a loop, r registers keep r - 1 in n - 1 until they are needed again (Belady 1966)."""
    rows = [(1 + value, 0, 0) for _ in range(100) for value in range(length)]
    missed = len(assigned(rows, range(2, 32)).load_row)
    assert missed == pytest.approx(length + 99 * length * (length - 30) / (length - 1), abs=length / 2)
