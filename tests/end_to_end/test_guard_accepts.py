"""What the compiler makes of any reasonable network passes its own guard, and computes what onnxruntime does.

Each network here was refused once, though nothing was wrong with its program, or was slow for a reason that no other
network shows.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from compilation import check_model, lower
from odd_models import Build, Graph, build
from tilec.dialects.location import node_name
from tilec.dialects.spat import ComputeBatchOp, InputOp, VMMOp
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


def large_layer_beside_small_ones(g: Graph) -> str:
    """Sixteen arrays: dealt one by one, they go to replicas of the small layers, until the large one gets none."""
    found = [g.conv("x", 16, outputs, kernel) for outputs, kernel in ((8, 1), (8, 1), (4, 1), (2, 3), (2, 1))]
    x = g.add("Concat", *found, axis=1)
    return g.add("Conv", x, g.weight(8, 3, 3, 3), pads=[1] * 4, strides=[2, 2], group=8)


def one_large_layer(g: Graph) -> str:
    """Replicas of three parts of two arrays each: a third one leaves a tenth of the chip free."""
    return g.add("Conv", g.add("Concat", "x", "x", axis=1), g.weight(1, 32, 3, 1), pads=[1, 0, 1, 0])


def wide_then_narrow(g: Graph) -> str:
    """Rows of 1000 channels to many cores: these send and receive for most of the time, whatever they compute."""
    return g.conv(g.add("Relu", g.conv("x", 2048, 1000, 1)), 1000, 33, 3)


def doubled_layer(g: Graph) -> str:
    """What adds a layer of two slices to itself is no sum of slices."""
    x = g.add("Conv", "x", g.weight(16, 3, 7, 7), pads=[3] * 4)
    return g.add("Add", g.add("Add", x, x), g.constant(np.float32(0.5)))


def copied_often(g: Graph) -> tuple[str, str]:
    """An output of the same rows of the input four times: they are loaded once."""
    x = g.add("Concat", "x", "x", "x", "x", axis=1)
    return g.add("Relu", x), x


def wide_residual(g: Graph) -> str:
    """An input of 600 channels, and a layer whose rows are cut into parts of 200."""
    return g.add("Add", "x", g.conv("x", 600, 600, 1))


def wide_residual_reversed(g: Graph) -> str:
    return g.add("Sub", g.conv("x", 600, 600, 1), "x")


def wide_gate(g: Graph) -> str:
    return g.add("Mul", g.conv("x", 600, 600, 1), g.add("GlobalAveragePool", "x"))


def wide_parts(g: Graph) -> str:
    """Parts of 150 channels, beside those of 200."""
    left = g.add("Concat", g.conv("x", 600, 300, 1), g.conv("x", 600, 300, 1), axis=1)
    return g.add("Add", left, g.conv("x", 600, 600, 1))


def one_channel(g: Graph) -> str:
    """An array does all 96 columns of a row at once."""
    return g.add("Conv", "x", g.weight(1, 1, 1, 1))


TINY = Path(__file__).parents[2] / "analysis" / "machines" / "tiny4.json"


def sliced_away(g: Graph) -> str:
    """Nothing is kept of the convolution's channels."""
    both = g.add("Concat", g.conv("x", 4, 3), "x", axis=1)
    return g.add("Relu", g.add("Split", both, g.constant(np.array([3, 4])), outputs=2, axis=1)[1])


def part_of_a_gate(g: Graph) -> str:
    """One channel of a product of two, which are far apart in the input and in the other order."""
    ends = (np.array([one]) for one in (-3, -9999, 1, -3))
    x = g.add("Slice", "x", *map(g.constant, ends))
    gated = g.add("Mul", g.conv(g.add("GlobalMaxPool", x), 2, 2, 1), x)
    return g.add("Slice", gated, *(g.constant(np.array([one])) for one in (0, 1, 1)))


def narrow_pieces(g: Graph) -> tuple[str, str]:
    """Of a layer of 24 channels, nobody reads eight in the middle."""
    x = g.add("Relu", g.conv("x", 4, 24, 3))
    first, _, last = g.add("Split", x, g.constant(np.array([8, 8, 8])), outputs=3, axis=1)
    return g.conv(first, 8, 4, 1), g.add("Relu", last)


def wide_piece(g: Graph) -> str:
    """Of a split, the second piece is the widest, and the only one that is read."""
    return g.add("Relu", g.add("Split", "x", g.constant(np.array([1, 2, 1])), outputs=3, axis=1)[1])


def channel_twice(g: Graph) -> str:
    """A layer gathers two windows of one channel, which becomes one tile when the slice moves into the layer."""
    x = g.add("Slice", "x", *(g.constant(np.array([one])) for one in (3, 4, 1)))
    return g.add("Relu", g.conv(g.add("Concat", x, x, axis=1), 2, 5, 1))


def lower_rows(g: Graph) -> str:
    """Of a split in rows, the first piece is the highest, and nobody reads it."""
    return g.add("Split", "x", g.constant(np.array([5, 3, 3])), outputs=3, axis=2)[2]


