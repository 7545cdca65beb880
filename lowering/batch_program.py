"""One form for the compute batches of all levels: lanes, what they read of which batch, and where they run.

From it the proxies come in the same way at every level, so that the numbers of two levels mean the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property

import numpy as np
from xdsl.ir import Operation, SSAValue

from ..analysis.proxies import UNNAMED
from ..analysis.window import RowWindow
from ..dialects import pim, spat
from ..dialects.block_looks import BlockLook
from ..dialects.spat import shape_of
from ..dialects.tile import ArrayAttr
from ..support.arrays import Ints
from .batch_facts import AnyBatch, BatchFacts, BatchMemory, LaneSchedule
from .body_costs import BodyCost, by_node, instruction_cost, partial_sums, tile_cost
from .body_memory import Body, TileBody, node_names
from .derived import Derived
from .loaded_constants import LoadedConstant, loaded_constants
from .op_kinds import ops_of
from .target import Target

_NO_NODES = frozenset[str]()
_TRAVELS = (spat.DeferredCommunicationOp, spat.ChannelReceiveOp, pim.LoadOp, pim.TransferOp)


class Tensor:
    """A distributed tensor, however many values or buffers stand for it."""

    __slots__ = ("label", "loads", "messages", "needs", "producer", "readers", "result", "shape")

    def __init__(self, shape: tuple[int, ...], producer: int | None, result: int, label: str) -> None:
        self.shape = shape
        self.producer = producer
        """The batch that computes it; None for one that comes from global memory."""
        self.result = result
        """Which of the batch's results it is."""
        self.label = label
        self.messages: list[Ints] = []
        """Tables of row, source, target, step."""
        self.loads: list[Ints] = []
        """Tables of row, core, step."""
        self.needs: list[Ints] = []
        """Tables of row, core."""
        self.readers: list[tuple[int, Ints]] = []
        """Batches that read it, with the rows of each lane."""

    @property
    def row_elements(self) -> int:
        return math.prod(self.shape[1:])


class Batch:
    """A compute batch in its program."""

    def __init__(
        self,
        op: AnyBatch,
        body_ops: Sequence[Operation],
        operands: Sequence[Sequence[SSAValue]],
        facts: BatchFacts,
        schedule: LaneSchedule | None,
        names: list[str],
        cost: BodyCost,
        by_node: dict[str, dict[str, int]],
        reads: list[tuple[Tensor, RowWindow | None, Ints]],
        read_inputs: tuple[int, ...],
    ) -> None:
        self.op = op
        self.body_ops = body_ops
        """The ops of its body."""
        self.operands = operands
        """As `split_operands` of the op has them."""
        self.names = names
        """The nodes that it comes from."""
        self.lanes = facts.lanes
        self.replicas = facts.replicas
        self.schedule = schedule
        """None if it is not scheduled."""
        self.cost = cost
        self.by_node = by_node
        """Elements of products, and of sums of products of slices, of one lane, by the nodes of these ops."""
        self.reads = reads
        self.read_inputs = read_inputs
        """Which inputs these are."""
        self.body = facts.body
        self.window_sizes = [facts.window_sizes[place] for place in read_inputs]
        """Of each input of `reads`, the rows that a lane reads, and the columns of zeros beside each."""
        self.lane_reads = facts.reads
        """The rows that lanes read of all inputs."""

    @cached_property
    def fetches(self) -> Ints | None:
        """[n, 3] constants that are loaded as planned: which of the batch, core, step."""
        return _table(self.op, "fetches")

    @cached_property
    def sends(self) -> Ints | None:
        """[n, 3] rows that are sent as planned: row, core that reads it, step."""
        return _table(self.op, "sends")

    @cached_property
    def loaded_constants(self) -> list[LoadedConstant]:
        """What each of its cores loads for vector instructions."""
        return loaded_constants(self.op, self.operands, self.cost)

    @property
    def scheduled(self) -> LaneSchedule:
        assert self.schedule is not None, "the batch is scheduled"
        return self.schedule

    @property
    def lane_cores(self) -> Ints:
        return self.scheduled.cores

    @property
    def lane_steps(self) -> Ints:
        return self.scheduled.steps

    @property
    def lane_spans(self) -> Ints:
        """Steps that each lane extends over."""
        return self.scheduled.spans

    @property
    def lane_resumes(self) -> Ints:
        """[n, 3] lane, cycles that are done, and steps since its first, where it goes on after an interruption."""
        return self.scheduled.resumes

    @property
    def last_steps(self) -> Ints:
        """The last step of each lane."""
        return self.lane_steps + self.lane_spans - 1

    @property
    def core_set(self) -> set[int]:
        """The cores that it runs on."""
        return self.scheduled.core_set

    def rescheduled(self, cores: Ints, steps: Ints, spans: Ints) -> Batch:
        """The batch on other cores, at other times, its lanes without interruptions, and nothing else planned."""
        other = copy(self)
        other.schedule = LaneSchedule(cores, steps, spans, np.zeros((0, 3), np.int64))
        other.fetches = other.sends = None
        return other


