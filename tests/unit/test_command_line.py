"""Command lines: what is an option, and what is an option's value."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilec.support.diagnostics import TileError
from tilec.tools import compile_arguments, opt_arguments


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
