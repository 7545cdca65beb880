"""`tile-report`: what a change of the compiler has to show, and the baselines that it may not fall behind."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest
from proxy_baselines import MODELS, path_of, report, update
from tilec.analysis.machine import Machine
from tilec.analysis.proxies import FIELDS, Counts, Level, Proxies, counts
from tilec.analysis.proxy_changes import Verdict, compare
from tilec.codegen.package import package_digest, read_package, write_package
from tilec.simulators.timing import simulate
from tilec.tools.report_changes import difference, is_regression
from tilec.tools.report_numerics import Numerics
from tilec.tools.report_proof import FIELDS_OF_ITEMS, Outcome, Tolerances, proof
from tilec.tools.report_records import Records, read_records
from tilec.tools.tile_compile import main as tile_compile
from tilec.tools.tile_opt import main as tile_opt
from tilec.tools.tile_report import main as tile_report
from tilec.tools.tile_run import main as tile_run

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("name", MODELS)
def test_no_proxy_is_worse_than_recorded(name: str) -> None:
    lines, worse = report(name)
    assert not worse, "\n".join([*lines, "if this is meant: make baselines"])


def diff(folder: Path, capsys: Capture, before: str, after: str, *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of a comparison; ``@`` stands for the folder."""
    named = [option.replace("@", f"{folder}/") for option in options]
    code = tile_report(["diff", "--json", str(folder / before), str(folder / after), *named])
    return code, json.loads(capsys.readouterr().out)


def item(content: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in content["items"] if one["item"] == name]
    return found


# The list

REQUIRED = {
    "compiler wall time": ("wall_seconds",),
    "compiler peak RSS": ("peak_rss_bytes",),
    "logical compute-instance count": ("compute_instances",),
    "graph compute batch and scheduled batch lane counts": ("graph_lanes", "scheduled_lanes"),
    "PEFT class and core assignment": ("assignment",),
    "maximum scheduled critical-path or step count": ("span_cycles", "makespan_cycles", "step_count"),
    "MVM/VMM and vector instruction counts": ("mvm_count", "vector_count"),
    "send and receive counts and bytes": ("sends", "send_bytes", "receives", "receive_bytes"),
    "total emitted instruction count": ("instructions",),
    "maximum instructions assigned to one core": ("instructions_max",),
    "number and size of runtime memory copies": (
        *("local_copies", "local_copy_bytes", "host_to_device_copies", "host_to_device_bytes"),
        *("device_to_host_copies", "device_to_host_bytes"),
    ),
    "final host, weights, logical-core, physical-core, and maximum-core memory": (
        *("host_bytes", "weight_elements", "logical_core_bytes", "physical_core_bytes", "core_bytes_max"),
    ),
    "numerical validation": ("numerics",),
}
"""Beside IR operation and value counts, which stand at every stage."""


@pytest.mark.parametrize("sides", [("a", "a"), ("A.json", "A.json")])
def test_every_item_is_there_before_and_after(built: Path, capsys: Capture, sides: tuple[str, str]) -> None:
    more = ["--builds", "@A.json", "@A.json", "--check"] if sides == ("a", "a") else []
    code, content = diff(built, capsys, *sides, *more)
    assert code == 0
    for names in REQUIRED.values():
        for name in names:
            found = item(content, name)
            if name == "numerics" and not more:
                assert found["verdict"] == "not recorded"
                continue
            assert found["before"] == found["after"] is not None, name
            assert found["verdict"] == "equal", name
    for stage, found in content["stages"].items():
        if stage != "package":
            assert found["ir_ops"][0] == found["ir_ops"][1] > 0
            assert found["ir_values"][0] == found["ir_values"][1] > 0


def test_every_judged_field_of_a_package_is_an_item() -> None:
    items = {name for _, names in FIELDS_OF_ITEMS for name in names}
    assert items <= FIELDS.keys()
    assert {name for names in REQUIRED.values() for name in names} & FIELDS.keys() <= items


