"""Plain schedules: lanes in the order in which their rows would come if transfers took no time, each row sent at once.

So messages come in the order in which rows are made, and a core takes one before it begins with what came later, where
the scheduler of lanes (:mod:`.lane_scheduler`) would have the sender wait for it. Of a few lanes that mostly send and
receive, this is sometimes the better schedule. Its order follows from a list schedule without transfers; its times, in
which no core does two things at once, from what transfers take. Loops over lanes and messages, which are to be few.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from ..support.arrays import Ints
from .lane_columns import TimedGraph
from .lane_graph import LaneGraph
from .message_costs import message_cycles
from .row_uses import RowUses, row_uses
from .timeline import TimedBatch, Timeline

NONE = -1


def plain_timeline(graph: TimedGraph, batches: Sequence[TimedBatch], request: Ints) -> Timeline:
    """The plain schedule. ``request`` [cores] is how long a request of each core takes to global memory."""
    core = np.concatenate([one.cores for one in batches])
    cycles = np.repeat([max(1, one.cycles) for one in batches], np.diff(graph.first))
    start = plain_starts(graph, core, cycles)
    uses = row_uses(graph, core)
    return _Cores(graph, batches, core, cycles, start, uses, request).timeline()


def plain_starts(graph: LaneGraph, core: Ints, cycles: Ints) -> Ints:
    """List scheduling: when each lane starts if transfers take no time."""
    missing: list[int] = graph.read_counts().tolist()
    length: list[int] = cycles.tolist()
    home: list[int] = core.tolist()
    first: list[int] = graph.row_first.tolist()
    readers: list[int] = graph.reader.tolist()
    start, there, free = [0] * len(home), [0] * len(home), [0] * (int(core.max(initial=0)) + 1)
    queue = [(0, lane) for lane, count in enumerate(missing) if not count]
    heapify(queue)
    while queue:
        ready, lane = heappop(queue)
        start[lane] = max(ready, free[home[lane]])
        end = free[home[lane]] = start[lane] + length[lane]
        for reader in readers[first[lane] : first[lane + 1]]:
            missing[reader] -= 1
            there[reader] = max(there[reader], end)
            if not missing[reader]:
                heappush(queue, (there[reader], reader))
    return np.array(start, np.int64)


class _Cores:
    """What cores do: lanes and messages, one after another in the order of the schedule without transfers."""

    def __init__(
        self,
        graph: TimedGraph,
        batches: Sequence[TimedBatch],
        core: Ints,
        cycles: Ints,
        planned: Ints,
        uses: RowUses,
        request: Ints,
    ) -> None:
        """``planned`` [n] is when each lane starts if transfers take no time."""
        self._graph, self._uses = graph, uses
        self._away = np.flatnonzero(uses.core != core[uses.row])
        self._order = _order(planned, (planned + cycles)[uses.row[self._away]])
        self._core: list[int] = core.tolist()
        self._cycles: list[int] = cycles.tolist()
        self._planned: list[int] = planned.tolist()
        self._begins: list[list[int]] = [np.asarray(one.begins).tolist() for one in batches]
        self._batch: list[int] = graph.batch_of.tolist()
        row, target = uses.row[self._away], uses.core[self._away]
        self._messages: list[tuple[int, int]] = np.stack((row, target), axis=1).tolist()
        costs = message_cycles(batches, graph, row, core[row], target)
        self._costs: list[tuple[int, int, int]] = costs.T.tolist()
        _, item, load_cycles, port_cycles, first = graph.loaded
        self._loads: list[tuple[int, int, int]] = np.stack((item, load_cycles, port_cycles), axis=1).tolist()
        self._load_first: list[int] = first.tolist()
        self._request: list[int] = request.tolist()
        lanes, cores = len(core), len(request)
        self._start, self._finish = [0] * lanes, [0] * lanes
        self._sent = [0] * len(self._away)
        self._resumed: list[tuple[int, int, int]] = []
        self._free, self._through = [0] * cores, [0] * cores
        """When each core goes on, and when the network has taken what it has sent last."""
        self._current, self._origin = [NONE] * cores, [0] * cores
        """The last lane of each core, and when it would have begun if nothing had come between."""
        self._loaded: set[tuple[int, int]] = set()
        self._port: list[tuple[int, int]] = []
        """From when to when the port of global memory serves loads, in order."""

    def timeline(self) -> Timeline:
        """Everything in its order."""
        lanes = len(self._core)
        for event in self._order:
            if event < lanes:
                self._run(event)
            else:
                self._send(event - lanes)
        none = self._away[:0]
        lane, done, time = np.array(self._resumed, np.int64).reshape(-1, 3).T
        return Timeline(
            makespan=max(self._free),
            first=self._graph.first,
            starts=np.array(self._start, np.int64),
            finishes=np.array(self._finish, np.int64),
            sent=(self._uses.row[self._away], self._uses.core[self._away], np.array(self._sent, np.int64)),
            resumed=(lane, done, time),
            fetched=(none, none, none, none),
        )

    def _run(self, lane: int) -> None:
        """A lane loads what is not there, and runs: its rows have come, and have occupied the core.

        It starts when it begins to load, and goes on then, so that loads are in the order in which they are asked for.
        """
        core = self._core[lane]
        begin = time = self._free[core]
        for item, cycles, port in self._loads[self._load_first[lane] : self._load_first[lane + 1]]:
            if (item, core) not in self._loaded:
                self._loaded.add((item, core))
                time = self._served(time + self._request[core], port) + cycles
        self._start[lane] = begin
        if time > begin:
            self._resumed.append((lane, 0, time))
        self._goes_on(core, lane, time)

    def _served(self, asked: int, cycles: int) -> int:
        """When the port begins with a load: what is asked for later may have been looked at before."""
        place = bisect_left(self._port, (asked, 0))
        time = max(asked, self._port[place - 1][1]) if place else asked
        while place < len(self._port) and self._port[place][0] < time + cycles:
            time = max(time, self._port[place][1])
            place += 1
        if cycles:
            self._port.insert(place, (time, time + cycles))
        return time

    def _goes_on(self, core: int, lane: int, origin: int) -> None:
        """A lane runs to its end, as if it had begun at ``origin``."""
        self._current[core], self._origin[core] = lane, origin
        self._finish[lane] = self._free[core] = origin + self._cycles[lane]

    def _send(self, message: int) -> None:
        """A message goes when both of its cores can: the receiver between two instructions of the lane that it runs."""
        row, target = self._messages[message]
        send, receive, flight = self._costs[message]
        core, lane = self._core[row], self._current[target]
        done = self._done(lane, self._planned[row] + self._cycles[row])
        can = self._free[target] if done == NONE else self._origin[target] + done
        time = max(self._free[core], can, self._through[core], self._through[target])
        self._sent[message] = time
        self._free[core], self._through[core] = time + send, time + send + flight
        there = time + receive
        if done == NONE:
            self._free[target] = there
        else:
            self._resumed.append((lane, done, there))
            self._goes_on(target, lane, there - done)

    def _done(self, lane: int, time: int) -> int:
        """The cycles of a lane after which it takes what is sent when it should have run until ``time``; `NONE` if it
        has ended by then."""
        if lane == NONE or time >= self._planned[lane] + self._cycles[lane]:
            return NONE
        begins = self._begins[self._batch[lane]]
        place = bisect_left(begins, time - self._planned[lane])
        return begins[place] if place < len(begins) else NONE


def _order(start: Ints, sent: Ints) -> list[int]:
    """Lanes by their number, and behind these messages, in the order in which they come: a row is sent before what
    begins when it is made."""
    kind = np.repeat((1, 0), (len(start), len(sent)))
    return np.lexsort((kind, np.concatenate((start, sent)))).tolist()
