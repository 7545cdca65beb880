"""What tests do to modules by hand: find ops and tables, replace arrays, put ops in, take them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tilec.dialects import onnx, pim, spat
from tilec.dialects.location import copy_location
from tilec.dialects.onnx_base import OnnxOp
from tilec.dialects.spat import ScheduledComputeBatchOp
from tilec.dialects.tile import ArrayAttr
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import Block, Operation, SSAValue

Edit = Callable[[ModuleOp], None]
OperationT = TypeVar("OperationT", bound=Operation)

BATCHES = (spat.ComputeBatchOp, ScheduledComputeBatchOp, pim.CoreBatchOp)
MESSAGES = (spat.ChannelSendOp, pim.TransferOp)


def ops_of(module: ModuleOp, *kinds: type[OperationT]) -> list[OperationT]:
    return [op for op in module.walk() if isinstance(op, kinds)]


def batches_of(module: ModuleOp) -> list[spat.BatchOp | pim.CoreBatchOp]:
    return ops_of(module, *BATCHES)


def layers_of(module: ModuleOp) -> list[spat.BatchOp | pim.CoreBatchOp]:
    """The batches that hold weights in arrays."""
    return [op for op in batches_of(module) if any(holds_weights(inner) for inner in op.block.ops)]


def holds_weights(op: Operation) -> bool:
    return isinstance(op, spat.VMMOp) or (isinstance(op, pim.IssueOp) and op.matrix is not None)


def body_ops(module: ModuleOp, *kinds: type[OperationT]) -> list[OperationT]:
    return [inner for op in batches_of(module) for inner in op.block.ops if isinstance(inner, kinds)]


def issues(module: ModuleOp, *names: str) -> list[pim.IssueOp]:
    """The instructions of these names, or all."""
    return [op for op in ops_of(module, pim.IssueOp) if not names or op.instruction.data in names]


def array_of(op: Operation, name: str) -> NDArray[np.int64]:
    attribute = op.properties[name]
    assert isinstance(attribute, ArrayAttr)
    return attribute.array


def set_array(op: Operation, name: str, array: NDArray[np.int64]) -> None:
    """Sets a property, in the type that it has."""
    old = op.properties[name]
    assert isinstance(old, ArrayAttr)
    op.properties[name] = ArrayAttr.get(np.ascontiguousarray(array, old.array.dtype))


def change_array(op: Operation, name: str, change: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
    set_array(op, name, change(array_of(op, name)))


def number_of(op: Operation, name: str) -> int:
    attribute = op.properties[name]
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def set_number(op: Operation, name: str, value: int) -> None:
    op.properties[name] = IntegerAttr(value, i64)


def block_of(op: Operation) -> Block:
    assert op.parent is not None
    return op.parent


def insert_after(op: Operation, *new: OperationT) -> OperationT:
    """Puts ops behind ``op``, with its location; the last of them."""
    block_of(op).insert_ops_after([copy_location(op, one) for one in new], op)
    return new[-1]


def insert_before(op: Operation, *new: OperationT) -> OperationT:
    block_of(op).insert_ops_before([copy_location(op, one) for one in new], op)
    return new[-1]


def follow(op: Operation, new: OperationT) -> OperationT:
    """Puts ``new``, which reads the result of ``op``, behind it; everyone else reads ``new`` from now on."""
    insert_after(op, new)
    op.results[0].replace_uses_with_if(new.results[0], lambda use: use.operation is not new)
    return new


def replace(op: Operation, value: SSAValue) -> None:
    """Lets ``value`` stand for the result of ``op``, which goes."""
    op.results[0].replace_all_uses_with(value)
    erase(op)


def erase(op: Operation) -> None:
    op.detach()
    op.erase()


def readers(value: SSAValue) -> list[Operation]:
    """Ops that read a value, in the order of the text, each once."""
    found = list(dict.fromkeys(use.operation for use in value.uses))
    return sorted(found, key=_position)


def _position(op: Operation) -> int:
    return block_of(op).get_operation_index(op)


def read_instead(reader: Operation, old: SSAValue, new: SSAValue) -> None:
    reader.operands = [new if operand is old else operand for operand in reader.operands]


def set_operands(batch: spat.BatchOp, inputs: Sequence[SSAValue], weights: Sequence[SSAValue]) -> None:
    batch.operands = [*inputs, *weights]
    batch.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(inputs), len(weights)])


def add_weight(batch: spat.BatchOp, array: NDArray[np.float32]) -> SSAValue:
    """A new constant for a batch; the block argument that stands for it."""
    constant = insert_before(batch, spat.ConstantOp(ArrayAttr.get(np.ascontiguousarray(array, np.float32))))
    set_operands(batch, list(batch.inputs), [*batch.weights, constant.result])
    return batch.block.insert_arg(constant.result.type, len(batch.block.args))


def computations(module: ModuleOp) -> list[OnnxOp]:
    """Ops of a network that compute something."""
    return [op for op in ops_of(module, OnnxOp) if not isinstance(op, onnx.ConstantOp)]
