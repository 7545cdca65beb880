"""Where `tile-report` reads and prints: what is not to be read, and what cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from guard_programs import network
from tilec.tools.tile_compile import main as tile_compile
from tilec.tools.tile_report import main as tile_report


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package and the report of its build."""
    folder = tmp_path_factory.mktemp("places")
    onnx.save(network(), folder / "net.onnx")
    output = ["-o", str(folder / "package"), "--build-report", str(folder / "build.json")]
    assert tile_compile([str(folder / "net.onnx"), "--machine", "tiny4", "-q", *output]) == 0
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "/dev/zero"],
        ["diff", "/dev/zero", "@build.json"],
        ["diff", "@build.json", "/dev/zero"],
        ["diff", "@package", "@package", "--builds", "@build.json", "/dev/zero"],
        ["diff", "@package", "@package", "--checks", "/dev/zero", "/dev/zero"],
    ],
)
def test_a_device_is_no_report(built: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It may have no end."""
    assert tile_report([one.replace("@", f"{built}/") for one in arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: /dev/zero: is a device, which may have no end; give ")


@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"], ["show", "--idle"], ["diff", "@package"]])
def test_what_cannot_be_printed(built: Path, arguments: list[str]) -> None:
    command = [one.replace("@", f"{built}/") for one in [*arguments, "@package"]]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tilec.tools.tile_report", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error: standard output: cannot be written: no space left on device; write elsewhere\n"
