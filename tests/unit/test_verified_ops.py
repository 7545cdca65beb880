"""The verifier remembers which ops are valid: that this hides no error, whatever is changed, in place or not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from guard_programs import LEVELS, module_at
from random_edits import edit_at_random
from tilec.dialects import pim, spat
from tilec.dialects.array_data import ArrayData
from tilec.dialects.tile import ArrayAttr
from tilec.dialects.traits import VerifiedAlone
from tilec.passes.dominance import dominance_errors
from tilec.passes.verified_ops import VerifiedOps
from tilec.passes.verifier import verify_module
from tilec.support.diagnostics import TileErrors
from xdsl.dialects import test
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


@pytest.mark.parametrize("level", LEVELS)
def test_edits_in_place_are_seen_after_a_successful_verification(level: str) -> None:
    """Of one module, again and again: what is found is what a verifier without memory finds in it."""
    draw = random.Random(f"{level} in place")
    invalid = 0
    for _ in range(TRIES // 2):
        module, verified = module_at(level).clone(), VerifiedOps()
        assert errors(module, verified) == []
        edit = edit_at_random(module, draw)
        assert errors(module, verified) == errors(module), edit
        assert bool(errors(module, verified)) == (not are_valid(module) or any(dominance_errors(module))), edit
        invalid += bool(errors(module))
    assert invalid


Breakage = Callable[[ModuleOp], None]


def core_batch(module: ModuleOp) -> pim.CoreBatchOp:
    """A batch on buffers that has inputs and issues more than one instruction."""
    return next(
        op
        for op in module.walk()
        if isinstance(op, pim.CoreBatchOp) and op.inputs and len(issues(op)) > 1 and op.lane_count > 1
    )


def issues(batch: pim.CoreBatchOp) -> list[pim.IssueOp]:
    return [op for op in batch.block.ops if isinstance(op, pim.IssueOp)]


def replace_an_attribute_of_a_body(module: ModuleOp) -> None:
    issues(core_batch(module))[0].properties["length"] = IntegerAttr(1 << 20, i64)


def replace_an_attribute_of_a_batch(module: ModuleOp) -> None:
    core_batch(module).properties["lanes"] = IntegerAttr(0, i64)


def replace_an_array_by_one_with_a_wrong_number(module: ModuleOp) -> None:
    batch = core_batch(module)
    batch.properties["steps"] = ArrayAttr.get(np.where(np.arange(batch.lane_count) == 1, -1, batch.steps.array))


def replace_an_array_by_one_of_another_shape(module: ModuleOp) -> None:
    batch = core_batch(module)
    batch.properties["steps"] = ArrayAttr.get(batch.steps.array[1:].copy())


def name_a_row_that_is_not_there(module: ModuleOp) -> None:
    transfer = next(op for op in module.walk() if isinstance(op, pim.TransferOp))
    table = transfer.messages.array.copy()
    table[0, 0] = 1 << 20
    transfer.properties["messages"] = ArrayAttr.get(table)


def replace_an_operand_by_one_of_another_type(module: ModuleOp) -> None:
    batch = core_batch(module)
    batch.operands[0] = next(
        op.result for op in module.walk() if isinstance(op, pim.RowsOp) and op.result.type != batch.operands[0].type
    )


def read_a_matrix_of_no_constant(module: ModuleOp) -> None:
    """Only who makes the operand changes, not its type."""
    rows = next(op for op in module.walk() if isinstance(op, pim.ConstantRowsOp))
    assert rows.parent is not None
    assert isinstance(rows.source.owner, Operation)
    other = test.TestOp(result_types=[rows.source.type])
    rows.parent.insert_op_before(other, rows)
    rows.operands[0] = other.results[0]


def use_a_value_from_outside(module: ModuleOp) -> None:
    batch = core_batch(module)
    issue = next(op for op in issues(batch) if op.operands[0] is batch.block.args[0])
    issue.operands[0] = batch.operands[0]


def use_a_value_that_is_defined_later(module: ModuleOp) -> None:
    batch = core_batch(module)
    alloc = next(op for op in batch.block.ops if isinstance(op, pim.AllocOp))
    last = batch.block.last_op
    assert last is not None
    alloc.detach()
    batch.block.insert_op_before(alloc, last)


def change_the_type_of_a_result(module: ModuleOp) -> None:
    rows = next(op for op in module.walk() if isinstance(op, pim.RowsOp))
    rows.result._type = i64  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def change_the_type_of_an_argument(module: ModuleOp) -> None:
    core_batch(module).block.args[0]._type = i64  # pyright: ignore[reportPrivateUsage]


def erase_an_operand(module: ModuleOp) -> None:
    alloc = next(op for op in core_batch(module).block.ops if isinstance(op, pim.AllocOp))
    alloc.detach()
    alloc.erase(safe_erase=False)


def empty_the_region(module: ModuleOp) -> None:
    batch = core_batch(module)
    for op in reversed(list(batch.block.ops)):
        op.detach()
        op.erase(safe_erase=False)


def take_the_region_away(module: ModuleOp) -> None:
    batch = core_batch(module)
    batch.detach_region(batch.body)


def add_a_block(module: ModuleOp) -> None:
    core_batch(module).body.add_block(Block([pim.EndOp()]))


def move_the_terminator_forward(module: ModuleOp) -> None:
    batch = core_batch(module)
    last, first = batch.block.last_op, batch.block.first_op
    assert last is not None
    assert first is not None
    last.detach()
    batch.block.insert_op_before(last, first)


def move_a_batch_out_of_its_program(module: ModuleOp) -> None:
    """Only what is around it changes: neither the op nor what is in it."""
    rows = next(op for op in module.walk() if isinstance(op, pim.RowsOp) and not op.result.uses.get_length())
    program = rows.parent_op()
    assert program is not None
    assert program.parent is not None
    rows.detach()
    program.parent.insert_op_before(rows, program)


def add_a_foreign_op_to_a_body(module: ModuleOp) -> None:
    batch = core_batch(module)
    assert batch.block.first_op is not None
    batch.block.insert_op_before(test.TestOp(), batch.block.first_op)


BREAKAGES: list[Breakage] = [
    replace_an_attribute_of_a_body,
    replace_an_attribute_of_a_batch,
    replace_an_array_by_one_with_a_wrong_number,
    replace_an_array_by_one_of_another_shape,
    name_a_row_that_is_not_there,
    replace_an_operand_by_one_of_another_type,
    read_a_matrix_of_no_constant,
    use_a_value_from_outside,
    use_a_value_that_is_defined_later,
    change_the_type_of_a_result,
    change_the_type_of_an_argument,
    erase_an_operand,
    empty_the_region,
    take_the_region_away,
    add_a_block,
    move_the_terminator_forward,
    move_a_batch_out_of_its_program,
    add_a_foreign_op_to_a_body,
]


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.__name__)
def test_each_kind_of_change_is_caught_after_a_successful_verification(breakage: Breakage) -> None:
    module, verified = module_at("buffers").clone(), VerifiedOps()
    program = next(op for op in module.walk() if isinstance(op, pim.ProgramOp))
    unused = pim.RowsOp((2, 2, 2), 0, 0, 0)
    assert program.body.block.first_op is not None
    program.body.block.insert_op_before(unused, program.body.block.first_op)
    for _ in range(2):
        assert errors(module, verified) == []
    breakage(module)
    found = errors(module, verified)
    assert found
    assert found == errors(module)


def test_arrays_are_not_taken_as_verified_before_their_numbers_are_loaded() -> None:
    module, verified = module_at("buffers").clone(), VerifiedOps()
    batch = core_batch(module)
    wrong = np.full(batch.lane_count, -1, batch.steps.dtype)
    digest = ArrayAttr.get(wrong).digest
    batch.properties["steps"] = ArrayAttr.new(ArrayData(wrong.dtype, wrong.shape, None, digest))
    assert errors(module, verified) == []
    batch.properties["steps"] = ArrayAttr.get(wrong)
    assert "a step is negative" in errors(module, verified)[0]


def test_most_ops_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    verified, judged = VerifiedOps(), list[Operation]()
    module = module_at("buffers")
    verify_module(module, verified)
    for kind in (pim.CoreBatchOp, pim.IssueOp, pim.AllocOp, pim.RowsOp, pim.TransferOp):
        monkeypatch.setattr(kind, "verify_", lambda op: judged.append(op))
    verify_module(module, verified)
    assert judged == []
    verify_module(module.clone(), verified)
    assert judged == []
    verify_module(module)
    assert judged


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
