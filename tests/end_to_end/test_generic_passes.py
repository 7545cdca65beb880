"""Passes that know nothing of the dialects, between any two stages: the guard accepts them, the program is the same."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import onnx
import pytest
from compilation import package_of
from guard_programs import guarded, parsed
from random_networks import RandomNetwork
from tilec.codegen.package import Package, write_package
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Guard, GuardError
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

DIGITS = Path(__file__).parents[2] / "examples" / "digits_cnn.onnx"

GENERIC = ("canonicalize", "cse", "dce")


def compiled(model: onnx.ModelProto, machine: str, between: str = "") -> Package:
    """With the passes ``between`` before every stage, and after the last."""
    more = build_pipeline(between) if between else ()
    passes: list[ModulePass] = [*more]
    for stage in build_pipeline(f"tile-default{{machine={machine}}}"):
        passes += [stage, *more]
    module = import_onnx(model.SerializeToString())
    PassManager(tuple(passes), (Guard(), Verifier())).run(make_context(), module)
    return package_of(module)


def assert_the_same(one: Package, other: Package) -> None:
    np.testing.assert_array_equal(one.program.core_start, other.program.core_start)
    for field in fields(one.program.columns):
        columns = [getattr(each.program.columns, field.name) for each in (one, other)]
        np.testing.assert_array_equal(*columns, err_msg=field.name)
    assert one.memory.size_bytes == other.memory.size_bytes


@pytest.mark.parametrize("between", [*GENERIC, ",".join(GENERIC)])
def test_between_every_two_stages_of_an_example(between: str) -> None:
    model = onnx.load(DIGITS)
    assert_the_same(compiled(model, "reference144"), compiled(model, "reference144", between))


@pytest.mark.parametrize("seed", range(4))
def test_between_every_two_stages_of_random_networks(seed: int) -> None:
    model = RandomNetwork(seed).model()
    assert_the_same(compiled(model, "tiny4"), compiled(model, "tiny4", ",".join(GENERIC)))


@pytest.mark.parametrize("between", [*GENERIC, ",".join(GENERIC)])
def test_an_input_that_nothing_reads_stays(between: str, tmp_path: Path) -> None:
    """It belongs to the interface of the network, like an argument that a function does not use."""
    model = RandomNetwork(0).model()
    model.graph.input.append(onnx.helper.make_tensor_value_info("unread", onnx.TensorProto.FLOAT, [1, 3]))
    plain = compiled(model, "tiny4")
    assert "unread" in [tensor.name for tensor in plain.inputs]
    found = compiled(model, "tiny4", between)
    assert write_package(found, tmp_path / "found") == write_package(plain, tmp_path / "plain")


EQUAL_COPIES = """
func.func @main() {
  %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %a = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>):
    %row = spat.view %rows row 0 start 0 step 1 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    spat.yield %row : tensor<4x2xf32>
  }
  %b = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      -> tensor<4x4x2xf32> {
  ^bb0(%rows: tensor<1x4x2xf32>):
    %row = spat.view %rows row 0 start 0 step 1 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    spat.yield %row : tensor<4x2xf32>
  }
  spat.output "a" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %a : tensor<4x4x2xf32>
  spat.output "b" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %b : tensor<4x4x2xf32>
  func.return
}
"""


def test_equal_batches_are_not_merged() -> None:
    """A value with two readers may cost more than two values: which is better, only the schedule can tell."""
    guarded(CanonicalizePass(), parsed(EQUAL_COPIES))
    with pytest.raises(GuardError, match="lanes of graph batches"):
        guarded(CommonSubexpressionElimination(), parsed(EQUAL_COPIES))
