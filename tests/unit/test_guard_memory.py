"""What the guard keeps from one look at a module to the next hides no change of it, however it is made."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from guard_programs import LEVELS, module_at, parsed
from random_edits import EDITS, edit_at_random
from tilec.analysis.proxies import Survey
from tilec.analysis.window import window_rows
from tilec.dialects import pim, spat
from tilec.dialects.block_looks import BlockLooks
from tilec.dialects.registry import make_context
from tilec.dialects.tile import ArrayAttr, ArrayData
from tilec.lowering.body_content import body_content
from tilec.lowering.body_costs import partial_results, partial_sums, tile_cost
from tilec.lowering.body_memory import BodyMemory
from tilec.lowering.proxies import Surveyor, survey
from tilec.lowering.spat_to_pim.selector import select
from tilec.passes.guard import Guard
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation

TRIES = 60


def outcome(look: Callable[[ModuleOp], Survey], module: ModuleOp) -> Survey | str:
    """The survey, or how it fails: the guard takes that for a rejection."""
    try:
        return look(module)
    except Exception as error:
        return type(error).__name__


def afresh(module: ModuleOp) -> Survey | str:
    """The same with nothing kept from before."""
    for function in (select, tile_cost, partial_sums, partial_results, window_rows):
        function.cache_clear()
    return outcome(survey, module)


@pytest.mark.parametrize("level", LEVELS)
def test_no_change_in_place_is_missed(level: str) -> None:
    draw, module = random.Random(level), module_at(level)
    changed = 0
    for _ in range(TRIES):
        copy, surveyor = module.clone(), Surveyor()
        before = surveyor.survey(copy)
        edit = edit_at_random(copy, draw)
        found = outcome(surveyor.survey, copy)
        assert found == afresh(copy), edit
        changed += found != before
    assert changed > TRIES // 5


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_every_kind_of_change_is_seen(edit: Callable[[Operation, random.Random], None]) -> None:
    """The same as above in the ops of one body, one by one."""
    draw, module = random.Random(0), module_at("graph")
    for position, op in enumerate(module.walk()):
        if isinstance(op.parent_op(), spat.ComputeBatchOp) and EDITS[edit](op):
            copy, surveyor = module.clone(), Surveyor()
            surveyor.survey(copy)
            edit(next(islice(copy.walk(), position, None)), draw)
            assert outcome(surveyor.survey, copy) == afresh(copy), op.name


def test_a_restored_module_has_its_numbers_again() -> None:
    module, surveyor = module_at("graph"), Surveyor()
    before = surveyor.survey(module)
    view = next(op for op in module.walk() if isinstance(op, spat.VMMOp))
    row = view.properties["row"]
    view.properties["row"] = IntegerAttr(1, i64)
    surveyor.survey(module)
    view.properties["row"] = row
    assert surveyor.survey(module) == before


def test_elements_that_are_written_under_an_array_are_seen() -> None:
    """A `#tile.array` is read-only, but memory that it shares with a writable array is not."""
    module, surveyor = module_at("placed"), Surveyor()
    batch = next(op for op in module.walk() if isinstance(op, spat.ScheduledComputeBatchOp))
    steps = np.array(batch.steps.array)
    view = steps.view()
    view.flags.writeable = False
    batch.properties["steps"] = ArrayAttr.get(ArrayData(steps.dtype, steps.shape, view, None))
    before = surveyor.survey(module).proxies.step_count
    steps[-1] += 1_000_000
    after = surveyor.survey(module).proxies.step_count
    assert after == survey(module).proxies.step_count
    assert before is not None
    assert after is not None
    assert after > before


SUM_OF_SLICES = """
func.func @main() {
  %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %w = spat.constant <f32[2, 2] [1.0, 0.0, 0.0, 1.0]> : tensor<2x2xf32>
  %a = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      weights(%w : tensor<2x2xf32>) -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>, %m: tensor<2x2xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %p = spat.vmm %row, %m row 0 : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
    %q = spat.relu %p : tensor<4x2xf32>
    spat.yield %p : tensor<4x2xf32>
  }
  %y = spat.compute_batch lanes 4 ins(%a, %a : tensor<4x4x2xf32>, tensor<4x4x2xf32>)
      windows [#spat.window<height 4, lanes 4>, #spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
  ^bb0(%one: tensor<1x4x2xf32>, %two: tensor<1x4x2xf32>):
    %0 = spat.view %one row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %1 = spat.view %two row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    %2 = spat.vadd %0, %1 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    spat.yield %2 : tensor<4x2xf32>
  }
  spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %y : tensor<4x4x2xf32>
  func.return
}
"""


def test_a_batch_is_also_judged_by_what_its_producer_yields() -> None:
    """The consumer stays as it is, and yet no longer adds products of slices."""
    module, surveyor = parsed(SUM_OF_SLICES), Surveyor()
    assert surveyor.survey(module).proxies.partial_sums == (("<unnamed>", 32),)
    producer = next(op for op in module.walk() if isinstance(op, spat.ComputeBatchOp))
    relu = next(op for op in producer.block.ops if isinstance(op, spat.ReluOp))
    producer.yielded.operands[0] = relu.result
    assert surveyor.survey(module).proxies.partial_sums == ()


def test_views_of_other_shapes_are_no_repetition() -> None:
    """Two views from the same place that end elsewhere do not compute the same."""
    text = SUM_OF_SLICES.replace(
        "%q = spat.relu %p : tensor<4x2xf32>",
        "%v = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<2x2xf32>\n"
        "%q = spat.relu %v : tensor<2x2xf32>\n%r = spat.relu %row : tensor<4x2xf32>",
    )
    assert survey(parsed(text)).proxies.recomputed == 0


def test_equal_content_means_equal_bodies() -> None:
    one, other = module_at("graph"), module_at("graph")
    pairs = zip(one.walk(), other.walk(), strict=True)
    contents = [
        (body_content(a), body_content(b))
        for a, b in pairs
        if isinstance(a, spat.BatchOp) and isinstance(b, spat.BatchOp)
    ]
    assert contents
    assert all(a == b and hash(a) == hash(b) and a is not b for a, b in contents)
    assert len({a for a, _ in contents}) > 1


def test_bodies_that_are_gone_are_let_go() -> None:
    memory, module = BodyMemory(), module_at("graph")
    batch = next(op for op in module.walk() if isinstance(op, spat.ComputeBatchOp))
    look = BlockLooks().at(batch.block)
    first = memory.tile_body(look, len(batch.windows))
    memory.forget_others()
    assert memory.tile_body(look, len(batch.windows)) is first
    memory.forget_others()
    memory.forget_others()
    assert memory.tile_body(look, len(batch.windows)) is not first


def test_spans_are_computed_once_for_a_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes that leave cores, steps and messages alone do not have their critical path worked out again: there is one
    without transfers, and one with messages, planned or there."""
    from tilec.lowering import schedule_span

    calls: list[bool] = []

    def counted(events: object, shared: bool = False, **more: int) -> int:
        calls.append(shared)
        return original(events, shared, **more)  # pyright: ignore[reportArgumentType]

    original = schedule_span.core_span
    module = module_at("placed")
    monkeypatch.setattr(schedule_span, "core_span", counted)
    passes = build_pipeline(
        "spat-defer-communication,spat-realize-communication,convert-spat-to-pim,pim-bufferize,pim-plan-memory"
    )
    PassManager(passes, (Guard(),)).run(make_context(), module)
    assert isinstance(next(op for op in module.walk() if isinstance(op, pim.ProgramOp)), pim.ProgramOp)
    assert sorted(calls) == [False, True]
