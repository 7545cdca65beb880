"""Access maps of windows, against their definition in a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilec.analysis.window import OUTSIDE, RowWindow

WINDOWS = st.builds(
    RowWindow,
    height=st.integers(1, 6),
    lanes=st.integers(1, 6),
    rows=st.integers(1, 5),
    stride=st.integers(0, 4),
    dilation=st.integers(1, 3),
    pad_top=st.integers(-3, 4),
    edge=st.sampled_from(["zero", "clamp"]),
)


def rows_of_lane(window: RowWindow, lane: int) -> list[int]:
    image, y = divmod(lane, window.lanes)
    found: list[int] = []
    for k in range(window.rows):
        row = y * window.stride - window.pad_top + k * window.dilation
        if window.edge == "clamp":
            row = min(max(row, 0), window.height - 1)
        found.append(image * window.height + row if 0 <= row < window.height else OUTSIDE)
    return found


@given(WINDOWS, st.integers(1, 3))
def test_rows(window: RowWindow, images: int) -> None:
    lanes = np.arange(images * window.lanes)
    assert not window.problems()
    assert window.rows_of(lanes).tolist() == [rows_of_lane(window, lane) for lane in lanes.tolist()]


@given(WINDOWS)
def test_rows_of_some_lanes(window: RowWindow) -> None:
    some = np.array([window.lanes - 1, 0, window.lanes - 1], np.int64)
    assert window.rows_of(some).tolist() == [rows_of_lane(window, int(lane)) for lane in some]


@given(WINDOWS)
def test_predicates(window: RowWindow) -> None:
    rows = [rows_of_lane(window, lane) for lane in range(window.lanes)]
    if window.reads_whole_image and window.pad_top == 0 and window.dilation == 1:
        assert set(range(window.height)) <= set(rows[0])


@pytest.mark.parametrize(
    ("window", "problem"),
    [
        (RowWindow(0, 1), "height is 0, at least 1 expected"),
        (RowWindow(1, 0), "lanes is 0, at least 1 expected"),
        (RowWindow(1, 1, rows=0), "rows is 0, at least 1 expected"),
        (RowWindow(1, 1, dilation=0), "dilation is 0, at least 1 expected"),
        (RowWindow(1, 1, stride=-1), "stride is -1, at least 0 expected"),
        (RowWindow(1, 1, pad_left=-1), "pad_left is -1, at least 0 expected"),
        (RowWindow(1, 1, edge="wrap"), "edge is 'wrap', one of zero, clamp expected"),
        (RowWindow(1, 1, pad_right=1, edge="clamp"), "a clamped window has no column padding"),
    ],
)
def test_problems(window: RowWindow, problem: str) -> None:
    assert window.problems() == [problem]


def test_fields_that_would_leave_64_bits() -> None:
    for name in ("height", "lanes", "rows", "stride", "dilation", "pad_top", "pad_left", "pad_right"):
        fields = {"height": 4, "lanes": 4, name: 10**20}
        assert RowWindow(**fields).problems() == [f"{name} is {10**20}, at most 2147483648 expected"]
    assert RowWindow(4, 4, pad_top=-(10**20)).problems()
