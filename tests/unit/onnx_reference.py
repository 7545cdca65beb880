"""Runs one model three ways and compares: onnxruntime, the imported module, and the simplified module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from tilec.dialects.onnx import OnnxOp
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.onnx_simplify import OnnxSimplifyPass
from tilec.simulators.onnx_interpreter import interpret
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

onnxruntime.set_default_logger_severity(3)


def simplify(module: ModuleOp) -> ModuleOp:
    """Simplifies ``module`` in place, and verifies it."""
    OnnxSimplifyPass().apply(Context(), module)
    module.verify()
    return module


def op_counts(module: ModuleOp) -> dict[str, int]:
    """How many ops of each kind there are, constants aside."""
    counts: dict[str, int] = {}
    for op in module.walk():
        if isinstance(op, OnnxOp) and op.name != "onnx.Constant":
            name = op.name.removeprefix("onnx.")
            counts[name] = counts.get(name, 0) + 1
    return counts


def run_onnxruntime(model: onnx.ModelProto, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, dict(inputs)), strict=True))


def random_inputs(model: onnx.ModelProto, seed: int = 0) -> dict[str, NDArray[Any]]:
    """A standard normal array for each input that is not an initializer."""
    random = np.random.default_rng(seed)
    initializers = {tensor.name for tensor in model.graph.initializer}
    return {
        value.name: random.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in model.graph.input
        if value.name not in initializers
    }


def assert_same(
    actual: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]], tolerance: float = 1e-4
) -> None:
    """The outputs agree to within ``tolerance``, relative to the range of each output."""
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        assert actual[name].dtype == value.dtype
        scale = max(float(np.abs(value).max(initial=0)), 1e-3) if value.dtype.kind == "f" else 1.0
        np.testing.assert_allclose(actual[name], value, rtol=tolerance, atol=tolerance * scale)


def check_model(model: onnx.ModelProto, inputs: Mapping[str, NDArray[Any]] | None = None) -> ModuleOp:
    """Checks that import and simplification keep what ``model`` computes; returns the simplified module."""
    inputs = random_inputs(model) if inputs is None else inputs
    expected = run_onnxruntime(model, inputs)
    module = import_onnx(model.SerializeToString())
    module.verify()
    assert_same(interpret(module, inputs), expected)
    simplify(module)
    assert_same(interpret(module, inputs), expected)
    return module
