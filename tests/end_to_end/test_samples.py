"""Several samples in flight: each comes out as onnxruntime computes it alone, and whatever the others are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from compilation import compile_model, run_onnxruntime, simulate
from models import build
from tilec.analysis.machine import Machine
from tilec.codegen.manifest import content_sha256
from tilec.codegen.package import Package, read_package
from tilec.simulators.timing import simulate as clock
from tilec.tools.tile_compile import main as tile_compile
from tilec.tools.tile_run import main as tile_run

RESNET8 = Path(__file__).parents[2] / "examples" / "mnist_resnet8.onnx"
DIGITS = Path(__file__).parents[2] / "examples" / "mnist_test200.npz"


@pytest.fixture(scope="module")
def package() -> Package:
    return compile_model(onnx.load(RESNET8), options=" samples=3")


def digits(count: int) -> np.ndarray:
    return np.load(DIGITS)["x"][:count].reshape(-1, 1, 28, 28).astype(np.float32)


def test_every_sample_is_computed_as_if_alone(package: Package) -> None:
    images = digits(3)
    found = simulate(package, {"input": images})["logits"]
    expected = np.concatenate(
        [run_onnxruntime(onnx.load(RESNET8), {"input": images[at : at + 1]})["logits"] for at in range(3)]
    )
    assert found.shape == expected.shape == (3, 10)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("changed", range(3))
def test_no_sample_depends_on_another(package: Package, changed: int) -> None:
    """Bit for bit, whatever stands in its place; and memory that was never written is poison."""
    images = digits(3)
    before = simulate(package, {"input": images})["logits"]
    images[changed] = 1 - 3 * images[changed]
    after = simulate(package, {"input": images})["logits"]
    others = [sample for sample in range(3) if sample != changed]
    np.testing.assert_array_equal(after[others], before[others])
    assert not np.array_equal(after[changed], before[changed])


def test_samples_overlap(package: Package) -> None:
    """Each further sample takes less than half of what one alone does."""
    machine = Machine.load("reference144")
    times = [
        clock(one.program, machine).makespan_ns
        for one in (compile_model(onnx.load(RESNET8)), package, compile_model(onnx.load(RESNET8), options=" samples=6"))
    ]
    assert (times[2] - times[1]) / 3 < times[0] / 2


@pytest.mark.parametrize("name", ["alexnet", "mobilenet_v2", "resnet18", "shufflenet_v1", "squeezenet1_0"])
def test_networks(name: str) -> None:
    """All kinds of layers, in lanes of two samples."""
    model = build(name, image_size=64 if name == "alexnet" else 32, num_classes=10)
    (name_in,) = [value.name for value in model.graph.input]
    size = model.graph.input[0].type.tensor_type.shape.dim[2].dim_value
    images = np.random.default_rng(2).normal(size=(2, 3, size, size)).astype(np.float32)
    (found,) = simulate(compile_model(model, options=" samples=2"), {name_in: images}).values()
    for sample in range(2):
        (expected,) = run_onnxruntime(model, {name_in: images[sample : sample + 1]}).values()
        np.testing.assert_allclose(found[sample : sample + 1], expected, rtol=0, atol=1e-3 * np.abs(expected).max())


# The commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package for four samples."""
    found = tmp_path_factory.mktemp("samples")
    assert tile_compile([str(RESNET8), "-o", str(found / "out"), "--samples", "4", "-q"]) == 0
    return found


