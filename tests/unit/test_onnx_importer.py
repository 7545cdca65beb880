"""Import of ONNX models: what becomes of names, constants, shapes and versions."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_graphs import NEWEST, RELU, imported, model_of, refused, tensor
from onnx_reference import check_model, op_counts
from tilec.dialects import onnx as ops
from tilec.dialects.location import node_name
from tilec.dialects.onnx_base import shape_of
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Guard
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline

# What an import gives


def test_names() -> None:
    weights = {"conv.weight": np.ones((4, 3, 3, 3), np.float32), "conv.bias": np.zeros(4, np.float32)}
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["/conv/out 0"], name="/layer1/conv"),
        helper.make_node("Relu", ["/conv/out 0"], ["y"]),
    ]
    module = imported(model_of(nodes, constants=weights))
    names = [node_name(op) for op in module.walk() if isinstance(op, ops.OnnxOp)]
    # A node without a name goes by its output.
    assert names == ["conv.weight", "conv.bias", "/layer1/conv", "y"]
    text = str(module)
    assert '{onnx.name = "x"}' in text
    assert '{onnx.name = "y"}' in text
    assert "%conv.weight = onnx.Constant" in text
    assert "%_conv_out_0" not in text


def test_initializer_and_constant_node_are_the_same() -> None:
    array = np.arange(3, dtype=np.float32).reshape(3, 1, 1)
    add = helper.make_node("Add", ["x", "c"], ["y"], name="add")
    constant = helper.make_node("Constant", [], ["c"], name="c", value=numpy_helper.from_array(array))
    first = imported(model_of([add], constants={"c": array}))
    second = imported(model_of([constant, add]))
    assert str(first) == str(second)


def test_initializer_that_is_also_an_input() -> None:
    add = helper.make_node("Add", ["x", "c"], ["y"])
    model = model_of([add], [tensor("x", [3]), tensor("c", [3])], constants={"c": np.ones(3, np.float32)})
    assert str(imported(model)).count("onnx.name") == 2


def test_weights_are_not_copied() -> None:
    array = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    module = imported(
        model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [tensor("x", [1, 64])], constants={"w": array})
    )
    (constant,) = (op for op in module.walk() if isinstance(op, ops.ConstantOp))
    assert not constant.value.array.flags.owndata
    assert not constant.value.array.flags.writeable


def test_symbolic_dimensions_are_bound() -> None:
    module = imported(model_of([RELU], [tensor("x", ["batch", 3, "size", "size"])]), batch=2, size=8)
    (relu,) = (op for op in module.walk() if isinstance(op, ops.ReluOp))
    assert shape_of(relu.y) == (2, 3, 8, 8)


def test_dimension_without_a_name() -> None:
    model = model_of([RELU], [tensor("x", [None, 3])])
    assert "dimension x.0 of input 'x' is not bound; add --dim x.0=VALUE" in refused(model)
    module = import_onnx(model.SerializeToString(), {"x.0": 5})
    assert "tensor<5x3xf32>" in str(module)


def test_unsorted_nodes() -> None:
    nodes = [helper.make_node("Relu", ["h"], ["y"]), helper.make_node("Neg", ["x"], ["h"])]
    assert list(op_counts(imported(model_of(nodes)))) == ["Neg", "Relu"]


def test_shape_arithmetic_is_computed() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1])}
    module = imported(model_of(nodes, constants=constants))
    assert op_counts(module) == {"Reshape": 1}
    assert "tensor<1x192xf32>" in str(module)
    # What was computed does not count as a reader.
    assert module.body.block.first_op is not None
    (argument,) = module.body.block.first_op.regions[0].block.args
    assert argument.has_one_use()


def test_model_local_functions_are_inlined() -> None:
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    model = model_of([helper.make_node("Twice", ["x"], ["y"], domain="local")])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("local", 1))
    assert op_counts(imported(model)) == {"Add": 1}


def test_an_input_that_nothing_reads_does_no_harm() -> None:
    """Not even to the guard."""
    inputs = (tensor("x", [1, 3, 8, 8]), tensor("unread", [1, 3, 8, 8]))
    module = imported(model_of([helper.make_node("Relu", ["x"], ["y"])], inputs))
    guard = Guard()
    PassManager(build_pipeline("tile-default{machine=reference144}"), (guard,)).run(make_context(), module)
    assert not any(found.fault for found in guard.examined)


# Versions


def test_attributes_that_became_inputs() -> None:
    x = [tensor("x", [2, 1, 6])]
    for old, new in (
        (
            (7, [helper.make_node("Slice", ["x"], ["y"], starts=[1], ends=[5], axes=[2])]),
            (13, [helper.make_node("Slice", ["x", "s", "e", "a"], ["y"])]),
        ),
        (
            (7, [helper.make_node("Squeeze", ["x"], ["y"], axes=[1])]),
            (13, [helper.make_node("Squeeze", ["x", "s"], ["y"])]),
        ),
        (
            (7, [helper.make_node("Pad", ["x"], ["y"], pads=[0, 0, 1, 0, 0, 1], value=2.0)]),
            (13, [helper.make_node("Pad", ["x", "p", "v"], ["y"])]),
        ),
        (
            (7, [helper.make_node("Clip", ["x"], ["y"], min=0.5, max=1.5)]),
            (13, [helper.make_node("Clip", ["x", "lo", "hi"], ["y"])]),
        ),
        (
            (7, [helper.make_node("ReduceMean", ["x"], ["y"], axes=[1])]),
            (18, [helper.make_node("ReduceMean", ["x", "s"], ["y"])]),
        ),
    ):
        constants = {
            "s": np.array([1]),
            "e": np.array([5]),
            "a": np.array([2]),
            "p": np.array([0, 0, 1, 0, 0, 1]),
            "v": np.array(2, np.float32),
            "lo": np.array(0.5, np.float32),
            "hi": np.array(1.5, np.float32),
        }
        texts = {str(imported(model_of(nodes, x, constants=constants, opset=opset))) for opset, nodes in (old, new)}
        assert len(texts) == 1


@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 4), 1), ((2, 3, 1), 1), ((2, 3), 0), ((3,), 0)])
@pytest.mark.parametrize("opset", [9, 11, 13])
def test_softmax_flattened_before_opset_13(shape: tuple[int, ...], axis: int, opset: int) -> None:
    for kind in ("Softmax", "LogSoftmax"):
        check_model(model_of([helper.make_node(kind, ["x"], ["y"], axis=axis)], [tensor("x", shape)], opset=opset))


@pytest.mark.parametrize("opset", [7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, NEWEST])
def test_dropout_and_batch_normalization(opset: int) -> None:
    random = np.random.default_rng(0)
    constants = {name: random.random(3).astype(np.float32) + 0.5 for name in ("scale", "b", "mean", "var")}
    dropout = (
        helper.make_node("Dropout", ["h"], ["y", "mask"], ratio=0.5)
        if opset < 12
        else helper.make_node("Dropout", ["h", "ratio"], ["y", "mask"])
    )
    nodes = [helper.make_node("BatchNormalization", ["x", "scale", "b", "mean", "var"], ["h"]), dropout]
    check_model(model_of(nodes, constants={**constants, "ratio": np.array(0.5, np.float32)}, opset=opset))


@pytest.mark.parametrize("opset", [11, 13, 18, NEWEST])
def test_split_in_equal_parts(opset: int) -> None:
    attributes = {"num_outputs": 2} if opset >= 18 else {}
    nodes = [
        helper.make_node("Split", ["x"], ["a", "b"], axis=1, **attributes),
        helper.make_node("Concat", ["b", "a"], ["y"], axis=1),
    ]
    check_model(model_of(nodes, [tensor("x", [1, 6, 2])], opset=opset))


@pytest.mark.parametrize("opset", [6, NEWEST + 1])
def test_opset_out_of_range(opset: int) -> None:
    assert f"has opset {opset}, opsets 7 to {NEWEST} are supported" in refused(model_of([RELU], opset=opset))
