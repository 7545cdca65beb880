"""What the compiler makes of any reasonable network passes its own guard, and computes what onnxruntime does.

Each network here was refused once, though nothing was wrong with its program, or was slow for a reason that no other
network shows.
"""

from __future__ import annotations

import pytest
from compilation import check_model, lower
from odd_models import Build, Graph, build
from tilec.dialects.spat import ComputeBatchOp, InputOp
from xdsl.dialects.builtin import ModuleOp


def branches(count: int, kernels: tuple[int, ...]) -> Build:
    """So many convolutions of one input, side by side."""

    def make(g: Graph) -> str:
        found = [g.conv("x", 4, 3 + index % 5, kernels[index % len(kernels)]) for index in range(count)]
        return g.add("Concat", *found, axis=1)

    return make


def picked(kind: str, *strides: int) -> Build:
    """An activation of some columns of each row."""
    return lambda g: g.add(kind, g.add("AveragePool", "x", kernel_shape=[1, 1], strides=list(strides)))


NETWORKS: dict[str, tuple[Build, tuple[int, ...], str, str]] = {
    "40 branches": (branches(40, (3,)), (1, 4, 8, 8), "reference144", ""),
    "picked columns": (picked("Relu", 3, 3), (1, 8, 33, 33), "tiny4", ""),
    "picked columns, read often": (picked("HardSwish", 1, 2), (1, 8, 9, 33), "reference144", ""),
}
"""By name: how to build it, the shape of its input, the machine, and options."""


@pytest.mark.parametrize("name", NETWORKS)
def test_passes_the_guard(name: str) -> None:
    make, shape, machine, options = NETWORKS[name]
    check_model(build(make, *shape), machine, options)


def test_rows_of_the_input_are_copied_once() -> None:
    """However many convolutions read each several times."""
    found: list[int] = []

    def count(stage: str, module: ModuleOp) -> None:
        if stage == "convert-onnx-to-spat":
            (source,) = [op for op in module.walk() if isinstance(op, InputOp)]
            found.append(len([use for use in source.result.uses if isinstance(use.operation, ComputeBatchOp)]))

    lower(build(branches(5, (3, 5)), 1, 4, 8, 8), after_pass=count)
    assert found == [1]
