"""Small programs at every level for the tests of the guard, and the surveys of what is done to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Guard, Mode
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.parser import Parser
from xdsl.passes import ModulePass

LEVELS = {
    "onnx": "onnx-simplify",
    "graph": "onnx-simplify,convert-onnx-to-spat{machine=tiny4}",
    "scheduled": "onnx-simplify,convert-onnx-to-spat{machine=tiny4},spat-merge-graph,spat-schedule-peft,"
    "spat-materialize-schedule,spat-defer-communication,spat-realize-communication",
    "placed": "onnx-simplify,convert-onnx-to-spat{machine=tiny4},spat-merge-graph,spat-schedule-peft,"
    "spat-materialize-schedule",
    "tensors": "",
    "buffers": "",
    "planned": "",
}
LEVELS["tensors"] = LEVELS["scheduled"] + ",convert-spat-to-pim"
LEVELS["buffers"] = LEVELS["tensors"] + ",pim-bufferize"
LEVELS["planned"] = LEVELS["buffers"] + ",pim-plan-memory"


def network(size: int = 8) -> onnx.ModelProto:
    """Two convolutions whose results are added, and a pool: enough for messages between four cores."""
    random = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="conv2", kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("Add", ["c2", "r1"], ["s"], name="add"),
        helper.make_node("MaxPool", ["s"], ["y"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, size // 2, size // 2])],
        [weight("w1", 8, 4, 3, 3), weight("b1", 8), weight("w2", 8, 8, 3, 3)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def module_at(level: str, size: int = 8) -> ModuleOp:
    """The network at one of `LEVELS`."""
    module = import_onnx(network(size).SerializeToString())
    PassManager(build_pipeline(LEVELS[level])).run(make_context(), module)
    return module


def parsed(text: str) -> ModuleOp:
    return Parser(make_context(True), text).parse_module()


def edit_pass(edit: Callable[[ModuleOp], None], name: str = "edit") -> ModulePass:
    """A pass without a contract that does ``edit``."""

    class EditPass(ModulePass):
        def apply(self, ctx: Context, op: ModuleOp) -> None:
            edit(op)

    EditPass.name = name
    return EditPass()


def one_replica(module: ModuleOp) -> None:
    """Fewer lanes at once: the sabotage that most tests here use."""
    for op in module.walk():
        if "replicas" in op.properties:
            op.properties["replicas"] = IntegerAttr(1, i64)


def guarded(one: ModulePass, module: ModuleOp, mode: Mode = Mode.ERROR) -> Guard:
    """The guard that has looked at the pass."""
    guard = Guard(mode, lambda text: None)
    PassManager((one,), (guard, Verifier())).run(make_context(), module)
    return guard


def harm_of(edit: Callable[[ModuleOp], None], module: ModuleOp) -> set[str]:
    """The fields that the guard rejects after ``edit``; empty if it accepts."""
    guard = Guard(Mode.REPORT, lambda text: None)
    PassManager((edit_pass(edit),), (guard, Verifier())).run(make_context(), module)
    return harm_by(guard)


def harm_by(guard: Guard) -> set[str]:
    """The fields for which the guard rejects the one thing that it has examined."""
    (found,) = guard.examined
    assert bool(found.fault) == bool(found.harm)
    return {change.field for change in found.harm}


def becomes(other: ModuleOp) -> Callable[[ModuleOp], None]:
    """Puts the content of another module in place of all that is there."""

    def edit(module: ModuleOp) -> None:
        for op in list(module.body.block.ops):
            op.detach()
            op.drop_all_references()
        for op in list(other.body.block.ops):
            op.detach()
            module.body.block.add_op(op)

    return edit
