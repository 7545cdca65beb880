"""`tile-run` as a command: inputs, outputs, batches, the check, and what it says when something is wrong."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from full_disk import file_size_limit
from onnx import TensorProto, helper, numpy_helper
from programs import load, package, program, store
from tilec.analysis.machine import Machine
from tilec.analysis.machine_file import PRESETS
from tilec.codegen.manifest import Origin
from tilec.codegen.memory_image import TensorLayout
from tilec.codegen.package import read_package, write_package
from tilec.support.diagnostics import TileError
from tilec.tools.run_check import output_errors
from tilec.tools.run_tensors import output_files
from tilec.tools.tile_run import main

WEIGHTS = np.random.default_rng(5).normal(size=(8, 4)).astype(np.float32)
SAMPLES = np.random.default_rng(6).normal(size=(20, 1, 8)).astype(np.float32)
EXPECTED = np.maximum(SAMPLES @ WEIGHTS, 0)


def write_model(path: Path, weights: np.ndarray = WEIGHTS, element_type: int = TensorProto.FLOAT) -> str:
    """A model of one matrix product and a ReLU; returns its hash."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", element_type, [1, 8])],
        [helper.make_tensor_value_info("y", element_type, [1, 4])],
        [numpy_helper.from_array(weights.astype(helper.tensor_dtype_to_np_dtype(element_type)), "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a package, its model, samples and labels."""
    digest = write_model(tmp_path / "model.onnx")
    body = f"{load(8)}\nsldi r1, imm=64\nsldi r2, imm=0\nmvmul r1, r2, mbiw=8, group=0, relu=1\n{store(4, 64)}"
    made = package(program(body, groups=[[1]]), matrices={(0, 0): WEIGHTS})
    made = replace(
        made,
        inputs=(TensorLayout.row_major("x", (1, 8), 0),),
        outputs=(TensorLayout.row_major("y", (1, 4), 128),),
        model=Origin("model.onnx", digest),
    )
    write_package(made, tmp_path / "out")
    np.save(tmp_path / "one.npy", SAMPLES[0])
    for name, labels in (("few", np.arange(8)), ("halves", [0.5]), ("nan", [np.nan])):
        np.save(tmp_path / f"{name}.npy", labels)
    np.savez(tmp_path / "many.npz", x=SAMPLES, labels=EXPECTED.argmax(axis=2).reshape(-1))
    return tmp_path


def run(folder: Path, *arguments: str) -> int:
    return main([str(folder / "out"), *(argument.replace("@", f"{folder}/") for argument in arguments)])


def test_outputs_are_summarised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--input", "@one.npy") == 0
    out, err = capsys.readouterr()
    assert out.startswith("y: float32[1, 4], from ")
    assert err == ""


@pytest.mark.parametrize("argument", ["@one.npy", "x=@one.npy", "x=@many.npz:x"])
def test_ways_to_name_an_input(folder: Path, argument: str) -> None:
    batch = ["--batch"] if "many" in argument else []
    assert run(folder, "--input", argument, "-o", "@y.npy", *batch) == 0
    np.testing.assert_allclose(np.load(folder / "y.npy").reshape(-1, 4)[0], EXPECTED[0, 0], rtol=1e-5)


def test_outputs_are_written(folder: Path) -> None:
    assert run(folder, "-i", "@one.npy", "-o", "@y.npz") == 0
    with np.load(folder / "y.npz") as arrays:
        np.testing.assert_allclose(arrays["y"], EXPECTED[0], rtol=1e-5)
    assert run(folder, "-i", "@one.npy", "--output-dir", "@res") == 0
    np.testing.assert_allclose(np.load(folder / "res" / "y.npy"), EXPECTED[0], rtol=1e-5)


def test_a_batch_and_its_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "-i", "@many.npz", "--batch", "--limit", "3", "--argmax") == 0
    predictions = EXPECTED.argmax(axis=2).reshape(-1)
    assert capsys.readouterr().out == " ".join(map(str, predictions[:3])) + "\n"
    assert run(folder, "-i", "@many.npz", "--batch", "--labels", "@many.npz:labels") == 0
    assert "20 of 20 right (100.0 %)" in capsys.readouterr().out


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--batch", "--labels", "@many.npz:labels", "--check", "--model", "@model.onnx", "--json")
    assert run(folder, "-i", "@many.npz", *arguments) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["outputs"]["y"]["shape"] == [20, 1, 4]
    assert content["right"] == 20
    assert content["check"]["passed"] is True
    assert content["predictions"] == content["reference_predictions"]


def test_the_check_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--random", "1", "--check", "--model", "@model.onnx") == 0
    assert "check y: max abs error" in capsys.readouterr().out
    assert (
        run(folder, "-i", "@many.npz", "--batch", "--labels", "@many.npz:labels", "--check", "--model", "@model.onnx")
        == 0
    )
    assert "20 of 20 predictions as onnxruntime's" in capsys.readouterr().out


@pytest.mark.parametrize("element_type", [TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_the_check_gives_the_model_its_own_type(
    folder: Path, element_type: int, capsys: pytest.CaptureFixture[str]
) -> None:
    made = read_package(folder / "out")
    digest = write_model(folder / "model.onnx", element_type=element_type)
    write_package(replace(made, model=Origin("model.onnx", digest)), folder / "out")
    arguments = ("--check", "--model", "@model.onnx", "--tolerance", "0.01")
    assert run(folder, "--random", "1", *arguments) == 0
    assert run(folder, "-i", "@many.npz", "--batch", *arguments) == 0
    assert capsys.readouterr().out.count("ok") == 2


@pytest.mark.filterwarnings("error")
def test_inputs_that_are_too_large_are_infinite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(folder / "large.npy", np.full((1, 8), 1e300))
    for arguments in (["-o", "@y.npz"], ["--scale", "2", "-o", "@y.npz"]):
        assert run(folder, "-i", "@large.npy", *arguments) == 0
        with np.load(folder / "y.npz") as arrays:
            assert not np.isfinite(arrays["y"]).any()
    assert run(folder, "-i", "@large.npy", "--check", "--model", "@model.onnx") == 0
    assert capsys.readouterr().err == ""


def test_the_check_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = read_package(folder / "out")
    wrong = replace(made, weights=replace(made.weights, matrices=(WEIGHTS * np.float32(1.01),)))
    write_package(wrong, folder / "out")
    arguments = ("-i", "@one.npy", "--check", "--model", "@model.onnx")
    assert run(folder, *arguments) == 1
    assert "TOO LARGE" in capsys.readouterr().out
    assert run(folder, *arguments, "--tolerance", "0.1") == 0


def test_a_reference_that_only_rounding_varies_has_no_range() -> None:
    """A softmax gives 0.5 twice, but for the last bit: what is off by as little as that is no error."""
    half, above = np.float32(0.5), np.nextafter(np.float32(0.5), np.float32(1))
    reference, other = np.array([half, above, half]), np.array([above, half, half])
    (error,) = output_errors({"y": other}, {"y": reference})
    assert error.max_abs_error == float(above - half)
    assert error.relative == error.max_abs_error
    (error,) = output_errors({"y": other + np.float32(0.01)}, {"y": reference})
    assert error.relative == pytest.approx(0.01, rel=1e-3)
    # What varies by more than rounding has a range, however small.
    (error,) = output_errors({"y": other}, {"y": reference + np.array([0, 0, 1e-5])})
    assert error.relative > 1e-3


def test_what_is_no_number_has_to_be_none_on_both_sides() -> None:
    none, one = np.array([np.nan, 1.0]), np.array([2.0, 1.0])
    for output, reference, expected in ((none, none, 0.0), (none, one, np.inf), (one, none, np.inf)):
        (error,) = output_errors({"y": output}, {"y": reference})
        assert error.max_abs_error == expected


def test_not_a_number_is_too_large(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = read_package(folder / "out")
    broken = replace(made, weights=replace(made.weights, matrices=(np.full((8, 4), np.nan, np.float32),)))
    write_package(broken, folder / "out")
    assert run(folder, "-i", "@one.npy", "--check", "--model", "@model.onnx", "--tolerance", "1e9") == 1
    assert run(folder, "-i", "@one.npy", "--check", "--model", "@model.onnx", "--json") == 1
    assert '"inf"' in capsys.readouterr().out


def test_quiet_and_verbose(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "-i", "@one.npy", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert run(folder, "-i", "@one.npy", "--verbose") == 0
    assert "package " in capsys.readouterr().err


def test_a_leading_one_may_be_left_out(folder: Path) -> None:
    np.save(folder / "flat.npy", SAMPLES[:, 0])
    assert run(folder, "-i", "@flat.npy", "--batch", "-o", "@y.npy") == 0
    np.testing.assert_allclose(np.load(folder / "y.npy"), EXPECTED, rtol=1e-5)


@pytest.mark.parametrize(("factor", "value"), [("1/4", 0.25), ("3", 3.0), ("-2e0", -2.0)])
def test_inputs_are_scaled(folder: Path, factor: str, value: float) -> None:
    assert run(folder, "-i", "@one.npy", f"--scale={factor}", "-o", "@y.npy") == 0
    expected = np.maximum(SAMPLES[0] * np.float32(value) @ WEIGHTS, 0)
    np.testing.assert_allclose(np.load(folder / "y.npy"), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--input: nothing is given for 'x'; add --input NAME=FILE, or --random SEED"),
        (["-i", "@none.npy"], "none.npy: does not exist"),
        (["-i", "z=@one.npy"], "the package has no input 'z'; it has 'x'"),
        (["-i", "@one.npy", "-i", "x=@one.npy"], "input 'x' is given twice"),
        (["-i", "@many.npz"], "input 'x': has shape [20, 1, 8]; add --batch to run each of the samples"),
        (["-i", "@many.npz:z"], "many.npz: has no array 'z'; it has 'x', 'labels'"),
        (["-i", "@many.npz:labels"], "input 'x': has shape [20]; give it [1, 8]"),
        (["-i", "@model.onnx"], "model.onnx: is no .npy or .npz file of numbers"),
        (["-i", "@out"], "out: cannot be read"),
        (["-i", "@one.npy", "--random", "1"], "--random: and --input exclude each other"),
        (["-i", "@one.npy", "--limit", "3"], "--limit: is only used with --batch"),
        (["-i", "@one.npy", "--check"], "--check: needs the model to compare with; add --model FILE.onnx"),
        (["-i", "@one.npy", "--model", "@model.onnx"], "--model: is only used with --check"),
        (["-i", "@one.npy", "--check", "--model", "@none.onnx"], "none.onnx: no such file or directory"),
        (["-i", "@one.npy", "--check", "--model", "@one.npy"], "is not the model that the package was compiled from"),
        (["-i", "@one.npy", "--check", "--model", "/dev/zero"], "/dev/zero: is a device; give the .onnx file"),
        (["-i", "@one.npy", "-o", "@y.txt"], "y.txt: cannot hold 1 outputs; name an .npz file"),
        (["-i", "@one.npy", "-o", "@none/y.npy"], "there is no directory"),
        (["-i", "@many.npz", "--batch", "--labels", "@one.npy"], "has shape [1, 8]; give one label for each sample"),
        (["-i", "@many.npz", "--batch", "--labels", "@few.npy"], "has 8 labels for 20 samples"),
        (["-i", "@one.npy", "--labels", "@halves.npy"], "label 0.5 is no whole number"),
        (["-i", "@one.npy", "--labels", "@nan.npy"], "label nan is no whole number"),
        (["--rando", "1"], "unknown option '--rando'; did you mean '--random'?"),
        (["--limit", "0"], "must be a whole number of at least 1, not '0'"),
        (["--random", "-1"], "must be a whole number from 0 on, of at most 20 digits, not '-1'"),
        (["--random", "1" * 5000], "must be a whole number from 0 on"),
        (["--random", "1", "--batch", "--limit", "1" + "0" * 17], "bytes of random numbers, at most"),
        (["-i", "@one.npy", "--output-dir", "@one.npy/y"], "cannot be made: '"),
        (["-i", "@one.npy", "--check", "--model", "@model.onnx", "--check-report", "@none/c"], "there is no directory"),
        (["-i", "@one.npy", "-o", "@one.npy"], "one.npy', which is read; name another file"),
        (["-i", "@one.npy", "-o", "@out/weights.npz"], "would replace the package; name another file"),
        (
            ["-i", "@one.npy", "--check", "--model", "@model.onnx", "--check-report", "@model.onnx"],
            "would replace the model",
        ),
        (["-i", "@one.npy", "-o", "@" + "n" * 300 + ".npy"], "file name too long; shorten it"),
        (["--tolerance", "nan"], "must be 0 or more, not nan"),
        (["--tolerance", "x"], "must be a number"),
        (["--scale", "1/0"], "must be a number or a fraction, not 1/0"),
        (["--scale", "1e999"], "must be finite"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(folder, *arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


def test_a_package_that_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder / "nowhere"), "--random", "1"]) == 1
    assert "does not exist" in capsys.readouterr().err
    assert main(["/dev/zero", "--random", "1"]) == 1
    assert capsys.readouterr().err.startswith("error: /dev/zero: is a device; name a package")


def test_objects_in_a_file_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(folder / "objects.npy", np.array([{}, []], object), allow_pickle=True)
    np.save(folder / "text.npy", np.array(["a", "b"]))
    for name in ("objects", "text"):
        assert run(folder, "-i", f"@{name}.npy") == 1
        assert "numbers" in capsys.readouterr().err


def test_a_missing_onnxruntime_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert run(folder, "-i", "@one.npy", "--check", "--model", "@model.onnx") == 1
    assert "needs onnxruntime, which is not installed; pip install onnxruntime" in capsys.readouterr().err


def test_the_wrong_model_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_model(folder / "other.onnx", WEIGHTS * 2)
    assert run(folder, "-i", "@one.npy", "--check", "--model", "@other.onnx") == 1
    assert "is not the model that the package was compiled from (model.onnx)" in capsys.readouterr().err


# Timing


@pytest.fixture
def timed(folder: Path) -> Path:
    """The folder with the package compiled for a preset machine."""
    machine = Machine.load("tiny4")
    made = replace(read_package(folder / "out"), machine=Origin("tiny4", machine.digest()))
    write_package(made, folder / "out")
    return folder


def test_timing_needs_neither_inputs_nor_a_machine(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(timed, "--timing") == 0
    out, err = capsys.readouterr()
    assert out.startswith("latency ")
    assert "1 of 1 cores finish" in out
    assert "core 0" in out
    assert err == ""


def test_energy_that_the_machine_does_not_give_is_named(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(timed, "--timing") == 0
    *_, note = capsys.readouterr().out.splitlines()
    assert note == "0 because the machine file gives no energy for it: vector, local memory, global memory, front end"


def test_energy_that_the_machine_gives_is_not_named(
    timed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads((PRESETS / "tiny4.json").read_text())
    chip = content["chip_config"]
    chip["core_config"]["vector_alu_dynamic_energy"] = 1.5
    chip["core_config"]["local_memory_config"]["write_dynamic_energy"] = 0.25
    chip["network_config"]["mesh"]["energy"] = 0
    (tmp_path / "chip.json").write_text(json.dumps(content))
    assert run(timed, "--timing", "--machine", "@chip.json", "--other-machine") == 0
    *lines, note = capsys.readouterr().out.splitlines()
    assert note == "0 because the machine file gives no energy for it: global memory, front end, network"
    energy = {line[:13].strip(): float(line[13:].split()[0]) for line in lines[-8:]}
    assert energy["local memory"] > 0
    assert energy["network"] == 0


@pytest.mark.parametrize("name", ["program.json.gz", "program.bin"])
def test_a_damaged_program_is_not_timed(timed: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever form of it: the other one is what another simulator would time."""
    data = bytearray((timed / "out" / name).read_bytes())
    data[len(data) // 2] ^= 1
    (timed / "out" / name).write_bytes(data)
    assert run(timed, "--timing") == 1
    assert (
        f"{name}: does not have the content that the manifest says; compile the model again" in capsys.readouterr().err
    )


def test_timing_as_json(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(timed, "--timing", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machine"] == "tiny4"
    assert found["latency_ns"] == found["cores"][0]["finish_ns"] > 0
    assert sum(found["spent_ns"].values()) == found["makespan_ns"]


def test_timing_in_either_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four cores in step, which lose cycles in the simulator's heap; pimsim-nn printed 198 ns."""
    add = {"op": "vvadd", "rd": 1, "rs1": 2, "rs2": 3, "len": 64}
    lines = [{"op": "setbw", "ibiw": 8, "obiw": 8}, add, {"op": "lldi", "rd": 9, "len": 64}, add]
    config = {"config": {"core_cnt": 4, "array_group_map": {}}}
    (tmp_path / "step.json").write_text(json.dumps(config | {f"core{core}": lines for core in range(4)}))
    for options, latency in (([], 198), (["--first-come"], 195)):
        arguments = [str(tmp_path / "step.json"), "--timing", "--machine", "tiny4", "--json", *options]
        assert main(arguments) == 0
        assert json.loads(capsys.readouterr().out)["latency_ns"] == latency


def test_timing_in_throughput_mode(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(timed, "--timing", "--mode", "throughput", "--sim-time", "0.1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cores"][0]["rounds"] == found["sustained_rounds"] > 1
    assert found["makespan_ns"] == 100_000


def test_timing_a_stream_as_the_simulator_reads_it(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(timed, "--timing", "--json") == 0
    package_content = json.loads(capsys.readouterr().out)
    stream = str(timed / "out" / "program.json.gz")
    assert main([stream, "--timing", "--machine", "tiny4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == package_content
    assert main([stream, "--timing"]) == 1
    assert "needs a machine" in capsys.readouterr().err


def test_a_run_that_does_not_finish_fails_and_says_where(timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"op": "sldi", "rd": 1}, {"op": "recv", "rd": 1, "core": 0, "size": 4}]
    content = {"config": {"core_cnt": 1, "array_group_map": {}}, "core0": lines}
    (timed / "dead.json").write_text(json.dumps(content))
    assert main([str(timed / "dead.json"), "--timing", "--machine", "tiny4"]) == 1
    assert "core 0: blocked at core 0, instruction 1 (recv)" in capsys.readouterr().out


def test_timing_checks_the_machine(folder: Path, timed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(timed, "--timing", "--machine", "reference144") == 1
    assert "is not the machine that the package was compiled for" in capsys.readouterr().err
    assert run(timed, "--timing", "--machine", "reference144", "--other-machine") == 0
    Machine.load("tiny4").write(timed / "mine.json")
    assert run(timed, "--timing", "--machine", "@mine.json") == 0
    write_package(replace(read_package(timed / "out"), machine=Origin("mine", "ab" * 32)), timed / "out")
    capsys.readouterr()
    assert run(timed, "--timing") == 1
    assert "machine 'mine', which is not a preset" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--timing", "--random", "0"], "--random: is not used with --timing"),
        (["--timing", "-i", "@one.npy"], "--input: is not used with --timing"),
        (["--mode", "latency"], "--mode: is only used with --timing"),
        (["--sim-time", "1"], "--sim-time: is only used with --timing"),
        (["--first-come"], "--first-come: is only used with --timing"),
        (["--timing", "--sim-time", "0"], "must be more than 0"),
        (["--timing", "--machine", "none"], "neither a machine file nor a preset"),
    ],
)
def test_timing_options_that_make_no_sense(
    timed: Path, arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(timed, *arguments) == 1
    assert what in capsys.readouterr().err


@pytest.mark.parametrize("size_bytes", [16, 140])
@pytest.mark.parametrize(
    ("arguments", "name"),
    [(["-o", "@y.npy"], "y.npy"), (["-o", "@y.npz"], "y.npz"), (["--output-dir", "@o/d"], "o/d/y.npy")],
)
def test_outputs_without_space_are_named_and_leave_nothing(
    folder: Path, arguments: list[str], name: str, size_bytes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if the header of the array, 128 bytes, finds a place."""
    before = sorted(folder.iterdir())
    with file_size_limit(size_bytes):
        assert run(folder, "-q", "--random", "1", *arguments) == 1
    message = "cannot be written: file too large; name another place"
    assert capsys.readouterr().err == f"error: {folder / name}: {message}\n"
    assert sorted(folder.iterdir()) == before


def test_results_that_cannot_be_printed(folder: Path) -> None:
    command = [sys.executable, "-m", "tilec.tools.tile_run", str(folder / "out"), "--random", "1"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: standard output: cannot be written: no space left on device; write elsewhere\n"


def test_an_output_that_is_a_directory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "y.npz").mkdir()
    assert run(folder, "--random", "0", "-o", "@y.npz") == 1
    assert capsys.readouterr().err.endswith("y.npz: is a directory; name a file, or use --output-dir\n")


def test_outputs_whose_files_would_have_one_name_are_refused(tmp_path: Path) -> None:
    files = output_files(["a/b", "a_c"], tmp_path)
    assert [file.name for file in files.values()] == ["a_b.npy", "a_c.npy"]
    with pytest.raises(TileError, match=r"outputs 'a/b' and 'A_b' would both be A_b\.npy; write them to one"):
        output_files(["a/b", "A_b"], tmp_path)
    assert list(tmp_path.iterdir()) == []
