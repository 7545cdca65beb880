"""Weights are in memory once: what a pass replaces is let go, by whoever looks at the module as well."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tilec.dialects.onnx import ConstantOp
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Guard
from tilec.passes.instrumentation import PassInstrumentation, PassRun
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import ModuleOp


def network() -> onnx.ModelProto:
    """A convolution that takes up a normalization, and a product with a transposed matrix."""
    draw = np.random.default_rng(0)
    shapes = {"w": (32, 32, 3, 3), "s": (32,), "b": (32,), "m": (32,), "v": (32,), "fc": (64, 2048)}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        helper.make_node("Flatten", ["n"], ["f"]),
        helper.make_node("Gemm", ["f", "fc"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(draw.random(shape, np.float32), name) for name, shape in shapes.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def large_arrays(module: ModuleOp) -> list[weakref.ref[np.ndarray]]:
    """The memory of the constants of a network; of a view that of what it shows."""
    arrays = [op.value.array for op in module.walk() if isinstance(op, ConstantOp) and op.value.size > 1000]
    return [weakref.ref(array if array.base is None else array.base) for array in arrays]


class Watch(PassInstrumentation):
    """Counts, after each pass, the arrays that are still there: of the network as it was read, and simplified."""

    def __init__(self, module: ModuleOp) -> None:
        self.watched = {"read": large_arrays(module)}
        self.alive: dict[str, dict[str, int]] = {}

    def after_pass(self, run: PassRun) -> None:
        if run.name == "onnx-simplify":
            self.watched["simplified"] = large_arrays(run.module)
        self.alive[run.name] = {name: sum(one() is not None for one in arrays) for name, arrays in self.watched.items()}


@pytest.fixture
def _without_collector() -> Generator[None]:
    """Large arrays are few objects, after which the collector does not come by."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_without_collector")
def test_weights_are_let_go() -> None:
    module = import_onnx(network().SerializeToString())
    watch = Watch(module)
    PassManager(build_pipeline("tile-default"), (Guard(), Verifier(), watch)).run(make_context(), module)
    # The matrix is not copied, only seen as transposed; the kernel is multiplied.
    assert watch.alive["onnx-simplify"] == {"read": 2, "simplified": 2}
    assert watch.alive["convert-onnx-to-spat"]["read"] == 1
    assert watch.alive["spat-merge-trivial"] == {"read": 0, "simplified": 0}
