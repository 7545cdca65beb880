"""The longest path through lanes, their dependences, and what they share: replicas or cores.

`replica_span` looks at batches that have no cores yet: lanes of one replica run one after the other, lanes of a batch
without weights all at once. It is computed batch by batch from arrays. `core_span` looks at a schedule: every core
executes its events in the one order of steps, a message occupies both its cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..support import bisection
from ..support.arrays import Ints
from ..support.kernel_columns import Numbers, as_arrays, as_lists
from ..support.machine_code import Kernel, can_compile
from .span_events import layout, loop, port, table
from .span_events.layout import ABSENT, Code, Facts, State
from .span_events.loop import run
from .turns import starts_in_turns
from .window import OUTSIDE, RowWindow, window_rows

LOOP = Kernel("spans", (bisection, table, port, loop), layout)

WORTH_COMPILING = 5000
"""Events from which on loading llvmlite and the machine code takes less time than it saves."""


class SpanBatch(NamedTuple):
    """A batch without cores. Batches are in topological order."""

    lanes: int
    slots: int
    """Lanes that can run at once: the replicas of a batch with weights."""
    cycles: int
    reads: tuple[tuple[int, RowWindow], ...] = ()
    """Of other batches: which, and the access map."""


def replica_span(batches: Sequence[SpanBatch]) -> int:
    """Cycles from the first lane's start to the last one's end, on as many cores as there are slots.

    Batches that are equal up to batches that are, like the parts of a layer, end at the same times: one stands for all.
    """
    finish: list[Ints] = []
    known: dict[object, int] = {}
    there: dict[object, Ints] = {}
    """When all is there that a batch reads, by these reads."""
    alike: list[int] = []
    """Of each batch, the place in ``finish`` of those that are like it."""
    for batch in batches:
        reads = tuple(dict.fromkeys([(alike[producer], window) for producer, window in batch.reads]))
        found = known.setdefault((batch.lanes, batch.slots, batch.cycles, reads), len(finish))
        alike.append(found)
        if found < len(finish):
            continue
        ready = there.get((batch.lanes, reads))
        if ready is None:
            ready = np.zeros(batch.lanes, np.int64)
            for producer, window in reads:
                np.maximum(ready, latest_read(finish[producer], window, batch.lanes), out=ready)
            there[batch.lanes, reads] = ready
        finish.append(starts_in_turns(ready, batch.slots, batch.cycles) + batch.cycles)
    return max((int(times.max(initial=0)) for times in finish), default=0)


def latest_read(finish: Ints, window: RowWindow, lanes: int) -> Ints:
    """When all rows that each lane reads are there."""
    rows = window_rows(window, lanes)
    return np.where(rows == OUTSIDE, 0, finish[np.maximum(rows, 0)]).max(axis=1)


class Events(NamedTuple):
    """What cores do, n events in any order. An event is done on one core or, a message, on two."""

    key: Ints
    """The place in the one order of the chip."""
    core: Ints
    partner: Ints
    """The second core; -1 for what one core does alone. Of a load, the first one is the port of global memory."""
    cycles: Ints
    partner_cycles: Ints
    network_cycles: Ints
    """Of a message, from its start until the row has left the network; 0 of anything else."""
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


class Span(NamedTuple):
    """What becomes of events."""

    cycles: int
    """Until everything is done."""
    unready: int
    """How many needs are of rows that no event before has brought: nothing waits for them."""


def core_span(events: Events, shared: bool = False, port_number: int = ABSENT) -> Span:
    """When every core executes its events in order and waits for what they need.

    Events are taken by key. A row is where its event has brought it; if ``shared``, it is everywhere at once. A core
    that has sent a row sends and receives no other one until that has left the network. Loads, events of the core
    ``port_number`` and the one that it serves, are served as they are asked for. Loops over lanes, loads and messages,
    of which there are few.
    """
    count = len(events.key)
    if not count:
        return Span(0, 0)
    cores = max(int(events.core.max()), int(events.partner.max())) + 1
    holder = np.where(events.partner < 0, events.core, events.partner)
    apart = 0 if shared else 1
    made = np.where(events.makes < 0, ABSENT, events.makes * cores + holder * apart)
    needed = events.needs * cores + np.repeat(events.core, events.need_counts) * apart
    first = np.cumsum(events.need_counts) - events.need_counts
    order = np.argsort(events.key, kind="stable")
    columns = [column[order] for column in (first, events.need_counts, *events[1:6], made)]
    columns.append(needed)
    loads = int(np.count_nonzero(events.core == port_number)) if port_number != ABSENT else 0
    state = [np.zeros(size, np.int64) for size in (cores, cores, 0, 0, loads + 2, loads + 2, 1)]
    if count >= WORTH_COMPILING and can_compile():
        slots = 1 << int(2 * np.count_nonzero(made >= 0)).bit_length()
        state[2:4] = np.full(slots, ABSENT), np.zeros(slots, np.int64)
        unready = LOOP.run(Facts(slots - 1, port_number), as_arrays(columns), state, count)
        return Span(int(state[0].max()), unready)
    lists = State(*as_lists(state))._replace(since=cast("Numbers", {}))
    unready = run(Facts(0, port_number), Code(*as_lists(columns)), lists, count)
    return Span(max(lists.free), unready)


class Pieces(NamedTuple):
    """Lanes that messages interrupt, cut where they do."""

    lane: Ints
    start: Ints
    """Step of each piece."""
    cycles: Ints
    is_first: NDArray[np.bool_]
    is_last: NDArray[np.bool_]


class LaneTimes(NamedTuple):
    """n lanes with their time on their cores."""

    core: Ints
    step: Ints
    span: Ints
    """Steps that each extends over."""
    cycles: Ints
    """Of each lane's own work."""
    resumes: Ints
    """[m, 3] lane, cycles that are done, and steps since its first, where it goes on after an interruption; sorted. A
    lane without any spends its cycles evenly."""


