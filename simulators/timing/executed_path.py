"""The critical path of a run: from its end back through what each moment had to wait for.

Moments of elements are nodes of a graph in which each has one predecessor, at the same time or earlier: what it waited
for last. An instruction is issued after the front end is done with those before it, or one edge after its unit, its
array group or a conflicting instruction was done; a message waits for its partner and for what is in its switch; global
memory for what it serves. So the path goes from core to core and is without gaps: its segments add up to the latency.
What is no predecessor's but a wait has a name of its own in :data:`PATH_WAITS`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.arrays import Ints
from .elements import Kind
from .kernel.layout import (
    BASE_AT,
    BEGIN_AT,
    CALL_AT,
    DATA_AT,
    DONE_AT,
    END_AT,
    FIRST_AT,
    ISSUE_AT,
    SECOND_AT,
    SERVE_AT,
)
from .recording import Recording

PATH_USES = ("matrix", "vector", "local_move", "message", "global_memory", "scalar")
"""What instructions on the path spend its time on: ``scalar`` is the front end, ``message`` handshake and data of
``send`` and ``recv``, queues in a switch included, ``global_memory`` the same of ``ld`` and ``st``."""
PATH_WAITS = ("memory_queue", "event", "start", "stall")
"""What else it is spent on: other units of the core at its local memory, ``sync`` and ``wait``, the cycles until the
first instruction can be issued, and a front end that is held up by what no instruction's end explains."""
ALL_USES = (*PATH_USES, *PATH_WAITS)
_USE = {name: number for number, name in enumerate(ALL_USES)}

_USE_OF_KIND = np.zeros(len(Kind), np.int64)
for _kind, _name in {
    Kind.BUBBLE: "scalar",
    Kind.MATRIX: "matrix",
    Kind.VECTOR: "vector",
    Kind.FILL: "local_move",
    Kind.COPY: "local_move",
    Kind.LOAD: "global_memory",
    Kind.STORE: "global_memory",
    Kind.SEND: "message",
    Kind.RECV: "message",
    Kind.SYNC: "event",
    Kind.WAIT: "event",
}.items():
    _USE_OF_KIND[_kind] = _USE[_name]

_NONE = -1
_ISSUE, _BEGIN, _END, _DONE, _LEAVE = range(5)
_CALL, _CALLED, _CALL_END, _DATA, _ARRIVED, _SERVE, _SERVED, _DATA_END = range(5, 13)
_ALL_ELEMENTS = 5
"""So many moments have all elements; the others only those that use the network."""


@dataclass(frozen=True, eq=False)
class ExecutedPath:
    """Segments of the critical path, in no particular order. An instruction may have several."""

    row: Ints
    """The instruction of the stream; -1 for ``start``."""
    use: Ints
    """Index into :data:`ALL_USES`."""
    time_ps: Ints
    """The sum is the latency."""


def executed_path(recording: Recording) -> ExecutedPath:
    """The critical path of a run on whose end all cores have finished."""
    assert recording.result.finished, "a run that does not finish has no critical path"
    if not len(recording.row):
        empty = np.zeros(0, np.int64)
        return ExecutedPath(empty, empty, empty)
    return _Graph(recording).path()


