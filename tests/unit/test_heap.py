"""The heap of kernels against the standard library's."""

from __future__ import annotations

from heapq import heappop, heappush

from hypothesis import given
from hypothesis import strategies as st
from tilec.support.heap import heap_pop, heap_push

NUMBERS = st.integers(-5, 5) | st.integers(-(2**62), 2**62)


@given(st.lists(NUMBERS | st.none(), max_size=60), st.integers(0, 3))
def test_it_gives_what_the_standard_library_gives(orders: list[int | None], first: int) -> None:
    """None takes the least number out. What is beside the heap's part of the column stays."""
    column = [99] * (first + len(orders) + 1)
    expected: list[int] = []
    for order in orders:
        if order is not None:
            heap_push(column, first, len(expected), order)
            heappush(expected, order)
        elif expected:
            count = len(expected)
            assert heap_pop(column, first, count) == heappop(expected)
        assert sorted(column[first : first + len(expected)]) == sorted(expected)
    assert column[:first] == [99] * first
    assert column[first + len(orders) :] == [99]
