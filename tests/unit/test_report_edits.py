"""Reports that somebody has edited: `tile-report` says in one line what is wrong with them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tilec.support.diagnostics import TileError
from tilec.tools.report_numerics import check_report, read_numerics
from tilec.tools.tile_report import main as tile_report

Capture = pytest.CaptureFixture[str]


def refusal(command: list[str], wrong: Path, capsys: Capture) -> str:
    """What is said of a file that holds no proxies, in one line."""
    assert tile_report(command) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"error: {wrong}: holds no proxies: ")
    assert said.count("\n") == 1
    return said


def edited(source: Path, target: Path, keys: list[Any], value: Any) -> Path:
    """A report with another value at the place of these keys."""
    content = json.loads(source.read_text())
    table = content
    for key in keys[:-1]:
        table = table[key]
    assert keys[-1] in table or isinstance(table, list)
    table[keys[-1]] = value
    target.write_text(json.dumps(content))
    return target


NO_WHOLE_NUMBERS = [None, "5", 1.5, float("nan"), float("inf"), -1, True, [1, 2], {}, {"core 0": 5}]


NO_NUMBERS = [None, "x", float("nan"), float("-inf"), -1, True, {}, []]


@pytest.mark.parametrize(
    ("keys", "values", "what"),
    [
        (["stages", "package", "sends"], NO_WHOLE_NUMBERS, "'package': 'sends' is {}, but has to be a whole"),
        (["stages", "package", "width_of_node"], [5, [], "x", {"a": "b"}, {"a": -1}, {"a": 1.0}, {"a": True}],
         "'width_of_node' is {}, but has to be a table of whole numbers from 0 up"),
        (["stages", "package", "machine"], [5, [], None, {}], "'machine' is {}, but has to be a text"),
        (["stages", "package", "level"], [5, [], {}], "'level' is {}, but has to be a text"),
        (["stages", "package", "level"], ["high"], "stage 'package': 'high' is not a valid Level"),
        (["stages", "package", "lower_bounds"], [5, {}, "x"], "'lower_bounds' is {}, but has to be a list"),
        (["stages", "package", "lower_bounds"], [["x"], [3], [[]]], "which is no proxy"),
        (["stages", "package"], [5, [], None], "stage 'package': a record is {}, but has to be a table"),
        (["stages"], [5, [], None, "x"], "'stages' is {}, but has to be a table"),
        (["package"], [5, [], None], "'package' is {}, but has to be a text"),
        (["wall_seconds"], NO_NUMBERS, "'wall_seconds' is {}, but has to be a number from 0 up"),
        (["peak_rss_bytes"], NO_NUMBERS, "'peak_rss_bytes' is {}, but has to be a number from 0 up"),
    ],
)  # fmt: skip
def test_a_build_report_that_somebody_has_edited(
    keys: list[Any], values: list[Any], what: str, built: Path, tmp_path: Path, capsys: Capture
) -> None:
    for value in values:
        wrong = edited(built / "A.json", tmp_path / "x.json", keys, value)
        for command in (["show", str(wrong)], ["diff", str(built / "A.json"), str(wrong)]):
            assert what.replace("{}", json.dumps(value)) in refusal(command, wrong, capsys)


@pytest.mark.parametrize(
    ("keys", "values", "what"),
    [
        (["passes"], [5, {}, None, "x"], "'passes' is {}, but has to be a list"),
        (["passes", 0], [5, [], None], "one of 'passes' is {}, but has to be a table"),
        (["passes", 0, "pass"], [5, [], None], "'pass' is {}, but has to be a text"),
        (["passes", 0, "mode"], [5, [], None], "'mode' is {}, but has to be a text"),
        (["passes", 0, "before"], [5, [], "x"], "before pass 'onnx-simplify': a record is {}, but has to be a table"),
        (["passes", 0, "after", "macs"], NO_WHOLE_NUMBERS, "after pass 'onnx-simplify': 'macs' is {}"),
    ],
)
def test_a_report_of_the_guard_that_somebody_has_edited(
    keys: list[Any], values: list[Any], what: str, built: Path, tmp_path: Path, capsys: Capture
) -> None:
    for value in values:
        wrong = edited(built / "a.json", tmp_path / "x.json", keys, value)
        assert what.replace("{}", json.dumps(value)) in refusal(["show", str(wrong)], wrong, capsys)


@pytest.mark.parametrize(
    ("keys", "values", "what"),
    [
        (["passed"], [1, "true", None], "'passed' is {}, but has to be true or false"),
        (["outputs"], [5, [], None], "'outputs' is {}, but has to be a table"),
        (["outputs", "out"], NO_NUMBERS, "the error of output 'out' is {}, but has to be a number from 0 up"),
        (["tolerance"], NO_NUMBERS, "'tolerance' is {}, but has to be a number from 0 up"),
        (["inputs"], [5, [], None], "'inputs' is {}, but has to be a text"),
    ],
)
def test_a_report_of_a_check_that_somebody_has_edited(
    keys: list[Any], values: list[Any], what: str, built: Path, tmp_path: Path, capsys: Capture
) -> None:
    right = tmp_path / "right.json"
    right.write_text(check_report("", "onnxruntime", "random inputs 0", 1e-3, True, {"out": math.inf}))
    assert read_numerics(right, None).error == math.inf
    for value in values:
        wrong = edited(right, tmp_path / "x.json", keys, value)
        with pytest.raises(TileError) as error:
            read_numerics(wrong, None)
        assert f"holds no verdict of a check: {what.replace('{}', json.dumps(value))}" in str(error.value)


def test_what_a_report_says_twice(built: Path, tmp_path: Path, capsys: Capture) -> None:
    """All but the last would be lost without a word."""
    wrong = tmp_path / "x.json"
    for name, key in (("A.json", "sends"), ("a.json", "verdict"), ("A.json", "stages")):
        text = (built / name).read_text()
        assert f'"{key}":' in text
        wrong.write_text(text.replace(f'"{key}":', f'"{key}": 1, "{key}":', 1))
        assert tile_report(["show", str(wrong)]) == 1
        expected = f"error: {wrong}: key '{key}' stands more than once in one object; leave the one that is meant\n"
        assert capsys.readouterr().err == expected
    text = check_report("", "onnxruntime", "random inputs 0", 1e-3, True, {"out": 1.0})
    wrong.write_text(text.replace('"passed"', '"passed": false, "passed"'))
    with pytest.raises(TileError, match="key 'passed' stands more than once"):
        read_numerics(wrong, None)