class Boundaries(NamedTuple):
    """Where the instructions of lanes begin and end."""

    body: Ints
    """[lanes] which body each lane executes."""
    at: Ints
    """Of all bodies, sorted: `body * PLACES + cycle`."""

    @staticmethod
    def of(body: Ints, cycles: Sequence[Ints]) -> Boundaries:
        """With the cycles of each body, from 0 to its end, sorted."""
        places = [of + index * PLACES for index, of in enumerate(cycles)]
        return Boundaries(body, np.concatenate([np.zeros(0, np.int64), *places]))

    def after(self, lane: Ints, cycle: Ints) -> Ints:
        """From ``cycle`` of each lane on, when it is between two instructions."""
        if not len(self.at):
            return cycle
        begin = self.body[lane] * PLACES
        found = self.at[np.minimum(np.searchsorted(self.at, begin + cycle), len(self.at) - 1)] - begin
        return np.where((found >= cycle) & (found < PLACES), found, cycle)


def cut_lanes(lanes: LaneTimes, at: Ints, boundaries: Boundaries) -> Pieces:
    """Cuts lanes where they go on after an interruption, and behind every step of ``at`` on their core.

    ``at`` holds `core * PLACES + step` of messages, sorted, each once. A cut amid an instruction comes when that has
    ended.
    """
    begin = lanes.core * PLACES + lanes.step
    resumed, done, offset = lanes.resumes.T
    every, zeros = np.arange(len(begin)), np.zeros(len(begin), np.int64)
    known = _sorted_lines(np.concatenate((every, resumed)), np.concatenate((zeros, offset)), np.append(zeros, done))

    low = np.searchsorted(at, begin, side="left")
    cuts = np.searchsorted(at, begin + lanes.span - 1, side="left") - low
    lane = np.repeat(every, cuts)
    place = np.arange(len(lane)) - np.repeat(np.cumsum(cuts) - cuts, cuts) + low[lane]
    behind = at[place] - begin[lane] + 1
    line = np.searchsorted(known.lane * PLACES + known.offset, lane * PLACES + behind, side="right") - 1
    interrupted = np.bincount(resumed, minlength=len(begin)) > 0
    exact = np.minimum(known.done[line] + behind - known.offset[line], _following(known, lanes.cycles)[line])
    even = lanes.cycles[lane] * behind // np.maximum(lanes.span[lane], 1)
    found = _sorted_lines(
        np.concatenate((known.lane, lane)),
        np.concatenate((known.offset, behind)),
        np.concatenate((known.done, boundaries.after(lane, np.where(interrupted[lane], exact, even)))),
    )
    is_first = np.diff(found.lane, prepend=-1) != 0
    return Pieces(
        found.lane,
        lanes.step[found.lane] + found.offset,
        _following(found, lanes.cycles) - found.done,
        is_first,
        np.append(is_first[1:], True),
    )


class _Lines(NamedTuple):
    """Moments of lanes: steps since the first one, and cycles that are done."""

    lane: Ints
    offset: Ints
    done: Ints


def _sorted_lines(lane: Ints, offset: Ints, done: Ints) -> _Lines:
    order = np.lexsort((done, lane * PLACES + offset))
    return _Lines(lane[order], offset[order], done[order])


def _following(lines: _Lines, cycles: Ints) -> Ints:
    """The cycles that are done at the next moment of the same lane; all of them at the last."""
    ends = np.append(np.diff(lines.lane) != 0, True)[: len(lines.lane)]
    return np.where(ends, cycles[lines.lane], np.roll(lines.done, -1))


PLACES = 1 << 40
"""More than there are steps."""
