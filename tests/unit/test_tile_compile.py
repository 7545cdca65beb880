"""`tile-compile` as a command: options that contradict each other, and what the manifest records of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from full_disk import file_size_limit
from guard_programs import network as network_of_guard
from tilec.codegen.expansion import expand_program
from tilec.codegen.instruction_table import InstructionTable
from tilec.codegen.package import package_digest, read_package
from tilec.passes import watch_plan
from tilec.passes.watch_plan import contract_of
from tilec.simulators.functional import run
from tilec.support.diagnostics import TileError
from tilec.tools import tile_opt
from tilec.tools.compile_driver import CompileDriver
from tilec.tools.session import Ended
from tilec.tools.tile_compile import main

TINY = Path(__file__).parents[2] / "analysis" / "machines" / "tiny4.json"

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


@pytest.mark.parametrize("passes", [False, True])
def test_a_weight_wider_than_a_row_of_an_array_is_refused(
    network: Path, tmp_path: Path, passes: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row of 8 cells of one bit each holds one weight of 8 bits, and none of 16."""
    content = json.loads(TINY.read_text())
    content["chip_config"]["core_config"]["matrix_config"].update(
        xbar_size=[128, 8], cell_precision=1, dac_count=1, adc_count=1
    )
    machine = tmp_path / "narrow.json"
    machine.write_text(json.dumps(content))
    compiled = [str(network), "-q", "-o", str(tmp_path / "out")]
    assert main([*compiled, "--machine", str(machine), "--weight-bits", "8"]) == 0
    wide = ["--machine", str(machine), "--weight-bits", "16"]
    if passes:
        wide = ["--pass-pipeline", f"tile-default{{machine={machine} weight-bits=16}}"]
    assert main([*compiled, *wide]) == 1
    what = "a row of an array holds 8 bits, one weight has 16"
    remedy = "give weights 8 bits or fewer, or the machine wider arrays"
    assert capsys.readouterr().err == f"error: machine narrow: {what}; {remedy}\n"


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


