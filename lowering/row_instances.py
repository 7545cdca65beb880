"""The instances of the rows of a distributed tensor: which core holds which row, from when until when."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..analysis.window import OUTSIDE
from ..dialects import pim
from ..dialects.location import place_of
from ..support.diagnostics import TileError
from .event_order import Phase, event_key

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Instances:
    """The n instances of one tensor's rows, sorted by core, then by the event that brings the row."""

    core: Ints
    row: Ints
    first: Ints
    """Key of the event that brings the row."""
    last: Ints
    """Key of the last event that reads it."""
    passing: NDArray[np.bool_]
    """Whether the row is computed on its core and read by no lane there: it is sent away, or stored."""

    def __len__(self) -> int:
        return len(self.core)


class Lanes:
    """What uses of rows ask of the lanes of a batch, again for each of its buffers."""

    def __init__(self, batch: pim.CoreBatchOp) -> None:
        self.inputs = len(batch.windows)
        self.cores = batch.lane_cores
        self.steps = batch.steps.array.astype(np.int64)
        self.last_steps = batch.last_steps


def row_instances(rows: pim.RowsOp, lanes_of: dict[pim.CoreBatchOp, Lanes]) -> Instances:
    """Collects all uses of a buffer of rows. Raises TileError if a core reads a row that it never gets.

    ``lanes_of`` are batches that were asked before, and is added to.
    """
    brought: list[Ints] = []
    read: list[Ints] = []
    begun: list[Ints] = []
    computed: list[Ints] = []
    done: list[Ints] = []
    for use in rows.result.uses:
        match use.operation:
            case pim.CoreBatchOp() as batch:
                if batch not in lanes_of:
                    lanes_of[batch] = Lanes(batch)
                lanes = lanes_of[batch]
                if use.index < lanes.inputs:
                    held = batch.input_rows(use.index)
                    lane, place = np.nonzero(held != OUTSIDE)
                    row, core = held[lane, place], lanes.cores[lane]
                    read.append(_events(row, core, lanes.last_steps[lane], Phase.COMPUTE))
                    begun.append(_events(row, core, lanes.steps[lane], Phase.COMPUTE))
                else:
                    every = np.arange(len(lanes.cores))
                    computed.append(_events(every, lanes.cores, lanes.steps, Phase.COMPUTE))
                    done.append(event_key(lanes.last_steps, Phase.COMPUTE))
                    read.append(_events(every, lanes.cores, lanes.last_steps, Phase.STORE))
            case pim.LoadOp() as load:
                table = load.rows.array
                brought.append(_events(table[:, 0], table[:, 1], table[:, 2], Phase.LOAD))
            case pim.TransferOp() as transfer:
                table = transfer.messages.array
                read.append(_events(table[:, 0], table[:, 1], table[:, 3], Phase.MESSAGE))
                brought.append(_events(table[:, 0], table[:, 2], table[:, 3], Phase.MESSAGE))
            case pim.OutputOp():
                pass  # the lane that computes the row stores it
            case op:
                raise AssertionError(f"{op.name} uses rows")
    if len(done) > 1:
        raise TileError(place_of(rows), f"{len(done)} batches compute its rows", "give each batch rows of its own")
    made = _joined([*brought, *computed])
    complete = np.concatenate((made[: len(made) - sum(map(len, done)), 2], *done))
    found = _merge(rows, made, complete, _joined(read), _joined(begun))
    height = pim.shape_of(rows.result)[0]
    place, lanes_read, made = (
        core * height + row for row, core in ((found.row, found.core), _joined(begun).T[:2], _joined(computed).T[:2])
    )
    size = int(max(column.max(initial=-1) for column in (place, made, lanes_read))) + 1
    passing = np.zeros(size, np.bool_)
    passing[made] = True
    passing[lanes_read] = False
    return replace(found, passing=passing[place])


def producer_of(rows: pim.RowsOp) -> pim.CoreBatchOp | None:
    """The batch that computes the rows; None if they are loaded."""
    for use in rows.result.uses:
        batch = use.operation
        if isinstance(batch, pim.CoreBatchOp) and use.index >= len(batch.inputs):
            return batch
    return None


def _merge(rows: pim.RowsOp, brought: Ints, complete: Ints, read: Ints, begun: Ints) -> Instances:
    """``complete`` are the moments from which on a row that is ``brought`` can be read.

    ``read`` are the last moments of reads, ``begun`` the first ones of those that take several steps.
    """
    height = pim.shape_of(rows.result)[0]
    place, first, which = _extreme(brought, height, largest=False)
    reader, last_read, _ = _extreme(read, height, largest=True)
    position = np.searchsorted(place, reader)
    known = position < len(place)
    known[known] = place[position[known]] == reader[known]
    if not known.all():
        core, row = divmod(int(reader[~known][0]), height)
        raise TileError(
            place_of(rows),
            f"core {core} reads row {row}, which it never gets",
            "mend the transfers",
        )
    starter, first_read, _ = _extreme(np.concatenate((read, begun)), height, largest=False)
    early = first_read < complete[which][position]
    if early.any():
        core, row = divmod(int(starter[early][0]), height)
        raise TileError(
            place_of(rows),
            f"core {core} reads row {row} before it gets it",
            "mend the schedule",
        )
    last = first.copy()
    np.maximum.at(last, position, last_read)
    core, row = np.divmod(place, height)
    order = np.lexsort((row, first, core))
    nothing = np.zeros(len(order), np.bool_)
    return Instances(core[order], row[order], first[order], last[order], nothing)


def _extreme(events: Ints, height: int, largest: bool) -> tuple[Ints, Ints, Ints]:
    """For each (core, row) with an event, as core * height + row ascending: the first or last key, and which has it."""
    place = events[:, 1] * height + events[:, 0]
    order = np.lexsort((events[:, 2], place))
    place, key = place[order], events[order, 2]
    boundary = np.ones(len(place), np.bool_)
    if largest:
        boundary[:-1] = place[1:] != place[:-1]
    else:
        boundary[1:] = place[1:] != place[:-1]
    return place[boundary], key[boundary], order[boundary]


def _events(row: Ints, core: Ints, step: Ints, phase: Phase) -> Ints:
    """A table [n, 3] of row, core and key."""
    found = np.empty((len(row), 3), np.int64)
    found[:, 0], found[:, 1], found[:, 2] = row, core, event_key(step, phase)
    return found


def _joined(tables: list[Ints]) -> Ints:
    return np.concatenate([np.zeros((0, 3), np.int64), *tables])