def test_the_text_names_every_item(built: Path, capsys: Capture) -> None:
    assert tile_report(["diff", str(built / "a"), str(built / "a")]) == 0
    out = capsys.readouterr().out
    for names in REQUIRED.values():
        for name in names:
            assert name not in FIELDS or FIELDS[name].title in out, name
    assert out.endswith("nothing is worse\n")
    assert "not recorded: compiler wall time in s, compiler CPU time in s, compiler peak RSS" in out


# Verdicts


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_a_worse_build(built: Path, capsys: Capture, suffix: str) -> None:
    code, content = diff(built, capsys, f"a{suffix}", f"b{suffix}")
    assert code == 1
    worse = {one["item"] for one in content["items"] if one["verdict"] == "worse"}
    assert {"width_of_node", "span_cycles", "makespan_cycles", "busy_cycles_max"} <= worse
    assert item(content, "assignment")["verdict"] == "changed"
    assert not item(content, "assignment")["fails"]
    assert content["failures"]
    assert tile_report(["diff", str(built / f"b{suffix}"), str(built / f"a{suffix}")]) == 1, "also more instructions"


def test_the_changed_stage_is_named(built: Path, capsys: Capture) -> None:
    _, content = diff(built, capsys, "a", "b")
    changed = [stage for stage, found in content["stages"].items() if found["changed"]]
    assert changed[0] == content["first_changed"] == "convert-onnx-to-spat"
    assert diff(built, capsys, "a", "a")[1]["first_changed"] is None
    assert not content["stages"]["onnx-simplify"]["changed"]
    assert tile_report(["diff", str(built / "a"), str(built / "b")]) == 1
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("convert-onnx-to-spat ")]
    assert "worse" in line
    assert "first changed: convert-onnx-to-spat" in lines
    first = next(line for line in lines if line.startswith("worse: "))
    assert first.startswith("worse: convert-onnx-to-spat: ")


def record(**fields: Any) -> Records:
    return Records({"package": Proxies(Level.PACKAGE, **fields)}, {})


NOTHING = (None, None)
TOLERANCES = Tolerances(seconds=50, memory=10)


def outcome(before: Records, after: Records, name: str) -> Outcome:
    (found,) = [one for one in proof(before, after, TOLERANCES, NOTHING) if one.name == name]
    return found.outcome


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("sends", 3, 3, Outcome.EQUAL),
        ("sends", 3, 2, Outcome.BETTER),
        ("sends", 3, 4, Outcome.WORSE),
        ("width", 3, 2, Outcome.WORSE),
        ("width", 3, 4, Outcome.BETTER),
        ("sends", 3, None, Outcome.UNKNOWN),
        ("sends", None, 3, Outcome.UNKNOWN),
        ("sends", None, None, Outcome.ABSENT),
        ("assignment", "a", "b", Outcome.CHANGED),
        ("width_of_node", (("a", 2),), (("a", 1),), Outcome.WORSE),
        ("width_of_node", (("a", 2), ("b", 2)), (("a", 2),), Outcome.UNKNOWN),
        ("width_of_node", (("a", 2),), (("a", 2), ("b", 2)), Outcome.CHANGED),
        ("logical_core_bytes", counts({"0": 5, "1": 5}), counts({"0": 9, "1": 1}), Outcome.EQUAL),
        ("logical_core_bytes", counts({"0": 5}), counts({"0": 5, "1": 1}), Outcome.WORSE),
    ],
)
def test_outcomes(name: str, old: object, new: object, expected: Outcome) -> None:
    assert outcome(record(**{name: old}), record(**{name: new}), name) is expected