class _Graph:
    """Predecessors and times of all moments. A moment's number is its kind's first one plus its element's place."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        elements = recording.run.elements
        self.kind, self.gap = elements.kind, elements.gap
        self.core, self.at, self.period = recording.core, recording.at, recording.period_ps
        self.count = len(self.kind)
        self.every = np.arange(self.count)
        self.entered = np.flatnonzero(self.kind != Kind.BUBBLE)
        """Elements that enter the reorder buffer: one of each core at least, as all of them finish."""
        on_network = (Kind.LOAD, Kind.STORE, Kind.SEND, Kind.RECV, Kind.SYNC)
        self.transfers = np.flatnonzero(np.isin(self.kind, on_network))
        self.place = np.full(self.count, _NONE)
        self.place[self.transfers] = np.arange(len(self.transfers))
        size = _ALL_ELEMENTS * self.count + (_DATA_END - _ALL_ELEMENTS + 1) * len(self.transfers)
        self.before = np.full(size, _NONE)
        self.time = np.full(size, _NONE)
        self.waited = np.zeros(size, np.int64)
        """Of the time from a moment's predecessor, how long it queues at local memory."""
        self.is_front = np.zeros(self.count, np.bool_)
        """Elements that are issued as soon as the front end is done with those before."""
        self.partner = self._partners()
        self._leave()
        self._units()
        self._issue()
        self._network()

    def node(self, moment: int, element: Ints) -> Ints:
        """The numbers of a moment of elements."""
        if moment < _ALL_ELEMENTS:
            return moment * self.count + element
        first = _ALL_ELEMENTS * self.count + (moment - _ALL_ELEMENTS) * len(self.transfers)
        return first + self.place[element]

    def _set(self, moment: int, element: Ints, before: Ints, time: Ints) -> None:
        nodes = self.node(moment, element)
        self.before[nodes] = before
        self.time[nodes] = time

    def of_kind(self, *kinds: Kind) -> Ints:
        return np.flatnonzero(np.isin(self.kind, kinds))

    def _partners(self) -> Ints:
        """Of each ``send`` its ``recv``, and the other way round: messages between two cores keep their order."""
        peer, cores = self.recording.run.stream.peer[self.recording.row], self.recording.run.facts.cores
        sends, receives = self.of_kind(Kind.SEND), self.of_kind(Kind.RECV)
        sends = sends[np.argsort(self.core[sends] * cores + peer[sends], kind="stable")]
        receives = receives[np.argsort(peer[receives] * cores + self.core[receives], kind="stable")]
        found = np.full(self.count, _NONE)
        found[sends], found[receives] = receives, sends
        return found

    # One core

    def _leave(self) -> None:
        """Instructions leave the reorder buffer in order: each with the last of those before it that was done."""
        entered = self.entered
        done = self._keyed(self.core[entered], self.at[entered, DONE_AT])
        left = np.maximum.accumulate(done)
        last = np.maximum.accumulate(np.where(done == left, np.arange(len(entered)), 0))
        time = left - self._keyed(self.core[entered], np.zeros(len(entered), np.int64))
        self._set(_LEAVE, entered, self.node(_DONE, entered[last]), time)
        self._set(_DONE, entered, self.node(_END, entered), self.at[entered, DONE_AT])

    def _keyed(self, core: Ints, time: Ints) -> Ints:
        """One number for a core and a time."""
        return core * (self.recording.end_ps + self.period + 1) + time

    def _units(self) -> None:
        """Begin and end in the unit. An ``mvmul`` may have to wait for its group."""
        entered = self.entered
        begin, end = self.at[:, BEGIN_AT], self.at[:, END_AT]
        self._set(_BEGIN, entered, self.node(_ISSUE, entered), begin[entered])
        products = self.of_kind(Kind.MATRIX)
        group = self.recording.run.stream.group[self.recording.row[products]]
        earlier = self._previous(products, self.core[products] * (int(group.max(initial=0)) + 1) + group)
        waits = products[(earlier != _NONE) & (end[earlier] == begin[products] - self.period)]
        waits = waits[self.at[waits, ISSUE_AT] < begin[waits] - self.period]
        free = np.full(self.count, _NONE)
        free[products] = earlier
        self.before[self.node(_BEGIN, waits)] = self.node(_END, free[waits])
        self._set(_END, entered, self.node(_BEGIN, entered), end[entered])
        local = self.of_kind(Kind.MATRIX, Kind.VECTOR, Kind.FILL, Kind.COPY)
        self.waited[self.node(_END, local)] = self.at[local, FIRST_AT] - begin[local]
        steps = self.of_kind(Kind.MATRIX, Kind.VECTOR)
        self.waited[self.node(_END, steps)] += self.at[steps, SECOND_AT] - self._computed(steps)

    def _computed(self, elements: Ints) -> Ints:
        """When they have read their operands and computed."""
        costs, row = self.recording.run.costs, self.recording.row[elements]
        return self.at[elements, FIRST_AT] + costs.first_ps[row] + costs.compute_ps[row]

    def _previous(self, elements: Ints, key: Ints) -> Ints:
        """The one before each with the same key, among ``elements``, which ascend; -1 for none."""
        order = np.argsort(key, kind="stable")
        found = np.full(len(elements), _NONE)
        same = key[order[1:]] == key[order[:-1]]
        found[order[1:][same]] = elements[order[:-1][same]]
        return found

    def _issue(self) -> None:
        """After the front end's work on what stands before; or one edge after what held it up has ended."""
        issue, base = self.at[:, ISSUE_AT], self.at[:, BASE_AT]
        self.is_front = issue == base + (self.gap + 1) * self.period
        self._set(_ISSUE, self.every, self._bases(base), issue)
        edge = issue - self.period
        before = self.before[self.node(_ISSUE, self.every)]
        done, held = self._done_at(edge), ~self.is_front
        before = np.where(held & (done != _NONE), done, before)
        unit = np.select([self.kind == Kind.MATRIX, self.kind == Kind.VECTOR], [0, 1], 2)
        earlier = np.full(self.count, _NONE)
        earlier[self.entered] = self._previous(self.entered, (self.core * 3 + unit)[self.entered])
        ends = held & (unit > 0) & (earlier != _NONE) & (self.at[earlier, END_AT] == edge)
        before[ends] = self.node(_END, earlier[ends])
        # The place in front of the groups becomes free one edge before the product in it begins.
        moved = held & (unit == 0) & (earlier != _NONE) & (self.at[earlier, BEGIN_AT] == issue)
        before[moved] = self.before[self.node(_BEGIN, earlier[moved])]
        self.before[self.node(_ISSUE, self.every)] = before

    def _bases(self, base: Ints) -> Ints:
        """What the front end's work begins with: the issue of the element before, or room in the reorder buffer."""
        first = np.append(True, self.core[1:] != self.core[:-1])
        # How many entered before: with a full buffer, so many less its size have left.
        numbers = np.searchsorted(self.entered, self.every)
        head = self.entered[np.maximum(numbers - self.recording.run.facts.rob_size, 0)]
        follows = self.at[self.every - 1, ISSUE_AT] == base
        found = np.where(follows, self.node(_ISSUE, self.every - 1), self.node(_LEAVE, head))
        return np.where(first, _NONE, found)

    def _done_at(self, edge: Ints) -> Ints:
        """The last instruction of the same core that was done at an edge; -1 for none."""
        entered = self.entered
        keys = self._keyed(self.core[entered], self.at[entered, DONE_AT])
        order = np.argsort(keys, kind="stable")
        wanted = self._keyed(self.core, edge)
        place = np.searchsorted(keys[order], wanted, side="right") - 1
        found = order[np.maximum(place, 0)]
        return np.where(keys[found] == wanted, self.node(_DONE, entered[found]), _NONE)

    # Switches and global memory

    def _network(self) -> None:
        made = self.recording
        sends, receives, syncs = self.of_kind(Kind.SEND), self.of_kind(Kind.RECV), self.of_kind(Kind.SYNC)
        loads, stores = self.of_kind(Kind.LOAD), self.of_kind(Kind.STORE)
        calls = np.sort(np.concatenate([sends, receives, syncs]))
        self._set(_CALL, calls, self.node(_BEGIN, calls), self.at[calls, CALL_AT])
        self._set(_CALLED, calls, self.node(_CALL, calls), made.call_arrival_ps[calls])
        self._set(_CALL_END, calls, self.node(_CALLED, calls), (made.call_arrival_ps + made.call_hold_ps)[calls])
        # A receiver that is there already answers when it is asked.
        asked = receives[made.call_arrival_ps[self.partner[receives]] > self.at[receives, BEGIN_AT]]
        self.before[self.node(_CALL, asked)] = self.node(_CALLED, self.partner[asked])

        data = np.sort(np.concatenate([sends, loads, stores]))
        self._set(_DATA, data, self.node(_BEGIN, data), self.at[data, DATA_AT])
        self._set(_ARRIVED, data, self.node(_DATA, data), made.data_arrival_ps[data])
        self._set(_DATA_END, data, self.node(_ARRIVED, data), made.data_end_ps[data])
        answered = self.node(_CALLED, self.partner[sends])
        self.before[self.node(_DATA, sends)] = self.before[self.node(_END, sends)] = answered
        for moment in (_DATA, _END):
            self.waited[self.node(moment, sends)] = self.at[sends, FIRST_AT] - self.time[answered]
        arrived = self.node(_ARRIVED, self.partner[receives])
        self.before[self.node(_END, receives)] = arrived
        self.waited[self.node(_END, receives)] = self.at[receives, SECOND_AT] - self.time[arrived]

        served = np.sort(np.append(loads, stores))
        self._set(_SERVE, served, self.node(_ARRIVED, served), self.at[served, SERVE_AT])
        self._set(_SERVED, served, self.node(_SERVE, served), made.served_ps[served])
        self.before[self.node(_DATA_END, served)] = self.node(_SERVED, served)
        self.before[self.node(_END, served)] = self.node(_DATA_END, served)
        self.waited[self.node(_END, loads)] = self.at[loads, SECOND_AT] - made.data_end_ps[loads]
        self.waited[self.node(_DATA, stores)] = self.at[stores, FIRST_AT] - self.at[stores, BEGIN_AT]

        flights = np.append(self.node(_CALL, calls), self.node(_DATA, data))
        ends = np.append(self.node(_CALL_END, calls), self.node(_DATA_END, data))
        put = np.append(self._put(calls), self.at[data, FIRST_AT] + made.run.costs.first_ps[made.row[data]])
        put[len(calls) :][self.kind[data] == Kind.LOAD] = self.at[loads, BEGIN_AT]
        self._queue(np.append(self.core[calls], self.core[data]), flights, ends, put)
        serve = self.node(_SERVE, served)
        self._queue(np.zeros_like(served), serve, self.node(_SERVED, served), made.data_arrival_ps[served])

    def _put(self, calls: Ints) -> Ints:
        """When handshakes come to their switches."""
        return np.maximum(self.at[calls, BEGIN_AT], self.time[self.before[self.node(_CALL, calls)]])

    def _queue(self, server: Ints, begins: Ints, ends: Ints, since: Ints) -> None:
        """What was there before it could be served is served when the one before it at the same server is done."""
        order = np.lexsort((self.time[ends], self.time[begins], server))
        later, earlier = order[1:], order[:-1]
        waits = (self.time[begins[later]] > since[later]) & (server[later] == server[earlier])
        waits &= self.time[ends[earlier]] == self.time[begins[later]]
        self.before[begins[later[waits]]] = ends[earlier[waits]]

    # The path

    def path(self) -> ExecutedPath:
        """Back from the last instruction of the first core of those that finish last."""
        recording, elements = self.recording, self.recording.run.elements
        last = elements.core_start[1:][np.diff(elements.core_start) > 0] - 1
        end = self.node(_LEAVE, last)
        nodes = _ancestors(self.before, int(end[np.argmax(self.time[end])]))
        owner = np.concatenate([np.tile(self.every, _ALL_ELEMENTS), np.tile(self.transfers, _DATA_END - _LEAVE)])
        element = owner[nodes]
        before = self.before[nodes]
        length = self.time[nodes] - np.where(before == _NONE, 0, self.time[before])
        assert (length >= 0).all(), "a moment is before what it waits for"
        issues = nodes < self.count
        use = np.where(issues, _USE["scalar"], _USE_OF_KIND[self.kind[element]])

        parts = [(recording.row[element], use, length)]
        fronts = element[issues & self.is_front[element]]
        folded, _, of = recording.folded(fronts)
        parts += _moved(folded, _USE["scalar"], np.full(len(folded), self.period), recording.row[of], _USE["scalar"])
        queued = np.minimum(self.waited[nodes], length)
        parts += _moved(recording.row[element], _USE["memory_queue"], queued, recording.row[element], use)
        root = element[before == _NONE]
        base = self.at[root, BASE_AT]
        parts += _moved(np.full(len(root), _NONE), _USE["start"], base, recording.row[root], _USE["scalar"])
        held = issues & ~self.is_front[element]
        stall = np.where(held, length - self.period, 0)
        gap = np.where(held & (stall > 0), self.gap[element] * self.period, 0)
        parts += _moved(recording.row[element], _USE["stall"], stall - gap, recording.row[element], use)
        row, uses, time = (np.concatenate(column) for column in zip(*parts, strict=True))
        kept = time != 0
        return ExecutedPath(row[kept], uses[kept], time[kept])


_Part = tuple[Ints, Ints, Ints]


def _moved(row: Ints, use: int, time: Ints, from_row: Ints, from_use: Ints | int) -> list[_Part]:
    """Time that is counted for one thing instead of another."""
    given = np.broadcast_to(np.asarray(from_use, np.int64), time.shape)
    return [(row, np.full(len(time), use), time), (from_row, given, -time)]


def _ancestors(before: Ints, last: int) -> Ints:
    """``last``, what is before it, and so on; by doubling, so that the path's length costs no loop."""
    reached = np.array([last])
    jump = np.append(before, _NONE)  # so that -1 leads to -1
    while len(further := jump[reached][jump[reached] != _NONE]):
        reached = np.append(reached, further)
        jump = jump[jump]
    return reached
