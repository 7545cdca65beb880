"""When the row of a lane is sent to each core that reads it: as soon as it is computed, to one core after the other.

That is what the timeline counts on. A core that would be overfull with rows that come early is the schedule's to avoid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .timeline import TimedBatch, Timeline, TransferCosts
from .window import OUTSIDE

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowReads:
    """Who reads the rows of one batch: n lines, one for each row and core, sorted by row, then core."""

    row: Ints
    core: Ints
    first: Ints
    """Step of the first lane on the core that reads the row."""
    last: Ints
    """Last step of the last lane that does."""

    def where(self, mask: NDArray[np.bool_]) -> RowReads:
        """The lines that ``mask`` selects."""
        return RowReads(self.row[mask], self.core[mask], self.first[mask], self.last[mask])


def row_reads(tables: Ints) -> RowReads:
    """Joins lines [m, 4] of row, core, first and last step that may name a row and core several times."""
    lines = tables[np.lexsort((tables[:, 1], tables[:, 0]))]
    starts = np.ones(len(lines), np.bool_)
    starts[1:] = (lines[1:, :2] != lines[:-1, :2]).any(axis=1)
    at = np.flatnonzero(starts)
    if not at.size:
        nothing = np.zeros(0, np.int64)
        return RowReads(nothing, nothing, nothing, nothing)
    return RowReads(
        lines[at, 0],
        lines[at, 1],
        np.minimum.reduceat(lines[:, 2], at),
        np.maximum.reduceat(lines[:, 3], at),
    )


def message_steps(reads: RowReads, home: Ints, ready: Ints, costs: TransferCosts) -> Ints:
    """The step of the message for each line of ``reads``, all of other cores than the row's ``home`` [n].

    ``ready`` [n] is the last step of the lane that computes the row. A row that goes to several cores is sent to one
    after the other. Every step is at least ``ready`` and less than the first read, if there is room for that.
    """
    earliest = ready + _queued(reads.row, costs.send[home, reads.core] + costs.flight[home, reads.core])
    return np.maximum(np.minimum(earliest, reads.first - 1), ready)


@dataclass(frozen=True, eq=False)
class Residence:
    """n instances of rows of one batch: where each is and from which step to which."""

    core: Ints
    first: Ints
    last: Ints

    def rings(self) -> Ints:
        """Lines [m, 4] of a core, its first step with a row, its last one, and the rows that it holds at most."""
        if not len(self.core):
            return np.zeros((0, 4), np.int64)
        order = np.lexsort((self.first, self.core))
        core, first, last = self.core[order], self.first[order], self.last[order]
        begins = np.flatnonzero(np.diff(core, prepend=-1))
        # Of the rows that have come by the end of row i, all but the i that came before it are held with it.
        behind = int(last.max()) + 1
        held = np.searchsorted(core * behind + first, core * behind + last, side="right") - np.arange(len(core))
        return np.stack(
            (
                core[begins],
                first[begins],
                np.maximum.reduceat(last, begins),
                np.maximum.reduceat(held, begins),
            ),
            axis=1,
        )


def residences(timed: list[TimedBatch], timeline: Timeline) -> list[Residence]:
    """For each batch, the instances of its rows on all cores that hold them."""
    tables: list[list[Ints]] = [[np.zeros((0, 4), np.int64)] for _ in timed]
    for index, one in enumerate(timed):
        for read in one.batch.reads:
            if read.producer is not None:
                rows = read.window.rows_of(np.arange(one.batch.lanes))
                start, finish = timeline.start[index], timeline.finish[index]
                lanes = (one.cores, start, finish - 1)
                inside = rows != OUTSIDE
                columns = [rows, *(np.broadcast_to(lane[:, None], rows.shape) for lane in lanes)]
                tables[read.producer].append(np.stack([column[inside] for column in columns], axis=1))
    return [
        _residence(one, start, finish, row_reads(np.concatenate(table)))
        for one, start, finish, table in zip(timed, timeline.start, timeline.finish, tables, strict=True)
    ]


def _residence(one: TimedBatch, start: Ints, finish: Ints, reads: RowReads) -> Residence:
    ready = finish - 1
    remote = reads.core != one.cores[reads.row]
    far = reads.where(remote)
    sent = message_steps(far, one.cores[far.row], ready[far.row], one.transfer)
    until = ready.copy()
    np.maximum.at(until, reads.row[~remote], reads.last[~remote])
    np.maximum.at(until, far.row, sent)
    return Residence(
        np.concatenate((one.cores, far.core)), np.concatenate((start, sent)), np.concatenate((until, far.last))
    )


def most_at_once(first: Ints, last: Ints) -> int:
    """How many of the given periods, both ends included, overlap at most from the beginning of one of them on."""
    order = np.argsort(first, kind="stable")
    begins: Ints = first[order]
    depth: Ints = np.searchsorted(begins, last[order], side="right") - np.arange(len(begins))
    return int(depth.max(initial=0))


def _queued(row: Ints, send_cycles: Ints) -> Ints:
    """How long each message waits for the earlier ones of its row; ``row`` is sorted."""
    before = np.cumsum(send_cycles) - send_cycles
    starts = np.ones(len(row), np.bool_)
    starts[1:] = row[1:] != row[:-1]
    return before - before[starts][np.cumsum(starts) - 1]
