"""Slices of weight matrices: every row once, in order, within the height of an array."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilec.analysis.slicing import Run, Slice, direct_slices, gathered_slices, split_evenly

PIECES = st.lists(st.integers(1, 30), min_size=1, max_size=8)
HEIGHTS = st.integers(1, 16)


def elements(slices: Sequence[Slice]) -> list[tuple[int, int]]:
    """The piece and the element of each row, in order of the slices."""
    return [(run.piece, element) for part in slices for run in part.runs for element in range(run.start, run.stop)]


def check(slices: Sequence[Slice], pieces: Sequence[int], height: int) -> None:
    assert elements(slices) == [(piece, e) for piece, length in enumerate(pieces) for e in range(length)]
    assert all(1 <= part.length <= height for part in slices)
    rows = [part.row for part in slices]
    assert rows == [sum(part.length for part in slices[:index]) for index in range(len(slices))]


@given(PIECES, HEIGHTS)
def test_direct(pieces: list[int], height: int) -> None:
    slices = direct_slices(pieces, height)
    check(slices, pieces, height)
    assert all(len(part.runs) == 1 for part in slices)
    assert len(slices) == sum(-(-length // height) for length in pieces)


@given(PIECES, HEIGHTS)
def test_gathered(pieces: list[int], height: int) -> None:
    slices = gathered_slices(pieces, height)
    check(slices, pieces, height)
    assert len(slices) == -(-sum(pieces) // height)
    assert all(run.start < run.stop for part in slices for run in part.runs)


@given(st.integers(0, 100), st.integers(1, 20))
def test_split_evenly(count: int, parts: int) -> None:
    ranges = split_evenly(count, parts)
    assert [index for part in ranges for index in part] == list(range(count))
    sizes = [len(part) for part in ranges]
    assert len(sizes) == parts
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


@pytest.mark.parametrize(
    ("pieces", "height", "direct", "gathered"),
    [
        ([128], 128, [128], [128]),
        ([129], 128, [128, 1], [128, 1]),
        ([21] * 7, 128, [21] * 7, [128, 19]),
        ([192] * 3, 128, [128, 64] * 3, [128] * 4 + [64]),
    ],
)
def test_examples(pieces: list[int], height: int, direct: list[int], gathered: list[int]) -> None:
    assert [part.length for part in direct_slices(pieces, height)] == direct
    assert [part.length for part in gathered_slices(pieces, height)] == gathered


def test_a_slice_over_two_pieces() -> None:
    assert gathered_slices([3, 4], 5) == (Slice(0, (Run(0, 0, 3), Run(1, 0, 2))), Slice(5, (Run(1, 2, 4),)))
