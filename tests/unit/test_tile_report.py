"""`tile-report`, and the baselines of proxies that the compiler may not fall behind."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from guard_programs import network
from proxy_baselines import MODELS, report
from tilec.tools.tile_compile import main as tile_compile
from tilec.tools.tile_report import main as tile_report


@pytest.mark.parametrize("name", MODELS)
def test_no_proxy_is_worse_than_recorded(name: str) -> None:
    lines, worse = report(name)
    assert not worse, "\n".join([*lines, "if this is meant: make baselines"])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    onnx.save(network(), folder / "net.onnx")
    arguments = [str(folder / "net.onnx"), "--machine", "tiny4", "-q"]
    for name, more in (("a", []), ("b", ["--no-replicate"])):
        output = ["-o", str(folder / name), "--guard-report", str(folder / f"{name}.json")]
        assert tile_compile([*arguments, *output, *more]) == 0
    return folder


def test_show(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("a", "a.json"):
        assert tile_report(["show", str(built / path)]) == 0
        assert "matrix products" in capsys.readouterr().out
    assert tile_report(["show", "--json", str(built / "a")]) == 0
    assert json.loads(capsys.readouterr().out)["package"]["byte_hops"] > 0


def test_equal_builds(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tile_report(["diff", str(built / "a"), str(built / "a")]) == 0
    assert capsys.readouterr().out == "nothing is worse\n"
    assert tile_report(["diff", str(built / "a.json"), str(built / "a.json")]) == 0
    assert "compiler peak RSS" in capsys.readouterr().out


def test_a_worse_build(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in ("", ".json"):
        assert tile_report(["diff", str(built / f"a{suffix}"), str(built / f"b{suffix}")]) == 1
        assert "WORSE" in capsys.readouterr().out
    assert tile_report(["diff", "--json", str(built / "a"), str(built / "b")]) == 1
    changes = json.loads(capsys.readouterr().out)["package"]
    assert any(change["regression"] for change in changes)


def test_a_missing_record_is_a_regression(built: Path, tmp_path: Path) -> None:
    content = json.loads((built / "a.json").read_text())
    content["passes"].pop()
    (tmp_path / "short.json").write_text(json.dumps(content))
    assert tile_report(["diff", str(built / "a.json"), str(tmp_path / "short.json")]) == 1


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"x": {"level": "spat graph", "nonsense": 1}}', '{"passes": []}'])
def test_what_is_no_report(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text(text)
    assert tile_report(["show", str(tmp_path / "x.json")]) == 1
    assert "holds no proxies" in capsys.readouterr().err
