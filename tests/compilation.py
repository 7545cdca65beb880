"""Compiles a model in this process, runs the package on the functional simulator, and compares with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from tilec.codegen.build import build_package
from tilec.codegen.guarded import guard_package
from tilec.codegen.manifest import Origin
from tilec.codegen.package import Package
from tilec.codegen.stream_check import check_stream
from tilec.dialects.array_text import inline_limit
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Guard
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from tilec.simulators.functional import FunctionalSimulator
from tilec.tools.opt_input import Chunk, parse_chunk
from xdsl.dialects.builtin import ModuleOp

Tensors = dict[str, NDArray[Any]]

onnxruntime.set_default_logger_severity(3)

TOLERANCE = 1e-3
"""Of the largest absolute value of an output."""


def lower(
    model: onnx.ModelProto,
    machine: str = "reference144",
    options: str = "",
    after_pass: Callable[[str, ModuleOp], None] | None = None,
) -> ModuleOp:
    """The module after the default pipeline, verified and guarded after every pass."""
    module = import_onnx(model.SerializeToString())
    context = make_context()
    for one in build_pipeline(f"tile-default{{machine={machine}{options}}}"):
        PassManager((one,), (Guard(), Verifier())).run(context, module)
        if after_pass is not None:
            after_pass(one.name, module)
    return module


def module_text(module: ModuleOp) -> str:
    """The text of a small module, all numbers in it. Property tests draw texts: they show a counterexample best."""
    with inline_limit(1 << 20):
        return str(module)


def parse_module(text: str) -> ModuleOp:
    return parse_chunk(Chunk("module", text), make_context())


def package_of(module: ModuleOp) -> Package:
    """The package of a lowered module, its program checked by the stream validator and guarded."""
    package = build_package(module, Origin("model"), {})
    faults = check_stream(package.program, package.weights, package.memory.size_bytes)
    assert not faults, faults[0]
    return guard_package(Guard(), module, package, 0.0)


def compile_model(model: onnx.ModelProto, machine: str = "reference144", options: str = "") -> Package:
    return package_of(lower(model, machine, options))


def simulate(package: Package, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
    """The outputs of the package; memory that was never written poisons what is computed from it."""
    return FunctionalSimulator(package, poison=True).run(inputs)


def run_onnxruntime(model: onnx.ModelProto, inputs: Mapping[str, NDArray[Any]]) -> Tensors:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, dict(inputs)), strict=True))


def random_inputs(model: onnx.ModelProto, seed: int = 0) -> Tensors:
    """A standard normal array for each input that is not an initializer."""
    random = np.random.default_rng(seed)
    initializers = {tensor.name for tensor in model.graph.initializer}
    return {
        value.name: random.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in model.graph.input
        if value.name not in initializers
    }


def assert_computes(package: Package, model: onnx.ModelProto, inputs: Mapping[str, NDArray[Any]]) -> None:
    """The package gives onnxruntime's outputs."""
    found, expected = simulate(package, inputs), run_onnxruntime(model, inputs)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].shape == value.shape
        scale = float(np.abs(value).max(initial=0)) or 1.0
        np.testing.assert_allclose(found[name], value, rtol=0, atol=TOLERANCE * scale, err_msg=name)


def check_model(model: onnx.ModelProto, machine: str = "reference144", options: str = "") -> None:
    """Compiles ``model`` and compares what it computes for one random input with onnxruntime."""
    assert_computes(compile_model(model, machine, options), model, random_inputs(model))
