"""The proxies of compute batches, from the graph form to the one on buffers.

All levels are brought to one form (:class:`_Batch`): lanes, what they read of which batch, and where they run. From it
come spans, traffic and loads in the same way, so that the numbers of two levels mean the same.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block, Operation, SSAValue

from ..analysis.critical_path import PLACES, Events, SpanBatch, core_span, cut_lanes, replica_span
from ..analysis.proxies import UNNAMED, Level, counts
from ..analysis.window import OUTSIDE, RowWindow
from ..dialects import pim, spat
from ..dialects.location import node_name
from ..dialects.spat import WindowAttr, shape_of
from .body_content import body_content
from .body_costs import Amounts, BodyCost, instruction_cost, is_partial, partial_sums, tile_cost
from .event_order import Phase, event_key
from .row_instances import producer_of
from .target import Target

Ints = NDArray[np.int64]
Contributions = dict[str, dict[str, int]]


@dataclass(eq=False)
class _Tensor:
    """A distributed tensor, however many values or buffers stand for it."""

    shape: tuple[int, ...]
    producer: int | None
    """The batch that computes it; None for one that comes from global memory."""
    label: str
    value: SSAValue | None = None
    """The batch's result, however it travels from there."""
    messages: list[Ints] = field(default_factory=list[Ints])
    """Tables of row, source, target, step."""
    loads: list[Ints] = field(default_factory=list[Ints])
    """Tables of row, core, step."""
    needs: list[Ints] = field(default_factory=list[Ints])
    """Tables of row, core."""
    readers: list[tuple[int, Ints]] = field(default_factory=list[tuple[int, Ints]])
    """Batches that read it, with the rows of each lane."""


@dataclass(frozen=True, eq=False)
class _Batch:
    op: spat.BatchOp | pim.CoreBatchOp
    cost: BodyCost
    lanes: int
    replicas: int
    cores: Ints | None
    """Of each lane."""
    steps: Ints | None
    reads: list[tuple[_Tensor, RowWindow | None, Ints]]

    names: list[str]
    """The nodes that it comes from."""
    by_node: dict[str, Counter[str]]
    """Elements of products, and of sums of products of slices, of one lane, by the nodes of these ops."""


def batch_proxies(
    ops: Sequence[spat.BatchOp | pim.CoreBatchOp], others: Sequence[Operation], level: Level, target: Target | None
) -> tuple[dict[str, object], Contributions]:
    """The fields that batches have, and by field what each node adds to it."""
    return _Program(ops, others, level, target).fields()


