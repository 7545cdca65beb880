"""How the weight matrix of one layer lies in arrays, and how its arrays lie together on cores.

The matrix, k rows by n columns, is cut into *slices* of rows that fit an array's height, and every slice into *tiles*
of columns that fit its width; one (slice, tile) is one array. The arrays of one slice on one core are an array group:
they share an input vector, and one MVM drives them. A *part* is a range of slices times a range of tiles on one core.
A core runs its groups one after the other, so cutting between slices shortens a window, and cutting between tiles
only shortens the write of the outputs; cutting between slices makes partial sums to add.

A matrix of diagonal blocks (grouped and depthwise convolutions) has no weights off the blocks: several small blocks
share an array along its diagonal, and a large block is cut like a matrix of its own.

Not handled: several windows per MVM, replicas, and parts that are not a range times a range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MvmCycles = Callable[[int], int]


@dataclass(frozen=True, eq=False)
class Partition:
    """s slices of t tiles each, in p parts. Ranges are half-open."""

    slice_rows: Ints
    """[s, 2] rows of the matrix in each slice."""
    tile_columns: Ints
    """[s, t, 2] columns of the matrix in each tile; empty past the end of a slice's columns."""
    held: Bools
    """[s, t] whether the array exists; false where all of its weights are structurally zero."""
    part_slices: Ints
    """[p, 2] slices of each part."""
    part_tiles: Ints
    """[p, 2] tiles of each part."""

    @property
    def part_count(self) -> int:
        return self.part_slices.shape[0]

    @property
    def array_count(self) -> int:
        """Arrays of one copy of the weights."""
        return int(self.held.sum())

    def group_arrays(self, part: int) -> Ints:
        """[slices of the part] arrays that the MVM of each slice drives; 0 where the part holds nothing of it."""
        slices, tiles = (slice(*bounds[part].tolist()) for bounds in (self.part_slices, self.part_tiles))
        return self.held[slices, tiles].sum(axis=1)

    def part_arrays(self) -> Ints:
        """[p] arrays of each part."""
        return np.array([self.group_arrays(part).sum() for part in range(self.part_count)], dtype=np.int64)

    def part_cycles(self, mvm_cycles: MvmCycles) -> Ints:
        """[p] cycles that the MVMs of one window take on each part's core."""
        groups = (self.group_arrays(part).tolist() for part in range(self.part_count))
        return np.array([sum(mvm_cycles(arrays) for arrays in part if arrays) for part in groups], dtype=np.int64)


def partition(
    k: int,
    n: int,
    *,
    rows: int,
    cols: int,
    arrays_per_core: int,
    parts: int | None = None,
    blocks: int = 1,
    pieces: Sequence[int] | None = None,
    occupancy: Bools | None = None,
    mvm_cycles: MvmCycles = lambda arrays: 1,
) -> Partition:
    """Partitions a matrix of ``k`` rows and ``n`` columns onto arrays of ``rows`` by ``cols`` weights.

    ``parts`` is how many cores to spread over at most (default: as few as hold the arrays). Of the ways to cut slices
    and tiles into so many parts the one is taken whose slowest core spends least ``mvm_cycles`` a window, then the one
    with fewest parts, then with fewest cuts between slices.

    ``blocks`` equal diagonal blocks, in order, hold all weights. ``pieces`` are lengths of consecutive row runs (of one
    block) that a slice may not straddle: the runs of input that are contiguous in memory; small blocks then get an
    array each. ``occupancy`` [k, n] is false where a weight is structurally zero; arrays without weights do not exist.

    Raises ValueError when the arguments contradict each other, or ``parts`` are too few to hold the arrays.
    """
    _check_arguments(k, n, rows, cols, arrays_per_core, blocks, pieces, occupancy)
    slice_rows, column_range = _slices(k, n, rows, cols, blocks, pieces)
    tile_columns = _tiles(column_range, cols)
    held = _held(slice_rows, tile_columns, occupancy)
    slice_parts, tile_parts = _choose_cuts(held, arrays_per_core, parts, mvm_cycles)
    part_slices, part_tiles = _cross(
        balanced_cuts(len(slice_rows), slice_parts), balanced_cuts(tile_columns.shape[1], tile_parts)
    )
    return Partition(slice_rows, tile_columns, held, part_slices, part_tiles)


def minimum_parts(held: Bools, arrays_per_core: int) -> tuple[int, int]:
    """(parts along slices, parts along tiles): the fewest that hold the arrays [s, t], with fewest slice cuts."""
    options = (_fewest_slice_parts(held, tile_parts, arrays_per_core) for tile_parts in range(1, held.shape[1] + 1))
    feasible = [(slices * tiles, slices, tiles) for tiles, slices in enumerate(options, start=1) if slices]
    _, slice_parts, tile_parts = min(feasible)
    return slice_parts, tile_parts


