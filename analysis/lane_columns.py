"""The columns that the event loop of the scheduler of lanes reads (:mod:`.lane_events.layout`).

Many placements are scheduled on one graph. What does not depend on cores is therefore found once for all of them
(:class:`TimedGraph`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..support.arrays import Ints
from ..support.kernel_columns import as_array
from .lane_events.layout import COURTESY, PATIENCE, Code, Facts
from .lane_graph import LaneGraph, lane_graph
from .lane_rank import ONE_SAMPLE, Samples, arrival_order
from .message_costs import message_cycles
from .row_uses import RowUses
from .timeline import TimedBatch


@dataclass(frozen=True, eq=False)
class TimedGraph(LaneGraph):
    """The graph of some batches, with what they take, whatever their cores."""

    batches: Sequence[TimedBatch]

    @cached_property
    def lane_at(self) -> Ints:
        """[n] the lanes in the order of urgency."""
        found = np.empty_like(self.place)
        found[self.place] = np.arange(len(found))
        return found

    @cached_property
    def cycles(self) -> Ints:
        """[batches]"""
        return np.array([timed.cycles for timed in self.batches], np.int64)

    @cached_property
    def work(self) -> int:
        """Cycles of all lanes."""
        return int((self.cycles * np.diff(self.first)).sum())

    @cached_property
    def constant_first(self) -> Ints:
        """[batches + 1] the number of each batch's first constant, when they are numbered through all batches."""
        return firsts([len(timed.constants) for timed in self.batches])

    @cached_property
    def begins(self) -> tuple[Ints, Ints]:
        """At which of a lane's cycles its instructions begin, and its end; where those of each batch begin."""
        counts = np.array([len(timed.begins) for timed in self.batches], np.int64)
        joined = np.concatenate([self.first[:0], *(np.asarray(timed.begins, np.int64) for timed in self.batches)])
        return np.insert(joined, np.cumsum(counts), self.cycles), firsts(counts + 1)

    @cached_property
    def courtesy(self) -> int:
        """Cycles that a core waits between two instructions for a message that is about to come. If instructions are
        much longer than messages, that is the quarter of one that a core is amid: else the sender waits for its end."""
        begins, first = self.begins
        ends = np.ones(len(begins), np.bool_)
        ends[first[:-1]] = False
        length = np.diff(begins, prepend=0)[ends]
        batch = np.repeat(np.arange(len(first) - 1), np.diff(first) - 1)
        work = length * np.diff(self.first)[batch]
        usual = int((work * length).sum() // max(1, int(work.sum())))
        return usual // 4 if usual > 2 * PATIENCE else COURTESY

    @cached_property
    def loaded(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """All that lanes load, by lane, constants of its batch first: the lane, what it is, as a number, cycles of the
        core, and of the port; and where those of each lane begin."""
        lane, number, row = self.loads.T
        batches, batch_of = self.batches, self.batch_of
        constants = self.constant_first
        inputs = constants[-1] + firsts([len(timed.loads) for timed in batches])
        counts = np.diff(constants)[batch_of]
        owner = np.repeat(np.arange(len(counts)), counts)
        constant = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts - constants[batch_of], counts)
        owner = np.concatenate((owner, lane))
        order = np.argsort(owner, kind="stable")
        item = np.concatenate((constant, constants[-1] + row))[order]
        kind = np.concatenate((constant, inputs[batch_of[lane]] + number))[order]
        costs = [load for timed in batches for load in timed.constants]
        costs += [load for timed in batches for load in timed.loads]
        cycles, port = np.array(costs, np.int64).reshape(-1, 2)[kind].T
        counts += np.bincount(lane, minlength=len(counts))
        return owner[order], item, as_array(cycles), as_array(port), firsts(counts)

    @cached_property
    def fetching(self) -> Ints:
        """Of batches with constants, the most urgent lane of each replica, the most urgent first."""
        replicas = np.array([timed.replicas for timed in self.batches], np.int64)
        some = np.array([len(timed.constants) > 0 for timed in self.batches], np.bool_)
        batch = self.batch_of[self.lane_at]
        replica = firsts(replicas)[batch] + (self.lane_at - self.first[batch]) % replicas[batch]
        _, foremost = np.unique(replica, return_index=True)
        lanes = self.lane_at[np.sort(foremost)]
        return lanes[some[self.batch_of[lanes]]]

    @cached_property
    def rows_read(self) -> Ints:
        """[k] the rows that lanes read, by lane."""
        return self.row[np.lexsort((self.row, self.reader))]


def graph_of(batches: Sequence[TimedBatch], samples: Samples = ONE_SAMPLE) -> TimedGraph:
    """What is the same for every choice of cores."""
    graph = lane_graph([timed.ranked for timed in batches], samples)
    return TimedGraph(graph.first, graph.batch_of, graph.place, graph.row, graph.reader, graph.loads, batches)


def sooner_first(graph: TimedGraph) -> TimedGraph:
    """The same graph, where lanes are the more urgent the earlier their rows can come."""
    place = np.concatenate([graph.place[:0], *arrival_order([timed.ranked for timed in graph.batches])])
    return replace(graph, place=place)


def graph_columns(graph: TimedGraph, facts: Facts, leads: Sequence[int], follower: Ints, request: Ints) -> Code:
    """The columns that are the same for every choice of cores, the others empty. They are only read."""
    begins, begins_first = graph.begins
    _, _, load_cycles, load_port, load_first = graph.loaded
    fixed = {
        "batch": graph.batch_of,
        "place": graph.place,
        "lane_at": graph.lane_at,
        "first": graph.first,
        "lead": leads,
        "follower": follower,
        "cycles": graph.cycles,
        "begins_first": begins_first,
        "begins": begins,
        "request": request,
        "load_first": load_first,
        "load_cycles": load_cycles,
        "load_port": load_port,
        "read_first": firsts(graph.read_counts()),
        "rows_read": graph.rows_read if facts.leads else (),
    }
    return Code(*(as_array(fixed.get(name, ())) for name in Code._fields))


def placed_columns(
    code: Code, batches: Sequence[TimedBatch], graph: TimedGraph, uses: RowUses, core: Ints, facts: Facts
) -> Code:
    """The same with all columns, of ``batches`` whose lanes are on ``core`` [n]."""
    send, receive, flight = message_cycles(batches, graph, uses.row, core[uses.row], uses.core)
    owner, item, *_ = graph.loaded
    fetch_first, fetch_lane = _to_fetch(graph, core, facts.cores)
    return code._replace(
        core=as_array(core),
        waiting_first=as_array(firsts(2 * np.bincount(core, minlength=facts.cores))),
        use_first=as_array(uses.first),
        use_core=as_array(uses.core),
        use_place=as_array(graph.place[uses.readers[uses.start[:-1]]]),
        by_urgency=as_array(uses.by_urgency),
        reader_first=as_array(uses.start),
        readers=as_array(uses.readers),
        send=as_array(send),
        receive=as_array(receive),
        flight=as_array(flight),
        load_item=as_array(item * facts.cores + core[owner]),
        fetch_first=as_array(fetch_first),
        fetch_lane=as_array(fetch_lane),
    )


def _to_fetch(graph: TimedGraph, core: Ints, core_count: int) -> tuple[Ints, Ints]:
    """The most urgent lane of each batch with constants on each of its cores, by core and urgency; where those of each
    core begin."""
    lanes = graph.fetching
    _, first = np.unique(graph.batch_of[lanes] * core_count + core[lanes], return_index=True)
    lanes = lanes[np.sort(first)]
    lanes = lanes[np.argsort(core[lanes], kind="stable")]
    return firsts(np.bincount(core[lanes], minlength=core_count)), lanes


def firsts(counts: Any) -> Ints:
    """[n + 1] where each of n groups begins, when they follow one another; last, their end."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(np.array(counts, np.int64))))