def _table(op: AnyBatch, name: str) -> Ints | None:
    """A property of a batch that need not be there."""
    found = op.properties.get(name)
    return found.array.astype(np.int64, copy=False) if type(found) is ArrayAttr else None


class BatchProgram:
    """The batches of a module and the tensors between them."""

    def __init__(
        self,
        bodies: Sequence[tuple[AnyBatch, BlockLook]],
        others: Sequence[Operation],
        target: Target | None,
        memory: BatchMemory,
    ) -> None:
        """Of batches with looks at their blocks, and of the ops beside them."""
        self.others = others
        self.target = target
        self.values: dict[int, Tensor] = {}
        """The tensor that each value or buffer stands for, by the identity of the value, which ops hold: to hash one
        takes a call."""
        ops = [op for op, _ in bodies]
        self._labels = node_names(ops, memory.bodies.names)
        self._facts = [memory.facts(op, look) for op, look in bodies]
        self._schedules = [memory.schedule(op) for op in ops]
        self._operands: list[Sequence[Sequence[SSAValue]]] = [op.split_operands for op in ops]
        self.bodies = [facts.body for facts in self._facts]
        self._name_tensors(ops)
        self.batches = [self._batch(index, op, look) for index, (op, look) in enumerate(bodies)]
        self._collect_tables()
        self.tensors = list(dict.fromkeys(self.values.values()))
        self.scheduled = all(batch.schedule is not None for batch in self.batches)
        self.by_facts = memory.derived.of(self._facts)
        """What follows from the facts of batches."""
        costs = [part for batch in self.batches for part in (batch.cost, batch.by_node)]
        self.by_lanes = memory.derived.of([*self._labels, *self._facts, *self._schedules, *costs])
        """What follows from the nodes and costs of batches, and from where and when their lanes run, too."""
        memory.forget_others()

    def rescheduled(self, batches: list[Batch]) -> BatchProgram:
        """The program with these batches, which are the same but for cores and times."""
        other = copy(self)
        other.batches = batches
        other.by_lanes = Derived()
        return other

    @property
    def lane_columns(self) -> tuple[Ints, Ints, Ints]:
        """Of all lanes, batch by batch, the core, the first step and the last one."""

        def found() -> tuple[Ints, Ints, Ints]:
            schedules = [batch.scheduled for batch in self.batches]
            core, step, span = (
                np.concatenate([getattr(schedule, name) for schedule in schedules])
                for name in ("cores", "steps", "spans")
            )
            return core, step, step + span - 1

        return self.by_lanes.once("columns", found)

    def rows_read(self, first_row: Mapping[Tensor, int]) -> tuple[Ints, Ints]:
        """All that lanes read of tensors whose rows are numbered from ``first_row`` on: the row, and the lane, numbered
        through all batches."""
        none = np.zeros(0, np.int64)
        rows, places, counts, begins = [none], [none], [none], list[int]()
        for batch in self.batches:
            inputs = zip(batch.read_inputs, batch.reads, strict=True)
            known = [(place, first_row[tensor]) for place, (tensor, _, _) in inputs if tensor in first_row]
            row, place, count = batch.lane_reads.flat(tuple([place for place, _ in known]))
            rows.append(row)
            places.append(place + len(begins))
            counts.append(count)
            begins += [first for _, first in known]
        count = np.concatenate(counts)
        row = np.concatenate(rows) + np.array(begins, np.int64)[np.concatenate(places)]
        return row, np.repeat(np.arange(len(count)), count)

    def _name_tensors(self, batches: Sequence[AnyBatch]) -> None:
        for position, op in enumerate(batches):
            for number, (value, shape) in enumerate(zip(op.results, self._facts[position].shapes, strict=True)):
                self.values[id(value)] = Tensor(shape, position, number, self._labels[position])
        for op in ops_of(self.others, spat.InputOp, pim.InputOp):
            self.values[id(op.result)] = Tensor(shape_of(op.result), None, 0, op.input_name.data)
        outs = [operands[3] if len(operands) > 3 else () for operands in self._operands]
        producers = {id(out): place for place, mine in enumerate(outs) for out in mine}
        for op in ops_of(self.others, pim.RowsOp):
            position = producers.get(id(op.result))
            label = UNNAMED if position is None else self._labels[position]
            self.values[id(op.result)] = Tensor(shape_of(op.result), position, 0, label)
        # The values that stand for a tensor after it has travelled. Their sources may follow one another.
        for op in ops_of(self.others, *_TRAVELS):
            if op.results:
                self.values[id(op.results[0])] = self._tensor(op.source)

    def _tensor(self, value: SSAValue) -> Tensor:
        """KeyError if the value stands for none."""
        found = self.values.get(id(value))
        if found is None:
            raise KeyError(value)
        return found

    def _batch(self, index: int, op: AnyBatch, look: BlockLook) -> Batch:
        facts = self._facts[index]
        operands = self._operands[index]
        inputs = operands[0]
        reads: list[tuple[Tensor, RowWindow | None, Ints]] = []
        read_inputs: list[int] = []
        tensors = list(map(self.values.get, map(id, inputs)))
        for place, (tensor, (window, rows)) in enumerate(zip(tensors, facts.windows, strict=True)):
            if tensor is not None:  # else it is a stack of constants
                reads.append((tensor, window, rows))
                read_inputs.append(place)
                tensor.readers.append((index, rows))
        names = self._labels[index].split("+")
        on_tensors = bool(op.results)
        cost, by_nodes = self._costs(facts.body, look.ops, on_tensors, tensors, names)
        schedule, ops = self._schedules[index], look.ops
        return Batch(op, ops, operands, facts, schedule, names, cost, by_nodes, reads, tuple(read_inputs))

    def _costs(
        self,
        body: Body,
        ops: Sequence[Operation],
        on_tensors: bool,
        inputs: Sequence[Tensor | None],
        names: Sequence[str],
    ) -> tuple[BodyCost, dict[str, dict[str, int]]]:
        """Of one lane: its cost; elements of products, and of sums of products of slices, by node."""
        target = self.target
        if isinstance(body, TileBody):
            sums = tuple([self._partial_of(tensor, names) for tensor in inputs])
            again = frozenset(place for place, nodes in enumerate(sums) if nodes and _is_read_before(inputs, place))
            return body.once(("cost", target, sums, again), lambda: _tile_costs(body, target, sums, again))
        return body.once(("cost", target, on_tensors), lambda: _instruction_costs(body, ops, on_tensors, target))

    def _partial_of(self, tensor: Tensor | None, names: Sequence[str]) -> frozenset[str]:
        """Of which of these nodes an input is a sum of products of some slices, on whatever way it came."""
        if tensor is None or tensor.producer is None:
            return _NO_NODES
        body = self.bodies[tensor.producer]
        if not isinstance(body, TileBody) or not body.partial_results[tensor.result]:
            return _NO_NODES
        return frozenset(names).intersection(self._labels[tensor.producer].split("+"))

    def _collect_tables(self) -> None:
        for op in ops_of(self.others, spat.DeferredCommunicationOp):
            self._tensor(op.source).needs.append(op.needs.array)
        for op in ops_of(self.others, spat.ChannelSendOp, pim.TransferOp):
            self._tensor(op.source).messages.append(op.messages.array)
        for op in ops_of(self.others, pim.LoadOp):
            loaded = op.result if op.dest is None else op.dest
            assert loaded is not None
            self._tensor(loaded).loads.append(op.rows.array)


