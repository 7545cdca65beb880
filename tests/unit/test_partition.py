"""Partitions of weight matrices: every weight once, capacities kept, and the cuts against exhaustive search."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.partition import balanced_cuts, minimum_parts, partition, validate_partition


def mvm_cycles(arrays: int) -> int:
    return 100 + 7 * arrays


@settings(deadline=None)
@given(
    st.integers(1, 80), st.integers(1, 80), st.integers(1, 9), st.integers(1, 9), st.integers(1, 12), st.integers(0, 30)
)
def test_dense_partition_is_valid_and_its_cuts_are_best(
    k: int, n: int, rows: int, cols: int, arrays_per_core: int, extra: int
) -> None:
    slices, tiles = -(-k // rows), -(-n // cols)
    everything = np.ones((slices, tiles), dtype=np.bool_)
    fewest = minimum_parts(everything, arrays_per_core)
    parts = fewest[0] * fewest[1] + extra
    result = partition(k, n, rows=rows, cols=cols, arrays_per_core=arrays_per_core, parts=parts, mvm_cycles=mvm_cycles)
    assert validate_partition(result, k, n, rows=rows, cols=cols, arrays_per_core=arrays_per_core) == []
    assert result.array_count == slices * tiles == result.part_arrays().sum()
    assert result.part_count <= parts
    grids = [(-(-slices // ps), -(-tiles // pt), ps * pt) for ps in range(1, slices + 1) for pt in range(1, tiles + 1)]
    fits = [grid for grid in grids if grid[0] * grid[1] <= arrays_per_core]
    assert fewest[0] * fewest[1] == min(count for _, _, count in fits)
    best = min((high * mvm_cycles(wide), count) for high, wide, count in fits if count <= parts)
    assert (int(result.part_cycles(mvm_cycles).max()), result.part_count) == best


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12), st.integers(1, 20), st.booleans())
def test_diagonal_blocks_hold_every_weight_once(
    blocks: int, block_rows: int, block_columns: int, arrays_per_core: int, cut: bool
) -> None:
    k, n = blocks * block_rows, blocks * block_columns
    occupancy = np.kron(np.eye(blocks), np.ones((block_rows, block_columns))) > 0
    pieces = [block_rows // 2, block_rows - block_rows // 2] if cut and block_rows > 1 else None
    limits = {"rows": 8, "cols": 6, "arrays_per_core": arrays_per_core}
    result = partition(k, n, blocks=blocks, pieces=pieces, **limits)
    edges = None if pieces is None else pieces * blocks
    assert validate_partition(result, k, n, occupancy=occupancy, pieces=edges, **limits) == []


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 6), st.integers(0, 2**32), st.integers(0, 9))
def test_arrays_without_weights_do_not_exist(k: int, n: int, arrays_per_core: int, seed: int, extra: int) -> None:
    rng = np.random.default_rng(seed)
    occupancy = np.kron(rng.random((-(-k // 5), -(-n // 5))) < 0.4, np.ones((5, 5)))[:k, :n] > 0
    limits = {"rows": 4, "cols": 3, "arrays_per_core": arrays_per_core}
    result = partition(k, n, occupancy=occupancy, **limits)
    assert validate_partition(result, k, n, occupancy=occupancy, **limits) == []
    more = partition(k, n, occupancy=occupancy, parts=result.part_count + extra, **limits)
    assert validate_partition(more, k, n, occupancy=occupancy, **limits) == []
    for slice_number, tile in np.argwhere(result.held):
        (top, bottom), (left, right) = result.slice_rows[slice_number], result.tile_columns[slice_number, tile]
        assert occupancy[top:bottom, left:right].any()


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 12))
def test_slices_stay_within_pieces(pieces: list[int], rows: int) -> None:
    k = sum(pieces)
    result = partition(k, 5, rows=rows, cols=4, arrays_per_core=3, pieces=pieces)
    assert validate_partition(result, k, 5, rows=rows, cols=4, arrays_per_core=3, pieces=pieces) == []
    assert len(result.slice_rows) == sum(-(-piece // rows) for piece in pieces)


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(1, 20))
def test_balanced_cuts(count: int, parts: int) -> None:
    expected = [len(chunk) for chunk in np.array_split(np.arange(count), parts)]
    assert np.diff(balanced_cuts(count, parts)).tolist() == expected


def test_a_3x3_convolution_of_512_channels() -> None:
    result = partition(4608, 512, rows=128, cols=128, arrays_per_core=64, parts=36)
    assert (result.array_count, result.part_count) == (144, 36)
    assert result.group_arrays(0).tolist() == [4]
    assert result.part_cycles(mvm_cycles).tolist() == [mvm_cycles(4)] * 36


def test_depthwise_blocks_share_arrays() -> None:
    result = partition(9 * 288, 288, rows=128, cols=128, arrays_per_core=64, blocks=288)
    assert result.array_count == 21  # 14 blocks of 9 x 1 in an array of 128 rows


def test_contradictions_are_refused() -> None:
    limits = {"rows": 4, "cols": 4, "arrays_per_core": 2}
    with pytest.raises(ValueError, match="positive"):
        partition(0, 4, **limits)
    with pytest.raises(ValueError, match="9 x 4 matrix has no 2 equal"):
        partition(9, 4, blocks=2, **limits)
    with pytest.raises(ValueError, match="add up to the 8 rows"):
        partition(8, 4, pieces=[4, 3], **limits)
    with pytest.raises(ValueError, match="occupancy has shape"):
        partition(8, 4, occupancy=np.ones((4, 8), dtype=np.bool_), **limits)
    with pytest.raises(ValueError, match="4 arrays need 2 cores of 2, not 1"):
        partition(8, 8, parts=1, **limits)


def test_validator_finds_each_kind_of_fault() -> None:
    good = partition(8, 8, rows=4, cols=4, arrays_per_core=2)

    def faults(arrays_per_core: int = 2, pieces: list[int] | None = None, **changes: object) -> str:
        changed = dataclasses.replace(good, **changes)  # pyright: ignore[reportArgumentType]
        found = validate_partition(changed, 8, 8, rows=4, cols=4, arrays_per_core=arrays_per_core, pieces=pieces)
        return "; ".join(found)

    assert faults() == ""
    assert "slice 0 has rows 0..5" in faults(slice_rows=np.array([[0, 5], [5, 8]]))
    assert "row 3 is not" in faults(slice_rows=np.array([[0, 3], [4, 8]]))
    assert "tile 0 of slice 0" in faults(tile_columns=np.array([[[0, 5], [5, 8]]] * 2))
    assert "a column of slice 0" in faults(held=np.array([[True, False], [True, True]]))
    assert "a column of slice 1" in faults(tile_columns=np.array([[[0, 4], [4, 8]], [[0, 4], [3, 7]]]))
    assert "straddles the piece boundary at row 2" in faults(pieces=[2, 6])
    assert "part 0 has 2 arrays, a core 1" in faults(arrays_per_core=1)
    assert "an array is not in exactly one part" in faults(part_slices=good.part_slices[[0, 0]])
