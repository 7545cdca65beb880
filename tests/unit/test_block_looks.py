"""Looks at blocks are shared by those who watch a pipeline: equal blocks have one form, and no change is missed."""

from __future__ import annotations

import random
from collections.abc import Iterator

from guard_programs import module_at
from random_edits import EDITS
from tilec.dialects import pim, spat
from tilec.dialects.block_looks import BlockLooks
from tilec.dialects.registry import make_context
from tilec.passes.guard import Guard
from tilec.passes.guard_mode import Mode
from tilec.passes.instrumentation import PassInstrumentation, PassRun
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation


def bodies(module: ModuleOp) -> Iterator[Block]:
    for op in module.walk():
        if isinstance(op, spat.BatchOp | pim.CoreBatchOp):
            yield op.block


def test_a_block_that_stays_has_the_same_look_and_an_equal_one_the_same_form() -> None:
    module, looks = module_at("graph"), BlockLooks()
    block = next(bodies(module))
    first = looks.at(block)
    looks.begin()
    assert looks.at(block) is first
    copy = next(bodies(module.clone()))
    assert looks.at(copy) is not first
    assert looks.at(copy).form is first.form is not None


def test_every_kind_of_change_of_an_op_is_seen() -> None:
    module = module_at("buffers")
    draw, changed = random.Random(0), 0
    for number, _ in enumerate(bodies(module)):
        for edit, applies in EDITS.items():
            block = list(bodies(module.clone()))[number]
            looks = BlockLooks()
            before = looks.at(block)
            op = next((op for op in block.ops if applies(op)), None)
            if op is None:
                continue
            around = block.parent_op()
            assert around is not None
            twin = around.clone()
            edit(op, draw)
            looks.begin()
            if not around.is_structurally_equivalent(twin):
                assert looks.at(block) is not before, edit.__name__
                changed += 1
    assert changed > len(EDITS)


def test_what_is_not_seen_has_no_form() -> None:
    looks = BlockLooks()
    block = next(bodies(module_at("graph").clone()))
    assert looks.at(block).form is not None
    op = block.first_op
    assert op is not None
    op.attributes["note"] = StringAttr("counts as well")
    looks.begin()
    assert looks.at(block).form is None
    del op.attributes["note"]
    looks.begin()
    assert looks.at(block).form is not None


class Repeats(PassInstrumentation):
    """Puts a second sum of the same operands behind the first one, after the pass and the verifier."""

    def after_pass(self, run: PassRun) -> None:
        one: Operation = next(op for op in run.module.walk() if isinstance(op, spat.VAddOp | spat.ReluOp))
        assert one.parent is not None
        one.parent.insert_op_after(one.clone(), one)


def test_the_guard_looks_again_where_a_hook_may_have_changed_the_module() -> None:
    def recomputed(*watch: PassInstrumentation) -> int | None:
        module, guard = module_at("graph").clone(), Guard(Mode.REPORT, warn=lambda text: None)
        PassManager(build_pipeline("spat-merge-trivial"), (guard, *watch, Verifier())).run(make_context(), module)
        (found,) = guard.examined
        assert found.after is not None
        return found.after.proxies.recomputed

    assert recomputed() == 0
    assert recomputed(Repeats()) != 0
