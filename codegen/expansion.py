"""From a planned `pim.program` to instructions: every op expands to columns, over all its lanes and repeats at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from ..analysis.window import OUTSIDE
from ..dialects import pim
from ..dialects.location import node_name, place_of
from ..dialects.pim import IssueOp
from ..dialects.spat import WindowAttr
from ..dialects.tile import ArrayAttr
from ..lowering.event_order import PROLOGUE, Phase, event_key
from ..lowering.instruction_chains import chains_of
from ..lowering.instruction_steps import instruction_steps
from ..lowering.lane_cost import issue_cycles
from ..lowering.row_instances import producer_of
from ..lowering.target import Target
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .global_layout import GlobalLayout, stored_elements
from .instruction_table import InstructionTable
from .isa import Op
from .lane_expansion import Issue, LaneExpansion
from .ring_zeros import ring_zeros


def expand_program(
    program: pim.ProgramOp, target: Target, layout: GlobalLayout
) -> tuple[InstructionTable, tuple[str, ...]]:
    """The instructions of all cores in no particular order, and the node names that they refer to."""
    expansion = _Expansion(program, target, layout)
    for op in program.body.block.ops:
        expansion.expand(op)
    expansion.expand_lanes()
    expansion.expand_transfers()
    expansion.expand_zeros()
    return InstructionTable.joined(expansion.parts), tuple(expansion.nodes)


class _Expansion:
    def __init__(self, program: pim.ProgramOp, target: Target, layout: GlobalLayout) -> None:
        self._program = program
        self._target = target
        self._bytes = target.element_bytes
        self._layout = layout
        self._rows: dict[SSAValue, _RowAddresses] = {}
        self._constants: dict[SSAValue, _CoreAddresses] = {}
        self._zeros = _CoreAddresses(program.zeros.array[:, :2]) if program.zeros is not None else None
        self._sent: list[tuple[npt.NDArray[Any], _RowAddresses, int, int]] = []
        """Messages, the addresses of their rows, the number of the first one, and the node."""
        self._messages = 0
        self._prologue = 0
        self._known: dict[int, tuple[object, int]] = {}
        self._lanes = LaneExpansion(self._bytes)
        self.nodes: dict[str, int] = {}
        self.parts: list[InstructionTable] = []

    def expand(self, op: Operation) -> None:
        match op:
            case pim.RowsOp():
                self._rows[op.result] = _RowAddresses(op, self._bytes)
                self._fill_ring(op)
            case pim.ConstantRowsOp():
                self._load_constant(op)
            case pim.LoadOp():
                self._load(op)
            case pim.TransferOp():
                self._transfer(op)
            case pim.OutputOp():
                self._store(op)
            case pim.CoreBatchOp():
                self._batch(op)
            case _:
                pass

    def expand_zeros(self) -> None:
        """The rows of zeros, first of all."""
        if self._program.zeros is not None:
            core, address, size = self._program.zeros.array.T
            self._emit(Op.LLDI, self._program, core=core, key=PROLOGUE, place=-1, dest=address, a=size)

    # Rows

    def _fill_ring(self, op: pim.RowsOp) -> None:
        fills = ring_zeros(op, self._target)
        self._emit(Op.LLDI, op, core=fills.core, key=fills.key, place=0, dest=fills.address, a=fills.size)

    def _load_constant(self, op: pim.ConstantRowsOp) -> None:
        table = _planned(op, op.instances)
        self._constants[op.result] = _CoreAddresses(table[:, :2])
        source = op.source.owner
        assert isinstance(source, pim.ConstantOp)
        core, address, step = table.T
        size = stored_elements(source.value) * self._bytes
        place = self._next_prologue()
        where = self._layout.constants[source.value]
        key = event_key(step, Phase.FILL)
        self._emit(Op.LD, op, core=core, key=key, place=place, dest=address, source=where, a=size)
        total = int(np.prod(pim.shape_of(op.result))) * self._bytes
        while size < total:  # each copy doubles what is there
            copied = min(size, total - size)
            place = self._next_prologue()
            self._emit(Op.LMV, op, core=core, key=key, place=place, dest=address + size, source=address, a=copied)
            size += copied

    def _load(self, op: pim.LoadOp) -> None:
        assert op.dest is not None
        row, core, step = op.rows.array.T
        addresses = self._rows[op.dest]
        source = self._layout.tensors[op.source] + row * addresses.row_bytes
        key = event_key(step, Phase.LOAD)
        self._emit(
            Op.LD,
            op,
            core=core,
            key=key,
            place=np.arange(len(row)) + self._next_messages(len(row)),
            dest=addresses.at(core, row),
            source=source,
            a=addresses.row_bytes,
        )

    def _transfer(self, op: pim.TransferOp) -> None:
        messages = op.messages.array
        self._sent.append((messages, self._rows[op.source], self._next_messages(len(messages)), self._node(op)))

    def expand_transfers(self) -> None:
        """All messages, whose transfers are many and short."""
        if not self._sent:
            return
        tables, rows, places, nodes = zip(*self._sent, strict=True)
        count = [len(messages) for messages in tables]
        row, source, target, step = np.concatenate(tables).T.astype(np.int64)
        transfer = np.repeat(np.arange(len(count)), count)
        addresses = _JoinedAddresses(rows)
        begin = np.array(places) - np.cumsum([0, *count[:-1]])
        common = {
            "key": event_key(step, Phase.MESSAGE),
            "place": np.arange(len(row)) + begin[transfer],
            "a": np.array([one.row_bytes for one in rows])[transfer],
            "node": np.array(nodes)[transfer],
        }
        there, here = addresses.at(transfer, source, row), addresses.at(transfer, target, row)
        self.parts.append(InstructionTable.of(Op.SEND, core=source, source=there, b=target, **common))
        self.parts.append(InstructionTable.of(Op.RECV, core=target, dest=here, b=source, **common))

    def _store(self, op: pim.OutputOp) -> None:
        for index, value in enumerate(op.values):
            rows = value.owner
            assert isinstance(rows, pim.RowsOp)
            batch = producer_of(rows)
            if batch is None:
                raise TileError(
                    f"output '{op.output_name.data}'", "it is an input of the network", "remove it from the model"
                )
            lane = np.arange(batch.lane_count)
            addresses = self._rows[value]
            self._emit(
                Op.ST,
                op,
                core=batch.lane_cores,
                key=event_key(batch.last_steps, Phase.STORE),
                place=lane + self._next_messages(len(lane)),
                dest=self._layout.outputs[op.output_name.data][index] + lane * addresses.row_bytes,
                source=addresses.at(batch.lane_cores, lane),
                a=addresses.row_bytes,
            )

    # Batches

    def _batch(self, op: pim.CoreBatchOp) -> None:
        buffers = {value: self._lanes.buffer(rows) for value, rows in self._buffers(op).items()}
        cycles: list[int] = []
        issues: list[Issue] = []
        for chain in chains_of(op.block):
            turns = chain[0].turn_count
            counts = [issue.count // turns for issue in chain]
            costs = [issue_cycles(issue, self._target) // issue.count for issue in chain]
            first = len(cycles)
            for issue, count, begin in zip(chain, counts, accumulate(counts, initial=0), strict=False):
                issues.append(self._issue(issue, buffers, count, sum(counts), first + begin))
            cycles += turns * [cost for cost, count in zip(costs, counts, strict=True) for _ in range(count)]
        begin = np.array([*accumulate(cycles, initial=0)], np.int64)
        steps = instruction_steps(op.steps.array.astype(np.int64), op.lane_spans, op.lane_resumes, begin)
        self._lanes.add(op.lane_cores, op.replica_count, event_key(steps, Phase.COMPUTE), issues)

    def expand_lanes(self) -> None:
        """All batches, whose lanes are many and short."""
        self.parts.append(self._lanes.table())

    def _issue(self, issue: IssueOp, buffers: dict[SSAValue, int], per_turn: int, stride: int, slot: int) -> Issue:
        opcode, groups, b = issue.opcode, None, 0
        match opcode:
            case Op.MVMUL:
                a, groups = self._target.precision.weight_bits, _planned(issue, issue.groups)
            case Op.LMV:
                a = issue.size * self._bytes
            case Op.LLDI:
                a = issue.size * self._bytes
                b = 0 if issue.immediate is None else issue.immediate.value.data
            case _:
                a = issue.size
        operands = [(issue.dest, issue.dest_access.data), *issue.reads]
        return Issue(
            opcode,
            issue.count,
            per_turn,
            stride,
            slot,
            a,
            b,
            groups,
            self._node(issue),
            [(buffers[value], access) for value, access in operands],
        )

    def _buffers(self, op: pim.CoreBatchOp) -> dict[SSAValue, Ints]:
        """Where each row of each buffer of a body starts, for every lane: [lanes, rows]."""
        cores = op.lane_cores
        found: dict[SSAValue, Ints] = {}
        for index, (value, argument) in enumerate(zip(op.inputs, op.input_arguments, strict=True)):
            found[argument] = self._input(op, index, value)
        for value, argument in zip(op.constants, op.constant_arguments, strict=True):
            found[argument] = self._constants[value].at(cores)[:, None]
        for value, argument in zip(op.outs, op.out_arguments, strict=True):
            found[argument] = self._rows[value].at(cores, np.arange(op.lane_count))[:, None]
        for alloc in op.block.ops:
            if isinstance(alloc, pim.AllocOp):
                table = _planned(alloc, alloc.addresses)
                found[alloc.result] = _CoreAddresses(table).at(cores)[:, None]
        return found

    def _input(self, op: pim.CoreBatchOp, index: int, value: SSAValue) -> Ints:
        rows = op.input_rows(index)
        core = np.broadcast_to(op.lane_cores[:, None], rows.shape)
        if value in self._constants:
            row_bytes = int(np.prod(pim.shape_of(value)[1:])) * self._bytes
            return self._constants[value].at(core) + rows * row_bytes
        window = op.windows.data[index]
        pad_left = window.data.pad_left if isinstance(window, WindowAttr) else 0
        inside = rows != OUTSIDE
        addresses = np.empty(rows.shape, np.int64)
        addresses[inside] = self._rows[value].at(core[inside], rows[inside], pad_left)
        if not inside.all():
            assert self._zeros is not None, "a window reaches beyond its image, and no row of zeros is planned"
            addresses[~inside] = self._zeros.at(core[~inside])
        return addresses

    # Emission

    def _emit(self, opcode: Op, op: Operation, core: Ints, **columns: npt.ArrayLike) -> None:
        """An instruction on each ``core``."""
        node = self._node(op)
        if len(core):
            self.parts.append(InstructionTable.of(opcode, node=node, core=core, **columns))

    def _node(self, op: Operation) -> int:
        """The number of the node that the op comes from."""
        location = op.location
        known = self._known.get(id(location))
        if known is None:
            known = location, self.nodes.setdefault(node_name(op), len(self.nodes))
            self._known[id(location)] = known  # which keeps the location, so that no other one has its identity
        return known[1]

    def _next_messages(self, count: int) -> int:
        """Numbers for ``count`` messages, loads or stores, in program order: they break ties within a step."""
        self._messages += count
        return self._messages - count

    def _next_prologue(self) -> int:
        self._prologue += 1
        return self._prologue


class _RowAddresses:
    """The addresses of the instances of the rows of one tensor."""

    def __init__(self, op: pim.RowsOp, element_bytes: int) -> None:
        table = _planned(op, op.instances)
        self.height, columns, channels = pim.shape_of(op.result)
        self.place = table[:, 0] * self.height + table[:, 1]
        """Ascending: of each instance the core, then the row."""
        self.address = table[:, 2] + op.pads[0] * channels * element_bytes
        """Where the row starts in it, behind its columns of zeros."""
        self._column_bytes = channels * element_bytes
        self.row_bytes = columns * self._column_bytes

    def at(self, core: Ints, row: Ints, pad_left: int = 0) -> Ints:
        """Where the row starts on the core, ``pad_left`` of its columns of zeros included."""
        return self.address[_found(self.place, core * self.height + row)] - pad_left * self._column_bytes


class _JoinedAddresses:
    """Those of many tensors."""

    def __init__(self, rows: Sequence[_RowAddresses]) -> None:
        self._height = np.array([one.height for one in rows])
        cores = 1 + max(int(one.place.max(initial=0)) // one.height for one in rows)
        self._first = cores * (np.cumsum(self._height) - self._height)
        self._place = np.concatenate([one.place + first for one, first in zip(rows, self._first, strict=True)])
        self._address = np.concatenate([one.address for one in rows])

    def at(self, tensor: Ints, core: Ints, row: Ints) -> Ints:
        """Where each row of a ``tensor``, one of the given ones, starts on the core."""
        place = self._first[tensor] + core * self._height[tensor] + row
        return self._address[_found(self._place, place)]


def _found(places: Ints, place: Ints) -> Ints:
    """Where each ``place`` is among the ascending ``places``."""
    position = np.minimum(np.searchsorted(places, place), len(places) - 1)
    assert (places[position] == place).all(), "a row has no address on a core that uses it"
    return position


class _CoreAddresses:
    """One address for each of some cores."""

    def __init__(self, table: Ints) -> None:
        self._core, self._address = table.T

    def at(self, core: Ints) -> Ints:
        position = np.minimum(np.searchsorted(self._core, core), len(self._core) - 1)
        assert (self._core[position] == core).all(), "a buffer has no address on a core that uses it"
        return self._address[position]


def _planned(op: Operation, table: ArrayAttr | None) -> Ints:
    if table is None:
        raise TileError(place_of(op), f"{op.name} has no address yet", "run pim-plan-memory first")
    return table.array.astype(np.int64)
