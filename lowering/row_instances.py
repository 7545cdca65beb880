"""The instances of the rows of a distributed tensor: which core holds which row, from when until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..analysis.window import OUTSIDE
from ..dialects import pim
from ..dialects.location import place_of
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .batch_lanes import BatchLanes
from .event_order import Phase, event_key

_MOST_CORES = 1 << 20
"""More than any chip has."""

_MOST = 1 << 62
"""Numbers to sort by are less."""


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


def instances_of_all(ops: Sequence[pim.RowsOp], lanes_of: BatchLanes) -> list[Instances]:
    """Collects all uses of some buffers of rows. Most are small: their events are merged together.

    Raises TileError if a core reads a row that it never gets.
    """
    if not ops:
        return []
    events = _Events(ops)
    for number, rows in enumerate(ops):
        events.collect(number, rows, lanes_of)
    place, first, which = _extreme(*events.made.table(), largest=False)
    reader, last_read, _ = _extreme(*events.read.table(), largest=True)
    position = np.searchsorted(place, reader)
    known = position < len(place)
    known[known] = place[position[known]] == reader[known]
    if not known.all():
        where, core, row = events.origin(int(reader[~known][0]))
        raise TileError(where, f"core {core} reads row {row}, which it never gets", "mend the transfers")
    # Of reads that take several steps, their first moments count too.
    begun = events.begun.table()
    starts = (np.concatenate(columns) for columns in zip(events.read.table(), begun, strict=True))
    starter, first_read, _ = _extreme(*starts, largest=False)
    early = first_read < events.complete.table()[1][which][position]
    if early.any():
        where, core, row = events.origin(int(starter[early][0]))
        raise TileError(where, f"core {core} reads row {row} before it gets it", "mend the schedule")
    last = first.copy()
    np.maximum.at(last, position, last_read)
    passing = np.zeros(len(place), np.bool_)
    passing[np.searchsorted(place, events.computed.table()[0])] = True
    passing[np.searchsorted(place, begun[0])] = False
    owner, core, row = events.split(place)
    apart = (np.diff(owner) != 0) | (np.diff(core) != 0)
    order = _order(np.cumsum(np.append(False, apart)[: len(place)]), first)  # rows are in order already
    ends = np.searchsorted(owner, np.arange(1, len(ops)))
    columns = (np.split(column[order], ends) for column in (core, row, first, last, passing))
    return [Instances(*parts) for parts in zip(*columns, strict=True)]


def producer_of(rows: pim.RowsOp) -> pim.CoreBatchOp | None:
    """The batch that computes the rows; None if they are loaded."""
    for use in rows.result.uses:
        batch = use.operation
        if isinstance(batch, pim.CoreBatchOp) and use.index >= len(batch.inputs):
            return batch
    return None


class _Table:
    """Places and keys of events, collected in pieces."""

    def __init__(self) -> None:
        self._places: list[Ints] = []
        self._steps: list[Ints] = []
        self._phases: list[int] = []

    def add(self, place: Ints, step: Ints, phase: Phase) -> None:
        self._places.append(place)
        self._steps.append(step)
        self._phases.append(int(phase))

    def table(self) -> tuple[Ints, Ints]:
        nothing = np.zeros(0, np.int64)
        phase = np.repeat(np.array(self._phases, np.int64), [len(place) for place in self._places])
        steps = np.concatenate([nothing, *self._steps])
        return np.concatenate([nothing, *self._places]), event_key(steps, Phase(0)) + phase


class _Events:
    """What happens to the rows of some buffers. The place of an event tells its buffer, its core and its row."""

    def __init__(self, ops: Sequence[pim.RowsOp]) -> None:
        self._ops = ops
        self._heights = np.array([pim.shape_of(op.result)[0] for op in ops], np.int64)
        self._first = np.cumsum(_MOST_CORES * self._heights) - _MOST_CORES * self._heights
        self.made, self.complete, self.computed = _Table(), _Table(), _Table()
        """When a row comes; and from when on it can be read, in the same order. The rows that lanes compute."""
        self.read, self.begun = _Table(), _Table()
        """The last moments of reads, and the first ones of those that take several steps."""

    def collect(self, number: int, rows: pim.RowsOp, lanes_of: BatchLanes) -> None:
        first, height, makers = int(self._first[number]), int(self._heights[number]), 0
        for use in rows.result.uses:
            match use.operation:
                case pim.CoreBatchOp() as batch:
                    lanes = lanes_of[batch]
                    if use.index < lanes.inputs:
                        held = lanes.rows_read(use.index)
                        lane, column = np.nonzero(held != OUTSIDE)
                        place = first + lanes.cores[lane] * height + held[lane, column]
                        self.read.add(place, lanes.last_steps[lane], Phase.COMPUTE)
                        self.begun.add(place, lanes.steps[lane], Phase.COMPUTE)
                    else:
                        makers += 1
                        place = first + lanes.cores * height + np.arange(len(lanes.cores))
                        for table in (self.made, self.computed):
                            table.add(place, lanes.steps, Phase.COMPUTE)
                        self.complete.add(place, lanes.last_steps, Phase.COMPUTE)
                        self.read.add(place, lanes.last_steps, Phase.STORE)
                case pim.LoadOp() as load:
                    row, core, step = load.rows.array.T.astype(np.int64)
                    self._brought(first + core * height + row, step, Phase.LOAD)
                case pim.TransferOp() as transfer:
                    row, source, target, step = transfer.messages.array.T.astype(np.int64)
                    self.read.add(first + source * height + row, step, Phase.MESSAGE)
                    self._brought(first + target * height + row, step, Phase.MESSAGE)
                case pim.OutputOp():
                    pass  # the lane that computes the row stores it
                case op:
                    raise AssertionError(f"{op.name} uses rows")
        if makers > 1:
            raise TileError(place_of(rows), f"{makers} batches compute its rows", "give each batch rows of its own")

    def _brought(self, place: Ints, step: Ints, phase: Phase) -> None:
        for table in (self.made, self.complete):
            table.add(place, step, phase)

    def split(self, place: Ints) -> tuple[Ints, Ints, Ints]:
        """Buffers, cores and rows."""
        owner = np.searchsorted(self._first, place, side="right") - 1
        return owner, *np.divmod(place - self._first[owner], self._heights[owner])

    def origin(self, place: int) -> tuple[str, int, int]:
        """The buffer, as errors call it, the core and the row."""
        owner, core, row = (int(number[0]) for number in self.split(np.array([place])))
        return place_of(self._ops[owner]), core, row


def _extreme(place: Ints, key: Ints, largest: bool) -> tuple[Ints, Ints, Ints]:
    """For each place with an event, ascending: the place, the first or last key, and which event has it."""
    order = _order(place, key)
    place, key = place[order], key[order]
    boundary = np.ones(len(place), np.bool_)
    if largest:
        boundary[:-1] = place[1:] != place[:-1]
    else:
        boundary[1:] = place[1:] != place[:-1]
    return place[boundary], key[boundary], order[boundary]


def _order(place: Ints, key: Ints) -> Ints:
    """By place, then key. Sorting one number takes a fraction of the time."""
    span = int(key.max(initial=0)) + 1
    if int(place.max(initial=0)) < _MOST // span:
        return np.argsort(place * span + key, kind="stable")
    return np.lexsort((key, place))
