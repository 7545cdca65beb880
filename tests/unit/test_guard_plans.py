"""Sabotage of the plan of local memory, which is rejected at the pass that does it; innocent changes are accepted."""

from __future__ import annotations

import numpy as np
import pytest
import sabotage_edits as edits
import sabotage_plans as plans
from compilation import lower
from guard_programs import edit_pass, harm_by, harm_of, module_at, network
from ir_edits import Edit, array_of, ops_of
from onnx import TensorProto, helper, numpy_helper
from tilec.dialects import pim
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.plan_check import check_plan
from tilec.passes.guard import Guard, GuardError, Mode
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from tilec.passes.verifier import verify_input
from tilec.support.diagnostics import TileError, TileErrors
from xdsl.dialects.builtin import ModuleOp

TWICE = {
    plans.rings_twenty_times: "in order of core, each once",
    plans.zeros_fifty_times: "in order of core, each once",
    plans.constants_twice: "in order of core, each once",
    plans.tiles_twice: "in order of core, each once",
    plans.rows_twice: "in order of core and row, each once",
}


@pytest.mark.parametrize("edit", TWICE, ids=lambda edit: edit.__name__)
def test_what_is_said_twice_is_no_valid_op(edit: Edit) -> None:
    """Whether a pass says so, or a text."""
    module = module_at("planned")
    with pytest.raises(TileErrors, match=f"(?s){TWICE[edit]}.*pass '{edit.__name__}': left an invalid module"):
        PassManager((edit_pass(edit, edit.__name__),), (Guard(), Verifier())).run(make_context(), module)
    with pytest.raises(TileErrors, match=TWICE[edit]):
        verify_input(module)


@pytest.mark.parametrize("edit", [plans.rings_twenty_times, plans.zeros_fifty_times], ids=lambda edit: edit.__name__)
def test_the_guard_counts_zeros_by_itself(edit: Edit) -> None:
    guard = Guard(Mode.REPORT, lambda text: None)
    PassManager((edit_pass(edit),), (guard,)).run(make_context(), module_at("planned"))
    assert harm_by(guard) == {"plan_faults", "zeroed_bytes"}


WASTE = {
    plans.longer_rows_of_zeros: {"zeroed_bytes", "core_bytes"},
    plans.deeper_ring: {"zeroed_bytes", "core_bytes"},
    plans.zeros_elsewhere: {"core_bytes"},
    plans.moved_where_there_is_room: {"core_bytes"},
}


@pytest.mark.parametrize("edit", WASTE, ids=lambda edit: edit.__name__)
def test_memory_that_nothing_needs(edit: Edit) -> None:
    """Sound plans, with the fullest core as full as before."""
    bad = with_room()
    assert harm_of(edit, bad) == WASTE[edit]
    check_plan(bad)


def with_room() -> ModuleOp:
    """A planned module whose last core has room."""
    module = module_at("planned", 16)
    peaks = array_of(plans.program_of(module), "peak_bytes")
    assert peaks[-1] == peaks.min()
    assert peaks.max() - peaks.min() > 600
    return module


FALSE = {
    plans.half_peak: "pim.program: its peaks are not",
    plans.addresses_up: "pim.program: its peaks are not",
    plans.tile_without_address: "pim.alloc has no address yet",
    plans.rows_without_address: "pim.rows: row . has no address on core .",
    plans.more_slack: "pim.rows: the ring on core ., .* does not hold rows",
    plans.late_constants: r"pim.constant_rows: core . loads it at step \d+, and is to load it at step \d+",
    plans.constants_first_of_all: "pim.constant_rows: core . loads it at step 0, and is to load it at step",
    plans.constant_on_a_row: "it is at address .* of core ., and overlaps",
}


@pytest.mark.parametrize("edit", FALSE, ids=lambda edit: edit.__name__)
def test_a_plan_that_does_not_hold(edit: Edit) -> None:
    """The pass that spoils it is named, and what is wrong with it."""
    guard = Guard()
    with pytest.raises(
        GuardError, match=rf"pass '{edit.__name__}': worse: .*plan_faults 0 -> 1\) at .*{FALSE[edit]}"
    ) as error:
        PassManager((edit_pass(edit, edit.__name__),), (guard, Verifier())).run(make_context(), module_at("planned"))
    assert {change.field for change in error.value.harm} == {"plan_faults"}


@pytest.mark.parametrize("edit", FALSE, ids=lambda edit: edit.__name__)
def test_a_text_is_judged_alike(edit: Edit) -> None:
    module = module_at("planned")
    edit(module)
    with pytest.raises(TileError, match=FALSE[edit]):
        check_plan(module)


INNOCENT = (edits.nothing, edits.uniformly_later, plans.upside_down)


@pytest.mark.parametrize("edit", INNOCENT, ids=lambda edit: edit.__name__)
def test_another_plan_as_good(edit: Edit) -> None:
    module = module_at("planned", 16)
    assert not harm_of(edit, module)
    check_plan(module)


def test_constants_are_loaded_as_planned() -> None:
    """Both tables say the same: that of the batch, which the guard looks at, and that which code is generated from."""
    module = lower(network(16), "tiny4")
    fetched = {
        (batch.loaded_constants[number], core): step
        for batch in ops_of(module, pim.CoreBatchOp)
        if batch.fetches is not None
        for number, core, step in batch.fetches.array.tolist()
    }
    loaded = {
        (constant.result, core): step
        for constant in ops_of(module, pim.ConstantRowsOp)
        for core, _, step in array_of(constant, "instances").tolist()
    }
    assert loaded == fetched
    assert len(np.unique(list(loaded.values()))) > 1


def test_a_row_of_zeros_is_as_wide_as_windows_read_it() -> None:
    """Of one pixel with four columns beside it on each side, rows of zeros are most of what is held."""
    weights = numpy_helper.from_array(np.ones((1, 88, 5, 5), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[4] * 4)],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 88, 1, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 5, 5])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    guard, module = Guard(), import_onnx(model.SerializeToString())
    passes = build_pipeline("tile-default{machine=reference144}")
    PassManager(passes, (guard, Verifier())).run(make_context(), module)
    after = guard.examined[-1].after
    assert after is not None
    zeros = array_of(plans.program_of(module), "zeros")
    assert set(zeros[:, 2].tolist()) == {9 * 88}
    assert after.proxies.core_bytes_max == 2 * 9 * 88 + 2 * 128 == after.proxies.live_bytes_max
