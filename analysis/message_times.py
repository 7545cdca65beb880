"""When the row of a lane is sent to each core that reads it, and how long it is there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..support.arrays import Ints
from .lane_graph import LaneGraph
from .row_uses import row_uses
from .timeline import Timeline


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


def message_steps(reads: RowReads, ready: Ints, planned: Ints) -> Ints:
    """The step of the message for each line of ``reads``, all of other cores than the row's.

    ``planned`` [m, 3] has a row, a core and the step of their message in each line. ``ready`` [n] is the last step of
    the lane that computes the row: what is not planned for between then and the first read is sent at once.
    """
    step = _planned_steps(reads, planned)
    return np.where((step >= ready) & (step < reads.first), step, ready)


def _planned_steps(reads: RowReads, planned: Ints) -> Ints:
    """The step that is planned for each line, or -1."""
    if not len(planned):
        return np.full(len(reads.row), -1)
    row, core, step = planned[np.lexsort((planned[:, 1], planned[:, 0]))].T
    cores = int(max(core.max(), reads.core.max(initial=0))) + 1
    known, wanted = row * cores + core, reads.row * cores + reads.core
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, step[at], -1)


@dataclass(frozen=True, eq=False)
class Residence:
    """n instances of rows: of which batch, where each is, and from which step to which."""

    batch: Ints
    core: Ints
    first: Ints
    last: Ints

    def rings(self) -> Ints:
        """Lines [m, 5] of a batch, a core, its first step with a row, its last one, and the rows that it holds at
        most; by batch, then core."""
        if not len(self.core):
            return np.zeros((0, 5), np.int64)
        ring = self.batch * (int(self.core.max()) + 1) + self.core
        behind = int(self.last.max()) + 1
        begun = ring * behind + self.first
        order = np.argsort(begun, kind="stable")
        ring, first, last = ring[order], self.first[order], self.last[order]
        begins = np.flatnonzero(np.diff(ring, prepend=-1))
        # Of the rows that have come by the end of row i, all but the i that came before it are held with it.
        held = np.searchsorted(begun[order], ring * behind + last, side="right") - np.arange(len(ring))
        return np.stack(
            (
                self.batch[order[begins]],
                self.core[order[begins]],
                first[begins],
                np.maximum.reduceat(last, begins),
                np.maximum.reduceat(held, begins),
            ),
            axis=1,
        )


def residences(graph: LaneGraph, core: Ints, timeline: Timeline) -> Residence:
    """The instances of all rows on all cores that hold them, when each lane is on its ``core`` [n]."""
    uses = row_uses(graph, core)
    start, until = timeline.starts, timeline.finishes - 1
    last = np.maximum.reduceat(until[uses.readers], uses.start[:-1]) if len(uses.row) else until[:0]
    local = uses.core == core[uses.row]
    here, row, far = uses.row[local], uses.row[~local], uses.core[~local]
    sent_row, receiver, sent = timeline.sent
    assert np.array_equal(sent_row, row), "rows are sent that nobody reads, or the reverse"
    assert np.array_equal(receiver, far), "rows are sent to cores that do not read them"
    held = until.copy()
    np.maximum.at(held, here, last[local])
    np.maximum.at(held, row, sent)
    return Residence(
        np.concatenate((graph.batch_of, graph.batch_of[row])),
        np.concatenate((core, far)),
        np.concatenate((start, sent)),
        np.concatenate((held, last[~local])),
    )
