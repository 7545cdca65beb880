"""Ops of a body that compute the same: one of them is enough."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ..dialects.spat import ViewOp, YieldOp


def share_equal_ops(block: Block) -> int:
    """What an earlier op of the body has computed is taken from there; the number of ops that vanished.

    A view computes nothing, so that equal ones may stay, but for those that nothing reads then.
    """
    first: dict[object, Operation] = {}
    same: dict[SSAValue, SSAValue] = {}
    """The values that stand for others."""
    vanished = 0
    for op in list(block.ops):
        if isinstance(op, YieldOp):
            continue
        operands = tuple([same.get(operand, operand) for operand in op.operands])
        earlier = first.setdefault((op.name, operands, frozenset(op.properties.items()), tuple(op.result_types)), op)
        if earlier is op:
            continue
        same.update(zip(op.results, earlier.results, strict=True))
        if not isinstance(op, ViewOp):
            for old, new in zip(op.results, earlier.results, strict=True):
                old.replace_all_uses_with(new)
            op.detach()
            op.erase()
            vanished += 1
    if vanished:
        drop_unused(block)
    return vanished


def drop_unused(block: Block) -> None:
    """Erases ops that nothing reads."""
    for op in reversed(list(block.ops)):
        if op.results and not any(result.uses.get_length() for result in op.results):
            op.detach()
            op.erase()