class _Program:
    def __init__(
        self,
        ops: Sequence[spat.BatchOp | pim.CoreBatchOp],
        others: Sequence[Operation],
        level: Level,
        target: Target | None,
    ) -> None:
        self.level = level
        self.target = target
        self.others = others
        self.bytes = None if target is None else target.element_bytes
        self._names: dict[int, str] = {}
        self.tensors: dict[SSAValue, _Tensor] = {}
        self.parts: Contributions = {}
        self._name_tensors(ops)
        self.batches = [self._batch(index, op) for index, op in enumerate(ops)]
        self._collect_tables()
        self._distinct = list(dict.fromkeys(self.tensors.values()))
        self.scheduled = all(batch.cores is not None for batch in self.batches)

    # One form for all levels

    def _name_tensors(self, ops: Sequence[spat.BatchOp | pim.CoreBatchOp]) -> None:
        index: dict[Operation, int] = {op: position for position, op in enumerate(ops)}
        self._labels = [self._name(op) for op in ops]
        for op, position in index.items():
            for value in op.results:
                self.tensors[value] = _Tensor(shape_of(value), position, self._labels[position], value)
        for op in self.others:
            match op:
                case spat.InputOp() | pim.InputOp():
                    self.tensors[op.result] = _Tensor(shape_of(op.result), None, op.input_name.data)
                case pim.RowsOp():
                    batch = producer_of(op)
                    position = None if batch is None else index[batch]
                    label = UNNAMED if position is None else self._labels[position]
                    self.tensors[op.result] = _Tensor(shape_of(op.result), position, label)
                case _:
                    pass
        # The values that stand for a tensor after it has travelled. Their sources may follow one another.
        for op in self.others:
            match op:
                case spat.DeferredCommunicationOp() | spat.ChannelReceiveOp():
                    self.tensors[op.result] = self.tensors[op.source]
                case pim.LoadOp() | pim.TransferOp() if op.result is not None:
                    self.tensors[op.result] = self.tensors[op.source]
                case _:
                    pass

    def _batch(self, index: int, op: spat.BatchOp | pim.CoreBatchOp) -> _Batch:
        reads: list[tuple[_Tensor, RowWindow | None, Ints]] = []
        for position, (value, window) in enumerate(zip(op.inputs, op.windows, strict=True)):
            tensor = self.tensors.get(value)
            if tensor is None:
                continue  # a stack of constants
            if isinstance(window, WindowAttr):
                rows = window.data.rows_of(np.arange(op.lane_count))
                reads.append((tensor, window.data, rows))
            else:
                assert isinstance(op, pim.CoreBatchOp)
                rows = op.input_rows(position)
                reads.append((tensor, None, rows))
            tensor.readers.append((index, rows))
        cores = steps = None
        if isinstance(op, pim.CoreBatchOp | spat.ScheduledComputeBatchOp):
            cores, steps = op.cores.array, op.steps.array.astype(np.int64)
        elif isinstance(op, spat.ComputeBatchOp) and op.cores is not None and op.steps is not None:
            cores, steps = op.cores.array, op.steps.array.astype(np.int64)
        lanes = op.lane_count
        of_lane = None if cores is None else cores.astype(np.int64)[np.arange(lanes) % op.replica_count]
        if isinstance(op, pim.CoreBatchOp):
            cost, sums = instruction_cost(op.block, bool(op.results_), self.target), ()
        else:
            content = body_content(op)
            cost = tile_cost(content, self.target)
            sums = partial_sums(content, tuple([self._is_partial(value) for value in op.inputs]))
        by_node = {"product_elements": cost.product_elements, "partial_sums": sums}
        named = {name: self._by_node(op.block, amounts) for name, amounts in by_node.items()}
        labels = self._labels[index].split("+")
        return _Batch(op, cost, lanes, op.replica_count, of_lane, steps, reads, labels, named)

    def _is_partial(self, value: SSAValue) -> bool:
        """Whether an input is a sum of products of some slices, on whatever way it came."""
        tensor = self.tensors.get(value)
        return tensor is not None and tensor.value is not None and is_partial(tensor.value)

    def _by_node(self, block: Block, amounts: Amounts) -> Counter[str]:
        """Numbers of a body's ops, added up by the node that the op comes from."""
        found: Counter[str] = Counter()
        if amounts:
            ops = list(block.ops)
            for position, number in amounts:
                found[self._name(ops[position])] += number
        return found

    def _name(self, op: Operation) -> str:
        """The node that an op comes from; ops share locations, which they hold while the program is looked at."""
        name = self._names.get(id(op.location))
        if name is None:
            name = self._names[id(op.location)] = node_name(op) or UNNAMED
        return name

    def _collect_tables(self) -> None:
        for op in self.others:
            match op:
                case spat.DeferredCommunicationOp():
                    self.tensors[op.source].needs.append(op.needs.array)
                case spat.ChannelSendOp() | pim.TransferOp():
                    self.tensors[op.source].messages.append(op.messages.array)
                case pim.LoadOp():
                    loaded = op.result if op.dest is None else op.dest
                    assert loaded is not None
                    self.tensors[loaded].loads.append(op.rows.array)
                case _:
                    pass

    # Fields

    def fields(self) -> tuple[dict[str, object], Contributions]:
        found: dict[str, object] = {"lower_bounds": ("instructions",)}
        self._add_parallelism(found)
        self._add_work(found)
        self._add_memory(found)
        if self.scheduled:
            self._add_schedule(found)
            self._add_traffic(found)
        return found, self.parts

    def _add_parallelism(self, found: dict[str, object]) -> None:
        graph = sum(b.lanes for b in self.batches if isinstance(b.op, spat.ComputeBatchOp))
        total = sum(b.lanes for b in self.batches)
        histogram = Counter(str(b.lanes) for b in self.batches)
        lanes, width = self._part("lanes_of_node"), self._part("width_of_node")
        for batch in self.batches:
            slots = batch.replicas if batch.cores is None else len(np.unique(batch.cores))
            for name in batch.names if batch.names != [UNNAMED] else ():
                lanes[name] = max(lanes.get(name, 0), batch.lanes)
                if batch.cost.products:
                    width[name] = max(width.get(name, 0), slots)
        found |= {
            "compute_instances": total,
            "graph_lanes": graph if graph or total == 0 else None,
            "scheduled_lanes": total - graph if total > graph else None,
            "lane_histogram": counts(histogram),
            "lanes_of_node": counts(lanes),
            "width_of_node": counts(width),
        }
        if not self.scheduled:
            found["width"] = max((batch.lanes for batch in self.batches), default=0)
            if self.target is not None:
                found["span_cycles"] = self._replica_span()
                found["lower_bounds"] = ("instructions", "span_cycles")

    def _slots(self, batch: _Batch) -> int:
        return batch.replicas if batch.cost.products else batch.lanes

    def _replica_span(self) -> int:
        found: list[SpanBatch] = []
        for batch in self.batches:
            reads = tuple(
                (tensor.producer, window)
                for tensor, window, _ in batch.reads
                if tensor.producer is not None and window is not None
            )
            assert batch.cost.cycles is not None
            found.append(SpanBatch(batch.lanes, self._slots(batch), batch.cost.cycles, reads))
        return replica_span(found)

    def _add_work(self, found: dict[str, object]) -> None:
        per_lane = {
            "mvm_count": "products",
            "vector_count": "vectors",
            "instructions": "instructions",
            "local_copies": "copies",
            "recomputed": "recomputed",
            **({} if self.target is None else {"work_cycles": "cycles"}),
        }
        for name, attribute in per_lane.items():
            part = self._part(name)
            for batch in self.batches:
                _add(part, batch.names[0], batch.lanes * getattr(batch.cost, attribute))
            found[name] = sum(part.values())
        if self.bytes is not None:
            found["local_copy_bytes"] = self.bytes * sum(b.lanes * b.cost.copy_elements for b in self.batches)
        names = ["product_elements"]
        if self.level in (Level.GRAPH, Level.SCHEDULED):
            names.append("partial_sums")
        for name in names:
            part = self._part(name)
            for batch in self.batches:
                for node, elements in batch.by_node[name].items():
                    _add(part, node, batch.lanes * elements)
            found[name] = counts(part)
        self._repeated_batches()
        found["recomputed"] = None if self.level is Level.BUFFERS else sum(self._part("recomputed").values())

    def _repeated_batches(self) -> None:
        """Counts the instructions of batches that do what another does: lanes, operands, windows and body are equal."""
        alike: dict[object, list[_Batch]] = {}
        for batch in self.batches:
            operands = tuple(id(self.tensors.get(value, _constant(value))) for value in batch.op.operands)
            alike.setdefault((batch.lanes, operands, len(batch.op.results)), []).append(batch)
        for batches in alike.values():
            known: set[object] = set()
            for batch in batches if len(batches) > 1 else ():
                key = (batch.op.windows, _body_text(batch.op))
                if key in known and batch.op.results:
                    operations = batch.lanes * max(1, batch.cost.instructions)
                    _add(self._part("recomputed"), batch.names[0], operations)
                known.add(key)

    def _add_memory(self, found: dict[str, object]) -> None:
        weights = self._part("weight_elements")
        for batch in self.batches:
            _add(weights, batch.names[0], batch.replicas * batch.cost.weights)
        found["weight_elements"] = sum(weights.values())
        program = next((op for op in self.others if isinstance(op, pim.ProgramOp)), None)
        if program is not None and program.peak_bytes is not None:
            peak = counts({f"{core:05}": int(size) for core, size in enumerate(program.peak_bytes.array) if size})
            found["logical_core_bytes"] = found["physical_core_bytes"] = peak
            found["core_bytes_max"] = max((size for _, size in peak), default=0)
        if self.bytes is not None:
            found["host_bytes"] = self.bytes * self._global_elements()

    def _global_elements(self) -> int:
        """Inputs, outputs, and each constant that vector instructions read, once."""
        constants: dict[int, int] = {}
        elements = 0
        for op in self.others:
            match op:
                case spat.InputOp() | pim.InputOp():
                    elements += int(np.prod(shape_of(op.result), dtype=np.int64))
                case spat.OutputOp() | pim.OutputOp():
                    elements += sum(int(np.prod(shape_of(value), dtype=np.int64)) for value in op.values)
                case pim.ConstantOp():
                    constants[id(op.value.data)] = op.value.size
                case _:
                    pass
        for batch in self.batches:
            if isinstance(batch.op, spat.BatchOp):
                for index, value in enumerate(batch.op.weights):
                    if index not in batch.cost.matrices and isinstance(value.owner, spat.ConstantOp):
                        constants[id(value.owner.value.data)] = value.owner.value.size
                elements += sum(size for index, _, size in batch.cost.constants if index is None)
        return elements + sum(constants.values())

    def _add_schedule(self, found: dict[str, object]) -> None:
        cores = np.concatenate([_known(batch.cores) for batch in self.batches])
        last = [int((_known(b.steps) + _span_steps(b.op)).max()) for b in self.batches]
        first = [int(_known(b.steps).min()) for b in self.batches]
        found["step_count"] = max(last) - min(first)
        found["width"] = len(np.unique(cores))
        state = hashlib.blake2b(digest_size=8)
        for batch in self.batches:
            state.update(f"{'+'.join(batch.names)} {batch.replicas} ".encode())
            state.update(_known(batch.cores)[: batch.replicas].tobytes())
        found["assignment"] = state.hexdigest()
        instructions = np.repeat([b.cost.instructions for b in self.batches], [b.lanes for b in self.batches])
        found["instructions_max"] = int(np.bincount(cores, instructions).max())
        if self.target is not None:
            cycles = np.repeat([b.cost.cycles or 0 for b in self.batches], [b.lanes for b in self.batches])
            busy = np.bincount(cores, cycles).astype(np.int64)
            found["busy_cycles"] = counts({f"{core:05}": int(n) for core, n in enumerate(busy) if n})
            found["busy_cycles_max"] = int(busy.max())
            self._spans(found)
            bounds = ("instructions", "instructions_max", "span_cycles", "makespan_cycles")
            found["lower_bounds"] = tuple(name for name in bounds if name in found)

    # Traffic

    def _tensors(self) -> list[_Tensor]:
        return self._distinct

    def _needed(self, tensor: _Tensor) -> Ints:
        """Lines of row and core: who reads what it has not computed itself, or is said to need it."""
        found = [np.zeros((0, 2), np.int64), *tensor.needs]
        for reader, rows in tensor.readers:
            inside = rows != OUTSIDE
            core = np.broadcast_to(_known(self.batches[reader].cores)[:, None], rows.shape)
            found.append(np.stack((rows[inside], core[inside]), axis=1))
        pairs = np.unique(np.concatenate(found), axis=0)
        if tensor.producer is None:
            return pairs
        home = _known(self.batches[tensor.producer].cores)
        return pairs[pairs[:, 1] != home[pairs[:, 0]]]

    def _messages(self) -> list[tuple[_Tensor, Ints]]:
        """Of computed tensors, [n, 4] of row, source, target, step (-1 while it is not decided)."""
        found: list[tuple[_Tensor, Ints]] = []
        for tensor in self._tensors():
            if tensor.messages:
                found.append((tensor, np.concatenate(tensor.messages)))
            elif tensor.producer is not None and self.level is Level.SCHEDULED:
                pairs = self._needed(tensor)
                home = _known(self.batches[tensor.producer].cores)[pairs[:, 0]]
                found.append((tensor, np.stack((pairs[:, 0], home, pairs[:, 1], np.full(len(pairs), -1)), axis=1)))
        return found

    def _loads(self) -> list[tuple[_Tensor, Ints]]:
        """Of tensors in global memory, [n, 3] of row, core, step (-1 while it is not decided)."""
        found: list[tuple[_Tensor, Ints]] = []
        for tensor in self._tensors():
            if tensor.loads:
                found.append((tensor, np.concatenate(tensor.loads)))
            elif tensor.producer is None and self.level is Level.SCHEDULED:
                pairs = self._needed(tensor)
                found.append((tensor, np.column_stack((pairs, self._first_reads(tensor, pairs)))))
        return found

    def _first_reads(self, tensor: _Tensor, pairs: Ints) -> Ints:
        """The step at which each core first reads each row; 0 if it never does."""
        first = np.full((tensor.shape[0], int(pairs[:, 1].max(initial=0)) + 1), np.iinfo(np.int64).max)
        for reader, rows in tensor.readers:
            batch = self.batches[reader]
            inside = rows != OUTSIDE
            core = np.broadcast_to(_known(batch.cores)[:, None], rows.shape)[inside]
            step = np.broadcast_to(_known(batch.steps)[:, None], rows.shape)[inside]
            mine = core < first.shape[1]
            np.minimum.at(first, (rows[inside][mine], core[mine]), step[mine])
        found = first[pairs[:, 0], pairs[:, 1]]
        return np.where(found == np.iinfo(np.int64).max, 0, found)

    def _add_traffic(self, found: dict[str, object]) -> None:
        sent, hops = 0, 0
        sends, bytes_ = self._part("sends"), self._part("send_bytes")
        for tensor, table in self._messages():
            _add(sends, tensor.label, len(table))
            sent += len(table)
            if self.bytes is not None and self.target is not None:
                size = self._row_bytes(tensor)
                _add(bytes_, tensor.label, size * len(table))
                near = self.target.machine.hops[table[:, 1], table[:, 2]]
                _add(self._part("byte_hops"), tensor.label, size * int(near.sum()))
                hops += size * int(near.sum())
        found |= {"sends": sent, "receives": sent}
        loads, loaded_bytes = self._part("host_to_device_copies"), 0
        for tensor, table in self._loads():
            _add(loads, tensor.label, len(table))
            loaded_bytes += (self.bytes or 0) * int(np.prod(tensor.shape[1:], dtype=np.int64)) * len(table)
        constants, constant_elements = self._constant_loads()
        stored, stored_elements = self._part("device_to_host_copies"), 0
        for op in self.others:
            if isinstance(op, spat.OutputOp | pim.OutputOp):
                for value in op.values:
                    rows, *row = shape_of(value)
                    _add(stored, op.output_name.data, rows)
                    stored_elements += rows * int(np.prod(row, dtype=np.int64))
        found |= {
            "host_to_device_copies": sum(loads.values()) + constants,
            "device_to_host_copies": sum(stored.values()),
        }
        if self.bytes is not None:
            found |= {
                "send_bytes": sum(bytes_.values()),
                "receive_bytes": sum(bytes_.values()),
                "byte_hops": hops,
                "host_to_device_bytes": loaded_bytes + self.bytes * constant_elements,
                "device_to_host_bytes": self.bytes * stored_elements,
            }

    def _constant_loads(self) -> tuple[int, int]:
        """Constants that cores load: how many, and their elements. Each core loads each content once."""
        held: dict[tuple[int, int, int, int], int] = {}
        for batch in self.batches:
            cores = np.unique(_known(batch.cores)).tolist()
            for identity, columns, size in _loaded_constants(batch):
                for core in cores:
                    held[identity, columns, size, core] = size
        return len(held), sum(held.values())

    def _row_bytes(self, tensor: _Tensor) -> int:
        return (self.bytes or 0) * int(np.prod(tensor.shape[1:], dtype=np.int64))

    # Events

    def _spans(self, found: dict[str, object]) -> None:
        lanes = self._lane_events(_NOTHING)
        found["span_cycles"] = core_span(Events.join(lanes), shared=True)
        if any(len(table) and (table[:, 3] < 0).any() for _, table in self._messages()):
            return  # no one knows yet when rows travel
        moves = self._move_events()
        ends = [_places(events) for events in moves if len(events.key)]
        interrupts = np.unique(np.concatenate(ends)) if ends else _NOTHING
        found["makespan_cycles"] = core_span(Events.join([*moves, *self._lane_events(interrupts)]))

    def _move_events(self) -> list[Events]:
        """Messages, and loads: those go through one port, which is a partner that every load has to wait for."""
        assert self.target is not None
        machine = self.target.machine
        found: list[Events] = []
        for tensor, table in self._loads():
            cycles = machine.load_cycles(table[:, 1], self._row_bytes(tensor))
            makes = self._first_row[tensor] + table[:, 0]
            port = np.full(len(table), machine.core_count)
            key = event_key(table[:, 2], Phase.LOAD)
            found.append(
                Events(key, port, table[:, 1], cycles, cycles, makes, _NOTHING, np.zeros(len(table), np.int64))
            )
        for tensor, table in self._messages():
            size = self._row_bytes(tensor)
            send = machine.send_cycles(table[:, 1], table[:, 2], size)
            receive = machine.recv_cycles(table[:, 1], table[:, 2], size)
            makes = self._first_row[tensor] + table[:, 0]
            key = event_key(table[:, 3], Phase.MESSAGE)
            found.append(
                Events(key, table[:, 1], table[:, 2], send, receive, makes, makes, np.ones(len(table), np.int64))
            )
        return found

    def _lane_events(self, interrupts: Ints) -> list[Events]:
        """Lanes, cut where messages come between their instructions."""
        first_out = {tensor.producer: row for tensor, row in reversed(self._first_row.items())}
        found: list[Events] = []
        for index, batch in enumerate(self.batches):
            read = [
                np.where(rows == OUTSIDE, -1, rows + self._first_row[tensor])
                for tensor, _, rows in batch.reads
                if tensor.producer is not None or len(interrupts)
            ]
            joined = np.concatenate(read, axis=1) if read else np.zeros((batch.lanes, 0), np.int64)
            steps, cores, cycles = _known(batch.steps), _known(batch.cores), batch.cost.cycles or 0
            pieces = cut_lanes(cores, steps, _span_steps(batch.op), cycles, interrupts)
            core = cores[pieces.lane]
            alone = np.full(len(core), -1)
            out = first_out.get(index, -1)
            makes = np.where(pieces.is_last & (out >= 0), pieces.lane + out, -1)
            inside = joined >= 0
            count = np.where(pieces.is_first, inside.sum(axis=1)[pieces.lane], 0)
            key = event_key(pieces.start, Phase.COMPUTE)
            found.append(Events(key, core, alone, pieces.cycles, pieces.cycles, makes, joined[inside], count))
        return found

    @cached_property
    def _first_row(self) -> dict[_Tensor, int]:
        """Rows numbered through all tensors."""
        sizes = np.array([tensor.shape[0] for tensor in self._tensors()], np.int64)
        return dict(zip(self._tensors(), (np.cumsum(sizes) - sizes).tolist(), strict=True))

    def _part(self, name: str) -> dict[str, int]:
        return self.parts.setdefault(name, {})


