"""Where the time goes by layer: every instruction counts for one node, and the critical path adds up to the latency."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from guard_programs import network
from programs import package, program
from tilec.analysis.machine import Machine
from tilec.codegen.network_nodes import Layers
from tilec.codegen.package import Package, read_package
from tilec.support.diagnostics import TileError
from tilec.tools.report_layers import LayerReport
from tilec.tools.tables import text_table
from tilec.tools.tile_compile import main as tile_compile
from tilec.tools.tile_opt import main as tile_opt
from tilec.tools.tile_report import main as tile_report
from tilec.tools.tile_run import main as tile_run

MACHINE = Machine.load("tiny4")
NODES = [{"name": "a", "operator": "Conv"}, {"name": "gone", "operator": "Flatten"}, {"name": "b", "operator": "Relu"}]


def made(tables: dict[str, Any] | None = None) -> Package:
    """Two layers on two cores; the message between them comes from both nodes, which counts for the first."""
    cores = ("vvadd r1, r1, r1, len=64\nsend r1, size=64, core=1", "recv r1, size=64, core=0\nvrelu r1, r1, len=64")
    node = np.array([-1, 0, 1, 3, -1, 1, 2, 3], np.int32)
    of_two = dataclasses.replace(program(*cores), node=node, node_names=("a", "a+b", "b", ""))
    if tables is None:
        tables = {"nodes": NODES, "sources": [[0], [0, 2], [2], []]}
    return dataclasses.replace(package(of_two), reports={"report.json": json.dumps(tables).encode()})


def test_a_program_that_one_can_follow_by_hand() -> None:
    """The times are those of `tests/unit/test_recording.py`: the sum is done at 83, the message has left its sender at
    112 and been written at 150, the activation takes 20 + 8 + 30, the last write 30."""
    report = json.loads(LayerReport.of(made(), MACHINE, Path("made")).to_json())
    assert report["latency_ns"] == 243
    first, gone, second, rest = report["layers"]
    assert first == {
        "node": "a",
        "operator": "Conv",
        "with": ["b"],
        "cores": 1,
        "arrays": 0,
        "matrix_products": 0,
        "vector_instructions": 1,
        "scalar_instructions": 0,
        "instructions": 3,
        "sent_bytes": 64,
        "first_ns": 4,
        "last_ns": 150,
        "busy_ns": {"matrix": 0, "vector": 78, "transfer": 28 + 146, "scalar": 0},
        "path_ns": {
            **{"matrix": 0, "vector": 79, "local_move": 0, "global_memory": 0},
            **{"message": 4 + 4 + 20 + 8 + 30 + 1, "scalar": 2},
        },
        "path_share": 148 / 243,
    }
    assert (gone["node"], gone["instructions"], gone["first_ns"], gone["path_share"]) == ("gone", 0, None, 0)
    assert (second["node"], second["cores"], second["first_ns"], second["last_ns"]) == ("b", 1, 152, 210)
    assert second["path_ns"]["vector"] + second["path_ns"]["scalar"] == 59 + 1
    assert (rest["node"], rest["scalar_instructions"]) == (None, 2)
    assert rest["path_ns"]["local_move"] + rest["path_ns"]["scalar"] == 31 + 2
    assert report["path_waits_ns"] == {"memory_queue": 0, "event": 0, "start": 2, "stall": 0}
    text = LayerReport.of(made(), MACHINE, Path("made")).text(True)
    assert [line.split()[0] for line in text.splitlines()[4:7]] == ["a", "b", "(no"]
    assert text.splitlines()[-1].split() == ["gone", "Flatten"]


def test_without_tables_every_name_is_a_node() -> None:
    report = json.loads(LayerReport.of(made({}), MACHINE, Path("made")).to_json())
    assert [layer["node"] for layer in report["layers"]] == ["a", "a+b", "b", None, None]
    assert [layer["instructions"] for layer in report["layers"]] == [1, 2, 1, 0, 4]


@pytest.mark.parametrize(
    ("tables", "what"),
    [
        ({"nodes": NODES, "sources": [[0], [2], []]}, "3 sources for 4 names"),
        ({"nodes": NODES, "sources": [[0], [3], [2], []]}, "3 is no node"),
        ({"nodes": NODES, "sources": [[0], ["x"], [2], []]}, "x is no node"),
        ({"nodes": NODES, "sources": 3}, "not iterable"),
        ({"nodes": NODES}, "'sources'"),
        ({"nodes": [{"name": "a"}], "sources": [[], [], [], []]}, "'operator'"),
        ({"nodes": [{"name": 3, "operator": ""}], "sources": [[], [], [], []]}, "3 is no string"),
        ({"nodes": 5, "sources": []}, "not iterable"),
    ],
)
def test_damaged_tables_are_an_error(tables: dict[str, Any], what: str) -> None:
    with pytest.raises(TileError, match=f"made: has no table of nodes: .*{what}.*; compile the model again"):
        Layers.of(made().program, tables, "made")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert tile_report(["show", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_layers_sum_up_to_what_is_known_of_the_package(
    compiled_network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = shown(capsys, str(compiled_network), "--layers")
    manifest = json.loads((compiled_network / "manifest.json").read_text())["statistics"]
    assert tile_run([str(compiled_network), "--timing", "--json"]) == 0
    timing = json.loads(capsys.readouterr().out)
    layers = report["layers"]
    assert [(layer["node"], layer["operator"]) for layer in layers] == [
        ("conv1", "Conv"), ("relu1", "Relu"), ("conv2", "Conv"), ("add", "Add"), ("pool", "MaxPool"), (None, None)
    ]  # fmt: skip

    def total(name: str) -> int:
        assert report["totals"][name] == sum(layer[name] for layer in layers)
        return report["totals"][name]

    assert total("matrix_products") == manifest["opcodes"]["mvmul"] > 0
    assert total("instructions") == sum(manifest["opcodes"].values())
    assert total("vector_instructions") == sum(manifest["per_core"]["vector"])
    assert total("scalar_instructions") == sum(manifest["per_core"]["scalar"] + manifest["per_core"]["setup"])
    assert total("sent_bytes") == sum(manifest["per_core"]["sent_bytes"]) > 0
    assert total("arrays") == sum(manifest["per_core"]["arrays"])
    assert report["totals"]["cores"] == sum(
        one + other > 0
        for one, other in zip(*(manifest["per_core"][unit] for unit in ("matrix", "vector")), strict=True)
    )
    for name, unit in (("matrix", "groups"), ("vector", "vector"), ("transfer", "transfer")):
        busy = sum(core["busy_ns"][unit] for core in timing["cores"])
        assert sum(layer["busy_ns"][name] for layer in layers) == report["totals"]["busy_ns"][name] == busy
    path = sum(time for layer in layers for time in layer["path_ns"].values())
    assert path + sum(report["path_waits_ns"].values()) == report["latency_ns"] == timing["latency_ns"]
    for layer in layers:
        assert layer["path_share"] == pytest.approx(sum(layer["path_ns"].values()) / timing["latency_ns"])


def test_the_arrays_of_a_layer_are_those_that_the_compiler_gave_it(
    compiled_network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = shown(capsys, str(compiled_network), "--layers")
    given: dict[str, int] = {}
    for batch in json.loads((compiled_network / "report/report.json").read_text())["layers"]:
        first = batch["nodes"].split("+")[0]
        given[first] = given.get(first, 0) + batch["arrays"]
    assert {layer["node"]: layer["arrays"] for layer in report["layers"] if layer["arrays"]} == {
        name: arrays for name, arrays in given.items() if arrays
    }


def test_the_tables_are_the_same_however_the_network_is_named(compiled_network: Path, tmp_path: Path) -> None:
    """A `+` in a name is no join of names."""
    model = network()
    for node in model.graph.node:
        node.name = "one+" + node.name
    onnx.save(model, tmp_path / "net.onnx")
    assert tile_compile([str(tmp_path / "net.onnx"), "-q", "-o", str(tmp_path / "out")]) == 0
    plain, joined = (read_package(path, with_reports=True) for path in (compiled_network, tmp_path / "out"))
    tables = [json.loads(one.reports["report.json"]) for one in (plain, joined)]
    assert tables[0]["sources"] == tables[1]["sources"]
    assert [f"one+{node['name']}" for node in tables[0]["nodes"]] == [node["name"] for node in tables[1]["nodes"]]


@pytest.mark.parametrize(("passes", "operators"), [(1, True), (3, False)])
def test_from_text_the_nodes_are_known_and_at_the_onnx_level_their_operators(
    compiled_network: Path, tmp_path: Path, passes: int, operators: bool
) -> None:
    pipeline = ["onnx-simplify", "convert-onnx-to-spat{machine=reference144}", "spat-merge-graph"]
    after = ["spat-merge-trivial", "spat-schedule-peft", "spat-materialize-schedule", "spat-defer-communication"]
    after += ["spat-realize-communication", "convert-spat-to-pim", "pim-bufferize", "pim-plan-memory"]
    text, arrays = tmp_path / "net.mlir", tmp_path / "net.npz"
    model = str(compiled_network.parent / "net.onnx")
    arguments = ["-p", ",".join(pipeline[:passes]), "--print-debuginfo", "-o", str(text)]
    assert tile_opt([model, *arguments, "--emit-resources", str(arrays)]) == 0
    rest = ",".join([*pipeline[passes:], *after])
    arguments = ["--resources", str(arrays), "--pass-pipeline", rest, "-q", "-o", str(tmp_path / "out")]
    assert tile_compile([str(text), *arguments]) == 0
    nodes = json.loads((tmp_path / "out/report/report.json").read_text())["nodes"]
    names = {"conv1": "Conv", "relu1": "Relu", "conv2": "Conv", "add": "Add", "pool": "MaxPool"}
    assert {node["name"]: node["operator"] for node in nodes} == {
        name: operator if operators else "" for name, operator in names.items()
    }


def test_text(compiled_network: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = shown(capsys, str(compiled_network), "--layers")
    assert tile_report(["show", str(compiled_network), "--layers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"latency {report['latency_ns']} ns, {report['latency_ns']} cycles"
    (conv,) = (line.split() for line in lines if line.startswith("conv2"))
    layer = report["layers"][2]
    assert conv[1] == "Conv"
    assert conv[4] == str(layer["matrix_products"])
    assert conv[-1] == f"{100 * layer['path_share']:.1f}"
    assert any(line.startswith("all ") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["show", "{}", "--layers", "--idle"], "error: --layers: and --idle exclude each other; remove one"),
        (["show", "{}", "--layers", "--no-clock"], "error: --layers: needs the clock; remove --no-clock"),
        (["diff", "{}", "{}", "--layers"], "error: --layers: is only used with show; remove it"),
        (
            ["show", "{}/report/proxies.json", "--layers"],
            "is not a package, so that it cannot be timed; give a package",
        ),
    ],
)
def test_errors(compiled_network: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str) -> None:
    assert tile_report([one.format(compiled_network) for one in arguments]) == 1
    printed = capsys.readouterr()
    assert error in printed.err
    assert not printed.out


def test_a_program_that_does_not_finish_is_an_error() -> None:
    stuck = dataclasses.replace(package(program("recv r1, size=64, core=1", "")), reports={})
    with pytest.raises(TileError, match=r"stuck: core 0 does not finish \(blocked\), .*; tile-run --timing says where"):
        LayerReport.of(stuck, MACHINE, Path("stuck"))


def test_a_program_of_unnamed_text_says_why_it_has_no_layers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = "tensor<1x4xf32>"
    text = f"func.func @main(%x: {kind}) -> {kind} {{\n  %y = onnx.Relu(%x) : ({kind}) -> {kind}"
    (tmp_path / "plain.mlir").write_text(text + "\n  func.return %y : tensor<1x4xf32>\n}\n")
    (tmp_path / "named.mlir").write_text(text + ' loc("act")\n  func.return %y : tensor<1x4xf32>\n}\n')
    for name in ("plain", "named"):
        arguments = [str(tmp_path / f"{name}.mlir"), "-o", str(tmp_path / name), "--machine", "tiny4", "-q"]
        assert tile_compile(arguments) == 0
        assert tile_report(["show", str(tmp_path / name), "--layers"]) == 0
        printed = capsys.readouterr().out
        assert ("--print-debuginfo" in printed) == (name == "plain")
        assert ("\nact " in printed) == (name == "named")


def test_line_breaks_in_names_do_not_break_the_table() -> None:
    table = text_table([["con\nv", "1"], ["\x1b[31mred", "2"]], ["node", "cores"])
    assert table.splitlines()[2:] == ["con\\nv             1", "\\x1b[31mred        2"]
