"""The guard around passes: its modes, its messages, its report; and that the compiler's own pipeline passes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import onnx
import pytest
import sabotage_networks as networks
from compilation import lower
from guard_programs import edit_pass, guarded, module_at, network, one_replica, parsed
from models import SMALLEST, build
from odd_models import Graph, shuffle
from tilec.analysis.contract import Contract, may_trade
from tilec.analysis.proxies import Level, Proxies
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.proxies import proxies
from tilec.passes.guard import Guard, GuardedPipeline, GuardError, Mode
from tilec.passes.guard_mode import GuardModePass
from tilec.passes.ir_text import PrintOptions, ir_text
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pass_bug import PassBug
from tilec.passes.pipeline import build_pipeline, pipeline_text
from tilec.support.diagnostics import TileError
from tilec.tools.tile_opt import main as tile_opt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.onnx"))


# The compiler's own pipeline


def check_pipeline(model: onnx.ModelProto, machine: str = "reference144") -> None:
    guard = Guard()
    passes = build_pipeline(f"tile-default{{machine={machine}}}")
    PassManager(passes, (guard, Verifier())).run(make_context(), import_onnx(model.SerializeToString()))
    assert [found.name for found in guard.examined] == [one.name for one in passes]
    assert all(found.mode is Mode.ERROR and found.before and found.after for found in guard.examined)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_pass(path: Path) -> None:
    check_pipeline(onnx.load(path))


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_0", "mobilenet_v2"])
def test_networks_pass(name: str) -> None:
    check_pipeline(build(name, image_size=32, num_classes=10))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["densenet121", "googlenet", "googlenet_bn", "inception_v3", "resnet34", "resnet50", "shufflenet_v1"]
)
def test_large_networks_pass(name: str) -> None:
    check_pipeline(build(name, image_size=max(64, SMALLEST.get(name, 64)), num_classes=10))


def test_a_small_machine_passes() -> None:
    check_pipeline(network(), "tiny4")


def test_a_pass_that_renames_itself_is_called_as_before() -> None:
    class Renames(ModulePass):
        name = "renames"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            type(self).name = "onnx-simplify"
            one_replica(op)

    with pytest.raises(GuardError, match="guard: pass 'renames': worse"):
        guarded(Renames(), module_at("graph"))
    Renames.name = "renames"
    guard = Guard(Mode.REPORT, lambda text: None)
    PassManager((Renames(), Renames()), (guard,)).run(make_context(), module_at("graph"))
    assert [found.name for found in guard.examined] == ["renames", "renames"]


# Modes


def test_error_names_pass_proxy_numbers_and_nodes() -> None:
    with pytest.raises(
        GuardError, match=r"guard: pass 'edit': worse: .*width_of_node of 'conv\d' \d -> 1\) at node 'conv"
    ):
        guarded(edit_pass(one_replica), module_at("graph"))


def test_rollback_restores_exactly() -> None:
    module = module_at("graph")
    options = PrintOptions(debuginfo=True)
    before = ir_text(module, options)

    def harm(module: ModuleOp) -> None:
        one_replica(module)
        module.attributes["more"] = StringAttr("x")

    guard = guarded(edit_pass(harm), module, Mode.ROLLBACK)
    assert ir_text(module, options) == before
    assert [found.fault != "" for found in guard.examined] == [True]
    PassManager(build_pipeline("spat-merge-graph,spat-schedule-peft"), (Guard(), Verifier())).run(
        make_context(), module
    )


def raises(module: ModuleOp) -> None:
    one_replica(module)
    module.attributes["more"] = StringAttr("x")
    raise ValueError("half-way")


def exits(module: ModuleOp) -> None:
    one_replica(module)
    raise SystemExit(0)


def refuses(module: ModuleOp) -> None:
    one_replica(module)
    raise TileError("node 'conv1'", "too big", "shrink it")


def leaves_nonsense(module: ModuleOp) -> None:
    one_replica(module)
    for op in module.walk():
        op.properties.pop("replicas", None)


def leaves_no_region(module: ModuleOp) -> None:
    module.detach_region(module.regions[0])


def leaves_two_blocks(module: ModuleOp) -> None:
    module.body.add_block(Block())
    module.location = UnknownLoc()


@pytest.mark.parametrize(
    ("edit", "error", "what"),
    [
        (raises, PassBug, "pass 'edit' failed: ValueError: half-way"),
        (exits, PassBug, "pass 'edit' failed: SystemExit: 0"),
        (refuses, TileError, "node 'conv1': too big"),
        (leaves_nonsense, TileError, "pass 'edit': left an invalid module"),
        (leaves_no_region, TileError, "pass 'edit': left an invalid module"),
        (leaves_two_blocks, TileError, "pass 'edit': left an invalid module"),
    ],
)
def test_rollback_restores_what_a_pass_that_fails_has_changed(
    edit: Callable[[ModuleOp], None], error: type[Exception], what: str
) -> None:
    def content(module: ModuleOp) -> tuple[object, ...]:
        text = ir_text(module, PrintOptions(generic=True, debuginfo=True))
        return text, [(op.location, dict(op.attributes), dict(op.properties)) for op in module.walk()]

    module = module_at("graph")
    before = content(module)
    with pytest.raises(error, match=what):
        guarded(edit_pass(edit), module, Mode.ROLLBACK)
    assert content(module) == before
    PassManager(build_pipeline("spat-merge-graph,spat-schedule-peft"), (Guard(), Verifier())).run(
        make_context(), module
    )


def test_rollback_of_a_pass_that_fails_keeps_the_passes_before() -> None:
    module, expected = module_at("graph"), module_at("graph")
    passes = [edit_pass(lambda module: module.attributes.update(more=StringAttr("x"))), edit_pass(raises)]
    with pytest.raises(PassBug, match="half-way"):
        GuardedPipeline(passes, Mode.ROLLBACK).run(make_context(), module)
    expected.attributes["more"] = StringAttr("x")
    assert ir_text(module) == ir_text(expected)


def test_rollback_keeps_what_is_good() -> None:
    module = module_at("graph")
    guarded(edit_pass(lambda module: module.attributes.update(more=StringAttr("x"))), module, Mode.ROLLBACK)
    assert "more" in module.attributes


def test_an_error_is_explained_only_by_a_pass_that_was_undone_and_is_needed() -> None:
    guard = guarded(edit_pass(one_replica), module_at("graph"), Mode.ROLLBACK)
    assert guard.explained(TileError("core 0", "it needs 2 bytes and has 1", "use a larger machine")) is None
    assert guard.explained(AssertionError()) is None
    reason = guard.explained(TileError("node 'conv1'", "it is not edited", "run edit first"))
    assert reason is not None
    assert str(reason).startswith(
        "error: guard: pass 'edit': it was undone, and what comes after it needs it (node 'conv1'"
    )
    assert "width_of_node" in reason.what
    harmless = guarded(edit_pass(lambda module: None), module_at("graph"), Mode.ROLLBACK)
    assert harmless.explained(TileError("node 'conv1'", "it is not edited", "run edit first")) is None


def test_report_warns_and_goes_on() -> None:
    warnings: list[str] = []
    guard, module = Guard(Mode.REPORT, warnings.append), module_at("graph")
    PassManager((edit_pass(one_replica), edit_pass(lambda module: None)), (guard,)).run(make_context(), module)
    assert [bool(found.fault) for found in guard.examined] == [True, False]
    assert len(warnings) == 1
    assert "reported only" in warnings[0]


def test_off_does_not_look() -> None:
    guard = guarded(edit_pass(one_replica), module_at("graph"), Mode.OFF)
    assert guard.examined[0].before is None


def test_a_mode_in_the_pipeline_holds_for_as_many_passes_as_it_says() -> None:
    (mode,) = build_pipeline("guard-mode{mode=report passes=1}")
    assert "mode=report" in pipeline_text((mode,))
    warnings: list[str] = []
    harm, module = edit_pass(one_replica), module_at("graph")
    PassManager((mode, harm), (Guard(warn=warnings.append),)).run(make_context(), module)
    assert len(warnings) == 1
    nothing = edit_pass(lambda module: None)
    with pytest.raises(GuardError):
        PassManager((mode, nothing, harm), (Guard(),)).run(make_context(), module_at("graph"))


def test_a_pass_that_is_derived_of_the_one_that_sets_the_mode_is_looked_at() -> None:
    class Derived(GuardModePass):
        name = "derived"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            one_replica(op)

    with pytest.raises(GuardError):
        guarded(Derived(), module_at("graph"))


# Uncertainty


def test_a_mode_holds_for_no_negative_number_of_passes() -> None:
    with pytest.raises(TileError, match="pass 'guard-mode': passes is -1, 0 or more expected"):
        build_pipeline("guard-mode{passes=-1}")


def test_an_emptied_module_is_rejected() -> None:
    def empty(module: ModuleOp) -> None:
        for op in list(module.body.block.ops):
            op.detach()
            op.erase()

    for level in ("onnx", "graph", "buffers"):
        with pytest.raises(GuardError, match="level"):
            guarded(edit_pass(empty), module_at(level))


def test_a_lost_machine_is_rejected() -> None:
    def forget(module: ModuleOp) -> None:
        del module.attributes["tile.machine"]

    with pytest.raises(GuardError, match="not comparable: machine and precision"):
        guarded(edit_pass(forget), module_at("scheduled"))


def test_a_machine_that_cannot_be_loaded_is_rejected() -> None:
    def lose(module: ModuleOp) -> None:
        module.attributes["tile.machine"] = StringAttr("nowhere")

    with pytest.raises(GuardError, match=r"the proxies after it cannot be computed .*nowhere"):
        guarded(edit_pass(lose), module_at("scheduled"))


def without_arrays() -> ModuleOp:
    """A network whose text names its weights by a digest that nobody has."""
    text = ir_text(module_at("onnx"), PrintOptions(elide_larger_than=8))
    return parsed(re.sub('@"[0-9a-f]{32}"', f'@"{"0" * 32}"', text))


MISSING = f"""(array @"{"0" * 32}": the text names its data only by digest)"""


def test_an_input_that_lacks_its_arrays_is_no_fault_of_the_first_pass() -> None:
    with pytest.raises(GuardError) as caught:
        guarded(CanonicalizePass(), without_arrays())
    expected = f"error: guard: the proxies of the input cannot be computed {MISSING}; add --resources FILE.npz"
    assert str(caught.value) == expected


@pytest.mark.parametrize(("mode", "done"), [(Mode.REPORT, "reported only"), (Mode.ROLLBACK, "its change is undone")])
def test_an_input_that_lacks_its_arrays_in_other_modes(mode: Mode, done: str) -> None:
    warnings: list[str] = []
    guard = Guard(mode, warnings.append)
    marks = [edit_pass(lambda module: module.attributes.update(x=StringAttr("y")), name) for name in ("one", "two")]
    module = without_arrays()
    PassManager(marks, (guard, Verifier())).run(make_context(), module)
    reason = f"cannot be compared: the proxies of the input cannot be computed {MISSING}"
    assert warnings == [
        f"warning: guard: pass '{name}': {reason}; {done}; add --resources FILE.npz" for name in ("one", "two")
    ]
    assert [found.fault for found in guard.examined] == [reason, reason]
    assert ("x" in module.attributes) == (mode is Mode.REPORT)


def test_what_cannot_be_computed_before_a_pass_is_from_the_one_before_it() -> None:
    def lose(module: ModuleOp) -> None:
        module.attributes["tile.machine"] = StringAttr("nowhere")

    def nothing(module: ModuleOp) -> None:
        pass

    warnings: list[str] = []
    passes = [
        edit_pass(nothing, "one"),
        edit_pass(lose, "two"),
        edit_pass(nothing, "three"),
        edit_pass(nothing, "four"),
    ]
    PassManager(passes, (Guard(Mode.REPORT, warnings.append),)).run(make_context(), module_at("scheduled"))
    assert [text.partition(" (")[0] for text in warnings] == [
        "warning: guard: pass 'two': the proxies after it cannot be computed",
        "warning: guard: pass 'three': cannot be compared: the proxies of what pass 'two' left cannot be computed",
        "warning: guard: pass 'four': cannot be compared: the proxies of what pass 'two' left cannot be computed",
    ]
    silent = build_pipeline("guard-mode{mode=off passes=1}")
    with pytest.raises(GuardError, match=r"error: guard: the proxies of what pass 'two' left cannot be computed \("):
        PassManager((*silent, *passes[1:3]), (Guard(),)).run(make_context(), module_at("scheduled"))


def test_renamed_work_is_rejected() -> None:
    """Work that goes by another name is not comparable, name by name."""

    def rename(module: ModuleOp) -> None:
        for op in module.walk():
            op.location = module.location

    with pytest.raises(GuardError) as error:
        guarded(edit_pass(rename), module_at("graph"))
    assert {"product_elements", "vector_slots_of_node"} <= {change.field for change in error.value.harm}


def test_a_pass_that_fails_without_a_guard_is_not_undone() -> None:
    """Even if the one before it could have been."""

    class Broken(ModulePass):
        name = "broken"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            op.attributes["left"] = StringAttr("half")
            raise KeyError("lost")

    module = module_at("graph")
    passes = (edit_pass(lambda module: None), GuardModePass(Mode.OFF), Broken())
    with pytest.raises(PassBug):
        PassManager(passes, (Guard(Mode.ROLLBACK),)).run(make_context(), module)
    assert "left" in module.attributes


@pytest.mark.parametrize("machine", ["tiny4", "reference144"])
def test_a_reshape_makes_no_rows(machine: str) -> None:
    """What is computed element by element on a reshaped tensor has the rows that there were before."""
    module = networks.relu_of_rows_apart()
    passes = build_pipeline(f"tile-default{{machine={machine}}}")
    PassManager(passes, [Guard(Mode.ERROR)]).run(make_context(), module)


def test_a_shuffle_keeps_rows() -> None:
    """Between its reshapes there are five axes. The layer behind has the rows of the image nevertheless, so that they
    are no more where two shuffles come to none."""
    graph = Graph(1, 8, 5, 5)
    once = graph.model(graph.conv(shuffle(graph, "x", 8, 5, 4), 8, 8))
    assert proxies(import_onnx(once.SerializeToString())).layer_rows == 5
    graph = Graph(1, 8, 5, 5)
    lower(graph.model(graph.conv(shuffle(graph, shuffle(graph, "x", 8, 5, 4), 8, 5, 2), 8, 8)), machine="tiny4")


# Use from elsewhere


@dataclass(frozen=True)
class TheirPass(ModulePass):
    """A pass of another compiler, which never heard of contracts."""

    name = "theirs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        one_replica(op)


@dataclass(frozen=True)
class TheirTradingPass(TheirPass):
    name = "theirs-trading"
    contract: ClassVar[Contract] = Contract(
        dict.fromkeys(
            ("width_of_node", "vector_turns_of_node", "product_slots", "span_cycles", "weight_elements"),
            may_trade("the machine has room for one copy only"),
        )
    )


def test_any_passes_behind_the_guard() -> None:
    context, module = make_context(), module_at("graph")
    with pytest.raises(GuardError):
        GuardedPipeline([TheirPass()]).run(context, module)
    found = GuardedPipeline([TheirTradingPass()]).run(context, module_at("graph"))
    assert not found[0].fault


# Tools


def test_tile_opt_stops_and_writes_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, report, plugin = tmp_path / "in.mlir", tmp_path / "guard.json", tmp_path / "bad.py"
    source.write_text(ir_text(module_at("graph"), PrintOptions(debuginfo=True)))
    plugin.write_text(
        "from dataclasses import dataclass\nfrom xdsl.passes import ModulePass\n"
        "from xdsl.dialects.builtin import IntegerAttr, i64\n\n@dataclass(frozen=True)\nclass BadPass(ModulePass):\n"
        "    name = 'bad'\n\n    def apply(self, ctx, op):\n        for one in op.walk():\n"
        "            if 'replicas' in one.properties:\n"
        "                one.properties['replicas'] = IntegerAttr(1, i64)\n"
    )
    arguments = [str(source), f"--load-pass-plugin={plugin}", "-p", "bad", "--quiet"]
    assert tile_opt([*arguments, "--guard-report", str(report)]) == 1
    assert "guard: pass 'bad'" in capsys.readouterr().err
    content = json.loads(report.read_text())
    (found,) = content["passes"]
    assert found["verdict"] == "rejected"
    assert Proxies.from_json(found["before"]).level is Level.GRAPH
    assert content["peak_rss_bytes"] > 0
    for mode in ("rollback", "report"):
        assert tile_opt([*arguments, f"--guard={mode}"]) == 0
        assert "warning: guard" in capsys.readouterr().err
    assert tile_opt([*arguments, "--guard=off"]) == 0
    assert capsys.readouterr().err == ""


def test_a_rejection_is_the_users_to_read() -> None:
    with pytest.raises(TileError) as caught:
        guarded(edit_pass(one_replica), module_at("graph"))
    assert "--guard=report" in caught.value.remedy
