"""Small models with something unusual in each: they compile and are right, or give one error that names the node."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from compilation import check_model, compile_model
from odd_models import (
    IMAGE,
    MODELS,
    Build,
    build,
    computed_weights,
    conv,
    lrn,
    padded,
    pool,
    reshaped_sum,
    sliced,
    squeeze_excite,
    unary,
)
from tilec.analysis.machine_file import PRESETS
from tilec.support.diagnostics import TileError


@pytest.mark.parametrize("name", MODELS)
def test_computes_what_onnxruntime_does(name: str) -> None:
    make, shape = MODELS[name]
    check_model(build(make, *shape))


REFUSED: dict[str, tuple[Build, tuple[int, ...], str]] = {
    "unknown op": (
        lambda g: g.add("Expand", g.add("GlobalMaxPool", "x"), g.constant(np.array(IMAGE))),
        IMAGE,
        r"node 'node_Expand_1' \(onnx.Expand\): no lowering",
    ),
    "slice of nothing": (
        sliced([1], [3], [3]),
        IMAGE,
        r"node 'node_Slice_1' .*slice of \[1, 16, 6, 6\] to \[1, 0, 6, 6\]; nothing is left",
    ),
    "slice of rows backwards": (sliced([2], [5], [-99], [-1]), IMAGE, r"node 'node_Slice_1' .*in reverse order"),
    "slice of images": (sliced([0], [0], [1]), (2, 4, 6, 6), r"node 'node_Slice_1' .*slice of \[2, 16, 6, 6\]"),
    "slice of a flattened image": (
        lambda g: g.add("Split", g.add("Flatten", g.add("Relu", "x")), outputs=2, axis=1)[0],
        IMAGE,
        r"node 'node_Split_2' .*slice of \[1, 144\] to \[1, 72\], .* flattened; slice before you flatten",
    ),
    "padding with ones": (
        lambda g: g.add("Pad", "x", g.constant(np.array([0, 0, 1, 0] * 2)), g.constant(np.float32(1))),
        IMAGE,
        r"node 'node_Pad_0' .*padding with 1; pad with zeros",
    ),
    "padding by reflection": (padded(0, 0, 1, 1, 0, 0, 1, 1, mode="reflect"), IMAGE, r"padding with mode 'reflect'"),
    "padding of channels": (padded(0, 1, 0, 0, 0, 1, 0, 0), IMAGE, r"padding of \[1, 8, 6, 6\] to \[1, 10, 6, 6\]"),
    "concat of flattened images of different size": (
        lambda g: g.add("Concat", g.add("Flatten", "x"), g.add("Flatten", g.add("GlobalMaxPool", "x")), axis=1),
        IMAGE,
        r"node_Concat_\d.*\[\[1, 144\], \[1, 4\]\], which are \[\[1, 4, 6, 6\], \[1, 4, 1, 1\]\] in another shape",
    ),
    "concat with a constant": (
        lambda g: g.add("Concat", "x", g.constant(np.ones(IMAGE, np.float32)), axis=1),
        IMAGE,
        r"node_Concat_0.*its operand is a constant; only weights",
    ),
    "broadcast of rows": (
        reshaped_sum,
        (1, 4, 4, 4),
        r"node 'node_Add_\d' .*operands of shape \[1, 4, 4, 4\] and \[1, 4\]",
    ),
    "broadcast of rows and channels": (
        lambda g: g.add("Mul", g.add("MaxPool", "x", kernel_shape=[6, 1]), "x"),
        IMAGE,
        r"node 'node_Mul_\d' .*operands of shape \[1, 4, 6, 6\] and \[1, 4, 1, 6\]; give both the same shape",
    ),
    "computed weights": (computed_weights, IMAGE, r"node 'node_Conv_1' .*weights are computed at run time"),
    "softmax over columns": (unary("Softmax", axis=3), IMAGE, r"node 'node_Softmax_1' .*softmax over axis 3"),
    "normalization, beta 2": (lrn(2.0), IMAGE, r"node 'node_LRN_1' .*attribute beta = 2"),
    "normalization, no bias": (
        lambda g: g.add("LRN", "x", size=3, bias=0.0),
        IMAGE,
        r"node 'node_LRN_0' .*attributes bias = 0",
    ),
    "dilated pool with padding": (
        pool("MaxPool", 2, dilations=[2, 2], pads=[1, 1, 1, 1]),
        IMAGE,
        r"node 'node_MaxPool_0' .*dilated maximum pool",
    ),
    "dilated pool over the edge": (
        pool("MaxPool", 3, dilations=[2, 1], strides=[3, 3], ceil_mode=1),
        (1, 2, 7, 7),
        r"node 'node_MaxPool_0' .*dilated maximum pool .*reach over the edge",
    ),
    "steep slope": (
        lambda g: g.add("PRelu", "x", g.constant(np.full((4, 1, 1), 2.0))),
        IMAGE,
        r"node 'node_PRelu_0' .*slope of 2",
    ),
    "transposed image": (lambda g: g.add("Transpose", "x", perm=[0, 1, 3, 2]), IMAGE, r"node_Transpose_0.*transpose"),
    "concatenated rows": (lambda g: g.add("Concat", "x", "x", axis=2), IMAGE, r"node_Concat_0.*along axis 2"),
    "volume": (lambda g: g.add("Relu", "x"), (1, 2, 3, 4, 5), "input 'x': its type is .*rank 2 and 4"),
    "channels to positions": (
        lambda g: g.add("Reshape", g.add("Relu", "x"), g.constant(np.array([1, 2, 2, 3]))),
        (1, 12),
        r"node_Reshape_1.*channels to positions",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    make, shape, message = REFUSED[name]
    with pytest.raises(TileError, match=message):
        compile_model(build(make, *shape))


def test_refused_with_several_samples() -> None:
    """The shapes are those of all samples, which the message says."""
    note = r"shapes are of 3 samples, the model's of 1"
    message = rf"'node_Slice_1' \(onnx.Slice; {note}\): a slice of \[3, 16, 6, 6\] to \[3, 16, 6, 6\] in reverse"
    with pytest.raises(TileError, match=message):
        compile_model(build(sliced([2], [5], [-99], [-1]), *IMAGE), options=" samples=3")


def test_a_refused_input_of_several_samples() -> None:
    message = r"input 'x': its type is tensor<3x3x4xf32> \(shapes are of 3 samples, the model's of 1\); inputs of rank"
    with pytest.raises(TileError, match=message):
        compile_model(build(lambda g: g.add("Relu", "x"), 1, 3, 4), options=" samples=3")


@pytest.mark.parametrize("weight_bits", [4, 8, 16])
@pytest.mark.parametrize("activation_bits", [8, 16])
def test_bit_widths(weight_bits: int, activation_bits: int) -> None:
    options = f" weight-bits={weight_bits} activation-bits={activation_bits}"
    for make in (squeeze_excite, conv(70, 3)):
        check_model(build(make, 1, 3, 6, 5), options=options)


def test_without_replication() -> None:
    check_model(build(squeeze_excite, 1, 3, 6, 5), options=" replicate=false")


@pytest.mark.parametrize("name", ["three images", "dilation", "many slices", "concat, flatten", "perceptron"])
def test_small_machine(name: str) -> None:
    make, shape = MODELS[name]
    check_model(build(make, *shape), machine="tiny4")


def test_too_many_weights() -> None:
    with pytest.raises(TileError, match=r"machine 'tiny4'.*arrays"):
        compile_model(build(conv(600, 5), 1, 40, 5, 5), machine="tiny4")


@pytest.mark.parametrize("options", ["", " replicate=false"])
def test_a_machine_may_be_exactly_full(options: str, tmp_path: Path) -> None:
    """Nine narrow column parts of two slices each, of 16 arrays, would leave 4 arrays of each core of 36 empty."""
    content = json.loads((PRESETS / "reference144.json").read_text())
    content["chip_config"]["core_cnt"] = 4
    content["chip_config"]["core_config"]["matrix_config"]["xbar_array_count"] = 36
    machine = tmp_path / "full.json"
    machine.write_text(json.dumps(content))

    def product(outputs: int) -> Build:
        return lambda g: g.add("Gemm", "x", g.weight(200, outputs))

    package = compile_model(build(product(9000), 1, 200), f'"{machine}"', options)
    assert sorted(sum(groups) for groups in package.program.groups) == [35, 35, 36, 36]
    check_model(build(product(9000), 1, 200), f'"{machine}"', options)
    with pytest.raises(TileError, match=r"arrays"):
        compile_model(build(product(4 * 36 * 64 + 1), 1, 200), f'"{machine}"', options)


def test_too_little_memory() -> None:
    with pytest.raises(TileError, match=r"core \d: it needs \d+ bytes of local memory and has 65536; most is held for"):
        compile_model(build(lambda g: g.add("Relu", "x"), 1, 64, 2, 1100), machine="tiny4")
