"""The same model gives the same package: in two processes with different hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
from models import build
from tilec.codegen.package import package_digest


def compiled(model: Path, package: Path, hash_seed: str) -> str:
    """The digest of what `tile-compile` writes in a process with this hash seed."""
    command = [sys.executable, "-m", "tilec.tools.tile_compile", str(model), "-q", "-o", str(package)]
    report = [f"--build-report={package}.json"]
    subprocess.run([*command, *report], env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True)
    return package_digest(package)


def test_hash_seeds(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(build("squeezenet1_0", image_size=64, num_classes=10), model)
    first, second = (compiled(model, tmp_path / f"package{seed}", seed) for seed in ("0", "1"))
    assert len(first) == 64
    assert first == second
    files = [sorted(p for p in (tmp_path / f"package{seed}").rglob("*") if p.is_file()) for seed in ("0", "1")]
    assert "proxies.json" in {path.name for path in files[0]}
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
