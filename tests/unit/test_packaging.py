"""The wheel: what is in it, and that what it installs works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = sorted({name.split(".")[1] for name in PROJECT["tool"]["setuptools"]["packages"]})


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the sources, because building writes beside them."""
    copy = tmp_path_factory.mktemp("source")
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    target = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(target), str(copy))
    (built,) = target.glob("tilec-*.whl")
    return built


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, cwd="/", env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_folder_with_code_is_a_package() -> None:
    found = {
        ".".join(("tilec", *path.parent.relative_to(ROOT).parts))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert found == set(PROJECT["tool"]["setuptools"]["packages"]), "list it in pyproject.toml"


def test_wheel_holds_one_import_package(wheel: Path) -> None:
    names = [PurePosixPath(name) for name in zipfile.ZipFile(wheel).namelist()]
    tops = {name.parts[0] for name in names}
    assert tops == {"tilec", f"tilec-{PROJECT['project']['version']}.dist-info"}


def test_wheel_ships_every_source_file(wheel: Path) -> None:
    shipped = set(zipfile.ZipFile(wheel).namelist())
    suffixes = {".py", ".lark", ".json", ".typed"}
    sources = {
        f"tilec/{path.relative_to(ROOT)}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes or path.name == "py.typed"
    }
    assert sources <= shipped, f"{sorted(sources - shipped)} are missing; see package-data in pyproject.toml"
    for folder in FOLDERS:
        assert f"tilec/{folder}/py.typed" in shipped


def test_installed_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    """With the dependencies of this environment, but without its editable install."""
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), str(wheel))
    path = os.pathsep.join([str(tmp_path), sysconfig.get_path("purelib")])
    source = "func.func @f() {\n  func.return\n}\n"
    (tmp_path / "f.mlir").write_text(source)
    # -S keeps the editable install's import hook out.
    command = (sys.executable, "-S", "-m", "tilec.tools.tile_opt")
    assert run(*command, "--version", PYTHONPATH=path).startswith(f"tile-opt {PROJECT['project']['version']}")
    assert "func.func @f" in run(*command, str(tmp_path / "f.mlir"), "-p", "canonicalize", PYTHONPATH=path)
    # The demo: compile the bundled classifier, and let the simulated chip read digits.
    examples, package = ROOT / "examples", str(tmp_path / "package")
    compile_model = (sys.executable, "-S", "-m", "tilec.tools.tile_compile")
    run(*compile_model, str(examples / "mnist_resnet8.onnx"), "-o", package, PYTHONPATH=path)
    digits = str(examples / "mnist_test200.npz")
    run_package = (sys.executable, "-S", "-m", "tilec.tools.tile_run", package, "--batch", "--limit", "20")
    told = run(*run_package, "--input", f"{digits}:x", "--labels", f"{digits}:y", PYTHONPATH=path)
    assert "20 of 20 right" in told


@pytest.mark.slow
def test_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", str(tmp_path))
    run(str(tmp_path / "bin" / "pip"), "install", "--quiet", str(wheel))
    tools = tmp_path / "bin"
    assert run(str(tools / "tile-opt"), "--version").startswith("tile-opt")
    site_packages = next((tmp_path / "lib").glob("python*")) / "site-packages"
    assert not [folder for folder in FOLDERS if (site_packages / folder).exists()]
