"""Command lines: what is an option, and what is an option's value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tilec.support.diagnostics import TileError
from tilec.tools import compile_arguments, opt_arguments, tile_compile, tile_opt, tile_run


@pytest.mark.parametrize("name", ["o", "h", "q=1", "verbose", "v=true"])
def test_values_that_look_like_options_without_a_dash(name: str) -> None:
    assert compile_arguments.parse_arguments(["model.onnx", "-o", name]).output == Path(name)
    assert compile_arguments.parse_arguments([name, "-o", "out"]).model == name
    assert opt_arguments.parse_arguments([name, "-o", name]).output == Path(name)


def test_values_with_a_dash_are_left_alone() -> None:
    options = compile_arguments.parse_arguments(["model.onnx", "-o", "out", "--pass-pipeline", "-", "-quiet"])
    assert options.pipeline == "-"
    assert options.quiet


def test_llvm_spelling() -> None:
    options = opt_arguments.parse_arguments(["-print-op-generic", "-verify-each=false", "-o=o", "in.mlir"])
    assert options.print_op_generic
    assert not options.verify_each
    assert options.output == Path("o")
    with pytest.raises(TileError, match="takes 'true' or 'false', not 'perhaps'"):
        opt_arguments.parse_arguments(["-quiet=perhaps"])


@pytest.mark.parametrize(
    ("name", "main"), [("tile-opt", tile_opt.main), ("tile-compile", tile_compile.main), ("tile-run", tile_run.main)]
)
def test_version(name: str, main: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"{name} ")


@pytest.mark.parametrize(
    ("content", "what"),
    [(None, "no such file or directory"), (b"text", "this is no .npz file of arrays"), (b"", "this is no .npz")],
)
def test_resources_that_cannot_be_read(
    content: bytes | None, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.npz"
    if content is not None:
        path.write_bytes(content)
    assert tile_opt.main(["in.mlir", "--resources", str(path)]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: {path}: cannot read resources: {what}")
    assert "Errno" not in errors
    assert "pickle" not in errors


@pytest.mark.parametrize("option", ["-o", "--emit-resources"])
def test_an_output_that_is_a_directory(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tile_opt.main(["in.mlir", option, str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"error: {tmp_path}: is a directory; name a file\n"
