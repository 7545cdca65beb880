"""What the event loop executes: instructions, with runs of others between them folded into a number of cycles.

A scalar instruction takes one cycle whatever happens around it, and with a reorder buffer of one entry so does every
instruction on local memory take its own fixed number: nothing else is in flight. Such instructions become the *gap*
before the next element. Kept as elements are those that depend on other cores or on global memory, and those by whose
departure the simulator's report goes: the last one, and the one at whose departure the last one is fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ...codegen.isa import Op
from ...support.arrays import Ints
from .costs import Costs
from .kernel import layout
from .quirks import Quirks
from .stream import CODE_LIMIT, IS_SCALAR, IS_VECTOR, Stream

Mask = npt.NDArray[np.bool_]

FETCH_LEAD = 3
"""An instruction is fetched when the one that stands so far before it leaves the dispatch stage."""


class Kind(IntEnum):
    """What an element is to the event loop."""

    BUBBLE = layout.BUBBLE
    MATRIX = layout.MATRIX
    VECTOR = layout.VECTOR
    FILL = layout.FILL
    COPY = layout.COPY
    LOAD = layout.LOAD
    STORE = layout.STORE
    SEND = layout.SEND
    RECV = layout.RECV
    SYNC = layout.SYNC
    WAIT = layout.WAIT


_KINDS = np.zeros(CODE_LIMIT, np.int64)
_KINDS[IS_VECTOR] = Kind.VECTOR
_KINDS[Op.MVMUL] = Kind.MATRIX
for _op, _kind in (
    (Op.LLDI, Kind.FILL),
    (Op.LMV, Kind.COPY),
    (Op.LD, Kind.LOAD),
    (Op.ST, Kind.STORE),
    (Op.SEND, Kind.SEND),
    (Op.RECV, Kind.RECV),
    (Op.SYNC, Kind.SYNC),
    (Op.WAIT, Kind.WAIT),
):
    _KINDS[_op] = _kind
_IS_LOCAL = np.isin(np.arange(len(Kind)), (Kind.MATRIX, Kind.VECTOR, Kind.FILL, Kind.COPY))


@dataclass(frozen=True)
class Folding:
    """What may be folded, and how often each core's list stands in the stream."""

    folds: bool
    """If not, every instruction is an element."""
    serial: bool
    """The reorder buffer has one entry: also instructions on local memory are folded."""
    looped: bool
    passes: int = 1
    """2 if the first pass through a looped list differs from the others."""


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of all cores, one after another."""

    row: Ints
    """The instruction of the stream that an element is."""
    kind: Ints
    gap: Ints
    """Cycles of the instructions before it that have been folded."""
    marks: Ints
    """1 if the fetch of the core's last instruction goes by this element's departure, else 0."""
    core_start: Ints
    """Shape [cores + 1]."""
    fold_start: Ints
    """Per element, the first instruction of its gap; the gap ends at ``row``."""
    serial_cycles: Ints
    """Per instruction of the stream, its cycles when it executes alone; 0 for what cannot be folded."""


def kinds_of(stream: Stream) -> Ints:
    """The kind of every instruction."""
    return _KINDS[stream.op]


def elements_of(stream: Stream, costs: Costs, period_ps: int, folding: Folding, quirks: Quirks) -> Elements:
    """Folds what can be."""
    kind = kinds_of(stream)
    cycles = np.where(IS_SCALAR[stream.op], 1, 0)
    if folding.serial:
        rows = np.flatnonzero(_IS_LOCAL[kind])
        asked = (costs.first_ps[rows], costs.compute_ps[rows], costs.second_ps[rows])
        cycles[rows] = serial_cycles(kind[rows], *asked, period_ps, quirks)
    marks = _marks(stream, folding)
    keep = (cycles == 0) | (marks > 0) | (not folding.folds)
    keep[_lasts(stream, folding.passes)] = True
    row = np.flatnonzero(keep)
    until = np.concatenate([[0], np.cumsum(cycles)])
    fold_start = np.concatenate([[0], row[:-1] + 1]) if len(row) else row
    fold_start = np.maximum(fold_start, stream.core_start[:-1][stream.core_of_rows()[row]])
    gap = until[row] - until[fold_start]
    start = np.searchsorted(row, stream.core_start)
    return Elements(row, kind[row], gap, marks[row], start, fold_start, cycles)


def _lasts(stream: Stream, passes: int) -> Ints:
    """The last instruction of every pass of every core that has any."""
    counts = np.diff(stream.core_start) // passes
    used = counts > 0
    ends = stream.core_start[:-1, None] + counts[:, None] * np.arange(1, passes + 1)
    return ends[used].reshape(-1) - 1


def _marks(stream: Stream, folding: Folding) -> Ints:
    marks = np.zeros(len(stream.op), np.int64)
    for first, last in zip(stream.core_start[:-1].tolist(), stream.core_start[1:].tolist(), strict=True):
        count = (last - first) // folding.passes
        if folding.looped and count > 1:
            marks[first + (count - 1 - FETCH_LEAD) % count : last : count] = 1
        elif not folding.looped and count >= FETCH_LEAD:
            marks[last - FETCH_LEAD] = 1
    return marks


def serial_cycles(
    kind: Ints, first_ps: Ints, compute_ps: Ints, second_ps: Ints, period_ps: int, quirks: Quirks
) -> Ints:
    """Cycles from one departure to the next with nothing else in flight, for instructions on local memory.

    The same rules as :func:`.kernel.end_edge`, for all instructions at once.
    """
    two_steps = (kind == Kind.MATRIX) | (kind == Kind.VECTOR)
    first = np.where(two_steps, first_ps + compute_ps, 0)
    last = np.where(two_steps, second_ps, first_ps + second_ps)
    end = first + last
    ceiling = -(-end // period_ps) * period_ps
    if quirks.late_short_steps:
        on_edge = end % period_ps == 0
        in_time = (last > period_ps) | ((last == period_ps) & (first > period_ps))
        ceiling = np.where(on_edge & ~in_time, end + period_ps, ceiling)
    waiting = np.where(kind == Kind.MATRIX, 3, 2)
    return ceiling // period_ps + waiting
