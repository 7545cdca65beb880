"""When lanes start that take turns, against one lane after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tilec.analysis.turns import starts_in_turns


@given(st.lists(st.integers(0, 60), max_size=30), st.integers(1, 35), st.integers(0, 20))
def test_a_lane_starts_when_it_may_and_its_slot_is_free(ready: list[int], slots: int, cycles: int) -> None:
    free = [0] * slots
    expected: list[int] = []
    for lane, may in enumerate(ready):
        start = max(may, free[lane % slots])
        free[lane % slots] = start + cycles
        expected.append(start)
    assert starts_in_turns(np.array(ready, np.int64), slots, cycles).tolist() == expected


def test_lanes_of_one_slot_follow_one_another() -> None:
    assert starts_in_turns(np.array([0, 3, 50, 0]), 1, 10).tolist() == [0, 10, 50, 60]
    assert starts_in_turns(np.array([0, 3, 50, 0]), 2, 10).tolist() == [0, 3, 50, 13]