def test_the_package_says_how_many(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_package(folder / "out").samples == 4
    assert read_package(folder / "out").options["samples"] == 4
    assert tile_run([str(folder / "out"), "--timing"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("4 samples, ")]
    assert float(line.split()[2]) == pytest.approx(float(lines[0].split()[1]) / 4)
    assert tile_run([str(folder / "out"), "--timing", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 4


def test_random_samples_are_checked_one_by_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(folder / "out"), "--random", "3", "--check", "--model", str(RESNET8), "--argmax", "--json"]
    assert tile_run(arguments) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["outputs"]["logits"]["shape"] == [4, 10]
    assert len(content["predictions"]) == 4
    assert content["predictions"] == content["reference_predictions"]
    assert content["check"]["passed"] is True


@pytest.mark.parametrize("count", [1, 4, 10])
def test_any_number_of_samples_goes_in_groups(folder: Path, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    """As many at once as the package takes; what fills the last group is not among the results."""
    labels = np.load(DIGITS)["y"][:count]
    np.savez(folder / "digits.npz", x=np.load(DIGITS)["x"][:count], y=labels)
    given = ["--input", f"{folder}/digits.npz:x", "--batch", "--labels", f"{folder}/digits.npz:y"]
    checked = ["--check", "--model", str(RESNET8), "--json", "-o", str(folder / "logits.npy")]
    assert tile_run([str(folder / "out"), *given, *checked]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["outputs"]["logits"]["shape"] == [count, 1, 10]
    assert content["labels"] == count == len(content["predictions"])
    assert content["right"] == np.sum(np.array(content["predictions"]) == labels)
    assert content["check"]["passed"] is True
    one = run_onnxruntime(onnx.load(RESNET8), {"input": digits(count)[count - 1 :]})["logits"]
    np.testing.assert_allclose(np.load(folder / "logits.npy")[-1], one, atol=1e-4)


def test_the_right_number_of_samples_goes_in_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(folder / "four.npy", digits(4))
    assert tile_run([str(folder / "out"), "--input", f"{folder}/four.npy", "--argmax"]) == 0
    assert [int(digit) for digit in capsys.readouterr().out.split()] == np.load(DIGITS)["y"][:4].tolist()
    np.save(folder / "five.npy", digits(5))
    assert tile_run([str(folder / "out"), "--input", f"{folder}/five.npy"]) == 1
    expected = "error: input 'input': has shape [5, 1, 28, 28]; add --batch to run each of the samples\n"
    assert capsys.readouterr().err == expected


def test_a_pipeline_compiles_the_same_package(folder: Path) -> None:
    """Apart from how it was asked for: the number of samples is in the program, not in the options."""
    pipeline = ["--pass-pipeline", "tile-default{samples=4}"]
    assert tile_compile([str(RESNET8), "-o", str(folder / "again"), "-q", *pipeline]) == 0
    again = read_package(folder / "again")
    assert again.samples == 4
    first = json.loads((folder / "out" / "manifest.json").read_bytes())["files"]
    second = json.loads((folder / "again" / "manifest.json").read_bytes())["files"]
    assert first == second


def test_a_manifest_that_does_not_fit_its_samples_is_corrupt(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    manifest = json.loads((folder / "out" / "manifest.json").read_bytes())
    (tmp_path / "out").mkdir()
    for wrong, text in (
        (3, "not all tensors are of 3 samples"),
        (0, "0 is not a whole number"),
        ("4", "4 is not a whole"),
    ):
        manifest["samples"] = wrong
        manifest["sha256"] = content_sha256(manifest)
        (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
        assert tile_run([str(tmp_path / "out"), "--random", "0"]) == 1
        assert text in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["0", "-1", "x", "1000001", "1.5", "9" * 30])
def test_a_wrong_number_of_samples_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tile_compile([str(RESNET8), "-o", "out", f"--samples={wrong}"]) == 1
    assert "expected a number from 1 to 1000000" in capsys.readouterr().err


def test_a_network_of_a_batch_is_no_sample(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = onnx.load(RESNET8)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    del model.graph.value_info[:]
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 2
    onnx.save(model, tmp_path / "two.onnx")
    assert tile_compile([str(tmp_path / "two.onnx"), "-o", str(tmp_path / "out"), "--samples", "2"]) == 1
    assert "whose leading axis does not hold one sample" in capsys.readouterr().err
