"""Networks that compute nothing: they compile and give back what they are given, and emptying one is still rejected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from guard_programs import edit_pass, module_at, parsed
from tilec.analysis.proxies import Level
from tilec.codegen.package import read_package
from tilec.dialects.registry import make_context
from tilec.passes.guard import Guard, GuardError
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.onnx_simplify import OnnxSimplifyPass
from tilec.passes.pipeline import build_pipeline
from tilec.simulators.functional import run
from tilec.support.diagnostics import TileError
from tilec.tools.tile_compile import main
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass

NAMED = '{onnx.name = "x"}'

IDLE = {
    "one input": "func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> { func.return %x : tensor<1x2xf32> }",
    "named": f"func.func @main(%x: tensor<1x2xf32> {NAMED}) -> tensor<1x2xf32> {{ func.return %x : tensor<1x2xf32> }}",
    "an image": "func.func @main(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {"
    " func.return %x : tensor<1x2x3x4xf32> }",
    "an identity": "func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {"
    " %y = onnx.Identity(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32> func.return %y : tensor<1x2xf32> }",
    "what comes to nothing": "func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {"
    " %z = onnx.Constant #tile.array<f32[1] [0.0]>"
    " %y = onnx.Add(%x, %z) : (tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x2xf32>"
    " %u = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32> func.return %y : tensor<1x2xf32> }",
}

SWAPPED = """\
func.func @main(%x: tensor<1x2xf32>, %z: tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<1x2xf32>, tensor<1x3xf32>) {
  func.return %z, %x, %z : tensor<1x3xf32>, tensor<1x2xf32>, tensor<1x3xf32>
}
"""


def after(text: str, pipeline: str) -> Guard:
    """What the guard has found of each pass of the pipeline."""
    guard = Guard()
    PassManager(build_pipeline(pipeline), (guard, Verifier())).run(make_context(), parsed(text))
    return guard


@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("name", IDLE)
def test_an_idle_network_gives_its_input_back(name: str, samples: int, tmp_path: Path) -> None:
    text, out = tmp_path / "idle.mlir", tmp_path / "out"
    text.write_text(IDLE[name])
    assert main([str(text), "-o", str(out), "-q", "--samples", str(samples)]) == 0
    package = read_package(out)
    (tensor,) = package.inputs
    given = np.random.default_rng(0).standard_normal(tensor.shape).astype(np.float32)
    (found,) = run(package, {tensor.name: given}).values()
    assert np.array_equal(found, given)


def test_inputs_come_back_in_the_order_in_which_they_are_returned(tmp_path: Path) -> None:
    text, out = tmp_path / "idle.mlir", tmp_path / "out"
    text.write_text(SWAPPED)
    assert main([str(text), "-o", str(out), "-q"]) == 0
    x, z = np.array([[1, 2]], np.float32), np.array([[3, 4, 5]], np.float32)
    found = run(read_package(out), {"input0": x, "input1": z})
    assert [found[f"output{index}"].tolist() for index in range(3)] == [z.tolist(), x.tolist(), z.tolist()]


@pytest.mark.parametrize(
    "pipeline",
    [
        "convert-onnx-to-spat",
        "onnx-batch{samples=2},convert-onnx-to-spat",
        "onnx-batch,cse,convert-onnx-to-spat",
        "cse,onnx-simplify,cse,convert-onnx-to-spat",
        "canonicalize,dce,convert-onnx-to-spat",
    ],
)
def test_any_part_of_the_pipeline_takes_an_idle_network(pipeline: str) -> None:
    after(IDLE["one input"], pipeline)


def test_functions_that_are_no_main_may_come_to_nothing() -> None:
    """A test of one pass calls its functions as it likes."""
    (found,) = after(IDLE["an identity"].replace("@main", "@other"), "onnx-simplify").examined
    assert found.after is not None
    assert found.after.proxies.level is Level.ONNX


@pytest.mark.parametrize("type", ["tensor<?x2xf32>", "tensor<*xf32>", "tensor<f32>", "tensor<0x2xf32>", "i32"])
def test_what_is_no_network_is_refused_for_its_input(type: str) -> None:
    text = f"func.func @main(%x: {type}) -> {type} {{ func.return %x : {type} }}"
    with pytest.raises(TileError) as caught:
        after(text, "tile-default")
    assert caught.value.where == "input 'input0'"
    assert caught.value.what == f"its type is {type}"


def give_back_inputs(module: ModuleOp) -> None:
    """As if nothing had to be computed."""
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    block = function.body.block
    for op in reversed(list(block.ops)):
        op.detach()
        op.erase(safe_erase=False)
    block.add_op(ReturnOp(*block.args))
    function.update_function_type()


def test_a_network_that_is_emptied_is_rejected() -> None:
    with pytest.raises(GuardError, match="level onnx -> empty"):
        PassManager((edit_pass(give_back_inputs),), (Guard(), Verifier())).run(make_context(), module_at("onnx"))


def test_a_network_emptied_behind_a_contract_for_networks_is_rejected() -> None:
    class Emptying(ModulePass):
        name = "emptying"
        contract = OnnxSimplifyPass.contract

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            give_back_inputs(op)

    with pytest.raises(GuardError, match="level onnx -> empty"):
        PassManager((Emptying(),), (Guard(), Verifier())).run(make_context(), module_at("onnx"))


def test_an_idle_network_may_not_get_another_interface() -> None:
    class Narrowing(ModulePass):
        name = "narrowing"
        contract = OnnxSimplifyPass.contract

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            becomes_text(op, IDLE["one input"].replace("1x2", "1x1"))

    with pytest.raises(GuardError, match="inputs and outputs"):
        PassManager((Narrowing(),), (Guard(), Verifier())).run(make_context(), parsed(IDLE["one input"]))


def becomes_text(module: ModuleOp, text: str) -> None:
    for op in list(module.body.block.ops):
        op.detach()
    for op in list(parsed(text).body.block.ops):
        op.detach()
        module.body.block.add_op(op)


def test_simplifying_leaves_foreign_ops_alone() -> None:
    """Dead ones, too: a pass that works on them decides what of them is needed."""
    text = """\
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %c = arith.constant 1 : i32
  %u = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %y = onnx.Sigmoid(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
"""
    module = parsed(text)
    PassManager(build_pipeline("onnx-simplify"), (Guard(), Verifier())).run(make_context(), module)
    assert [op.name for op in module.walk()][2:] == ["arith.constant", "onnx.Sigmoid", "func.return"]