def test_a_node_that_is_gone_is_no_harm_if_its_work_is() -> None:
    """What tells is the stage, or the last one before it that counts all work by node."""
    lanes, elements = counts({"conv": 4, "relu": 4}), counts({"conv": 8, "relu": 8})
    less, fewer = counts({"conv": 4}), counts({"conv": 8})

    def build(lanes: Counts, elements: Counts, **more: Counts) -> Records:
        graph = Proxies(Level.GRAPH, lanes_of_node=lanes, element_passes_of_node=elements, **more)
        return Records({"graph": graph, "later": Proxies(Level.TENSORS, lanes_of_node=lanes)})

    def harm(before: Records, after: Records) -> list[tuple[str, str]]:
        found = difference(before, after)
        return [(stage, change.field) for stage in found for change in found[stage] if is_regression(change)]

    before = build(lanes, elements)
    assert harm(before, build(less, fewer)) == []
    assert harm(before, build(less, elements)) == [("graph", "lanes_of_node"), ("later", "lanes_of_node")]
    moved = build(less, fewer, product_elements=counts({"relu": 8}))
    assert ("later", "lanes_of_node") in harm(before, moved)
    (told,) = [change for change in difference(before, build(less, elements))["later"] if is_regression(change)]
    assert str(told) == "lanes_of_node of 'relu' 4 -> 0 ('relu' is gone, and nothing tells that its work is)"


@pytest.mark.parametrize(
    ("old", "new", "bound", "expected"),
    [
        (5, 5, "after", Verdict.UNKNOWN),
        (5, 4, "after", Verdict.UNKNOWN),
        (5, 6, "after", Verdict.WORSE),
        (5, 5, "before", Verdict.EQUAL),
        (5, 4, "before", Verdict.BETTER),
        (5, 6, "before", Verdict.WORSE),
        (5, 4, "both", Verdict.BETTER),
    ],
)
def test_at_least_as_much_is_not_as_much(old: int, new: int, bound: str, expected: Verdict) -> None:
    """A number that was exact, and is a lower bound now, may be any amount larger."""
    bounds = {side: ("instructions",) if bound in (side, "both") else () for side in ("before", "after")}
    before = Proxies(Level.GRAPH, instructions=old, lower_bounds=bounds["before"])
    after = Proxies(Level.GRAPH, instructions=new, lower_bounds=bounds["after"])
    (found,) = [change for change in compare(before, after) if change.field == "instructions"]
    assert found.verdict is expected
    items = proof(Records({"graph": before}), Records({"graph": after}), TOLERANCES, NOTHING)
    (item,) = [one for one in items if one.name == "instructions"]
    assert item.outcome.fails == expected.is_harm


def test_when_messages_go_is_judged_by_what_comes_of_it() -> None:
    waits = {
        steps: record(message_waits_of_node=counts({"conv": steps}), makespan_cycles=100 - steps) for steps in (1, 2)
    }
    found = [change for changes in difference(waits[1], waits[2]).values() for change in changes]
    assert [change.field for change in found if change.verdict is Verdict.WORSE] == ["message_waits_of_node"]
    assert not any(map(is_regression, found))
    sooner = [change for changes in difference(waits[2], waits[1]).values() for change in changes]
    assert [change.field for change in sooner if is_regression(change)] == ["makespan_cycles"]
    lost = difference(waits[1], record(makespan_cycles=99))["package"]
    assert [change.field for change in lost if is_regression(change)] == ["message_waits_of_node"]


def test_a_field_known_at_another_stage_only_is_no_permission() -> None:
    before = Records({"x": Proxies(Level.BUFFERS, sends=3), "package": Proxies(Level.PACKAGE, sends=3)})
    after = Records({"x": Proxies(Level.BUFFERS, sends=3), "package": Proxies(Level.PACKAGE)})
    assert outcome(before, after, "sends") is Outcome.UNKNOWN
    assert Outcome.UNKNOWN.fails
    assert not Outcome.ABSENT.fails


@pytest.mark.parametrize(
    ("name", "new", "expected"),
    [
        ("wall_seconds", 10.0, Outcome.EQUAL),
        ("wall_seconds", 9.0, Outcome.BETTER),
        ("wall_seconds", 15.0, Outcome.WITHIN),
        ("wall_seconds", 15.1, Outcome.WORSE),
        ("peak_rss_bytes", 11.0, Outcome.WITHIN),
        ("peak_rss_bytes", 11.1, Outcome.WORSE),
        ("wall_seconds", None, Outcome.UNKNOWN),
    ],
)
def test_time_and_memory_of_the_compiler_have_tolerances(name: str, new: float | None, expected: Outcome) -> None:
    after = {} if new is None else {name: new}
    assert outcome(Records({}, {name: 10.0}), Records({}, after), name) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (True, True, Outcome.EQUAL),
        (True, False, Outcome.WORSE),
        (False, False, Outcome.WORSE),
        (False, True, Outcome.BETTER),
        (None, True, Outcome.UNKNOWN),
        (True, None, Outcome.UNKNOWN),
        (None, None, Outcome.ABSENT),
    ],
)
def test_numerical_validation(before: bool | None, after: bool | None, expected: Outcome) -> None:
    first, second = (None if one is None else Numerics(one, 0.1, 1e-3, "x") for one in (before, after))
    assert proof(Records({}), Records({}), TOLERANCES, (first, second))[-1].outcome is expected


