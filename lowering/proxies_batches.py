"""The proxies of compute batches, from the graph form to the one on buffers."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import cast

import numpy as np
from xdsl.ir import Operation, SSAValue

from ..analysis.critical_path import Span, SpanBatch, replica_span
from ..analysis.proxies import UNNAMED, Level, counts
from ..dialects import pim, spat
from ..dialects.block_looks import BlockLook
from ..dialects.spat import shape_of
from .batch_facts import AnyBatch, BatchMemory
from .batch_program import Batch, BatchProgram, Tensor
from .body_content import body_content
from .body_memory import Body, TileBody
from .constants_alike import Constants
from .dumb_schedules import add_dumb_schedules, is_annotated
from .op_kinds import is_of, ops_of
from .plan_check import plan_fault
from .program_traffic import Traffic
from .proxies_memory import live_row_elements
from .schedule_span import SpanMemory
from .target import Target
from .yardsticks import add_yardsticks, cut_batches, dealt_batches, order_digest

Contributions = dict[str, dict[str, int]]

Counted = tuple[dict[str, object], Contributions]
"""Fields, and by field what each node adds to it."""


class Memory:
    """What one look at a module keeps for the next."""

    def __init__(self) -> None:
        self.batches = BatchMemory()
        self.constants = Constants()
        self.replica_spans: SpanMemory[tuple[SpanBatch, ...], int] = SpanMemory()
        """Of batches without cores."""
        self.spans: SpanMemory[tuple[str, bytes], Span] = SpanMemory()
        """Of schedules."""
        self.live_rows: SpanMemory[tuple[tuple[str, bytes], tuple[int, ...]], dict[int, int]] = SpanMemory()
        """Of schedules, and of the sizes of rows."""

    def replica_span(self, batches: Sequence[SpanBatch]) -> int:
        """Most passes leave most batches alone."""
        return self.replica_spans.get(tuple(batches), lambda: replica_span(batches))


def batch_proxies(
    bodies: Sequence[tuple[AnyBatch, BlockLook]],
    others: Sequence[Operation],
    level: Level,
    target: Target | None,
    memory: Memory,
) -> tuple[dict[str, object], Contributions]:
    """The fields that batches have, given with looks at their blocks, and by field what each node adds to it."""
    program = BatchProgram(bodies, others, target, memory.batches)
    return _Fields(program, level, target, memory).fields()


class _Fields:
    def __init__(self, program: BatchProgram, level: Level, target: Target | None, memory: Memory) -> None:
        self.program = program
        self.batches = program.batches
        self.others = program.others
        self.level = level
        self.target = target
        self.memory = memory
        self.bytes = None if target is None else target.element_bytes
        self.parts: Contributions = {}

    def fields(self) -> tuple[dict[str, object], Contributions]:
        found: dict[str, object] = {"lower_bounds": ("instructions",)}
        self._add_parallelism(found)
        self._add_work(found)
        self._add_memory(found)
        if self.program.scheduled:
            traffic = Traffic(self.program, self.level)
            self._add_schedule(found, traffic)
            self._add_traffic(found, traffic)
        add_yardsticks(self.program, found, self.parts)
        return found, self.parts

    def _add_known(self, found: dict[str, object], key: Hashable, count: Callable[[], Counted]) -> None:
        """Adds fields that follow from nodes, costs and schedules of batches, and ``key``."""
        fields, parts = self.program.by_lanes.once(key, count)
        found |= fields
        self.parts |= {name: dict(part) for name, part in parts.items()}

    def _add_parallelism(self, found: dict[str, object]) -> None:
        graph = sum([b.lanes for b in self.batches if type(b.op) is spat.ComputeBatchOp])
        self._add_known(found, ("parallelism", graph), lambda: self._parallelism(graph))
        if not self.program.scheduled:
            found["width"] = max((batch.lanes for batch in self.batches), default=0)
            if self.target is not None:
                batches = self._span_batches()
                found["span_cycles"] = self.memory.replica_span(batches)
                alone = [batch._replace(slots=batch.lanes) for batch in batches]
                found["lane_path_cycles"] = self.memory.replica_span(alone)
                dealt = dealt_batches(self.program, batches, self.target.machine)
                found["dealt_span_cycles"] = self.memory.replica_span(dealt)
                if all(isinstance(body, TileBody) for body in self.program.bodies):
                    cut = cut_batches(self.program, batches, self.target)
                    if cut is not None:
                        found["cut_span_cycles"] = self.memory.replica_span(cut.batches) + cut.core_cycles // 2
                found["lower_bounds"] = ("instructions", "span_cycles")

    def _parallelism(self, graph: int) -> Counted:
        """``graph``: lanes in the graph form."""
        total = sum(b.lanes for b in self.batches)
        histogram = Counter(str(b.lanes) for b in self.batches)
        lanes, width, turns, slots = dict[str, int](), dict[str, int](), dict[str, int](), dict[str, int]()
        for batch in self.batches:
            if not batch.cost.products:
                _add(slots, "+".join(batch.names), batch.replicas)
                # Those of a fused batch are those of its part of most replicas: no more for any node.
                for name in batch.names:
                    _add(turns, name, -(-batch.lanes // batch.replicas))
            if batch.names == [UNNAMED]:
                continue
            for name in batch.names:
                lanes[name] = max(lanes.get(name, 0), batch.lanes)
            if batch.cost.products:
                cores = batch.replicas if batch.schedule is None else len(batch.core_set)
                # What is left of a layer without weights may be part of the next one.
                for name in batch.by_node["product_elements"].keys() - {UNNAMED}:
                    # Of parts of a layer, the one of fewest replicas: rows are whole when that has done its own.
                    width[name] = min(width.get(name, cores), cores)
        return {
            "compute_instances": total,
            "graph_lanes": graph if graph or total == 0 else None,
            "scheduled_lanes": total - graph if total > graph else None,
            "lane_histogram": counts(histogram),
            "lanes_of_node": counts(lanes),
            "width_of_node": counts(width),
            "vector_turns_of_node": counts(turns),
            "vector_slots_of_node": None if self.program.scheduled else counts(slots),
        }, {
            "lanes_of_node": lanes,
            "width_of_node": width,
            "vector_turns_of_node": turns,
            "vector_slots_of_node": slots,
        }

    def _span_batches(self) -> list[SpanBatch]:
        found: list[SpanBatch] = []
        for batch in self.batches:
            reads = tuple(
                (tensor.producer, window)
                for tensor, window, _ in batch.reads
                if tensor.producer is not None and window is not None
            )
            slots = batch.replicas if batch.cost.products else batch.lanes
            assert batch.cost.cycles is not None
            found.append(SpanBatch(batch.lanes, slots, batch.cost.cycles, reads))
        return found

    def _add_work(self, found: dict[str, object]) -> None:
        has_sums = self.level in (Level.GRAPH, Level.SCHEDULED)
        self._add_known(found, ("work", has_sums, self.target), lambda: self._work(has_sums))
        found["read_elements"] = sum(
            [
                tensor.row_elements * batch.lane_reads.counts[place]
                for batch in self.batches
                for place, (tensor, _, _) in zip(batch.read_inputs, batch.reads, strict=True)
            ]
        )
        found["window_elements"] = sum(
            [
                batch.lanes * rows * (tensor.row_elements + beside * tensor.shape[-1])
                for batch in self.batches
                for (tensor, _, _), (rows, beside) in zip(batch.reads, batch.window_sizes, strict=True)
            ]
        )
        self._repeated_batches()
        found["recomputed"] = None if self.level is Level.BUFFERS else sum(self._part("recomputed").values())

    def _work(self, has_sums: bool) -> Counted:
        """``has_sums``: whether it can be told what sums of slices are."""
        found: dict[str, object] = {}
        parts: Contributions = {}
        per_lane = {
            "mvm_count": "products",
            "vector_count": "vectors",
            "instructions": "instructions",
            "local_copies": "copies",
            "recomputed": "recomputed",
            "weight_elements": "weights",
            **({} if self.target is None else {"work_cycles": "cycles"}),
        }
        number: dict[str, int] = {}
        place = [number.setdefault(batch.names[0], len(number)) for batch in self.batches]
        of_cost = attrgetter(*per_lane.values())
        totals = np.zeros((len(number), len(per_lane)), np.int64)
        times = np.array([batch.lanes for batch in self.batches], np.int64)[:, None].repeat(len(per_lane), axis=1)
        times[:, list(per_lane).index("weight_elements")] = [batch.replicas for batch in self.batches]
        np.add.at(totals, place, times * np.array([of_cost(b.cost) for b in self.batches], np.int64))
        for name, total in zip(per_lane, totals.T.tolist(), strict=True):
            parts[name] = dict(zip(number, total, strict=True))
            found[name] = sum(total)
        if self.bytes is not None:
            found["local_copy_bytes"] = self.bytes * sum(b.lanes * b.cost.copy_elements for b in self.batches)
        for name in ("product_elements", "partial_sums", "added_again") if has_sums else ("product_elements",):
            part = parts[name] = {}
            for batch in self.batches:
                for node, elements in batch.by_node[name].items():
                    _add(part, node, batch.lanes * elements)
            found[name] = counts(part)
        return found, parts

    def _repeated_batches(self) -> None:
        """Counts what batches compute that another computes: lanes, operands, windows and body are equal. Operands are,
        too, if such batches compute them.

        Copies compute nothing: a row that goes to two outputs is stored from two places.
        """
        values = self.program.values
        inputs = [values.get(id(batch.operands[0][0])) if batch.operands[0] else None for batch in self.batches]
        first: dict[int, Tensor] = {}
        """What stands for a tensor that is computed again, by the identity of this."""

        def same(value: SSAValue) -> int:
            found = values.get(id(value)) or self._constant(value)
            return id(first.get(id(found), found))

        def are_parts(one: Batch, other: Batch) -> bool:
            # Parts of one layer may well have equal weights. More products of a node than before are counted anyway.
            return one.cost.products > 0 and one.names == other.names

        similar: dict[object, list[Batch]] = {}
        compared: dict[object, int] = {}
        """How many of them."""
        readers: dict[object, list[Batch]] = {}
        for batch, tensor in zip(self.batches, inputs, strict=True):
            key = batch.lanes, id(first.get(id(tensor), tensor)), len(batch.operands[0]), len(batch.op.results)
            alike = similar.setdefault(key, [])
            alike.append(batch)
            # Most batches are like no other, or like parts of the same layer: then there is nothing to compare.
            if len(alike) == 1 or all([are_parts(batch, other) for other in alike]):
                continue
            new = alike[compared.get(key, 0) :]
            compared[key] = len(alike)
            for one in new:
                same_reads = readers.setdefault((key, tuple(map(same, one.op.operands))), [])
                others = (other for other in same_reads if not are_parts(one, other))
                other = next((other for other in others if _computes_the_same(one.op, other.op)), None)
                if other is None:
                    same_reads.append(one)
                    continue
                if not one.op.results:
                    continue
                _add(self._part("recomputed"), one.names[0], one.lanes * (one.cost.products + one.cost.vectors))
                for mine, its in zip(one.op.results, other.op.results, strict=True):
                    first[id(values[id(mine)])] = values[id(its)]

    def _constant(self, value: SSAValue) -> object:
        """What stands for a constant when operands are compared: the first of equal content."""
        owner = value.owner
        if is_of(type(owner), (spat.ConstantOp, pim.ConstantOp, pim.MatrixOp)):
            return self.memory.constants.first(cast("spat.ConstantOp", owner).value.data)
        return value

    def _add_memory(self, found: dict[str, object]) -> None:
        program = next(iter(ops_of(self.others, pim.ProgramOp)), None)
        faults = self._part("plan_faults")
        if program is not None and program.peak_bytes is not None:
            peak = counts({f"{core:05}": int(size) for core, size in enumerate(program.peak_bytes.array) if size})
            found["logical_core_bytes"] = found["physical_core_bytes"] = peak
            found["core_bytes_max"] = max((size for _, size in peak), default=0)
            found["core_bytes"] = sum(size for _, size in peak)
            if self.target is not None and self.level is Level.BUFFERS:
                bodies = {batch.op: body for batch, body in zip(self.batches, self.program.bodies, strict=True)}
                fault = plan_fault(program, self.target, cast("dict[pim.CoreBatchOp, Body]", bodies))
                found["plan_faults"] = int(fault is not None)
                if fault is not None:
                    _add(faults, f"<{fault.what} ({fault.where})>", 1)
        if self.bytes is not None:
            found["host_bytes"] = self.bytes * self._global_elements()

    def _global_elements(self) -> int:
        """Inputs, outputs, and each constant that vector instructions read, once."""
        constants: dict[int, int] = {}
        elements = 0
        for op in ops_of(self.others, spat.InputOp, pim.InputOp):
            elements += math.prod(shape_of(op.result))
        for op in ops_of(self.others, spat.OutputOp, pim.OutputOp):
            elements += sum(math.prod(shape_of(value)) for value in op.values)
        for op in ops_of(self.others, pim.ConstantOp):
            constants[id(self.memory.constants.first(op.value.data))] = op.value.size
        for batch in self.batches:
            if is_of(type(batch.op), (spat.BatchOp,)):
                for index, value in enumerate(batch.operands[1]):
                    if index not in batch.cost.matrices and isinstance(value.owner, spat.ConstantOp):
                        constant = value.owner.value
                        constants[id(self.memory.constants.first(constant.data))] = constant.size
                elements += sum(size for index, _, size in batch.cost.constants if index is None)
        return elements + sum(constants.values())

    def _add_schedule(self, found: dict[str, object], traffic: Traffic) -> None:
        self._add_known(found, ("schedule", self.target), self._schedule)
        found["order"] = order_digest(self.program)
        if self.target is not None:
            self._add_spans(found, traffic, self.target)
            bounds = ("instructions", "instructions_max", "span_cycles", "makespan_cycles")
            found["lower_bounds"] = tuple(name for name in bounds if name in found)

    def _schedule(self) -> Counted:
        found: dict[str, object] = {}
        cores, _, _ = self.program.lane_columns
        end = max(batch.scheduled.end_step for batch in self.batches)
        found["step_count"] = end - min(batch.scheduled.first_step for batch in self.batches)
        found["width"] = int(np.count_nonzero(np.bincount(cores)))
        parts = [
            f"{'+'.join(batch.names)} {batch.replicas} ".encode() + batch.lane_cores[: batch.replicas].tobytes()
            for batch in self.batches
        ]
        found["assignment"] = hashlib.blake2b(b"".join(sorted(parts)), digest_size=8).hexdigest()
        lanes = [batch.lanes for batch in self.batches]
        instructions = np.repeat([batch.cost.instructions for batch in self.batches], lanes)
        found["instructions_max"] = int(np.bincount(cores, instructions).max())
        if self.target is not None:
            busy = np.bincount(cores, np.repeat([b.cost.cycles or 0 for b in self.batches], lanes)).astype(np.int64)
            found["busy_cycles"] = counts({f"{core:05}": int(n) for core, n in enumerate(busy) if n})
            found["busy_cycles_max"] = int(busy.max())
        return found, {}

    def _add_spans(self, found: dict[str, object], traffic: Traffic, target: Target) -> None:
        lanes, digest = traffic.scheduled_lanes(), traffic.lanes_digest()
        spans, machine = self.memory.spans, target.machine
        found["span_cycles"] = path = spans.get(("span", digest), lanes.span).cycles
        moves = traffic.moves(target.element_bytes)
        key = "makespan", lanes.digest_with(moves, machine, digest)
        span = spans.get(key, lambda: lanes.makespan(moves, machine))
        found["unready_reads"] = span.unready
        if traffic.is_timed:
            found["makespan_cycles"] = span.cycles
        self.parts["message_waits_of_node"] = waits = traffic.waits(moves)
        found["message_waits_of_node"] = counts(waits)
        tensors = traffic.numbered
        sizes = tuple([tensor.row_elements for tensor in tensors])
        held = self.memory.live_rows.get(
            (key, sizes), lambda: live_row_elements(self.program, tensors, moves.loads, moves.messages)
        )
        found["row_bytes_of_core"] = counts({f"{c:05}": target.element_bytes * size for c, size in held.items()})
        if self.level is Level.SCHEDULED and not traffic.is_sent:
            found["scheduled_cycles"] = span.cycles
        if is_annotated(self.program):
            add_dumb_schedules(self.program, target, path, found)

    def _add_traffic(self, found: dict[str, object], traffic: Traffic) -> None:
        sends, bytes_ = self._part("sends"), self._part("send_bytes")
        for tensor, table in traffic.messages:
            _add(sends, tensor.label, len(table))
            if self.bytes is not None:
                _add(bytes_, tensor.label, self.bytes * tensor.row_elements * len(table))
        sent = sum(sends.values())
        found |= {"sends": sent, "receives": sent}
        loads, loaded_elements = self._part("host_to_device_copies"), 0
        for tensor, table in traffic.loads:
            _add(loads, tensor.label, len(table))
            loaded_elements += tensor.row_elements * len(table)
        constants, constant_elements = traffic.constant_loads()
        stored, stored_elements = self._part("device_to_host_copies"), 0
        for op in ops_of(self.others, spat.OutputOp, pim.OutputOp):
            for value in op.values:
                rows, *row = shape_of(value)
                _add(stored, op.output_name.data, rows)
                stored_elements += rows * math.prod(row)
        found |= {
            "host_to_device_copies": sum(loads.values()) + constants,
            "device_to_host_copies": sum(stored.values()),
        }
        if self.bytes is not None and self.target is not None:
            hops = self._part("byte_hops")
            for tensor, number in traffic.byte_hops(self.target.machine, self.bytes):
                _add(hops, tensor.label, number)
            found |= {
                "send_bytes": sum(bytes_.values()),
                "receive_bytes": sum(bytes_.values()),
                "byte_hops": sum(hops.values()),
                "host_to_device_bytes": self.bytes * (loaded_elements + constant_elements),
                "device_to_host_bytes": self.bytes * stored_elements,
            }

    def _part(self, name: str) -> dict[str, int]:
        return self.parts.setdefault(name, {})


def _computes_the_same(one: AnyBatch, other: AnyBatch) -> bool:
    """Of batches that read the same."""
    return one.windows == other.windows and _body(one) == _body(other)


def _body(op: AnyBatch) -> object:
    """A body up to the identity of its values, and to the array groups that it uses."""
    if isinstance(op, spat.BatchOp):
        return body_content(op)
    numbers: dict[SSAValue, int] = {argument: index for index, argument in enumerate(op.block.args)}
    found: list[object] = []
    for inner in op.block.ops:
        operands = tuple([numbers[operand] for operand in inner.operands])
        properties = tuple(sorted((k, v) for k, v in inner.properties.items() if k != "groups"))
        found.append((inner.name, operands, tuple(k for k, _ in properties), tuple(v for _, v in properties)))
        for result in inner.results:
            numbers[result] = len(numbers)
    return tuple(found)


def _add(table: dict[str, int], label: str, number: int) -> None:
    table[label] = table.get(label, 0) + number
