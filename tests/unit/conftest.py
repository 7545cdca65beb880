"""What several files of tests look at."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from guard_programs import network
from tilec.tools.tile_compile import main as tile_compile


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two builds of one model, b worse than a: packages a, b; guard reports a.json, b.json; build reports A, B."""
    folder = tmp_path_factory.mktemp("report")
    onnx.save(network(), folder / "net.onnx")
    for name, more in (("a", []), ("b", ["--no-replicate"])):
        output = ["-o", str(folder / name), "--guard-report", str(folder / f"{name}.json")]
        output += ["--build-report", str(folder / f"{name.upper()}.json")]
        assert tile_compile([str(folder / "net.onnx"), "--machine", "tiny4", "-q", *output, *more]) == 0
    return folder