def test_what_neither_side_has_recorded_fails_if_everything_is_asked_for(built: Path, capsys: Capture) -> None:
    assert diff(built, capsys, "a", "a", "--complete")[0] == 1
    code, content = diff(built, capsys, "a", "a", "--complete", "--builds", "@A.json", "@A.json", "--check")
    assert (code, content["failures"]) == (0, [])


def slower(folder: Path, factor: float) -> None:
    content = json.loads((folder / "A.json").read_text())
    content["wall_seconds"] *= factor
    (folder / "slow.json").write_text(json.dumps(content))


def test_a_slower_compiler_is_worse_beyond_the_tolerance(built: Path, capsys: Capture) -> None:
    slower(built, 1.4)
    assert diff(built, capsys, "A.json", "slow.json")[0] == 0
    code, content = diff(built, capsys, "A.json", "slow.json", "--max-slowdown", "30")
    assert code == 1
    assert item(content, "wall_seconds")["note"] == "+40.0 %"
    assert diff(built, capsys, "a", "a", "--builds", "@A.json", "@slow.json", "--max-slowdown", "30")[0] == 1


# Stages


def test_a_missing_stage_is_worse_unless_it_is_left_out(built: Path, capsys: Capture) -> None:
    content = json.loads((built / "A.json").read_text())
    del content["stages"]["spat-merge-trivial"]
    (built / "short.json").write_text(json.dumps(content))
    for sides in (("A.json", "short.json"), ("short.json", "A.json")):
        assert diff(built, capsys, *sides)[0] == 1
        assert diff(built, capsys, *sides, "--without", "spat-merge-trivial")[0] == 0
    assert tile_report(["diff", str(built / "A.json"), str(built / "A.json"), "--without", "cse"]) == 1
    assert "neither side has a stage 'cse'" in capsys.readouterr().err
    assert tile_report(["diff", str(built / "A.json"), str(built / "A.json"), "--without", "package"]) == 1
    assert "both sides have the stage 'package'" in capsys.readouterr().err


def test_a_pass_that_is_undone_leaves_what_was_before(built: Path) -> None:
    content = json.loads((built / "a.json").read_text())
    one = content["passes"][2]
    one |= {"mode": "rollback", "verdict": "rejected"}
    (built / "undone.json").write_text(json.dumps(content))
    found = read_records(built / "undone.json").proxies
    assert found[one["pass"]] == Proxies.from_json(one["before"]) != Proxies.from_json(one["after"])


def test_all_sources_tell_the_same_of_a_build(built: Path) -> None:
    package, guard, build = (read_records(built / name).proxies for name in ("a", "a.json", "A.json"))
    assert guard == build == package
    table = read_records(built / "a" / "report" / "proxies.json").proxies
    assert table == package


# Packages


def test_the_clock(built: Path, capsys: Capture) -> None:
    latency = simulate(read_package(built / "a").program, Machine.load("tiny4")).latency_ns
    assert item(diff(built, capsys, "a", "a")[1], "clock_cycles")["before"] == latency
    assert item(diff(built, capsys, "a", "a", "--no-clock")[1], "clock_cycles")["verdict"] == "not recorded"


def test_numbers_of_a_package_are_counted_on_its_streams(built: Path, tmp_path: Path) -> None:
    """Whatever its report says."""
    package = read_package(built / "a", with_reports=True)
    stages = json.loads(package.reports["proxies.json"])
    stages["stages"]["package"]["sends"] = 0
    reports = {**package.reports, "proxies.json": json.dumps(stages).encode()}
    write_package(dataclasses.replace(package, reports=reports), tmp_path / "lies")
    found = read_records(tmp_path / "lies").proxies["package"]
    assert found == read_records(built / "a").proxies["package"]
    assert found.sends


