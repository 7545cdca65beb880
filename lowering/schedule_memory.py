"""How much local memory a schedule of lanes takes, before it is planned exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from xdsl.ir import Operation

from ..analysis.lane_columns import graph_of
from ..analysis.lane_graph import LaneGraph
from ..analysis.message_times import residences
from ..analysis.timeline import TimedBatch, Timeline
from ..analysis.window import OUTSIDE, RowWindow, window_rows
from ..dialects.spat import BatchOp, shape_of
from ..support.arrays import Ints
from .frame_sharing import interrupting, shared_bytes
from .lane_cost import BatchCosts
from .target import Target

GAPS = 0.03
"""Of a memory that is nearly full for long, as by rows of several samples, what planning may leave between buffers."""


class ZeroRows(NamedTuple):
    """Rows outside their images that lanes read."""

    lane: Ints
    """[n] lanes, numbered through all batches."""
    size: Ints
    """[n] bytes of the row of zeros that each reads."""


def zero_rows(batches: Sequence[BatchOp], target: Target) -> ZeroRows:
    """What lanes read outside of images."""
    lanes, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    first = 0
    for batch in batches:
        for argument, window in zip(batch.input_arguments, batch.row_windows, strict=True):
            outside = np.flatnonzero((window_rows(window, batch.lane_count) == OUTSIDE).any(axis=1))
            lanes.append(first + outside)
            sizes.append(np.full(len(outside), math.prod(shape_of(argument)[1:]) * target.element_bytes))
        first += batch.lane_count
    return ZeroRows(np.concatenate(lanes), np.concatenate(sizes))


def estimated_peaks(
    batches: Sequence[BatchOp],
    timed: list[TimedBatch],
    timeline: Timeline,
    costs: BatchCosts,
    slots: Sequence[int] | None = None,
    graph: LaneGraph | None = None,
    zeros: ZeroRows | None = None,
) -> Ints:
    """[cores] bytes at the moment when most is held: rings of rows while any of their rows is, the constants, the
    longest row of zeros, and room for the temporary tiles. If they are known already, ``slots`` are those of
    :func:`slot_bytes`, ``graph`` is that of the batches (:func:`..analysis.lane_columns.graph_of`), and ``zeros`` are
    those of :func:`zero_rows`."""
    target = costs.target
    if slots is None:
        slots = [slot_bytes(batch, target) for batch in batches]
    cores = target.machine.core_count
    found = [costs.of(batch) for batch in batches]
    scratch = _scratch([cost.scratch_bytes for cost in found], timed, timeline, cores)
    constants = _constants([cost.constant_bytes for cost in found], timed, cores)
    rings = held_rings(timed, timeline, slots, graph)
    zeros = zero_rows(batches, target) if zeros is None else zeros
    longest = np.zeros(cores, np.int64)
    np.maximum.at(longest, np.concatenate([one.cores for one in timed])[zeros.lane], zeros.size)
    return scratch + constants + longest + _most_held(rings, cores)


def held_rings(
    timed: Sequence[TimedBatch], timeline: Timeline, slots: Sequence[int], graph: LaneGraph | None = None
) -> Ints:
    """Lines [m, 5], one for each ring of rows: its core, the first cycle with a row, the last one, its bytes, and the
    number of the batch that computes the rows."""
    core = np.concatenate([one.cores for one in timed])
    batch, *ring, rows = residences(graph_of(timed) if graph is None else graph, core, timeline).rings().T
    return np.stack((*ring, rows * np.array(slots)[batch], batch), axis=1)


def _constants(sizes: Sequence[int], timed: Sequence[TimedBatch], cores: int) -> Ints:
    """[cores] bytes of the constants of all batches, which take ``sizes`` [batches]."""
    batch = np.repeat(np.arange(len(timed)), [one.replicas for one in timed])
    core = np.concatenate([np.zeros(0, np.int64), *(one.cores[: one.replicas] for one in timed)])
    batch, core = np.divmod(np.unique(batch * cores + core), cores)
    found = np.zeros(cores, np.int64)
    np.add.at(found, core, np.array(sizes, np.int64)[batch])
    return found


def _scratch(sizes: Sequence[int], timed: Sequence[TimedBatch], timeline: Timeline, cores: int) -> Ints:
    """[cores] bytes of the places for temporary tiles, as they are shared in the end; a batch takes ``sizes``
    [batches]."""
    core = np.concatenate([one.cores for one in timed])
    owner = np.repeat(np.arange(len(timed)), [len(one.cores) for one in timed])
    interrupted = interrupting(core, timeline.starts, timeline.finishes - 1, owner)
    found = np.zeros(cores, np.int64)
    np.maximum.at(found, core, np.array(sizes)[owner])
    for at, pairs in interrupted.items():
        found[at] = shared_bytes(sizes, int(found[at]), pairs)
    return found


def slot_bytes(batch: BatchOp, target: Target) -> int:
    """Bytes of a row of the batch's result in a ring, with the columns of zeros beside it."""
    windows = _windows_on(batch)
    left = max((window.pad_left for window in windows), default=0)
    right = max((window.pad_right for window in windows), default=0)
    _, columns, channels = shape_of(batch.outs[0])
    return (left + columns + right) * channels * target.element_bytes


def waiting_bytes(batches: Sequence[BatchOp], target: Target) -> list[int]:
    """Bytes of the rows of one image that each batch computes, if they wait until the last one of something is there.

    They do where their reader also needs what a whole image has been read for, and they come with the rows of that
    image: the rows that a gate scales are held until all of them have been seen.
    """
    index: dict[Operation, int] = {batch: position for position, batch in enumerate(batches)}
    sources: list[int] = []
    """Of each batch, itself and all from which it computes, as the bits of a number."""
    whole: list[int] = []
    """Of these, the ones all rows of which each of its lanes needs."""
    found = [0] * len(batches)
    for position, batch in enumerate(batches):
        reads = [
            (index[value.owner], window)
            for value, window in zip(batch.inputs, batch.row_windows, strict=True)
            if isinstance(value.owner, Operation) and value.owner in index
        ]
        all_sources, all_whole = 1 << position, 0
        for producer, window in reads:
            all_sources |= sources[producer]
            all_whole |= sources[producer] if window.reads_whole_image else whole[producer]
        for producer, window in reads:
            if not window.reads_whole_image and all_whole & ~whole[producer] & sources[producer]:
                found[producer] = window.height * slot_bytes(batches[producer], target)
        sources.append(all_sources)
        whole.append(all_whole)
    return found


def _most_held(rings: Ints, core_count: int) -> Ints:
    """[cores] the most bytes that the rings of a core hold at once."""
    core = np.concatenate((rings[:, 0], rings[:, 0]))
    time = np.concatenate((rings[:, 1], rings[:, 2] + 1))
    change = np.concatenate((rings[:, 3], -rings[:, 3]))
    order = np.lexsort((change, time, core))
    total = np.cumsum(change[order])  # is zero again behind the last ring of each core
    peaks = np.zeros(core_count, np.int64)
    np.maximum.at(peaks, core[order], total)
    return peaks


def _windows_on(producer: BatchOp) -> list[RowWindow]:
    """The access maps of all that reads the batch's result."""
    return [
        use.operation.row_windows[use.index]
        for use in producer.outs[0].uses
        if isinstance(use.operation, BatchOp) and use.index < len(use.operation.inputs)
    ]
