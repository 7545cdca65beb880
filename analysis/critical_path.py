"""The longest path through lanes, their dependences, and what they share: replicas or cores.

`replica_span` looks at batches that have no cores yet: lanes of one replica run one after the other, lanes of a batch
without weights all at once. It is computed batch by batch from arrays. `core_span` looks at a schedule: every core
executes its events in the one order of steps, a message occupies both its cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from .window import OUTSIDE, RowWindow, window_rows

Ints = NDArray[np.int64]


class SpanBatch(NamedTuple):
    """A batch without cores. Batches are in topological order."""

    lanes: int
    slots: int
    """Lanes that can run at once: the replicas of a batch with weights."""
    cycles: int
    reads: tuple[tuple[int, RowWindow], ...] = ()
    """Of other batches: which, and the access map."""


def replica_span(batches: Sequence[SpanBatch]) -> int:
    """Cycles from the first lane's start to the last one's end, on as many cores as there are slots."""
    finish: list[Ints] = []
    for batch in batches:
        ready = np.zeros(batch.lanes, np.int64)
        for producer, window in batch.reads:
            np.maximum(ready, latest_read(finish[producer], window, batch.lanes), out=ready)
        finish.append(_in_turns(ready, batch.slots, batch.cycles))
    return max((int(times.max(initial=0)) for times in finish), default=0)


def latest_read(finish: Ints, window: RowWindow, lanes: int) -> Ints:
    """When all rows that each lane reads are there."""
    rows = window_rows(window, lanes)
    return np.where(rows == OUTSIDE, 0, finish[np.maximum(rows, 0)]).max(axis=1)


def _in_turns(ready: Ints, slots: int, cycles: int) -> Ints:
    """The end of each lane, when lane i runs in slot i mod ``slots`` after the lanes before it there."""
    turns = -(-len(ready) // slots)
    table = np.zeros(turns * slots, np.int64)
    table[: len(ready)] = ready
    turn = np.arange(turns)[:, None] * cycles
    start = np.maximum.accumulate(table.reshape(turns, slots) - turn, axis=0) + turn
    return start.reshape(-1)[: len(ready)] + cycles


class Events(NamedTuple):
    """What cores do, n events in any order. An event is done on one core or, a message, on two."""

    key: Ints
    """The place in the one order of the chip."""
    core: Ints
    partner: Ints
    """The second core; -1 for what one core does alone."""
    cycles: Ints
    partner_cycles: Ints
    makes: Ints
    """The row that is there afterwards, on the last of its cores; -1 for none."""
    needs: Ints
    """Rows that have to be there before, of all events one after another."""
    need_counts: Ints
    """[n] how many of them are each event's."""

    @staticmethod
    def join(parts: Sequence[Events]) -> Events:
        """All events."""
        return Events(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


_Line = tuple[int, int, int, int, int, int, int]


class Span(NamedTuple):
    """What becomes of events."""

    cycles: int
    """Until everything is done."""
    unready: int
    """How many needs are of rows that no event before has brought: nothing waits for them."""


def core_span(events: Events, shared: bool = False) -> Span:
    """When every core executes its events in order and waits for what they need.

    Events are taken by key. A row is where its event has brought it; if ``shared``, it is everywhere at once. Loops
    over lanes and messages, of which there are few.
    """
    if not len(events.key):
        return Span(0, 0)
    places = 0 if shared else PLACES
    holder = np.where(events.partner < 0, events.core, events.partner)
    made = np.where(events.makes < 0, -1, events.makes + holder * places)
    needed = cast("list[int]", (events.needs + np.repeat(events.core, events.need_counts) * places).tolist())
    first = np.cumsum(events.need_counts) - events.need_counts
    order = np.argsort(events.key, kind="stable")
    columns = (first, events.need_counts, events.core, events.partner, events.cycles, events.partner_cycles, made)
    lines = zip(*(column[order].tolist() for column in columns), strict=True)
    free: list[int] = [0] * (max(int(events.core.max()), int(events.partner.max())) + 1)
    there: dict[int, int] = {}
    unready = 0
    for at, count, core, partner, cycles, partner_cycles, row in cast("Iterable[_Line]", lines):
        start = free[core]
        for need in needed[at : at + count]:
            ready = there.get(need, -1)
            if ready > start:
                start = ready
            elif ready < 0:
                unready += 1
        if partner >= 0:
            start = max(start, free[partner])
            free[partner] = start + partner_cycles
        free[core] = start + cycles
        if row >= 0:
            there[row] = free[core if partner < 0 else partner]
    return Span(max(free), unready)


class Pieces(NamedTuple):
    """Lanes that messages interrupt, cut where they do."""

    lane: Ints
    start: Ints
    """Step of each piece."""
    cycles: Ints
    is_first: NDArray[np.bool_]
    is_last: NDArray[np.bool_]


def cut_lanes(core: Ints, step: Ints, span: npt.ArrayLike, cycles: npt.ArrayLike, at: Ints) -> Pieces:
    """Cuts lanes of ``cycles`` that extend over ``span`` steps behind every step of ``at`` on their core.

    Both are of each lane, or of all. ``at`` holds `core * PLACES + step` of the messages, sorted, each once.
    """
    span, cycles = (np.broadcast_to(np.asarray(of, np.int64), core.shape) for of in (span, cycles))
    begin = core * PLACES + step
    low = np.searchsorted(at, begin, side="left")
    cuts = np.searchsorted(at, begin + span - 1, side="left") - low
    lane = np.repeat(np.arange(len(core)), cuts + 1)
    position = np.arange(len(lane)) - np.repeat(np.cumsum(cuts + 1) - cuts - 1, cuts + 1)
    is_first, is_last = position == 0, position == cuts[lane]
    padded = np.append(at, 0)
    start = np.where(is_first, 0, padded[low[lane] + position - 1] - begin[lane] + 1)
    span, cycles = span[lane], cycles[lane]
    end = np.where(is_last, span, padded[np.minimum(low[lane] + position, len(at))] - begin[lane] + 1)
    return Pieces(lane, step[lane] + start, cycles * end // span - cycles * start // span, is_first, is_last)


PLACES = 1 << 40
"""More than there are steps."""