def test_a_package_of_a_machine_that_is_not_at_hand(built: Path, tmp_path: Path, capsys: Capture) -> None:
    machine = tmp_path / "mine.json"
    Machine.load("tiny4").write(machine)
    target = tmp_path / "out.tilepkg"
    assert tile_compile([str(built / "net.onnx"), "--machine", str(machine), "-q", "-o", str(target)]) == 0
    assert tile_report(["show", str(target)]) == 0
    assert "latency" not in capsys.readouterr().out
    assert tile_report(["diff", str(target), str(target)]) == 1
    assert "its machine 'mine' is not a preset, so that no cycles are known; add --machine" in capsys.readouterr().err
    assert tile_report(["diff", str(target), str(target), "--machine", str(machine)]) == 0


@pytest.mark.parametrize(("mode", "done"), [("error", "an error"), ("report", "reported only"), ("rollback", "undone")])
def test_a_report_shows_what_was_rejected(mode: str, done: str, tmp_path: Path, capsys: Capture) -> None:
    plugin, source, report = tmp_path / "plugin.py", tmp_path / "in.mlir", tmp_path / "guard.json"
    plugin.write_text(
        "from xdsl.passes import ModulePass\n\nclass Twice(ModulePass):\n    name = 'twice'\n\n"
        "    def apply(self, ctx, op):\n        for one in list(op.walk()):\n            if one.name == 'onnx.Relu':\n"
        "                one.parent.insert_op_before(one.clone(), one)\n"
    )
    source.write_text(
        "func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {\n"
        "  %y = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>\n  func.return %y : tensor<1x2xf32>\n}\n"
    )
    options = ["--load-pass-plugin", str(plugin), "-p", "twice", "--guard", mode, "--guard-report", str(report)]
    assert tile_opt([str(source), *options, "-q"]) == (mode == "error")
    capsys.readouterr()
    assert tile_report(["show", str(report)]) == 0
    assert f"pass 'twice' is rejected ({done}): worse: " in capsys.readouterr().out


def test_without_the_guard_a_package_has_no_record(built: Path, tmp_path: Path, capsys: Capture) -> None:
    output = ["-o", str(tmp_path / "off"), "--build-report", str(tmp_path / "off.json")]
    assert tile_compile([str(built / "net.onnx"), "--machine", "tiny4", "-q", "--guard=off", *output]) == 0
    shutil.copytree(built / "a", tmp_path / "a")
    assert list(read_records(tmp_path / "off").proxies) == ["package"]
    assert json.loads((tmp_path / "off" / "manifest.json").read_text())["options"]["guard"] == "off"
    assert diff(tmp_path, capsys, "a", "off")[0] == 1
    code, content = diff(tmp_path, capsys, "off", "off", "--builds", "@off.json", "@off.json")
    assert (code, item(content, "wall_seconds")["verdict"]) == (0, "equal")
    assert item(content, "compute_instances")["verdict"] == "not recorded"


# Numerical validation


def test_packages_are_executed_and_compared(built: Path, capsys: Capture) -> None:
    code, content = diff(built, capsys, "a", "b", "--check", "--model", "@net.onnx", "--seed", "7")
    assert code == 1, "the build is worse"
    found = item(content, "numerics")
    assert found["verdict"] == "equal"
    assert found["note"] == "against onnxruntime, random inputs 7"
    assert 0 <= found["after"]["error"] < 1e-5


