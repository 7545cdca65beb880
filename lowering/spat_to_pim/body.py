"""Instruction selection: the body of a batch as instructions on tensors.

Views vanish into the accesses of the instructions that read them. A tile whose columns lie side by side takes one
instruction; otherwise there is one per column. Every instruction writes into a destination tensor: an empty one, or its
left operand's if nothing else reads that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import spat
from ...dialects.location import copy_location
from ...dialects.pim import Access, EmptyOp, IssueOp, YieldOp, shape_of
from ...dialects.tile import ArrayAttr

BINARY: dict[type[spat.ElementwiseBinaryOp], str] = {
    spat.VAddOp: "vvadd",
    spat.VSubOp: "vvsub",
    spat.VMulOp: "vvmul",
    spat.VMaxOp: "vvmax",
}
UNARY: dict[type[spat.ElementwiseUnaryOp], str] = {spat.ReluOp: "vrelu", spat.TanhOp: "vtanh", spat.SigmoidOp: "vsigm"}
REDUCTION = {"add": "vvadd", "max": "vvmax"}

REPEATED_CONSTANTS = 32768
"""Elements of a batch's constants that are laid out in full, repeated over the columns, for one instruction to do."""


@dataclass(frozen=True)
class Operand:
    """A tile as an instruction reads it: ``count`` columns of ``length`` elements of a tensor."""

    value: SSAValue
    access: Access
    count: int
    length: int
    chained: bool = False
    """Whether it is written column by column, in turns with what it is computed from."""

    @property
    def is_contiguous(self) -> bool:
        return self.count == 1 or self.access.step == self.length


@dataclass
class LoweredBody:
    """What a `pim.core_batch` needs: its block, and its operands and their windows by kind."""

    block: Block
    inputs: list[SSAValue]
    windows: list[Attribute]
    constants: list[tuple[SSAValue, int]]
    """Each with the columns that it is repeated to."""
    matrices: list[SSAValue]

    @property
    def issues(self) -> list[IssueOp]:
        return [op for op in self.block.ops if isinstance(op, IssueOp)]


def lower_body(batch: spat.BatchOp) -> LoweredBody:
    """The instructions of a batch. Reads the batch only."""
    lowering = _BodyLowering(batch)
    for op in batch.block.ops:
        lowering.lower(op)
    return lowering.finish()


