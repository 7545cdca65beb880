"""Batches whose lanes interrupt each other have places of their own; all others share."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tilec.lowering.frame_sharing import Frame, interrupting, share_places, shared_bytes

LANES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30), st.integers(0, 9), st.integers(0, 4)), max_size=12)
"""Core, first step, length and batch."""


@given(LANES)
def test_interrupting_batches_against_all_pairs_of_lanes(drawn: list[tuple[int, int, int, int]]) -> None:
    lanes = [(core, first, first + length, batch) for core, first, length, batch in dict.fromkeys(drawn)]
    expected: dict[int, set[tuple[int, int]]] = {}
    for one, (core, first, last, batch) in enumerate(lanes):
        for two, (other, begin, _, inner) in enumerate(lanes):
            if one != two and core == other and (first < begin or (first == begin and one < two)) and begin <= last:
                expected.setdefault(core, set()).add((batch, inner))
    assert interrupting(*np.array(lanes, np.int64).reshape(-1, 4).T) == expected


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(0, 50)), min_size=1, max_size=8),
    st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))),
)
def test_frames_of_one_place_never_interrupt_each_other(
    drawn: list[tuple[int, int, int]], pairs: set[tuple[int, int]]
) -> None:
    frames = [Frame(first, first + length, size, batch) for batch, (first, length, size) in enumerate(drawn)]
    pairs = {(one, two) for one, two in pairs if one != two}
    groups = share_places(frames, pairs)
    assert sorted(frame for group in groups for frame in group) == sorted(frames)
    for group in groups:
        batches = [frame.batch for frame in group]
        assert not any((one, two) in pairs for one in batches for two in batches)


def test_batches_that_alternate_share_one_place() -> None:
    frames = [Frame(0, 9, 100, 0), Frame(3, 20, 50, 1), Frame(5, 12, 70, 2), Frame(30, 40, 10, 3)]
    assert [[frame.batch for frame in group] for group in share_places(frames, ())] == [[0, 1, 2], [3]]
    assert [[frame.batch for frame in group] for group in share_places(frames, {(1, 0)})] == [[0, 2], [3], [1]]


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=8),
    st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))),
)
def test_bytes_of_places_without_gaps_are_those_of_their_largest_frames(
    sizes: list[int], pairs: set[tuple[int, int]]
) -> None:
    pairs = {(one, two) for one, two in pairs if one != two and max(one, two) < len(sizes)}
    places = share_places([Frame(0, 0, size, batch) for batch, size in enumerate(sizes)], pairs)
    expected = sum(max(frame.size for frame in place) for place in places)
    assert shared_bytes(sizes, max(sizes), pairs) == expected
