"""The networks of the benchmark as ONNX files, with random weights, in a folder that keeps them.

They are built in a process of their own (`python -m bench.networks NAME SIZE FILE`): memory that the benchmark itself
takes would count as that of the processes that it starts.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILDERS = ROOT / "tests"
NETWORKS = {
    "resnet18": 224,
    "resnet34": 224,
    "resnet50": 224,
    "googlenet": 224,
    "inception_v3": 299,
    "mobilenet_v2": 224,
    "squeezenet1_0": 224,
    "shufflenet_v1": 224,
    "alexnet": 224,
    "vgg16": 224,
}
"""By name, with the usual size of their images in pixels."""
QUICK = {"inception_v3": 96}
"""Sizes of small images, where it is not the usual one."""
QUICK_SIZE = 64


def image_size(name: str, quick: bool) -> int:
    """The side of the images in pixels."""
    return QUICK.get(name, QUICK_SIZE) if quick else NETWORKS[name]


def model_file(name: str, size: int, folder: Path) -> Path:
    """The network for 1000 classes as an ONNX file in ``folder``, which is written if no file of this code is there."""
    code = b"".join((BUILDERS / file).read_bytes() for file in ("models.py", "network_builder.py"))
    path = folder / f"{name}_{size}-{hashlib.sha256(code).hexdigest()[:8]}.onnx"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "bench.networks", name, str(size), str(path)], cwd=ROOT, check=True)
    return path


def _write(name: str, size: int, path: Path) -> None:
    sys.path.insert(0, str(BUILDERS))
    from models import build

    temporary = path.with_suffix(".part")
    temporary.write_bytes(build(name, size).SerializeToString())
    os.replace(temporary, path)


if __name__ == "__main__":
    _write(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
