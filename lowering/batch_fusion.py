"""Fusing a batch into the batch that consumes its result lane by lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from ..analysis.window import RowWindow
from ..dialects.location import fuse_locations
from ..dialects.spat import ComputeBatchOp, GatherOp, ReduceRowsOp, ViewOp, VMMOp, YieldOp, shape_of
from .body_sharing import share_equal_ops
from .fusion_delay import FusionDelay

LONG_BODY = 24
"""Ops from which a body without weights is work of its own, which would hold up the core of a layer with weights."""


def keeps_its_lanes(batch: ComputeBatchOp) -> bool:
    """Whether a batch without weights runs on cores of its own: it reads more than its own row, or computes long."""
    if batch.has_products:
        return False
    return not all(map(_reads_its_own_row, batch.row_windows)) or batch_length(batch) >= LONG_BODY


def batch_length(batch: ComputeBatchOp) -> int:
    """Ops of the body."""
    return sum(1 for _ in batch.block.ops)


def can_fuse(
    producer: ComputeBatchOp,
    consumer: ComputeBatchOp,
    index: int,
    order: Mapping[Operation, int],
    delay: FusionDelay,
) -> bool:
    """Whether lane i of the consumer reads exactly what lane i of the producer yields, for the operand ``index``, and
    fusing both does not hold up anything.

    Two batches that both hold weights stay apart: on one core they would run one after the other. ``order`` are the
    positions of the ops in their block.
    """
    if len(producer.results) != 1 or producer.lane_count != consumer.lane_count:
        return False
    if not producer.results[0].has_one_use() or not _reads_its_own_row(consumer.windows.data[index].data):
        return False
    if producer.is_scheduled or consumer.is_scheduled or _reads_with_gaps(producer, consumer, index):
        return False
    multiplies = producer.has_products
    if consumer.has_products:
        if multiplies or keeps_its_lanes(producer):
            return False
    elif multiplies and keeps_its_lanes(consumer):
        return False
    if multiplies or len(producer.windows) > 1:
        return not _would_wait(producer, consumer, index, order)
    return not delay.outweighs_message(producer, consumer, index)


def _reads_with_gaps(producer: ComputeBatchOp, consumer: ComputeBatchOp, index: int) -> bool:
    """Whether vector instructions of the consumer would read columns that are apart, one by one: the producer, which
    picks some columns of a row, puts them side by side."""
    (row,) = producer.yielded.values
    if not isinstance(row.owner, ViewOp) or _is_dense(row.owner):
        return False
    pending: list[SSAValue] = [consumer.input_arguments[index]]
    while pending:
        for use in pending.pop().uses:
            match use.operation:
                case VMMOp() | GatherOp():
                    pass
                case ViewOp() as view if not _is_dense(view):
                    pass
                case ViewOp() | ReduceRowsOp():
                    # The row itself, or what is computed of one row.
                    pending.append(use.operation.results[0])
                case _:
                    return True
    return False


def _is_dense(view: ViewOp) -> bool:
    """Whether its columns lie side by side."""
    count, length = shape_of(view.result)
    return count == 1 or view.step.value.data == length


def _would_wait(producer: ComputeBatchOp, consumer: ComputeBatchOp, index: int, order: Mapping[Operation, int]) -> bool:
    """Whether what the producer does would wait for another operand of the consumer before it starts.

    It does not if it needs that operand itself, or something that is computed from it.
    """
    awaited = {value for position, value in enumerate(consumer.split_operands[0]) if position != index}
    earliest = min((order[value.owner] for value in awaited if isinstance(value.owner, Operation)), default=0)
    pending = list(producer.split_operands[0])
    seen = set(pending)
    while pending and awaited:
        value = pending.pop()
        awaited.discard(value)
        owner = value.owner
        # What comes before all that is awaited is computed from none of it.
        if isinstance(owner, ComputeBatchOp) and order[owner] > earliest:
            new = [one for one in owner.split_operands[0] if one not in seen]
            seen.update(new)
            pending += new
    return bool(awaited)


def fuse(producer: ComputeBatchOp, consumer: ComputeBatchOp, index: int) -> ComputeBatchOp:
    """The batch that does the work of both. It replaces the consumer; the producer is erased."""
    builder = _Fusion(Block(), [], [], [], {})
    for op in (producer, consumer):
        skipped = consumer.inputs[index] if op is consumer else None
        for value, window, argument in zip(op.inputs, op.row_windows, op.input_arguments, strict=True):
            if value is not skipped:
                builder.add_input(value, window, argument)
        for value, argument in zip(op.weights, op.weight_arguments, strict=True):
            builder.add_weight(value, argument)
    for op in producer.block.ops:
        if not isinstance(op, YieldOp):
            builder.block.add_op(op.clone(builder.mapping))
    (row,) = producer.yielded.values
    builder.mapping[consumer.input_arguments[index]] = builder.mapping[row]
    for op in consumer.block.ops:
        builder.append(op)
    # Both may compute the same of the row that both read, as the Relu in a Clip.
    share_equal_ops(builder.block)

    replicas = consumer.replica_count if consumer.has_products else max(producer.replica_count, consumer.replica_count)
    if producer.has_products:
        replicas = producer.replica_count
    fused = ComputeBatchOp(
        consumer.lane_count,
        builder.inputs,
        builder.windows,
        builder.weights,
        Region(builder.block),
        replicas=replicas,
    )
    fuse_locations(fused, producer, consumer)
    block = consumer.parent
    assert block is not None
    block.insert_op_before(fused, consumer)
    for old, new in zip(consumer.outs, fused.outs, strict=True):
        old.replace_all_uses_with(new)
    consumer.detach()
    consumer.erase()
    producer.detach()
    producer.erase()
    return fused


def _reads_its_own_row(window: RowWindow) -> bool:
    """Whether lane i reads row i and nothing else."""
    return window == RowWindow(window.height, window.height)


@dataclass
class _Fusion:
    """The parts of the fused batch while it is built."""

    block: Block
    inputs: list[SSAValue]
    windows: list[RowWindow]
    weights: list[SSAValue]
    mapping: dict[SSAValue, SSAValue]

    def add_input(self, value: SSAValue, window: RowWindow, argument: SSAValue) -> None:
        for position, pair in enumerate(zip(self.inputs, self.windows, strict=True)):
            if pair == (value, window):
                self.mapping[argument] = self.block.args[position]
                return
        self.mapping[argument] = self.block.insert_arg(argument.type, len(self.inputs))
        self.inputs.append(value)
        self.windows.append(window)

    def add_weight(self, value: SSAValue, argument: SSAValue) -> None:
        if value in self.weights:
            self.mapping[argument] = self.block.args[len(self.inputs) + self.weights.index(value)]
            return
        self.mapping[argument] = self.block.insert_arg(argument.type, len(self.block.args))
        self.weights.append(value)

    def append(self, op: Operation) -> None:
        """Appends a copy of ``op``; a view of a whole tile is the tile, and so is a reduction of its one row."""
        copy = op.clone(self.mapping)
        match copy:
            case ViewOp() if copy.is_whole_tile:
                tile = copy.source
            case ReduceRowsOp() if len(shape_of(copy.source)) == 2:
                tile = copy.source
            case _:
                self.block.add_op(copy)
                return
        self.mapping[op.results[0]] = tile
        copy.erase()
