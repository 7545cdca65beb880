"""How much local memory a schedule of lanes takes, before it is planned exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..analysis.timeline import TimedBatch, Timeline
from ..analysis.window import OUTSIDE, RowWindow
from ..dialects.spat import BatchOp, shape_of
from .lane_cost import working_memory
from .target import Target

Ints = NDArray[np.int64]


def estimated_peaks(
    batches: Sequence[BatchOp], timed: Sequence[TimedBatch], timeline: Timeline, target: Target
) -> Ints:
    """[cores] bytes: as if every ring of rows, temporary tile and constant of a core were there all the time."""
    peaks = np.zeros(target.machine.core_count, np.int64)
    for op, one in zip(batches, timed, strict=True):
        for core in np.unique(one.cores).tolist():
            peaks[core] += working_memory(op, target)
    reads = _reads(timed, timeline)
    for index, (op, one) in enumerate(zip(batches, timed, strict=True)):
        pads = max((w.pad_left + w.pad_right for w in _windows_on(op)), default=0)
        _, columns, channels = shape_of(op.outs[0])
        slot = (columns + pads) * channels * target.element_bytes
        _add_rings(peaks, one, timeline.start[index], reads[index], slot)
    return peaks


def _windows_on(producer: BatchOp) -> list[RowWindow]:
    """The access maps of all that reads the batch's result."""
    return [
        use.operation.row_windows[use.index]
        for use in producer.outs[0].uses
        if isinstance(use.operation, BatchOp) and use.index < len(use.operation.inputs)
    ]


def _reads(timed: Sequence[TimedBatch], timeline: Timeline) -> list[Ints]:
    """For each batch, a table [n, 3] of row, reading core and the end of the lane that reads."""
    tables: list[list[Ints]] = [[np.zeros((0, 3), np.int64)] for _ in timed]
    for index, one in enumerate(timed):
        end = timeline.start[index] + one.cycles
        for read in one.batch.reads:
            if read.producer is None:
                continue
            rows = read.window.rows_of(np.arange(one.batch.lanes))
            inside = rows != OUTSIDE
            columns = (rows, np.broadcast_to(one.cores[:, None], rows.shape), np.broadcast_to(end[:, None], rows.shape))
            tables[read.producer].append(np.stack([column[inside] for column in columns], axis=1))
    return [np.concatenate(table) for table in tables]


def _add_rings(peaks: Ints, one: TimedBatch, start: Ints, reads: Ints, slot_bytes: int) -> None:
    lanes = np.arange(one.batch.lanes)
    end = start + one.cycles
    held = np.concatenate((np.stack((lanes, one.cores, end), axis=1), reads))
    order = np.lexsort((held[:, 2], held[:, 0], held[:, 1]))
    held = held[order]
    last = np.ones(len(held), np.bool_)
    last[:-1] = (held[1:, :2] != held[:-1, :2]).any(axis=1)
    held = held[last]
    first = np.where(held[:, 1] == one.cores[held[:, 0]], start[held[:, 0]], end[held[:, 0]])
    for core in np.unique(held[:, 1]).tolist():
        mine = held[:, 1] == core
        begins, ends = first[mine], held[mine, 2]
        by_begin = np.argsort(begins, kind="stable")
        begins, ends = begins[by_begin], ends[by_begin]
        depth = int((np.searchsorted(begins, ends, side="right") - np.arange(len(begins))).max())
        peaks[core] += depth * slot_bytes
