"""What the compiler makes of any reasonable network passes its own guard, and computes what onnxruntime does.

Each network here was refused once, though nothing was wrong with its program, or was slow for a reason that no other
network shows.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
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


def one_pixel_wide(g: Graph) -> str:
    """Lanes of few, long instructions, between which messages wait."""
    x = g.add("Relu", g.add("Conv", "x", g.weight(8, 3, 5, 1), pads=[2, 0, 2, 0]))
    return g.add("MaxPool", x, kernel_shape=[2, 1], strides=[2, 1])


def single_instructions(g: Graph) -> str:
    x = g.add("Relu", "x")
    return g.conv(g.add("Sub", x, x), 16, 8, 2, group=2, pads=[2, 1, 1, 2], strides=[3, 1])


def activated_twice(g: Graph) -> str:
    """What clips a tensor and its Relu is the same, which shows when the activations are one."""
    joined = g.add("Concat", "x", g.add("Relu", "x"), "x", axis=1)
    return g.add("Clip", joined, g.constant(np.float32(0)), g.constant(np.float32(6)))


def pooled_twice(g: Graph) -> str:
    """The second pool has nothing to do but to give each of three equal tensors back."""
    x = g.add("GlobalMaxPool", g.add("GlobalMaxPool", g.add("Concat", "x", "x", "x", axis=1)))
    return g.add("Add", x, x)


def parts_of_a_layer(g: Graph) -> str:
    """33 replicas of three parts each are 99 cores; 50 would be more than there are."""
    return g.add("Mul", g.conv("x", 8, 32, 5), g.weight(1, 32, 1, 1))


def full_cores(g: Graph) -> str:
    """Replicas of the second layer fill a core each, so that those of the first one crowd on what is left."""
    x = g.add("HardSigmoid", g.conv("x", 1, 2, 3))
    return g.conv(x, 2, 40, 3, pads=[2, 3, 1, 0])


def uneven_branches(g: Graph) -> str:
    """Three layers of 5, 3 and 2 arrays for 11 cores of one array each."""
    found = [g.conv("x", 3, 4, 1), g.conv("x", 3, 1, 5), g.add("Sigmoid", g.conv("x", 3, 2, 5))]
    return g.add("Concat", *found, axis=1)


TINY = Path(__file__).parents[2] / "analysis" / "machines" / "tiny4.json"

NETWORKS: dict[str, tuple[Build, tuple[int, ...], str, str]] = {
    "40 branches": (branches(40, (3,)), (1, 4, 8, 8), "reference144", ""),
    "20 branches": (branches(20, (1, 3, 5)), (1, 4, 8, 8), "reference144", ""),
    "no op": (lambda g: g.add("Identity", "x"), (1, 3, 4, 4), "tiny4", ""),
    "one pixel wide": (one_pixel_wide, (1, 3, 64, 1), "tiny4", ""),
    "single instructions": (single_instructions, (3, 16, 2, 2), "tiny4", ""),
    "activated twice": (activated_twice, (2, 4, 13, 3), "reference144", ""),
    "pooled twice": (pooled_twice, (2, 1, 3, 3), "tiny4", ""),
    "parts of a layer": (parts_of_a_layer, (1, 8, 33, 33), "reference144", ""),
    "picked columns": (picked("Relu", 3, 3), (1, 8, 33, 33), "tiny4", ""),
    "picked columns, read often": (picked("HardSwish", 1, 2), (1, 8, 9, 33), "reference144", ""),
}
"""By name: how to build it, the shape of its input, the machine, and options."""


@pytest.mark.parametrize("name", NETWORKS)
def test_passes_the_guard(name: str) -> None:
    make, shape, machine, options = NETWORKS[name]
    check_model(build(make, *shape), machine, options)


def test_several_samples_pass_the_guard() -> None:
    lower(build(parts_of_a_layer, 1, 8, 33, 33), options=" samples=3")


@pytest.mark.parametrize(
    ("make", "shape", "cores", "arrays"),
    [(full_cores, (2, 1, 20, 9), (3, 5), 4), (uneven_branches, (1, 3, 33, 33), (1, 11), 1)],
)
def test_other_machines(
    make: Build, shape: tuple[int, ...], cores: tuple[int, int], arrays: int, tmp_path: Path
) -> None:
    """Of tiny4's cores, so many rows and columns, each with so many arrays."""
    content = json.loads(TINY.read_text(encoding="utf-8"))
    chip = content["chip_config"]
    chip["core_cnt"], chip["network_config"]["layout"] = cores[0] * cores[1], list(cores)
    chip["core_config"]["matrix_config"]["xbar_array_count"] = arrays
    path = tmp_path / "chip.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    check_model(build(make, *shape), f'"{path}"')


def test_rows_of_the_input_are_copied_once() -> None:
    """However many convolutions read each several times."""
    found: list[int] = []

    def count(stage: str, module: ModuleOp) -> None:
        if stage == "convert-onnx-to-spat":
            (source,) = [op for op in module.walk() if isinstance(op, InputOp)]
            found.append(len([use for use in source.result.uses if isinstance(use.operation, ComputeBatchOp)]))

    lower(build(branches(5, (3, 5)), 1, 4, 8, 8), after_pass=count)
    assert found == [1]