def _is_read_before(inputs: Sequence[Tensor | None], place: int) -> bool:
    """Whether an input of the last batch so far is also one of a batch before, or an input before."""
    tensor = inputs[place]
    return tensor is not None and (tensor.readers[0][0] != tensor.readers[-1][0] or tensor in inputs[:place])


def _tile_costs(
    body: TileBody, target: Target | None, sums: tuple[frozenset[str], ...], again: frozenset[int]
) -> tuple[BodyCost, dict[str, dict[str, int]]]:
    cost = tile_cost(body.content, target)
    # What the network itself adds up, as two convolutions, or one to itself, is no sum of slices of one layer.
    layers = frozenset[str]().union(*sums)
    names = body.names
    slices = [
        one
        for one in partial_sums(body.content, tuple(map(bool, sums)), again)
        if (names[one.position] in layers if one.product == one.position else names[one.position] == names[one.product])
    ]
    return cost, {
        "product_elements": by_node(names, cost.product_elements),
        "partial_sums": by_node(names, [(one.position, one.elements) for one in slices]),
        "added_again": by_node(names, [(one.position, one.again) for one in slices if one.again]),
    }


def _instruction_costs(
    body: Body, ops: Sequence[Operation], on_tensors: bool, target: Target | None
) -> tuple[BodyCost, dict[str, dict[str, int]]]:
    cost = instruction_cost(ops, on_tensors, target)
    return cost, {"product_elements": by_node(body.names, cost.product_elements), "partial_sums": {}, "added_again": {}}
