"""Stock `xdsl-opt` finds the dialects, the passes and the ONNX frontend of the installed project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from tilec.dialects.registry import DIALECTS
from tilec.passes.registry import NAMED_PIPELINES
from tilec.support.diagnostics import TileError
from tilec.tools.universe import TILE_UNIVERSE, OnnxFrontend
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.universe import XDSL_UNIVERSE, Universe

XDSL_OPT = Path(sys.executable).with_name("xdsl-opt")

NETWORK = """
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
"""


def xdsl_opt(*arguments: str) -> str:
    done = subprocess.run([str(XDSL_OPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """`Relu` of an input of a symbolic size."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_names_are_ours_alone() -> None:
    for kind in ("all_dialects", "all_passes", "all_frontends", "all_targets"):
        assert not getattr(TILE_UNIVERSE, kind).keys() & getattr(XDSL_UNIVERSE, kind).keys()
    assert TILE_UNIVERSE.all_dialects.keys() == DIALECTS.keys()
    assert [*NAMED_PIPELINES["tile-default"].split(","), "guard-mode"] == list(TILE_UNIVERSE.all_passes)


def test_installed() -> None:
    found = Universe.get_multiverse()
    assert TILE_UNIVERSE.all_dialects.keys() <= found.all_dialects.keys()
    assert TILE_UNIVERSE.all_passes.keys() <= found.all_passes.keys()
    for name, factory in TILE_UNIVERSE.all_passes.items():
        assert factory().name == name
    for name, factory in TILE_UNIVERSE.all_dialects.items():
        assert factory().name == name


def test_xdsl_opt(tmp_path: Path) -> None:
    source = tmp_path / "network.mlir"
    source.write_text(NETWORK)
    assert "onnx.Gemm(%x, %w)" in xdsl_opt(str(source), "-p", "onnx-simplify")
    assert "spat.vmm" in xdsl_opt(str(source), "-p", "onnx-simplify,convert-onnx-to-spat{machine=tiny4}")
    assert "pim.program" in xdsl_opt(str(source), "-p", NAMED_PIPELINES["tile-default"])


def test_xdsl_opt_reads_models(model: Path) -> None:
    assert "onnx.Relu(%x) : (tensor<3x2xf32>)" in xdsl_opt(str(model), "-f", 'onnx{dims="batch=3"}')


def test_frontend(model: Path) -> None:
    def parse(*dims: str, name: str) -> ModuleOp:
        with model.open("rb") as file:
            return OnnxFrontend(dims).parse(Context(), file, name)

    for name in (str(model), "stdin"):
        assert "tensor<3x2xf32>" in str(parse("batch=3", name=name))
    for wrong in ("batch", "batch=x", "=3"):
        with pytest.raises(TileError, match="dims has"):
            parse(wrong, name=str(model))