def test_wrong_outputs_are_worse(built: Path, tmp_path: Path, capsys: Capture) -> None:
    package = read_package(built / "a", with_reports=True)
    matrices = tuple(matrix * 1.1 for matrix in package.weights.matrices)
    weights = dataclasses.replace(package.weights, matrices=matrices)
    write_package(dataclasses.replace(package, weights=weights), tmp_path / "wrong")
    shutil.copytree(built / "a", tmp_path / "a")
    shutil.copy(built / "net.onnx", tmp_path)
    for model in ([], ["--model", "@net.onnx"]):
        code, content = diff(tmp_path, capsys, "a", "wrong", "--check", *model)
        assert code == 1
        assert [one for one in content["items"] if one["fails"]] == [item(content, "numerics")]
    assert diff(tmp_path, capsys, "a", "wrong", "--check", "--tolerance", "10")[0] == 0
    assert diff(tmp_path, capsys, "a", "wrong")[0] == 0, "nothing else tells them apart"


def test_a_package_that_does_not_say_its_model_is_named(built: Path, tmp_path: Path, capsys: Capture) -> None:
    package = read_package(built / "a", with_reports=True)
    model = dataclasses.replace(package.model, sha256="")
    write_package(dataclasses.replace(package, model=model), tmp_path / "nameless")
    sides = [str(built / "a"), str(tmp_path / "nameless")]
    assert tile_report(["diff", *sides, "--check", "--model", str(built / "net.onnx")]) == 0
    warning = f"warning: package {tmp_path}/nameless does not say which model it is compiled from\n"
    assert [line for line in capsys.readouterr().err.splitlines(True) if line.startswith("warning")] == [warning]


def test_recorded_checks(built: Path, tmp_path: Path, capsys: Capture) -> None:
    for name, tolerance in (("right", "1e-3"), ("strict", "0")):
        arguments = [str(built / "a"), "--random", "3", "--check", "--model", str(built / "net.onnx"), "-q"]
        arguments += ["--tolerance", tolerance, "--check-report", str(tmp_path / f"{name}.json")]
        assert tile_run(arguments) == (0 if name == "right" else 1)
    capsys.readouterr()
    right, strict = (str(tmp_path / f"{name}.json") for name in ("right", "strict"))
    content = json.loads(Path(right).read_text())
    assert content["package"] == package_digest(built / "a")
    assert content["inputs"] == "random inputs 3"
    code, found = diff(built, capsys, "a", "a", "--checks", right, right)
    assert (code, item(found, "numerics")["verdict"]) == (0, "equal")
    code, found = diff(built, capsys, "A.json", "A.json", "--checks", right, strict)
    assert (code, item(found, "numerics")["verdict"]) == (1, "worse")
    assert tile_report(["diff", str(built / "a"), str(built / "b"), "--checks", right, right]) == 1
    assert "is about another package; check this one" in capsys.readouterr().err


# Show


def test_show(built: Path, capsys: Capture) -> None:
    for path in ("a", "a.json", "A.json"):
        assert tile_report(["show", str(built / path)]) == 0
        out = capsys.readouterr().out
        assert ("cores idle " in out) == (path == "a")
        for text in ("matrix products", "spat-merge-graph", "package sha256" if path != "a.json" else "machine"):
            assert text in out
    assert tile_report(["show", "--all", str(built / "a")]) == 0
    assert capsys.readouterr().out.count("== ") == len(read_records(built / "a").proxies)
    assert tile_report(["show", "--json", str(built / "a")]) == 0
    assert json.loads(capsys.readouterr().out)["package"]["byte_hops"] > 0


# Errors


@pytest.mark.parametrize("text", ["{}", "[]", '{"x": {"level": "spat graph", "nonsense": 1}}', '{"passes": []}', "1"])
def test_what_is_no_report(text: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x.json").write_text(text)
    assert tile_report(["show", str(tmp_path / "x.json")]) == 1
    assert "holds no proxies" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"no JSON", b"\xff\xfe"])
