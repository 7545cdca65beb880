"""Ops whose parts were found valid are accepted: never one that xDSL would not accept, whatever was accepted before."""

from __future__ import annotations

import random

import numpy as np
import pytest
from guard_programs import LEVELS, module_at
from random_edits import edit_at_random
from tilec.dialects import pim, spat
from tilec.passes.verified_ops import VerifiedOps
from tilec.passes.verified_parts import VerifiedParts
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, UnitAttr, f32, i32, i64
from xdsl.ir import Block, ErasedSSAValue, Operation
from xdsl.utils.exceptions import VerifyException

TRIES = 40


def is_valid(op: Operation) -> bool:
    """What xDSL says of one op, without anything of ours."""
    try:
        op.verify(verify_nested_ops=False)
    except (VerifyException, ValueError):
        return False
    return True


def is_closed(op: Operation) -> bool:
    """Whether all that is used in the regions of an op is defined there."""
    inside = [inner for inner in op.walk() if inner is not op]
    blocks = {block for around in (op, *inside) for region in around.regions for block in region.blocks}
    owners = {*inside, *blocks}
    return all(operand.owner in owners for inner in inside for operand in inner.operands)


def accepts(parts: VerifiedParts, op: Operation) -> bool:
    is_last = op.parent is not None and op.parent.last_op is op
    return parts.accept(op, is_last, is_closed(op))


def asked(module: ModuleOp) -> list[Operation]:
    """The ops whose operands are still there."""
    return [op for op in module.walk() if not any(isinstance(one, ErasedSSAValue) for one in op.operands)]


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_accepted_is_what_xdsl_accepts(level: str) -> None:
    """One memory for many modules, each with a random change."""
    draw, module, parts = random.Random(level), module_at(level), VerifiedOps().parts
    invalid = 0
    for op in asked(module):
        assert accepts(parts, op), op.name
    for _ in range(TRIES):
        copy = module.clone()
        edit = edit_at_random(copy, draw)
        for op in asked(copy):
            assert accepts(parts, op) == is_valid(op), (edit, op.name)
            invalid += not is_valid(op)
    assert invalid


def issue_of(module: ModuleOp) -> pim.IssueOp:
    return next(op for op in module.walk() if isinstance(op, pim.IssueOp))


def test_changes_in_place_are_seen() -> None:
    module, parts = module_at("buffers").clone(), VerifiedOps().parts
    issue = issue_of(module)
    assert accepts(parts, issue)
    for name, wrong in (("length", IntegerAttr(1, i32)), ("unheard_of", UnitAttr()), ("dest_access", UnitAttr())):
        before = issue.properties.get(name)
        issue.properties[name] = wrong
        assert not accepts(parts, issue), name
        if before is None:
            del issue.properties[name]
        else:
            issue.properties[name] = before
        assert accepts(parts, issue), name
    segments = issue.properties.pop("operandSegmentSizes")
    assert not accepts(parts, issue)
    issue.properties["operandSegmentSizes"] = segments
    issue.operands[-1]._type = i64  # pyright: ignore[reportPrivateUsage]
    assert not accepts(parts, issue)


def test_parts_that_variables_tie_are_one() -> None:
    """A row of each type was seen as an operand, and as a result, but never of one type beside the other."""
    parts = VerifiedOps().parts
    types = [TensorType(f32, [4, 4, channels]) for channels in (2, 3)]
    ops: list[spat.ChannelReceiveOp] = []
    for type in types:
        source = Block(arg_types=[type]).args[0]
        send = spat.ChannelSendOp(source, np.array([[0, 1, 2, 3]], np.int64))
        ops.append(spat.ChannelReceiveOp(source, send.channel))
        assert accepts(parts, ops[-1])
    ops[0].result._type = types[1]  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    assert not is_valid(ops[0])
    assert not accepts(parts, ops[0])


def test_what_an_op_demands_itself_is_asked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module, parts = module_at("buffers").clone(), VerifiedOps().parts
    issue = issue_of(module)
    assert accepts(parts, issue)
    issue.properties["length"] = IntegerAttr(1 << 20, i64)
    assert not accepts(parts, issue)  # it reads beyond its operands
    issue.properties["length"] = IntegerAttr(1, i64)
    assert accepts(parts, issue)
    monkeypatch.setattr(pim.IssueOp, "verify_", lambda op: None)
    assert not accepts(parts, issue)  # nobody knows what it demands now


def test_isolation_is_asked_of_ops_that_are_not_closed() -> None:
    module, parts = module_at("graph").clone(), VerifiedOps().parts
    batch = next(op for op in module.walk() if isinstance(op, spat.ComputeBatchOp))
    assert accepts(parts, batch)
    inner = next(op for op in batch.block.ops if op.operands)
    inner.operands[0] = batch.inputs[0]
    assert not accepts(parts, batch)
