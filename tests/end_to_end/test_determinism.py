"""The same model gives the same package: in two processes with different hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
from models import build

_SCRIPT = """
import sys
from pathlib import Path
import onnx
from compilation import compile_model
from tilec.codegen.package import write_package
print(write_package(compile_model(onnx.load(sys.argv[1])), Path(sys.argv[2])))
"""


def digest(model: Path, package: Path, hash_seed: str) -> str:
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    command = [sys.executable, "-c", _SCRIPT, str(model), str(package)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_hash_seeds(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(build("squeezenet1_0", image_size=64, num_classes=10), model)
    first, second = (digest(model, tmp_path / f"package{seed}", seed) for seed in ("0", "1"))
    assert len(first) == 64
    assert first == second
    files = [sorted(p for p in (tmp_path / f"package{seed}").rglob("*") if p.is_file()) for seed in ("0", "1")]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