def test_what_is_no_json(content: bytes, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert tile_report(["show", str(tmp_path / "x.json")]) == 1
    assert "x.json: is neither a package nor JSON; " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["diff", "@a"], "diff takes 2 of PATH, 1 given"),
        (["show", "@a", "--check"], "--check: is only used with diff"),
        (["show", "@a", "--max-growth", "3"], "--max-growth: is only used with diff"),
        (["diff", "@a", "@a", "--idle"], "--idle: is only used with show"),
        (["diff", "@a", "@a", "--model", "@net.onnx"], "--model: is only used with --check; add --check"),
        (["diff", "@a", "@a", "--seed", "3"], "--seed: is only used with --check; add --check"),
        (["diff", "@a", "@a", "--check", "--checks", "@A.json", "@A.json"], "--checks: and --check exclude each other"),
        (["diff", "@a", "@a", "--builds", "@a.json", "@a.json"], "a.json: is not a build report"),
        (["diff", "@a", "@a", "--builds", "@A.json", "@B.json"], "B.json: is about another package"),
        (["diff", "@a", "@a", "--checks", "@A.json", "@A.json"], "A.json: holds no verdict of a check"),
        (["diff", "@a.json", "@a.json", "--check"], "--check: needs packages to execute"),
        (["diff", "@nowhere.json", "@a"], "nowhere.json: cannot be read: no such file"),
        (["show", "@a.json", "--idle"], "a.json: is not a package, so that it cannot be timed"),
        (["show", "@a", "--idle", "--no-clock"], "--idle: needs the clock"),
    ],
)
def test_errors(built: Path, arguments: list[str], what: str, capsys: Capture) -> None:
    assert tile_report([argument.replace("@", f"{built}/") for argument in arguments]) == 1
    assert what in capsys.readouterr().err


def test_packages_of_two_models_are_said_to_be(built: Path, tmp_path: Path, capsys: Capture) -> None:
    model = onnx.load(built / "net.onnx")
    model.doc_string = "another"
    onnx.save(model, tmp_path / "other.onnx")
    other = tmp_path / "other"
    assert tile_compile([str(tmp_path / "other.onnx"), "--machine", "tiny4", "-q", "-o", str(other)]) == 0
    capsys.readouterr()
    assert tile_report(["diff", str(built / "a"), str(other)]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith("nothing is worse\n")
    (note,) = printed.err.splitlines()
    assert note.startswith(f"note: these are packages of two different models, {built / 'a'} of 'net.onnx' (sha256 ")
    assert f"and {other} of 'other.onnx' (sha256 " in note
    tile_report(["diff", str(built / "a"), str(built / "b")])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("command", "there", "missing"),
    [([], ["--idle", "--builds"], []), (["show"], ["--idle"], ["--builds"]), (["diff"], ["--builds"], ["--idle"])],
)
def test_help_of_a_command(command: list[str], there: list[str], missing: list[str], capsys: Capture) -> None:
    assert tile_report([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(" ".join(["usage: tile-report", *command]))
    assert [option for option in (*there, *missing) if option in text] == there


class TestBaselines:
    NAME = "residual_tiny4"

    def recorded(self, folder: Path, **changed: int) -> str:
        """A record of the model, as it is but for some fields of the package."""
        content = json.loads(path_of(self.NAME).read_text())
        stage = content["package"]
        assert changed.keys() <= stage.keys()
        stage.update(changed)
        path_of(self.NAME, folder).write_text(json.dumps(content))
        return path_of(self.NAME, folder).read_text()

    def test_what_is_worse_needs_a_reason(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        before = self.recorded(tmp_path, instructions=1)
        assert update([self.NAME], "", tmp_path) == 1
        printed = capsys.readouterr().out
        assert f"{self.NAME}, package: WORSE instructions 1 -> " in printed
        assert "error: what is worse needs a reason; make baselines WHY=" in printed
        assert path_of(self.NAME, tmp_path).read_text() == before
        assert update([self.NAME], "one is too few", tmp_path) == 0
        assert "allowed, since one is too few" in capsys.readouterr().out
        assert path_of(self.NAME, tmp_path).read_text() == path_of(self.NAME).read_text()
        reason = json.loads((tmp_path / "reasons.json").read_text())[self.NAME]
        assert reason["why"] == "one is too few"
        assert [line.split(" -> ")[0] for line in reason["worse"]] == [f"{self.NAME}, package: WORSE instructions 1"]

    def test_what_is_better_does_not(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.recorded(tmp_path, instructions=1_000_000)
        assert update([self.NAME], "", tmp_path) == 0
        assert "better instructions 1000000 -> " in capsys.readouterr().out
        assert not (tmp_path / "reasons.json").exists()