_NOTHING = np.zeros(0, np.int64)


def _places(events: Events) -> Ints:
    """Cores and steps of moves, as one number, for both cores. Loads come before the lane that reads them."""
    step = events.key // len(Phase)
    messages = events.need_counts > 0
    ends = (events.core[messages], events.partner[messages])
    return np.concatenate([core * PLACES + step[messages] for core in ends])


def _known(array: Ints | None) -> Ints:
    assert array is not None, "the batch is scheduled"
    return array


def _span_steps(op: spat.BatchOp | pim.CoreBatchOp) -> int:
    return op.span.value.data


def _constant(value: SSAValue) -> object:
    """What stands for a constant when operands are compared: its content, by reference."""
    owner = value.owner
    return owner.value.data if isinstance(owner, spat.ConstantOp | pim.ConstantOp | pim.MatrixOp) else value


def _body_text(op: spat.BatchOp | pim.CoreBatchOp) -> object:
    """A body up to the identity of its values."""
    numbers: dict[SSAValue, int] = {argument: index for index, argument in enumerate(op.block.args)}
    found: list[object] = []
    for inner in op.block.ops:
        operands = tuple(numbers[operand] for operand in inner.operands)
        properties = tuple(sorted((k, v) for k, v in inner.properties.items() if k != "groups"))
        found.append((inner.name, operands, tuple(k for k, _ in properties), tuple(v for _, v in properties)))
        for result in inner.results:
            numbers[result] = len(numbers)
    return tuple(found)


def _loaded_constants(batch: _Batch) -> list[tuple[int, int, int]]:
    """Identity, columns and elements of what each core of the batch loads for vector instructions."""
    op = batch.op
    if isinstance(op, spat.BatchOp):
        weights = list(op.weights)
        found = [
            (id(op) if index is None else _identity(weights[index]), columns, size)
            for index, columns, size in batch.cost.constants
        ]
        return found + [(_identity(weights[index]), 0, size) for index, size in batch.cost.stacks]
    loaded: list[tuple[int, int, int]] = []
    for value in (*op.constants, *op.inputs):
        source = value.owner.source if isinstance(value.owner, pim.ConstantRowsOp) else value
        if isinstance(source.owner, pim.ConstantOp):
            shape = shape_of(source)
            stack = len(shape) == 3
            loaded.append((_identity(source), 0 if stack else shape[0], int(np.prod(shape))))
    return loaded


def _identity(value: SSAValue) -> int:
    owner = value.owner
    return id(owner.value.data) if isinstance(owner, spat.ConstantOp | pim.ConstantOp) else 0


def _add(table: dict[str, int], label: str, number: int) -> None:
    table[label] = table.get(label, 0) + number
