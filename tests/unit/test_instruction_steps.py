"""Where interruptions put the instructions of a lane, against a lane that is gone through cycle by cycle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tilec.lowering.instruction_steps import instruction_steps


@st.composite
def lanes(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """When the instructions of a lane begin and the last one ends, and interruptions: cycles done, steps for which."""
    cycles = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    begin = np.concatenate(([0], np.cumsum(cycles))).tolist()
    places = draw(st.lists(st.sampled_from(begin[:-1]), max_size=5))
    return begin, [(done, draw(st.integers(1, 7))) for done in sorted(places)]


def walked(start: int, begin: list[int], interruptions: list[tuple[int, int]]) -> list[int]:
    """The step of each instruction, when the lane stands still wherever it is interrupted."""
    steps: list[int] = []
    time, pending = start, list(interruptions)
    for done in range(begin[-1]):
        while pending and pending[0][0] == done:
            time += pending.pop(0)[1]
        if done in begin:
            steps.append(time)
        time += 1
    return steps


@given(st.lists(st.tuples(st.integers(0, 50), lanes()), min_size=1, max_size=4))
def test_instructions_behind_an_interruption_are_put_off(
    drawn: list[tuple[int, tuple[list[int], list[tuple[int, int]]]]],
) -> None:
    begin = drawn[0][1][0]
    lines: list[tuple[int, int, int]] = []
    span: list[int] = []
    expected: list[list[int]] = []
    for lane, (start, (_, wanted)) in enumerate(drawn):
        mine = [(done, length) for done, length in wanted if done in begin[:-1]]
        late = 0
        for done, length in mine:
            late += length
            lines.append((lane, done, done + late))
        span.append(begin[-1] + late)
        expected.append(walked(start, begin, mine))
    starts = np.array([start for start, _ in drawn])
    resumes = np.array(lines, np.int64).reshape(-1, 3)
    assert instruction_steps(starts, np.array(span), resumes, np.array(begin)).tolist() == expected


def test_without_a_plan_the_instructions_share_the_span() -> None:
    begin = np.array([0, 5, 10])
    for span, second in ((20, 110), (10, 105), (1, 100)):
        assert instruction_steps(np.array([100]), np.array([span]), None, begin).tolist() == [[100, second]]
    # With a plan, they do not, but stay within it.
    none = np.zeros((0, 3), np.int64)
    assert instruction_steps(np.array([100]), np.array([20]), none, begin).tolist() == [[100, 105]]
    assert instruction_steps(np.array([100]), np.array([3]), none, begin).tolist() == [[100, 102]]
