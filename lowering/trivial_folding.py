"""Small rewrites inside the bodies of batches, and of the constants that they use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Operation, SSAValue

from ..dialects.location import copy_location
from ..dialects.spat import (
    BatchOp,
    ComputeBatchOp,
    ConstantOp,
    ElementwiseBinaryOp,
    ReluOp,
    VAddOp,
    ViewOp,
    VMulOp,
    VSubOp,
    YieldOp,
)
from ..dialects.tile import ArrayAttr
from .body_content import computes_the_same
from .body_sharing import share_equal_ops

NEUTRAL = {VAddOp: 0.0, VSubOp: 0.0, VMulOp: 1.0}
"""The right operand that leaves the left one as it is."""


def share_constants(module: ModuleOp) -> int:
    """Makes equal constants one; the number that vanished."""
    constants = [op for op in module.walk() if isinstance(op, ConstantOp)]
    # Digests of all weights would take long, and few arrays have even some bytes in common.
    samples = [_sample(op.value) for op in constants]
    known: dict[ArrayAttr, ConstantOp] = {}
    alike = Counter(samples)
    vanished = 0
    for op, sample in zip(constants, samples, strict=True):
        if alike[sample] > 1 or alike[None]:
            first = known.setdefault(op.value, op)
            if first is not op:
                op.result.replace_all_uses_with(first.result)
                op.detach()
                op.erase()
                vanished += 1
    return vanished


def _sample(value: ArrayAttr) -> Hashable:
    """The same for equal arrays; None if only a digest is known."""
    return (value.dtype, value.shape, value.data.sample) if value.data.has_data else None


def fold_body(batch: ComputeBatchOp) -> int:
    """Folds what can be in one body; the number of ops that vanished."""
    folded = 0
    for op in list(batch.block.ops):
        replacement = _replacement(batch, op)
        if replacement is not None:
            op.results[0].replace_all_uses_with(replacement)
            op.detach()
            op.erase()
            folded += 1
    folded += share_equal_ops(batch.block)
    _drop_unused(batch)
    return folded


def share_batches(module: ModuleOp) -> int:
    """Makes batches one that compute the same of the same, which folding has made equal; the number that vanished.

    Those with products stay, since replicas and parts are dealt to them; and copies, which are there to be two.
    """
    known: dict[object, list[ComputeBatchOp]] = {}
    vanished = 0
    for batch in [op for op in module.walk() if isinstance(op, ComputeBatchOp)]:
        if batch.has_products or all(isinstance(op, ViewOp | YieldOp) for op in batch.block.ops):
            continue
        alike = known.setdefault((batch.lane_count, tuple(batch.inputs), batch.windows), [])
        first = next((other for other in alike if computes_the_same(batch, other)), None)
        if first is None:
            alike.append(batch)
            continue
        for old, new in zip(batch.outs, first.outs, strict=True):
            old.replace_all_uses_with(new)
        batch.detach()
        batch.erase()
        vanished += 1
    return vanished


def erase_dead(module: ModuleOp) -> int:
    """Erases batches and constants that nothing reads, last first; their number."""
    erased = 0
    for op in reversed(list(module.walk())):
        if isinstance(op, BatchOp | ConstantOp) and not any(result.uses.get_length() for result in op.results):
            op.detach()
            op.erase()
            erased += 1
    return erased


def _replacement(batch: ComputeBatchOp, op: Operation) -> SSAValue | None:
    """What the result of ``op`` can be replaced by, without any other op."""
    match op:
        case ViewOp() if op.is_whole_tile:
            return op.source
        case ReluOp() if isinstance(op.source.owner, ReluOp):
            return op.source
        case VAddOp() | VSubOp() | VMulOp():
            constant = _constant(batch, op.rhs)
            if constant is not None and (constant == NEUTRAL[type(op)]).all():
                return op.lhs
            return _joined(batch, op, constant)
        case _:
            return None


def _joined(batch: ComputeBatchOp, op: ElementwiseBinaryOp, second: NDArray[np.float32] | None) -> SSAValue | None:
    """`(x + a) + b` as `x + (a + b)`, and the same for products: the first op takes the joint constant."""
    first = op.lhs.owner
    if second is None or isinstance(op, VSubOp) or not isinstance(first, type(op)) or not op.lhs.has_one_use():
        return None
    constant = _constant(batch, first.rhs)
    if constant is None:
        return None
    joint = constant + second if isinstance(op, VAddOp) else constant * second
    first.operands = [first.lhs, _add_weight(batch, first, joint)]
    return first.result


def _constant(batch: ComputeBatchOp, value: SSAValue) -> NDArray[np.float32] | None:
    """The content of a block argument that stands for a constant whose content is known."""
    for argument, weight in zip(batch.weight_arguments, batch.weights, strict=True):
        if argument is value and isinstance(weight.owner, ConstantOp) and weight.owner.value.has_data:
            return weight.owner.value.array
    return None


def _add_weight(batch: ComputeBatchOp, source: Operation, array: NDArray[np.float32]) -> SSAValue:
    constant = copy_location(source, ConstantOp(ArrayAttr.get(np.ascontiguousarray(array, np.float32))))
    block = batch.parent
    assert block is not None
    block.insert_op_before(constant, batch)
    _set_operands(batch, list(batch.inputs), [*batch.weights, constant.result])
    return batch.block.insert_arg(constant.result.type, len(batch.block.args))


def _drop_unused(batch: ComputeBatchOp) -> None:
    """Drops weights that no op of the body reads any more."""
    weights: list[SSAValue] = []
    for argument, weight in list(zip(batch.weight_arguments, batch.weights, strict=True)):
        if argument.uses.get_length():
            weights.append(weight)
        else:
            batch.block.erase_arg(argument)  # pyright: ignore[reportArgumentType]
    if len(weights) < len(batch.weights):
        _set_operands(batch, list(batch.inputs), weights)


def _set_operands(batch: ComputeBatchOp, inputs: list[SSAValue], weights: list[SSAValue]) -> None:
    batch.operands = [*inputs, *weights]
    sizes = DenseArrayBase.from_list(i32, [len(inputs), len(weights)])
    batch.properties["operandSegmentSizes"] = sizes
