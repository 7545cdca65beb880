"""The wavefront order: lanes follow what they read, and rows are held no longer than windows require."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tilec.analysis.wavefront import LaneBatch, Read, lane_steps, validate_steps
from tilec.analysis.window import OUTSIDE, RowWindow

Ints = NDArray[np.int64]


@st.composite
def networks(draw: st.DrawFn) -> list[LaneBatch]:
    """Batches over images that read earlier ones through convolutions, pools and global reductions."""
    images = draw(st.integers(1, 2))
    heights = [draw(st.integers(1, 6))]
    batches: list[LaneBatch] = []
    for index in range(draw(st.integers(1, 6))):
        height = draw(st.sampled_from([1, 2, heights[-1]]))
        reads: list[Read] = []
        for _ in range(draw(st.integers(1, 3))):
            producer = draw(st.one_of(st.none(), st.integers(0, index - 1))) if index else None
            of = heights[0] if producer is None else heights[producer + 1]
            window = RowWindow(of, height, rows=draw(st.integers(1, 3)), stride=draw(st.integers(0, 2)),
                               pad_top=draw(st.integers(0, 1)))  # fmt: skip
            reads.append(Read(producer, window))
        heights.append(height)
        batches.append(LaneBatch(images * height, tuple(reads)))
    return batches


def chain(depth: int, height: int) -> list[LaneBatch]:
    """Convolutions 3x3, one after the other."""
    window = RowWindow(height, height, rows=3, pad_top=1)
    return [LaneBatch(height, (Read(index - 1 if index else None, window),)) for index in range(depth)]


def held_rows(batches: Sequence[LaneBatch], steps: Sequence[Ints], producer: int) -> int:
    """The most rows of a batch that are computed and still to be read, at any one step."""
    last = steps[producer].copy()
    for index, batch in enumerate(batches):
        for read in batch.reads:
            if read.producer == producer:
                for lane, rows in enumerate(read.window.rows_of(np.arange(batch.lanes))):
                    for row in rows[rows != OUTSIDE]:
                        last[row] = max(last[row], steps[index][lane])
    return max(int(((steps[producer] <= step) & (step <= last)).sum()) for step in steps[producer])


@settings(deadline=None)
@given(networks())
def test_order(batches: list[LaneBatch]) -> None:
    steps = lane_steps(batches)
    assert validate_steps(batches, steps) == []
    assert sorted(np.concatenate(steps).tolist()) == list(range(sum(batch.lanes for batch in batches)))
    again = lane_steps(batches)
    assert all(np.array_equal(first, second) for first, second in zip(steps, again, strict=True))


@pytest.mark.parametrize("height", [8, 16, 64])
def test_rings_do_not_grow_with_the_image(height: int) -> None:
    batches = chain(5, height)
    steps = lane_steps(batches)
    assert validate_steps(batches, steps) == []
    assert max(held_rows(batches, steps, producer) for producer in range(4)) <= 4


def test_a_residual_connection_holds_what_the_other_way_needs() -> None:
    batches = chain(3, 32)
    add = RowWindow(32, 32)
    batches.append(LaneBatch(32, (Read(2, add), Read(0, add))))
    steps = lane_steps(batches)
    assert validate_steps(batches, steps) == []
    assert held_rows(batches, steps, 0) <= 6


def test_validator() -> None:
    batches = chain(2, 3)
    steps = lane_steps(batches)
    steps[0], steps[1] = steps[1], steps[0]
    assert "lane 0 of batch 1 comes before row 0 of batch 0" in validate_steps(batches, steps)
