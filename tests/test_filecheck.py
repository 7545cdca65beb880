"""Every test below `tests/filecheck`, as one pytest test each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shtest import run_test

ROOT = Path(__file__).parent / "filecheck"
FILES = sorted(path for path in ROOT.rglob("*.mlir") if not {"inputs", "Output"} & set(path.parts))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_filecheck(path: Path, tmp_path: Path) -> None:
    failure = run_test(path, tmp_path)
    if failure:
        pytest.fail(failure, pytrace=False)


@pytest.mark.slow
def test_lit_agrees() -> None:
    lit = [sys.executable, "-c", "from lit.main import main; main()", "-v", str(ROOT)]
    done = subprocess.run(lit, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"Passed: {len(FILES)} " in done.stdout