def narrow_under_wide_windows(g: Graph) -> str:
    """Nearly all that cores hold are zeros: beside the one column of a row, and above and below the image."""
    return g.add("Conv", "x", g.weight(4, 24, 3, 41), pads=[1, 20, 1, 20])


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
    "one channel": (one_channel, (1, 1, 12, 96), "reference144", ""),
    "doubled layer": (doubled_layer, (3, 3, 11, 11), "reference144", ""),
    "sliced away": (sliced_away, (1, 4, 6, 6), "tiny4", ""),
    "part of a gate": (part_of_a_gate, (1, 6, 1, 4), "tiny4", ""),
    "narrow pieces": (narrow_pieces, (1, 4, 9, 9), "tiny4", ""),
    "wide piece": (wide_piece, (1, 4, 6, 6), "tiny4", ""),
    "channel twice": (channel_twice, (1, 4, 6, 6), "reference144", ""),
    "lower rows": (lower_rows, (1, 5, 11, 1), "reference144", ""),
    "narrow under wide windows": (narrow_under_wide_windows, (1, 24, 1, 1), "tiny4", ""),
    "wide residual": (wide_residual, (1, 600, 3, 4), "reference144", ""),
    "wide residual, reversed": (wide_residual_reversed, (1, 600, 3, 4), "reference144", ""),
    "wide gate": (wide_gate, (1, 600, 3, 4), "reference144", ""),
    "wide parts": (wide_parts, (1, 600, 3, 4), "reference144", ""),
}
"""By name: how to build it, the shape of its input, the machine, and options."""


@pytest.mark.parametrize("name", NETWORKS)
def test_passes_the_guard(name: str) -> None:
    make, shape, machine, options = NETWORKS[name]
    check_model(build(make, *shape), machine, options)


@pytest.mark.parametrize(
    ("make", "shape", "samples"),
    [
        (parts_of_a_layer, (1, 8, 33, 33), 3),
        (wide_then_narrow, (1, 2048, 4, 4), 2),
        (wide_then_narrow, (1, 2048, 4, 4), 3),
    ],
)
def test_several_samples_pass_the_guard(make: Build, shape: tuple[int, ...], samples: int) -> None:
    lower(build(make, *shape), options=f" samples={samples}")


@pytest.mark.parametrize(
    ("make", "shape", "cores", "arrays", "size", "samples"),
    [
        (full_cores, (2, 1, 20, 9), (3, 5), 4, 128, 1),
        (uneven_branches, (1, 3, 33, 33), (1, 11), 1, 128, 1),
        (large_layer_beside_small_ones, (1, 16, 11, 11), (2, 8), 1, 64, 1),
        (one_large_layer, (1, 16, 8, 8), (1, 11), 2, 128, 2),
        (copied_often, (1, 1, 56, 56), (3, 3), 2, 128, 3),
    ],
)
def test_other_machines(
    make: Build, shape: tuple[int, ...], cores: tuple[int, int], arrays: int, size: int, samples: int, tmp_path: Path
) -> None:
    """Of tiny4's cores, so many rows and columns, each with so many arrays of ``size`` rows and columns."""
    content = json.loads(TINY.read_text(encoding="utf-8"))
    chip = content["chip_config"]
    chip["core_cnt"], chip["network_config"]["layout"] = cores[0] * cores[1], list(cores)
    matrix = chip["core_config"]["matrix_config"]
    matrix["xbar_array_count"], matrix["xbar_size"], matrix["dac_count"] = arrays, [size, size], size
    path = tmp_path / "chip.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    model = build(make, *shape)
    if samples == 1:
        check_model(model, f'"{path}"')
    else:
        lower(model, f'"{path}"', f" samples={samples}")


def test_rows_of_the_input_are_copied_once() -> None:
    """However many convolutions read each several times."""
    found: list[int] = []

    def count(stage: str, module: ModuleOp) -> None:
        if stage == "convert-onnx-to-spat":
            (source,) = [op for op in module.walk() if isinstance(op, InputOp)]
            found.append(len([use for use in source.result.uses if isinstance(use.operation, ComputeBatchOp)]))

    lower(build(branches(5, (3, 5)), 1, 4, 8, 8), after_pass=count)
    assert found == [1]


@pytest.mark.parametrize(("make", "kind"), [(wide_residual_reversed, "Sub"), (wide_parts, "Add")])
def test_channels_in_the_same_order_are_not_moved_to_be_combined(make: Build, kind: str) -> None:
    """However they are cut into tensors: a permutation would be a product."""
    found: set[str] = set()

    def products(stage: str, module: ModuleOp) -> None:
        if stage == "convert-onnx-to-spat":
            found.update(node_name(op) for op in module.walk() if isinstance(op, VMMOp))

    lower(build(make, 1, 600, 3, 4), after_pass=products)
    assert found
    assert not [name for name in found if kind in name]


def dead_branch(g: Graph, read: int = 8) -> str:
    """Two layers beside a small one, of whose channels nobody reads any behind the activation."""
    wide = g.conv(g.conv("x", 8, 64, 3), 64, 4096, 1)
    both = g.add("Relu", g.add("Concat", g.conv("x", 8, read, 1), wide, axis=1))
    return g.add("Split", both, g.constant(np.array([read, 4096])), outputs=2, axis=1)[0]


def live_branch(g: Graph) -> str:
    return g.add("Relu", g.conv("x", 8, 8, 1))


def replicas(model: onnx.ModelProto) -> dict[str, int]:
    """Of each layer, when arrays have been dealt."""
    found: dict[str, int] = {}

    def count(stage: str, module: ModuleOp) -> None:
        if stage == "convert-onnx-to-spat":
            found.update(
                {
                    node_name(op): op.replica_count
                    for op in module.walk()
                    if isinstance(op, ComputeBatchOp) and op.vmm_ops
                }
            )

    lower(model, "tiny4", after_pass=count)
    return found


def test_arrays_are_dealt_to_what_is_read() -> None:
    """The dead layers alone have more weights than the chip has room for."""
    assert list(replicas(build(dead_branch, 1, 8, 6, 6)).values()) == list(
        replicas(build(live_branch, 1, 8, 6, 6)).values()
    )
