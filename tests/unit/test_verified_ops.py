"""The verifier remembers which ops are valid: that this hides no error, whatever is changed, in place or not."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from guard_programs import LEVELS, module_at
from random_edits import edit_at_random
from tilec.dialects import pim, spat
from tilec.dialects.traits import VerifiedAlone
from tilec.passes.dominance import dominance_errors
from tilec.passes.verified_ops import VerifiedOps
from tilec.passes.verifier import verify_module
from tilec.support.diagnostics import TileErrors
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, ErasedSSAValue, Operation
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

TRIES = 60


def errors(module: ModuleOp, verified: VerifiedOps | None = None) -> list[str]:
    try:
        verify_module(module, verified)
    except TileErrors as found:
        return [str(one) for one in found.errors]
    return []


def is_valid(op: Operation) -> bool:
    """What xDSL says of one op, without anything of ours."""
    try:
        op.verify(verify_nested_ops=False)
    except (VerifyException, ValueError):
        return False
    return True


def are_valid(op: Operation) -> bool:
    """The same of an op and all in it; one with an invalid op in it cannot be asked itself."""
    inner = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    return all(map(are_valid, inner)) and is_valid(op)


def broken(level: str) -> Iterator[tuple[str, ModuleOp]]:
    """Modules with one random change each. They share attributes and types, as what a pass leaves alone does."""
    draw, module = random.Random(level), module_at(level)
    for _ in range(TRIES):
        copy = module.clone()
        yield edit_at_random(copy, draw), copy


@pytest.mark.parametrize("level", LEVELS)
def test_no_error_is_missed_and_none_is_added(level: str) -> None:
    verified = VerifiedOps()
    assert errors(module_at(level), verified) == []
    invalid = 0
    for edit, module in broken(level):
        expected = not are_valid(module) or any(dominance_errors(module))
        found = errors(module, verified)
        assert bool(found) == expected, edit
        assert found == errors(module), edit
        invalid += expected
    assert TRIES // 5 < invalid < TRIES


def test_a_change_in_place_is_seen() -> None:
    module, verified = module_at("buffers"), VerifiedOps()
    verify_module(module, verified)
    issue = next(op for op in module.walk() if isinstance(op, pim.IssueOp))
    issue.properties["length"] = IntegerAttr(1 << 20, i64)
    (error,) = errors(module, verified)
    assert "reads elements 0 to" in error
    issue.properties["length"] = IntegerAttr(1, i64)
    assert errors(module, verified) == []


def test_most_ops_are_looked_at_once() -> None:
    verified = VerifiedOps()
    module = module_at("buffers")
    verify_module(module, verified)
    bodies = [op for op in module.walk() if isinstance(op.parent_op(), pim.CoreBatchOp)]
    assert bodies
    assert all(verified.signature(op, op.next_op is None) in verified for op in bodies)


def alone(op: Operation) -> Operation:
    """A copy of ``op`` with nothing around it, and operands that nobody computes."""
    copy = op.clone()
    copy.operands = Block(arg_types=[operand.type for operand in op.operands]).args
    return copy


@pytest.mark.parametrize("level", LEVELS)
def test_the_trait_is_true(level: str) -> None:
    """The verdict on an op that is said to be verified alone does not depend on anything around it."""
    kinds: set[type[Operation]] = set()
    for edit, module in broken(level):
        for op in module.walk():
            in_place = op.has_trait(IsTerminator) == (op.next_op is None)
            erased = any(isinstance(operand, ErasedSSAValue) for operand in op.operands)
            if op.has_trait(VerifiedAlone, value_if_unregistered=False) and in_place and not erased:
                assert is_valid(op) == is_valid(alone(op)), edit
                kinds.add(type(op))
    assert kinds or level == "onnx"


def test_ops_with_data_in_their_verdict_do_not_have_the_trait() -> None:
    """A table whose numbers are checked is not told apart by type and shape."""
    assert not spat.PickOp.has_trait(VerifiedAlone)


def test_isolation_is_checked_as_before() -> None:
    module = module_at("graph")
    batch = next(op for op in module.walk() if isinstance(op, spat.ComputeBatchOp))
    assert batch.has_trait(IsolatedFromAbove)
    outside = batch.inputs[0]
    inner = next(op for op in batch.block.ops if op.operands)
    inner.operands[0] = outside
    with pytest.raises(VerifyException, match="Operation using value defined out of its IsolatedFromAbove parent"):
        batch.verify(verify_nested_ops=False)
    assert errors(module)
