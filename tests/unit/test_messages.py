"""What all errors to users have in common: they begin in lower case, and nearly all say what to do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tilec.support.diagnostics import TileError, TileErrors

ROOT = Path(__file__).parents[2]
FOLDERS = ("analysis", "codegen", "dialects", "lowering", "passes", "simulators", "support", "tools")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

WITHOUT_REMEDY = {
    "passes/manager.py": "what a foreign pass says",
    "tools/expected_diagnostics.py": "what a test expects",
}
"""Files with errors of which nobody knows what to do against them."""


def errors(path: Path) -> Iterator[tuple[int, list[ast.expr]]]:
    """The line and the arguments of each error to users that the file makes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("TileError", "refuse"):
            yield node.lineno, [*node.args, *(keyword.value for keyword in node.keywords)]


def beginning(text: ast.expr) -> str:
    """The literal text that a string begins with; empty if it begins with something computed."""
    match text:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=[first, *_]):
            return beginning(first)
        case ast.BinOp(left=left):
            return beginning(left)
        case _:
            return ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_form(path: Path) -> None:
    for line, (_, what, *remedy) in errors(path):
        assert not beginning(what)[:1].isupper() or beginning(what).startswith("ONNX"), f"{path}:{line}: a capital"
        assert not beginning(what).endswith("."), f"{path}:{line}: a full stop"
        if str(path.relative_to(ROOT)) not in WITHOUT_REMEDY:
            assert remedy, f"{path}:{line}: no remedy"
            assert not (isinstance(remedy[0], ast.Constant) and not remedy[0].value), f"{path}:{line}: no remedy"


def test_the_exceptions_are_needed() -> None:
    for name in WITHOUT_REMEDY:
        assert any(len(arguments) < 3 for _, arguments in errors(ROOT / name)), name


def test_line_breaks_in_names_stay_on_one_line() -> None:
    error = TileError("node 'a\nb'", "reads '\x1b[31mc'", "rename 'ü'")
    assert str(error) == "error: node 'a\\nb': reads '\\x1b[31mc'; rename 'ü'"
    assert str(TileErrors([error, error])).count("\n") == 1
