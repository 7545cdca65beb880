"""The interpreter of the `onnx` dialect: names, errors, and how much it holds."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from tilec.dialects import onnx as ops
from tilec.dialects.registry import make_context
from tilec.simulators.onnx_interpreter import interpret
from tilec.support.diagnostics import TileError
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.parser import Parser

NETWORK = """
func.func @main(%x: tensor<3xf32> {onnx.name = "image"}, %y: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3xf32> {onnx.name = "sum"}) {
  %0 = onnx.Relu(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = onnx.Add(%0, %y) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}
"""


def parse(text: str) -> ModuleOp:
    return Parser(make_context(allow_unregistered=True), text).parse_module()


def test_inputs_and_outputs_go_by_name() -> None:
    outputs = interpret(parse(NETWORK), {"image": np.array([-1, 0, 2]), "input1": np.ones(3)})
    assert list(outputs) == ["output0", "sum"]
    np.testing.assert_array_equal(outputs["sum"], [1, 1, 3])
    assert outputs["sum"].dtype == np.float32


@pytest.mark.parametrize(
    ("text", "inputs", "message"),
    [
        (NETWORK, {"image": np.ones(3)}, "input 'input1': is missing"),
        (NETWORK, {"image": np.ones(3), "input1": np.ones(4)}, r"input 'input1': has shape \(4,\), the network takes"),
        ("func.func @other() { func.return }", {}, "there is no function @main"),
        ('func.func @main() { "test.unknown"() : () -> () loc("n")\n func.return }', {}, "at node 'n': is not of the"),
    ],
)
def test_errors(text: str, inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(TileError, match=message):
        interpret(parse(text), inputs)


def test_values_are_dropped_after_their_last_use() -> None:
    type = TensorType(f32, (1000000,))
    block = Block(arg_types=[type])
    value: SSAValue = block.args[0]
    for _ in range(50):
        block.add_op(op := ops.ReluOp.of([value]))
        value = op.y
    block.add_op(ReturnOp(value))
    module = ModuleOp([FuncOp("main", ([type], [type]), Region(block))])

    x = np.ones(1000000, np.float32)
    tracemalloc.start()
    interpret(module, {"input0": x})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * x.nbytes


def test_the_onnx_package_is_imported_only_to_import() -> None:
    code = (
        "import tilec.lowering.onnx_importer, tilec.passes.onnx_simplify, tilec.simulators.onnx_interpreter, sys;"
        "sys.exit('onnx' in sys.modules or 'google.protobuf' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