def balanced_cuts(count: int, parts: int) -> Ints:
    """[parts + 1] bounds that cut ``count`` things into ranges whose lengths differ by one at most, longer first."""
    return np.minimum(np.arange(parts + 1), count % parts) + np.arange(parts + 1) * (count // parts)


def validate_partition(
    partition: Partition,
    k: int,
    n: int,
    *,
    rows: int,
    cols: int,
    arrays_per_core: int,
    pieces: Sequence[int] | None = None,
    occupancy: Bools | None = None,
) -> list[str]:
    """Lists what is wrong with ``partition``, in words; empty when it is valid.

    Valid: slices are disjoint and cover the rows, none straddles a piece (``pieces`` over all k rows), every weight is
    in exactly one array, arrays fit their size, every array is in exactly one part, and parts fit a core.
    """
    faults: list[str] = []
    row_uses = np.zeros(k, dtype=np.int64)
    for number, (low, high) in enumerate(partition.slice_rows.tolist()):
        if not (0 <= low < high <= k and high - low <= rows):
            return [f"slice {number} has rows {low}..{high} of {k}, an array has {rows}"]
        row_uses[low:high] += 1
        column_uses = np.zeros(n, dtype=np.int64)
        for tile, (left, right) in enumerate(partition.tile_columns[number].tolist()):
            if not (0 <= left <= right <= n and right - left <= cols):
                faults.append(f"tile {tile} of slice {number} has columns {left}..{right} of {n}, an array has {cols}")
            elif partition.held[number, tile]:
                column_uses[left:right] += 1
        needed = np.ones(n, dtype=np.bool_) if occupancy is None else occupancy[low:high].any(axis=0)
        if (column_uses[needed] != 1).any() or (column_uses > 1).any():
            faults.append(f"a column of slice {number} is not in exactly one array")
    if (row_uses != 1).any():
        faults.append(f"row {int((row_uses != 1).argmax())} is not in exactly one slice")
    edge = 0
    for length in pieces or ():
        edge += length
        if any(low < edge < high for low, high in partition.slice_rows.tolist()):
            faults.append(f"a slice straddles the piece boundary at row {edge}")
    array_uses = np.zeros(partition.held.shape, dtype=np.int64)
    for part in range(partition.part_count):
        (top, bottom), (left, right) = partition.part_slices[part].tolist(), partition.part_tiles[part].tolist()
        array_uses[top:bottom, left:right] += 1
        if (arrays := int(partition.held[top:bottom, left:right].sum())) > arrays_per_core:
            faults.append(f"part {part} has {arrays} arrays, a core {arrays_per_core}")
    if (array_uses != 1).any():
        faults.append("an array is not in exactly one part")
    return faults


def _check_arguments(
    k: int,
    n: int,
    rows: int,
    cols: int,
    arrays_per_core: int,
    blocks: int,
    pieces: Sequence[int] | None,
    occupancy: Bools | None,
) -> None:
    if min(k, n, rows, cols, arrays_per_core, blocks) < 1:
        raise ValueError("sizes must be positive")
    if k % blocks or n % blocks:
        raise ValueError(f"a {k} x {n} matrix has no {blocks} equal diagonal blocks")
    if pieces is not None and (min(pieces, default=0) < 1 or sum(pieces) != k // blocks):
        raise ValueError(f"pieces must be positive and add up to the {k // blocks} rows of a block")
    if occupancy is not None and occupancy.shape != (k, n):
        raise ValueError(f"occupancy has shape {list(occupancy.shape)}, the matrix [{k}, {n}]")


def _slices(k: int, n: int, rows: int, cols: int, blocks: int, pieces: Sequence[int] | None) -> tuple[Ints, Ints]:
    """[s, 2] rows and [s, 2] columns of each slice."""
    block_rows, block_columns = k // blocks, n // blocks
    together = min(rows // block_rows, cols // block_columns) if pieces is None else 1
    if blocks > 1 and together > 1:  # a slice of whole blocks
        begin = np.arange(0, blocks, together)
        bounds = np.stack((begin, np.minimum(begin + together, blocks)), axis=1)
        return bounds * block_rows, bounds * block_columns
    ends = np.cumsum(pieces if pieces is not None else [block_rows])
    starts = ends - np.diff(ends, prepend=0)
    one_block = [
        (low, min(low + rows, end)) for start, end in zip(starts, ends, strict=True) for low in range(start, end, rows)
    ]
    in_block = np.array(one_block, dtype=np.int64)
    block = np.repeat(np.arange(blocks), len(in_block))[:, None]
    slice_rows = np.tile(in_block, (blocks, 1)) + block * block_rows
    return slice_rows, (block + np.arange(2)) * block_columns


def _tiles(column_range: Ints, cols: int) -> Ints:
    """[s, t, 2] the columns of each slice, cut from its left; all slices get as many tiles as the widest needs."""
    begin, end = column_range[:, :1], column_range[:, 1:]
    count = -(-int((end - begin).max()) // cols)
    edges = np.minimum(begin + np.arange(count + 1) * cols, end)
    return np.stack((edges[:, :-1], edges[:, 1:]), axis=2)


def _held(slice_rows: Ints, tile_columns: Ints, occupancy: Bools | None) -> Bools:
    """[s, t] whether the array has a column, and a weight that may differ from zero."""
    held = tile_columns[:, :, 0] < tile_columns[:, :, 1]
    if occupancy is not None:
        for number, (low, high) in enumerate(slice_rows.tolist()):
            weights = np.concatenate(([0], np.cumsum(occupancy[low:high].any(axis=0))))
            held[number] &= weights[tile_columns[number, :, 1]] > weights[tile_columns[number, :, 0]]
    return held


def _choose_cuts(held: Bools, arrays_per_core: int, parts: int | None, mvm_cycles: MvmCycles) -> tuple[int, int]:
    """(parts along slices, parts along tiles) as :func:`partition` describes.

    For each number of parts along tiles, more parts along slices are never slower when all arrays are held, so few
    candidates need a look; with absent arrays the choice is good and not always best.
    """
    fewest = minimum_parts(held, arrays_per_core)
    budget = fewest[0] * fewest[1] if parts is None else parts
    if budget < fewest[0] * fewest[1]:
        raise ValueError(
            f"{int(held.sum())} arrays need {fewest[0] * fewest[1]} cores of {arrays_per_core}, not {parts}"
        )
    candidates: list[tuple[int, int, int, int]] = []
    for tile_parts in range(1, min(budget, held.shape[1]) + 1):
        most = min(held.shape[0], budget // tile_parts)
        longest = -(-held.shape[0] // most)
        for slice_parts in (-(-held.shape[0] // longest), most):  # the fewest with the same longest part, and all
            arrays = _part_arrays(held, slice_parts, tile_parts)
            if arrays.sum(axis=1).max() <= arrays_per_core:
                cycles = max(sum(mvm_cycles(group) for group in part if group) for part in arrays.tolist())
                candidates.append((cycles, slice_parts * tile_parts, slice_parts, tile_parts))
    if not candidates:
        return fewest
    return min(candidates)[2:]


def _fewest_slice_parts(held: Bools, tile_parts: int, arrays_per_core: int) -> int:
    """Fewest parts along slices that fit a core with so many along tiles; 0 when one slice does not fit."""
    if _part_arrays(held, held.shape[0], tile_parts).max() > arrays_per_core:
        return 0
    slice_parts = max(1, -(-int(held.sum()) // (arrays_per_core * tile_parts)))
    while _part_arrays(held, slice_parts, tile_parts).sum(axis=1).max() > arrays_per_core:
        slice_parts += 1
    return slice_parts


def _part_arrays(held: Bools, slice_parts: int, tile_parts: int) -> Ints:
    """[parts, slices of the longest part] arrays of each group, 0 where a part has fewer slices."""
    bounds = balanced_cuts(held.shape[0], slice_parts)
    by_tile_part = np.add.reduceat(held.astype(np.int64), balanced_cuts(held.shape[1], tile_parts)[:-1], axis=1)
    longest = int(np.diff(bounds).max())
    rows = bounds[:-1, None] + np.arange(longest)
    inside = rows < bounds[1:, None]
    groups = np.where(inside[:, :, None], by_tile_part[np.minimum(rows, held.shape[0] - 1)], 0)
    return groups.transpose(0, 2, 1).reshape(-1, longest)


def _cross(slice_bounds: Ints, tile_bounds: Ints) -> tuple[Ints, Ints]:
    """[p, 2] slices and [p, 2] tiles of the parts, slice range by slice range."""
    slices = np.stack((slice_bounds[:-1], slice_bounds[1:]), axis=1)
    tiles = np.stack((tile_bounds[:-1], tile_bounds[1:]), axis=1)
    return np.repeat(slices, len(tiles), axis=0), np.tile(tiles, (len(slices), 1))
