"""Bisection in a part of a column, against the standard library."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st
from tilec.support.bisection import first_not_below


@given(st.lists(st.integers(-5, 5)).map(sorted), st.integers(-6, 6), st.data())
def test_it_finds_what_the_standard_library_does(column: list[int], number: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, len(column)))
    high = data.draw(st.integers(low, len(column)))
    assert first_not_below(column, low, high, number) == bisect_left(column, number, low, high)
