"""`tile-compile` as a command: options that contradict each other, and what the manifest records of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilec.codegen.package import package_digest, read_package
from tilec.tools.tile_compile import main

NETWORK = """\
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.Constant #tile.array<f32[2, 2] [1.0, 2.0, 3.0, 4.0]>
  %y = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.mlir"
    path.write_text(NETWORK)
    return path


@pytest.mark.parametrize(
    "option", [["--machine", "tiny4"], ["--weight-bits", "8"], ["--activation-bits", "8"], ["--no-replicate"]]
)
def test_target_options_do_not_go_with_a_pipeline(
    network: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(network), "-o", "out", *option, "--pass-pipeline", "tile-default{machine=tiny4}"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {option[0]}: does not apply to the passes of --pass-pipeline; ")


def test_an_empty_machine_is_an_error(network: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(network), "-o", "out", "--machine", ""]) == 1
    assert capsys.readouterr().err.startswith("error: --machine: is empty; ")


def test_spellings_of_a_pipeline_give_the_same_package(network: Path, tmp_path: Path) -> None:
    spellings = ("tile-default{machine=tiny4}", 'builtin.module( tile-default{machine="tiny4" weight-bits=8} )')
    paths = [tmp_path / f"out{number}" for number in range(len(spellings))]
    for path, spelling in zip(paths, spellings, strict=True):
        assert main([str(network), "-q", "-o", str(path), "--pass-pipeline", spelling]) == 0
    assert package_digest(paths[0]) == package_digest(paths[1])
    options = read_package(paths[0]).options
    assert list(options) == ["pipeline"]
    assert str(options["pipeline"]).startswith("builtin.module(onnx-simplify")


def test_the_default_pipeline_is_recorded_by_its_options(network: Path, tmp_path: Path) -> None:
    assert main([str(network), "-q", "-o", str(tmp_path / "out"), "--machine", "tiny4", "--no-replicate"]) == 0
    options = read_package(tmp_path / "out").options
    assert (options["weight_bits"], options["replicate"], "pipeline" in options) == (8, False, False)