@pytest.mark.parametrize(("element", "dtype"), [("f16", "float16"), ("f64", "float64"), ("f32", "float32")])
def test_the_element_type_of_the_network_is_recorded(element: str, dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "network.mlir"
    path.write_text(NETWORK.replace("f32", element))
    assert main([str(path), "-q", "-o", str(tmp_path / "out"), "--machine", "tiny4"]) == 0
    made = read_package(tmp_path / "out")
    assert [layout.dtype for layout in (*made.inputs, *made.outputs)] == [dtype, dtype]
    x = np.array([[1, 2]], dtype)
    (y,) = run(made, {made.inputs[0].name: x}).values()
    assert y.dtype == dtype
    assert y.tolist() == [[7, 10]]


def test_a_lowered_module_needs_no_passes(network: Path, tmp_path: Path) -> None:
    lowered = tmp_path / "lowered.mlir"
    assert tile_opt.main([str(network), "-p", "tile-default{machine=tiny4}", "-o", str(lowered)]) == 0
    assert main([str(lowered), "-q", "-o", str(tmp_path / "out"), "--pass-pipeline", ""]) == 0
    assert read_package(tmp_path / "out").options["pipeline"] == "builtin.module()"


def test_what_a_build_took_stands_outside_its_package(network: Path, tmp_path: Path) -> None:
    """Time and memory are not the same twice; a package is."""
    digests: list[str] = []
    for name, more in (("a", []), ("b", ["--build-report", str(tmp_path / "b.json"), "--timing"])):
        assert main([str(network), "-q", "-o", str(tmp_path / name), "--machine", "tiny4", *more]) == 0
        digests.append(package_digest(tmp_path / name))
    assert digests[0] == digests[1]
    content = json.loads((tmp_path / "b.json").read_text())
    assert content["package"] == digests[0]
    assert 0 < sum(content["seconds"].values()) <= content["wall_seconds"]
    assert content["seconds"].keys() >= {"Code generation", "Output", "pim-bufferize"}
    assert content["cpu_seconds"] > 0
    assert content["peak_rss_bytes"] > 10 << 20
    report = json.loads(read_package(tmp_path / "a", with_reports=True).reports["proxies.json"])
    assert report["stages"] == content["stages"]
    assert list(report["stages"])[:2] == ["input", "onnx-simplify"]
    assert list(report["stages"])[-2:] == ["pim-plan-memory", "package"]


def test_the_guard_reports_on_code_generation(network: Path, tmp_path: Path) -> None:
    guard = str(tmp_path / "guard.json")
    assert main([str(network), "-q", "-o", str(tmp_path / "out"), "--machine", "tiny4", "--guard-report", guard]) == 0
    last = json.loads(Path(guard).read_text())["passes"][-1]
    assert (last["pass"], last["verdict"], last["after"]["level"]) == ("pim-codegen", "accepted", "package")
    assert last["seconds"] > 0


def test_the_guard_s_mode_in_the_pipeline_holds_for_code_generation(network: Path, tmp_path: Path) -> None:
    guard = str(tmp_path / "guard.json")
    pipeline = "tile-default{machine=tiny4},guard-mode{mode=off}"
    arguments = [str(network), "-q", "-o", str(tmp_path / "out"), "--pass-pipeline", pipeline, "--guard-report", guard]
    assert main(arguments) == 0
    last = json.loads(Path(guard).read_text())["passes"][-1]
    assert (last["pass"], last["mode"], last["after"]) == ("pim-codegen", "off", None)
    report = json.loads(read_package(tmp_path / "out", with_reports=True).reports["proxies.json"])
    assert "package" not in report["stages"]


def test_a_package_that_breaks_the_contract_is_not_written(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code generation that issues everything twice."""

    def twice(*arguments: Any) -> tuple[InstructionTable, tuple[str, ...]]:
        table, nodes = expand_program(*arguments)
        return InstructionTable.concat((table, table)), nodes

    monkeypatch.setattr("tilec.codegen.build.expand_program", twice)
    arguments = [str(network), "-q", "-o", str(tmp_path / "out"), "--machine", "tiny4"]
    assert main(arguments) == 1
    assert "guard: pass 'pim-codegen': " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*arguments, "--guard=report"]) == 0
    assert (tmp_path / "out").exists()


def reject(name: str, patch: pytest.MonkeyPatch) -> None:
    """Lets a pass break its contract: it may not even lower."""
    patch.setattr(watch_plan, "contract_of", lambda one: watch_plan.STRICTEST if one.name == name else contract_of(one))


LOWERINGS = (
    "convert-onnx-to-spat",
    "spat-schedule-peft",
    "spat-materialize-schedule",
    "spat-realize-communication",
    "convert-spat-to-pim",
    "pim-bufferize",
    "pim-plan-memory",
)
"""Passes that later ones need."""


@pytest.mark.parametrize("name", LOWERINGS)
def test_without_a_pass_that_was_undone_there_is_no_package(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is about this pass, and says what got worse, not which pass has missed it."""
    model = tmp_path / "model.onnx"
    onnx.save(network_of_guard(), model)
    reject(name, monkeypatch)
    assert main([str(model), "-q", "-o", str(tmp_path / "out"), "--machine", "tiny4", "--guard=rollback"]) == 1
    warning, error = capsys.readouterr().err.splitlines()
    assert warning.startswith(f"warning: guard: pass '{name}': ")
    assert error.startswith(f"error: guard: pass '{name}': it was undone, and what comes after it needs it (")
    fault = warning.removeprefix(f"warning: guard: pass '{name}': ").removesuffix("; its change is undone")
    assert f"): {fault}; " in error
    assert "--guard=report" in error


def test_a_model_that_cannot_be_compiled_is_no_fault_of_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the guard says of a pass: what the user can do something about comes first."""
    machine = tmp_path / "small.json"
    content = json.loads(TINY.read_text(encoding="utf-8"))
    content["chip_config"]["core_config"]["local_memory_config"]["memory_size"] = 256
    machine.write_text(json.dumps(content), encoding="utf-8")
    model = tmp_path / "model.onnx"
    onnx.save(network_of_guard(), model)
    arguments = [str(model), "-q", "-o", str(tmp_path / "out"), "--machine"]
    reject("spat-schedule-peft", monkeypatch)
    assert main([*arguments, str(machine)]) == 1
    assert "bytes of local memory and has 256" in capsys.readouterr().err
    assert main([*arguments, "tiny4"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: guard: pass 'spat-schedule-peft': changed: level")
    assert "not of the model" in error
    assert "--guard=report" in error
    assert "--guard-report" in error


@pytest.mark.parametrize("memory_bytes", [1, 2, 4])
def test_a_memory_of_a_few_bytes_is_refused(
    memory_bytes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(TINY.read_text(encoding="utf-8"))
    content["chip_config"]["core_config"]["local_memory_config"]["memory_size"] = memory_bytes
    machine, model = tmp_path / "small.json", tmp_path / "model.onnx"
    machine.write_text(json.dumps(content), encoding="utf-8")
    onnx.save(network_of_guard(), model)
    assert main([str(model), "-q", "-o", str(tmp_path / "out"), "--machine", str(machine)]) == 1
    assert f"bytes of local memory and has {memory_bytes}" in capsys.readouterr().err


def never(*_: object) -> None:
    raise AssertionError("compiled for a place that cannot be written")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-o", "@out", "--build-report", "@none/b.json"],
            "cannot be written: there is no directory '{}/none'; make it",
        ),
        (["-o", "@out", "--build-report", "@"], "is a directory; name a file"),
        (
            ["-o", "@out", "--guard-report", "@none/g.json"],
            "cannot be written: there is no directory '{}/none'; make it",
        ),
        (
            ["-o", "@out", "--print-ir-tree-dir", "@network.mlir"],
            "cannot be made: '{}/network.mlir' is not a directory; ",
        ),
        (["-o", "@"], "exists and is not a package, so that it is not replaced; give another name"),
        (["-o", "@network.mlir"], "exists and is not a package, so that it is not replaced; give another name"),
        (["-o", "@network.mlir/out"], "cannot be made: '{}/network.mlir' is not a directory; give another name"),
        (
            ["-o", "@network.mlir/out.tilepkg"],
            "cannot be made: '{}/network.mlir' is not a directory; give another name",
        ),
        (["-o", "@" + "n" * 300], "cannot be written: file name too long; "),
        (["-o", "@out", "--build-report", "@" + "n" * 300], "file name too long; shorten it"),
        (["-o", "@out", "--print-ir-tree-dir", "@" + "n" * 300], "cannot be written: file name too long; shorten it"),
        (["-o", "@out", "--guard-report", "@network.mlir"], "would replace the model; name another file"),
        (["-o", "@out", "--build-report", "@x/../network.mlir"], "would replace the model; name another file"),
        (["-o", "@out", "--build-report", "@out"], "--build-report {0}/out: is where the package is written; name"),
        (["-o", "@out", "--guard-report", "@./x/../out"], "out: is where the package is written; name another place"),
        (["-o", "@o.tilepkg", "--build-report", "@o.tilepkg"], "is where the package is written; name another place"),
        (["-o", "@out", "--build-report", "@out/b.json"], "b.json: lies in the package '{}/out'; name another place"),
        (
            ["-o", "@out", "--print-ir-tree-dir", "@x/../out"],
            "out: is where the package is written; name another place",
        ),
        (["-o", "@out", "--print-ir-tree-dir", "@out/tree"], "tree: lies in the package '{}/out'; name another place"),
        (["-o", "@o.tilepkg", "--print-ir-tree-dir", "@o.tilepkg"], "is where the package is written; name another"),
        (
            ["-o", "@out", "--guard-report", "@r", "--print-ir-tree-dir", "@r"],
            "r: is also what --guard-report writes; ",
        ),
        (
            ["-o", "@out", "--build-report", "@r", "--print-ir-tree-dir", "@r/t"],
            "t: lies in what --build-report writes",
        ),
        (["-o", "@out", "--guard-report", "@r", "--build-report", "@r"], "is also what --build-report writes; name"),
    ],
)
def test_places_are_looked_at_before_compiling(
    network: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tilec.tools.compile_driver.read_input", never)
    folder = network.parent
    given = [one.replace("@", f"{folder}/") for one in arguments]
    assert main([str(network), "--machine", "tiny4", *given]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message.format(folder) in line
    assert [one.name for one in folder.iterdir()] == ["network.mlir"]


@pytest.mark.parametrize("name", ["", ".", "..", "{}"])
def test_the_current_directory_is_not_replaced(
    network: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who works there would be nowhere."""
    here = network.parent / "outer" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    assert main([str(network), "-o", name.format(here), "--machine", "tiny4"]) == 1
    assert "is the current directory, or one that holds it, so that it is not replaced; " in capsys.readouterr().err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "error: input: its name is empty; give a .mlir or .onnx file, or '-' for stdin\n"),
        ("@net.py", "net.py: is a Python program, neither MLIR text nor an ONNX model; give a .mlir or .onnx file\n"),
        ("@net.PT", "net.PT: is a PyTorch file, neither MLIR text nor an ONNX model; give a .mlir or .onnx file\n"),
    ],
)
@pytest.mark.parametrize("tool", ["tile-compile", "tile-opt"])
def test_what_is_no_model(
    tool: str, name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = name.replace("@", f"{tmp_path}/")
    if path:
        Path(path).write_text('"""A docstring."""\n')
    assert (main([path, "-o", str(tmp_path / "out")]) if tool == "tile-compile" else tile_opt.main([path])) == 1
    assert capsys.readouterr().err.endswith(message)


def test_a_build_report_that_cannot_be_made_leaves_no_package(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of the report goes away while the network is compiled."""
    (tmp_path / "reports").mkdir()
    generate = CompileDriver._generate  # pyright: ignore[reportPrivateUsage]

    def without_folder(*arguments: Any) -> Any:
        (tmp_path / "reports").rmdir()
        return generate(*arguments)

    monkeypatch.setattr(CompileDriver, "_generate", without_folder)
    arguments = [str(network), "-o", str(tmp_path / "out"), "--machine", "tiny4"]
    assert main([*arguments, "--build-report", str(tmp_path / "reports" / "b.json")]) == 1
    assert "there is no directory" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["network.mlir"]


def test_a_build_report_without_space_leaves_no_package(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The package would have its place; the report is larger than all that is left."""
    monkeypatch.setattr("tilec.tools.compile_driver.build_report", lambda *_: " " * (1 << 20))  # pyright: ignore
    arguments = [str(network), "-q", "-o", str(tmp_path / "out"), "--machine", "tiny4"]
    with file_size_limit(1 << 18):
        assert main([*arguments, "--build-report", str(tmp_path / "b.json")]) == 1
    message = "b.json: cannot be written: file too large; name another place\n"
    assert capsys.readouterr().err == f"error: {tmp_path}/{message}"
    assert [one.name for one in tmp_path.iterdir()] == ["network.mlir"]


def test_resources_are_for_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(Path(__file__).parents[2] / "examples" / "mnist_lenet5.onnx")
    assert main([model, "-o", str(tmp_path / "out"), "--resources", "none.npz"]) == 1
    assert capsys.readouterr().err.startswith("error: --resources: ")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("peak <i64[4] [", "peak <i64[4] [1", "pim.program: its peaks are not ["),
        ("groups <i32[1] [0]>", "groups <i32[1] [7]>", "core 0: its array groups are [7], not numbered from 0 on; "),
        (
            "cores <i32[1] [0]>",
            "cores <i32[1] [4000000]>",
            "core 4000000, and machine 'tiny4' has 4 cores, 0 to 3; ",
        ),
        ("steps <i64[1] [", "steps <i64[1] [99999999999999", "a step is 99999999999999"),
    ],
)
@pytest.mark.parametrize("option", ["--verify-each", "--no-verify-each"])
def test_an_altered_program_is_refused(
    before: str,
    after: str,
    message: str,
    option: str,
    network: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lowered = tmp_path / "lowered.mlir"
    assert tile_opt.main([str(network), "-p", "tile-default{machine=tiny4}", "-o", str(lowered)]) == 0
    text = lowered.read_text()
    assert before in text
    lowered.write_text(text.replace(before, after, 1))
    assert main([str(lowered), "-q", "-o", str(tmp_path / "out"), "--pass-pipeline", "", option]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.onnx", None, "cannot be read: no such file or directory"),
        ("folder.onnx", b"", "cannot be read: is a directory"),
        ("model.onnx", b"\x08\x07\x3a\xff", "is not an ONNX model, or damaged or truncated (4 bytes)"),
        ("model.onnx", b"", "is empty"),
    ],
)
def test_models_that_cannot_be_read(
    name: str, content: bytes | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Although they are opened before the compiler is imported, the error is the importer's."""
    path = tmp_path / name
    if name.startswith("folder"):
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert main([str(path), "-o", str(tmp_path / "out"), "--machine", "tiny4"]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("error", "code", "kept"),
    [(KeyboardInterrupt(), 130, False), (Ended(15), 143, False), (TileError("pass 'x'", "rejected"), 1, True)],
)
def test_an_interrupted_run_has_no_guard_report(
    error: BaseException, code: int, kept: bool, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would look like that of a run that has passed."""

    def fails(self: object, *arguments: object) -> None:
        raise error

    monkeypatch.setattr(CompileDriver, "_generate", fails)
    report = tmp_path / "guard.json"
    assert main([str(network), "-q", "-o", str(tmp_path / "out"), "--guard-report", str(report)]) == code
    assert report.exists() == kept


@pytest.mark.parametrize("text", ["root:x:0:0:root:/root:/bin/sh\n", "# A title\n", "// A comment\n{}\n"])
def test_text_that_is_no_ir(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "passwd"
    path.write_text(text)
    assert main([str(path), "-o", str(tmp_path / "out")]) == 1
    message = f"error: {path}: is neither MLIR text nor an ONNX model; give a .mlir or .onnx file\n"
    assert capsys.readouterr().err == message


@pytest.mark.parametrize("tool", [main, tile_opt.main])
def test_the_arrays_of_a_tree_are_not_replaced_by_what_goes_on_from_it(
    tool: Callable[[list[str]], int], network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    resources = tmp_path / "ir" / "resources.npz"
    resources.parent.mkdir()
    np.savez(resources)
    before = resources.read_bytes()
    where = ["-o", str(tmp_path / "out"), "--resources", str(resources), "--print-ir-tree-dir", str(tmp_path / "ir")]
    assert tool([str(network), *where]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    what = f"would replace the resources {resources}; name another file"
    assert line == f"error: --print-ir-tree-dir {resources}: {what}"
    assert resources.read_bytes() == before