class _BodyLowering:
    def __init__(self, batch: spat.BatchOp) -> None:
        self._batch = batch
        self._source: Operation = batch
        self._ops: list[Operation] = []
        self._inputs = [*batch.inputs]
        self._windows: list[Attribute] = [*batch.windows]
        self._input_arguments = [Block(arg_types=[argument.type]).args[0] for argument in batch.input_arguments]
        self._weights = dict(zip(batch.weight_arguments, batch.weights, strict=True))
        self._constants: dict[tuple[SSAValue, int], SSAValue] = {}
        self._matrices: dict[SSAValue, SSAValue] = {}
        self._operands: dict[SSAValue, Operand] = {}
        self._repeated = 0
        for argument, mine in zip(batch.input_arguments, self._input_arguments, strict=True):
            _, columns, channels = spat.shape_of(argument)
            self._operands[argument] = Operand(mine, Access(0, 0, 0, channels), columns, channels)

    def finish(self) -> LoweredBody:
        self._constants = {key: value for key, value in self._constants.items() if value.uses.get_length()}
        arguments = [*self._input_arguments, *self._constants.values(), *self._matrices.values()]
        block = Block(arg_types=[argument.type for argument in arguments])
        for stand_in, argument in zip(arguments, block.args, strict=True):
            stand_in.replace_all_uses_with(argument)
        block.add_ops(self._ops)
        return LoweredBody(
            block,
            self._inputs,
            self._windows,
            [(self._weights.get(weight, weight), columns) for weight, columns in self._constants],
            [self._weights[weight] for weight in self._matrices],
        )

    def lower(self, op: Operation) -> None:
        self._source = op
        match op:
            case spat.YieldOp():
                self._add(YieldOp(*(self._row(value) for value in op.values)))
            case spat.ViewOp():
                self._operands[op.result] = self._view(op)
            case spat.PickOp():
                self._operands[op.result] = self._pick(op)
            case spat.GatherOp():
                self._operands[op.result] = self._gather(op)
            case spat.VMMOp():
                self._operands[op.result] = self._product(op)
            case spat.ElementwiseBinaryOp():
                self._operands[op.result] = self._binary(op)
            case spat.ElementwiseUnaryOp():
                self._operands[op.result] = self._unary(op)
            case spat.ReduceRowsOp():
                self._operands[op.result] = self._reduce_rows(op)
            case spat.ReduceColumnsOp():
                self._operands[op.result] = self._reduce_columns(op)
            case spat.ReduceChannelsOp():
                self._operands[op.result] = self._reduce_channels(op)
            case spat.PadOp():
                self._operands[op.result] = self._pad(op)
            case spat.SpreadOp():
                self._operands[op.result] = self._spread(self._operand(op.source), spat.shape_of(op.result)[1])
            case _:
                raise AssertionError(f"no instruction selection for {op.name}")

    # Operands

    def _operand(self, value: SSAValue) -> Operand:
        if value in self._weights:
            return self._constant(value, 1)
        return self._operands[value]

    def _constant(self, weight: SSAValue, columns: int) -> Operand:
        """A constant tile, its single column repeated ``columns`` times."""
        rows, channels = spat.shape_of(weight)
        count = max(rows, columns)
        key = (weight, count)
        if key not in self._constants:
            self._constants[key] = Block(arg_types=[TensorType(f32, (count, channels))]).args[0]
        return Operand(self._constants[key], Access(step=channels), count, channels)

    def _contiguous(self, operand: Operand) -> Operand:
        """The operand, copied if its columns do not lie side by side."""
        if operand.is_contiguous:
            return operand
        return self._copy(operand)

    def _copy(self, operand: Operand) -> Operand:
        target = self._empty(operand.count, operand.length)
        count, length = (
            (1, operand.count * operand.length) if operand.is_contiguous else (operand.count, operand.length)
        )
        value = self._issue("lmv", length, count, [_reading(operand, count)], target, Access(step=length))
        return Operand(value, Access(step=operand.length), operand.count, operand.length)

    def _row(self, value: SSAValue) -> SSAValue:
        """A tensor that holds just this tile and that nothing else is to use: what a batch may yield."""
        operand = self._operand(value)
        owner = operand.value.owner
        whole = operand.is_contiguous and operand.access.start == 0 and operand.access.row == 0
        if whole and isinstance(owner, IssueOp) and shape_of(operand.value) == (operand.count, operand.length):
            return operand.value
        return self._copy(operand).value

    # Ops

    def _view(self, op: spat.ViewOp) -> Operand:
        row, start, step = op.access
        count, length = spat.shape_of(op.result)
        source = self._operand(op.source)
        if len(spat.shape_of(op.source)) == 3:
            return Operand(source.value, Access(row, 0, start, step), count, length)
        source = self._contiguous(source)
        access = Access(source.access.row, 0, source.access.start + start, step)
        keeps_columns = (count, step) == (source.count, source.length)
        return Operand(source.value, access, count, length, source.chained and keeps_columns)

    def _pick(self, op: spat.PickOp) -> Operand:
        _, columns, channels = spat.shape_of(op.source)
        argument = Block(arg_types=[TensorType(f32, (1, columns, channels))]).args[0]
        self._inputs.append(self._weights[op.source])
        self._windows.append(ArrayAttr.get(op.table.array.astype(np.int64)[:, None]))
        self._input_arguments.append(argument)
        return Operand(argument, Access(step=channels), columns, channels)

    def _gather(self, op: spat.GatherOp) -> Operand:
        count, total = spat.shape_of(op.result)
        target = self._empty(count, total)
        offset = 0
        for index, part in enumerate(op.parts):
            operand = self._operand(part)
            access = Access(start=offset, step=total)
            target = self._issue(
                "lmv", operand.length, count, [_reading(operand, count)], target, access, chained=index > 0
            )
            offset += operand.length
        return Operand(target, Access(step=total), count, total, chained=count > 1)

    def _product(self, op: spat.VMMOp) -> Operand:
        vector = self._operand(op.vector)
        count, channels = spat.shape_of(op.result)
        if op.weights not in self._matrices:
            self._matrices[op.weights] = Block(arg_types=[op.weights.type]).args[0]
        value = self._issue(
            "mvmul",
            vector.length,
            count,
            [_reading(vector, count)],
            self._empty(count, channels),
            Access(step=channels),
            matrix=self._matrices[op.weights],
            matrix_row=op.row.value.data,
            chained=vector.chained,
        )
        return Operand(value, Access(step=channels), count, channels, vector.chained)

    def _binary(self, op: spat.ElementwiseBinaryOp) -> Operand:
        left = self._operand(op.lhs)
        count, length = left.count, left.length
        right = self._operand(op.rhs)
        if right.length < length:
            right = self._spread(right, length)
        elif right.count < count and op.rhs in self._weights and self._repeated + count * length <= REPEATED_CONSTANTS:
            self._repeated += count * length
            right = self._constant(op.rhs, count)
        chained = left.chained and right.chained
        whole = left.is_contiguous and right.is_contiguous and right.count == count and not chained
        repeat, size = (1, count * length) if whole else (count, length)
        target, access = self._destination(op.lhs, left)
        value = self._issue(
            BINARY[type(op)], size, repeat, [_reading(left, repeat), _reading(right, repeat)], target, access,
            chained=chained,
        )  # fmt: skip
        return Operand(value, Access(step=length), count, length, chained)

    def _unary(self, op: spat.ElementwiseUnaryOp) -> Operand:
        operand = self._operand(op.source)
        count, length = operand.count, operand.length
        repeat, size = (1, count * length) if operand.is_contiguous else (count, length)
        target, access = self._destination(op.source, operand)
        value = self._issue(UNARY[type(op)], size, repeat, [_reading(operand, repeat)], target, access)
        return Operand(value, Access(step=length), count, length)

    def _reduce_rows(self, op: spat.ReduceRowsOp) -> Operand:
        rows, columns, channels = spat.shape_of(op.source)
        source = self._operand(op.source).value
        size = columns * channels
        name = REDUCTION[op.kind.data]
        if rows == 1:
            return Operand(source, Access(step=channels), columns, channels)
        value = self._issue(
            name, size, 1, [(source, Access(row=0)), (source, Access(row=1))], self._empty(columns, channels), Access()
        )
        if rows > 2:
            value = self._issue(
                name, size, rows - 2, [(value, Access()), (source, Access(row=2, row_step=1))], value, Access()
            )
        return Operand(value, Access(step=channels), columns, channels)

    def _reduce_columns(self, op: spat.ReduceColumnsOp) -> Operand:
        source = self._contiguous(self._operand(op.source))
        columns, channels = source.count, source.length
        if columns == 1:
            return self._copy(source)
        name, first = REDUCTION[op.kind.data], source.access
        start = Access(first.row, 0, first.start)
        value = self._issue(
            name,
            channels,
            1,
            [(source.value, start), (source.value, start.shifted(channels))],
            self._empty(1, channels),
            Access(),
        )
        if columns > 2:
            rest = Access(first.row, 0, first.start + 2 * channels, channels)
            value = self._issue(name, channels, columns - 2, [(value, Access()), (source.value, rest)], value, Access())
        return Operand(value, Access(step=channels), 1, channels)

    def _reduce_channels(self, op: spat.ReduceChannelsOp) -> Operand:
        source = self._operand(op.source)
        count, length = source.count, source.length
        if length == 1:
            return self._copy(source)
        if op.kind.data == "add":
            ones = self._ones(length)
            sources = [_reading(source, count), (ones, Access())]
            value = self._issue("vvdmul", length, count, sources, self._empty(count, 1), Access(step=1))
            return Operand(value, Access(step=1), count, 1)
        # Halve the channels until one is left: the instruction set has no maximum over a vector.
        value, left = self._copy(source).value, length
        while left > 1:
            half = -(-left // 2)
            value = self._issue(
                "vvmax",
                left - half,
                count,
                [(value, Access(step=length)), (value, Access(start=half, step=length))],
                value,
                Access(step=length),
            )
            left = half
        return Operand(value, Access(step=length), count, 1)

    def _pad(self, op: spat.PadOp) -> Operand:
        left, right, before, after = op.amounts
        source = self._operand(op.source)
        columns, channels = spat.shape_of(op.result)
        value = self._empty(columns, channels)
        if before or after:
            value = self._issue("lldi", columns * channels, 1, [], value, Access(), immediate=0)
            target = Access(start=before, step=channels)
            value = self._issue("lmv", source.length, source.count, [_reading(source, source.count)], value, target)
            return Operand(value, Access(step=channels), columns, channels)
        source = self._contiguous(source)
        inner = Access(start=left * channels)
        value = self._issue("lmv", source.count * channels, 1, [_reading(source, 1)], value, inner)
        border = Access(source.access.row, 0, source.access.start)
        if left:
            value = self._issue("lmv", channels, left, [(source.value, border)], value, Access(step=channels))
        if right:
            border = border.shifted((source.count - 1) * channels)
            target = Access(start=(left + source.count) * channels, step=channels)
            value = self._issue("lmv", channels, right, [(source.value, border)], value, target)
        return Operand(value, Access(step=channels), columns, channels)

    def _spread(self, operand: Operand, channels: int) -> Operand:
        value = self._issue(
            "vmv",
            channels,
            operand.count,
            [_reading(operand, operand.count)],
            self._empty(operand.count, channels),
            Access(step=channels),
            immediate=0,
        )
        return Operand(value, Access(step=channels), operand.count, channels)

    def _ones(self, length: int) -> SSAValue:
        constant = copy_location(self._batch, spat.ConstantOp(ArrayAttr.get(np.ones((1, length), np.float32))))
        key = next((k for k in self._constants if _same_constant(k[0], constant)), (constant.result, 1))
        if key not in self._constants:
            self._constants[key] = Block(arg_types=[constant.result.type]).args[0]
        return self._constants[key]

    # Building

    def _destination(self, value: SSAValue, operand: Operand) -> tuple[SSAValue, Access]:
        """Where an elementwise op writes: over its left operand if nothing else reads it, else to a new tensor."""
        access = Access(step=operand.length)
        owned = isinstance(operand.value.owner, IssueOp) and not isinstance(value.owner, spat.ViewOp)
        whole = operand.access.start == 0 and shape_of(operand.value) == (operand.count, operand.length)
        if owned and whole and operand.is_contiguous and value.has_one_use():
            return operand.value, access
        return self._empty(operand.count, operand.length), access

    def _empty(self, *shape: int) -> SSAValue:
        return self._add(EmptyOp(*shape)).results[0]

    def _issue(
        self,
        instruction: str,
        length: int,
        repeat: int,
        sources: Sequence[tuple[SSAValue, Access]],
        dest: SSAValue,
        access: Access,
        *,
        matrix: SSAValue | None = None,
        matrix_row: int = 0,
        immediate: int | None = None,
        chained: bool = False,
    ) -> SSAValue:
        single = repeat == 1
        op = IssueOp(
            instruction,
            length,
            repeat,
            [(value, _once(read) if single else read) for value, read in sources],
            dest,
            _once(access) if single else access,
            matrix=matrix,
            matrix_row=matrix_row,
            immediate=immediate,
            chained=chained and not single,
        )
        return self._add(op).results[0]

    def _add(self, op: Operation) -> Operation:
        self._ops.append(copy_location(self._source, op))
        return op


def _reading(operand: Operand, repeat: int) -> tuple[SSAValue, Access]:
    """How an instruction that repeats so often reads the operand; a single column repeats as often as needed."""
    access = operand.access
    if repeat == 1 or operand.count == 1:
        access = Access(access.row, 0, access.start, 0)
    return operand.value, access


def _once(access: Access) -> Access:
    return Access(access.row, 0, access.start, 0)


def _same_constant(value: SSAValue, constant: spat.ConstantOp) -> bool:
    return isinstance(value.owner, spat.ConstantOp) and value.owner.value == constant.value
