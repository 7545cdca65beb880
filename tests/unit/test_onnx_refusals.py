"""ONNX models that make no sense or that nothing can compute, and what they are answered with."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import RELU, imported, model_of, refused, tensor
from onnx_reference import op_counts
from tilec.lowering.onnx_importer import import_onnx
from tilec.support.diagnostics import TileError, TileErrors


def test_an_output_is_listed_once() -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    assert "output 'y' is listed twice; list each output once" in refused(model_of([relu], outputs=("y", "y")))


def test_an_input_is_listed_once() -> None:
    text = refused(model_of([RELU], [tensor("x", [1, 3]), tensor("x", [1, 4])]))
    assert text == "error: <model>: input 'x' is listed twice; list each input once"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (tensor("y", [1, 4]), "with the shape [1, 4], and has [1, 3]"),
        (tensor("y", [1, 3, 1]), "with the shape [1, 3, 1], and has [1, 3]"),
        (tensor("y", []), "with the shape [], and has [1, 3]"),
        (tensor("y", ["batch", "n"]), "with the shape [2, n], and has [1, 3]"),
        (tensor("y", ["other", -3]), "with the shape [other, -3], and has [1, 3]"),
        (tensor("y", [1, 3], TensorProto.INT64), "with elements of i64, and has f32"),
        (tensor("y", [1, 3], TensorProto.STRING), "with elements of the unsupported type number 8, and has f32"),
        (helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, [1]), "as a sequence, and is a tensor"),
    ],
)
def test_outputs_are_what_they_are_declared_as(value: onnx.ValueInfoProto, message: str) -> None:
    inputs = [tensor("x", [1, 3]), tensor("z", ["batch"])]
    model = model_of([RELU], inputs)
    model.graph.output[0].CopyFrom(value)
    remedy = "correct that declaration, or remove it from the model"
    assert refused(model, batch=2) == f"error: <model>: output 'y' is declared {message}; {remedy}"


@pytest.mark.parametrize(
    "value", [tensor("y", None), tensor("y", ["batch", None]), tensor("y", [1, "n"]), onnx.ValueInfoProto(name="y")]
)
def test_declarations_may_leave_things_open(value: onnx.ValueInfoProto) -> None:
    model = model_of([RELU], [tensor("x", [1, 3]), tensor("z", ["batch"])])
    model.graph.output[0].CopyFrom(value)
    assert op_counts(import_onnx(model.SerializeToString(), {"batch": 1})) == {"Relu": 1}


# Graphs that make no sense


def test_cycle() -> None:
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Relu", ["b"], ["y"], name="third"),
    ]
    text = refused(model_of(nodes))
    assert "the graph has a cycle: second -> first -> second" in text or "first -> second -> first" in text


def test_deep_graph_is_no_recursion() -> None:
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in reversed(range(3000))]
    module = imported(model_of(nodes, [tensor("v0", [1])], ["v3000"]))
    assert op_counts(module) == {"Relu": 3000}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([helper.make_node("Relu", ["nothing"], ["y"], name="n")], "node 'n': reads 'nothing', which nothing produces"),
        ([RELU, helper.make_node("Neg", ["x"], ["y"], name="n")], "node 'n': value 'y' is produced twice"),
        ([helper.make_node("Relu", ["x"], ["x"])], "value 'x' is produced twice"),
        ([helper.make_node("Relu", ["x"], ["z"])], "output 'y' is produced by nothing"),
        ([helper.make_node("Relu", [], ["y"])], "has 0 inputs, takes 1 to 1"),
        ([helper.make_node("Relu", ["x", "x"], ["y"])], "has 2 inputs, takes 1 to 1"),
        ([helper.make_node("Relu", [""], ["y"])], "leaves out input 0 (X), which is not optional"),
        ([helper.make_node("Sum", ["x", ""], ["y"])], "leaves out input 1 (data_0), which is not optional"),
        ([helper.make_node("Concat", ["", "x"], ["y"], axis=1)], "leaves out input 0 (inputs), which is not optional"),
        ([helper.make_node("Relu", ["x"], ["y", "z"])], "has 2 outputs, gives 1 to 1"),
        ([helper.make_node("MaxPool", ["x"], ["y"])], "MaxPool (opset 17): lacks the attribute kernel_shape"),
        ([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=2.5)], "kernel_shape is of type FLOAT, expected INTS"),
        ([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape="ab")], "is of type STRING, expected INTS"),
        ([helper.make_node("Relu", ["x"], ["y"], slope=1)], "the standard knows no attribute slope"),
        ([helper.make_node("Nonsense", ["x"], ["y"])], "Nonsense (opset 17): the standard has no such operator"),
        ([helper.make_node("Gelu", ["x"], ["y"])], "Gelu (opset 17): the standard has no such operator"),
        ([helper.make_node("Det", ["x"], ["y"])], "Det (opset 17): the operator is not supported"),
        (
            [helper.make_node("Relu", ["x"], ["y"], domain="com.acme")],
            "com.acme.Relu (opset not imported): the operator",
        ),
        ([helper.make_node("MaxPool", ["x"], ["p", "y"], kernel_shape=[2, 2])], "output 1 is used"),
        ([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[9, 9])], "window of 9 does not fit into 8"),
        ([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[0, 1])], "is not positive"),
        ([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], auto_pad="MORE")], "unknown auto_pad 'MORE'"),
        (
            [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], ceil_mode=2)],
            "ceil_mode is 2, 0 or 1 expected",
        ),
        (
            [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], count_include_pad=-1)],
            "count_include_pad is -1, 0 or 1 expected",
        ),
        (
            [helper.make_node("LeakyRelu", ["x"], ["y"], alpha=float("nan"))],
            "alpha is nan, a finite number",
        ),
        (
            [helper.make_node("LRN", ["x"], ["y"], size=3, bias=float("inf"))],
            "bias is inf, a finite number",
        ),
        ([helper.make_node("Clip", ["x", "nan"], ["y"])], "min is nan, a finite number is expected"),
        ([helper.make_node("Conv", ["x", "w"], ["y"])], "x has 3 channels, w takes 4 in each of 1 groups"),
        ([helper.make_node("Conv", ["x", "w"], ["y"], group=-1)], "group is -1"),
        ([helper.make_node("Add", ["x", "w"], ["y"])], "do not broadcast"),
        ([helper.make_node("Add", ["x", "i"], ["y"])], "mix element types"),
        ([helper.make_node("Reshape", ["x", "i"], ["y"])], "differ in their number of elements"),
        ([helper.make_node("Reshape", ["x", "minus"], ["y"])], "shape .*-1, -1.* is no shape"),
        ([helper.make_node("Reshape", ["x", "w"], ["y"])], "shape is no list of integers"),
        ([helper.make_node("Reshape", ["x", "x"], ["y"])], "computed from the network's input"),
        ([helper.make_node("ConstantOfShape", ["minus"], ["y"])], "is negative"),
        ([helper.make_node("Transpose", ["x"], ["y"], perm=[0, 1])], "does not permute 4 axes"),
        ([helper.make_node("Concat", ["x"], ["y"], axis=7)], "axis 7 is outside a tensor of rank 4"),
        ([helper.make_node("Split", ["x"], ["y", "z"], axis=-9)], "-9 is outside a tensor of rank 4"),
        ([helper.make_node("Cast", ["x"], ["y"], to=99)], "attribute to = 99 is not supported"),
        ([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.STRING)], "attribute to = 8 is not supported"),
        ([helper.make_node("BatchNormalization", ["x"] * 5, ["y"], training_mode=1)], "training_mode = 1 is not"),
        ([helper.make_node("Constant", [], ["y"], value_string="a")], "attribute value_string is not supported"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_bad_nodes(nodes: list[onnx.NodeProto], message: str) -> None:
    constants = {"w": np.ones((2, 4, 3, 3), np.float32), "i": np.array([1, 2]), "minus": np.array([-1, -1])}
    constants["nan"] = np.array(np.nan, np.float32)
    with pytest.raises(TileError, match=message.replace("(", r"\(").replace(")", r"\)")):
        import_onnx(model_of(nodes, constants=constants).SerializeToString())


def test_bad_tensor_of_a_constant_node() -> None:
    value = numpy_helper.from_array(np.ones(4, np.float32))
    value.raw_data = b"123"
    nodes = [helper.make_node("Constant", [], ["c"], name="n", value=value), helper.make_node("Add", ["x", "c"], ["y"])]
    text = refused(model_of(nodes))
    assert text.startswith("error: <model>: node 'n': attribute value does not hold the 4 elements")


def test_all_problems_are_reported() -> None:
    nodes = [
        helper.make_node("Det", ["x"], ["a"], name="n1"),
        helper.make_node("Hardmax", ["a"], ["b"], name="n2"),
        helper.make_node("Relu", ["b"], ["c"], name="n3"),
        helper.make_node("Reshape", ["c", "x"], ["y"], name="n4", allowzero=0, other=1),
    ]
    with pytest.raises(TileErrors) as caught:
        import_onnx(model_of(nodes).SerializeToString())
    assert str(caught.value).splitlines() == [
        "error: <model>: node 'n1': Det (opset 17): the operator is not supported; see docs/operators.md",
        "error: <model>: node 'n2': Hardmax (opset 17): the operator is not supported; see docs/operators.md",
        "error: <model>: node 'n4': Reshape (opset 17): the standard knows no attribute other; see docs/operators.md",
    ]


def test_problems_with_shapes_are_reported_once_each() -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], name="n1", perm=[0]),
        helper.make_node("Relu", ["a"], ["b"], name="n2"),
        helper.make_node("Concat", ["x"], ["c"], name="n3", axis=4),
        helper.make_node("Add", ["b", "c"], ["y"], name="n4"),
    ]
    lines = refused(model_of(nodes)).splitlines()
    assert [line.split("'")[1] for line in lines] == ["n1", "n3"]


# Inputs that make no sense


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (tensor("x", [0, 3]), "dimension 0 of input 'x' is 0"),
        (tensor("x", [-4, 3]), "dimension 0 of input 'x' is -4"),
        (tensor("x", None), "input 'x' has no shape"),
        (tensor("x", [1], TensorProto.STRING), "unsupported type"),
        (tensor("x", [1], 77), "unsupported type"),
        (tensor("x", [2**40, 2**40]), "of shape 1099511627776x1099511627776 has"),
        (tensor("x", [1] * 40), "has 40 dimensions"),
        (helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [1]), "is a sequence, not a tensor"),
        (onnx.ValueInfoProto(name="x"), "is a value without a type, not a tensor"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_bad_inputs(value: onnx.ValueInfoProto, message: str) -> None:
    assert message in refused(model_of([RELU], [value]))


def test_dimensions_that_are_not_bound_or_not_there() -> None:
    model = model_of([RELU], [tensor("x", ["batch", 3])])
    assert "dimension batch of input 'x' is not bound; add --dim batch=VALUE" in refused(model)
    text = refused(model, batch=1, bach=2)
    assert text == "error: --dim bach=2: the model has no such dimension; it has batch"
    assert "is 0" in refused(model, batch=0)
    assert "is -1" in refused(model, batch=-1)
    assert "it has none" in refused(model_of([RELU]), batch=1)


def test_all_unbound_dimensions_are_told_at_once() -> None:
    inputs = [tensor("x", ["batch", 3, "h", "w"]), tensor("z", ["batch", None, "h", "w"])]
    model = model_of([helper.make_node("Add", ["x", "z"], ["y"])], inputs)
    assert [line.partition("dimension ")[2] for line in refused(model, h=8).splitlines()] == [
        "batch of input 'x' is not bound; add --dim batch=VALUE",
        "w of input 'x' is not bound; add --dim w=VALUE",
        "z.1 of input 'z' is not bound; add --dim z.1=VALUE",
    ]


def test_opset_of_a_foreign_operator() -> None:
    model = model_of([helper.make_node("Gelu", ["x"], ["y"], name="n", domain="com.other")])
    assert "node 'n': com.other.Gelu (opset not imported): " in refused(model)
    model.opset_import.append(helper.make_opsetid("com.other", 3))
    assert "node 'n': com.other.Gelu (opset 3): " in refused(model)


# Tensors that make no sense


def tensor_model(change: Callable[[onnx.TensorProto], None]) -> onnx.ModelProto:
    model = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x", [4])], constants={"w": np.ones(4, np.float32)}
    )
    change(model.graph.initializer[0])
    return model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: setattr(t, "raw_data", b"123"), "does not hold the 4 elements of its shape"),
        (lambda t: t.dims.append(-1), "has the shape"),
        (lambda t: t.dims.append(2**50), "bytes, at most"),
        (lambda t: t.dims.extend([1] * 50), "has 51 dimensions"),
        (lambda t: t.dims.append(3), "does not hold the 12 elements"),
        (lambda t: setattr(t, "data_type", 99), "elements of type 99"),
        (lambda t: setattr(t, "data_type", TensorProto.STRING), "elements of type STRING"),
        (lambda t: setattr(t, "data_type", TensorProto.BFLOAT16), "elements of type BFLOAT16"),
        (lambda t: setattr(t, "data_type", 0), "elements of type UNDEFINED"),
        (lambda t: t.ClearField("raw_data"), "does not hold the 4 elements"),
    ],
    ids=range(10),
)
def test_bad_tensors(change: Callable[[onnx.TensorProto], None], message: str) -> None:
    text = refused(tensor_model(change))
    assert "initializer 'w'" in text
    assert message in text


def test_duplicate_and_sparse_initializers() -> None:
    model = tensor_model(lambda t: None)
    model.graph.initializer.append(model.graph.initializer[0])
    assert "initializer 'w' exists twice" in refused(model)
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.ones(1, np.float32), "s"), numpy_helper.from_array(np.zeros(1, np.int64)), [4]
    )
    model = tensor_model(lambda t: None)
    model.graph.sparse_initializer.append(sparse)
    assert "sparse initializers are not supported" in refused(model)


# Results that no machine could hold


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("ConstantOfShape", ["big"], ["y"]),
        helper.make_node("Expand", ["one", "big"], ["y"]),
        helper.make_node("Tile", ["x", "repeats"], ["y"]),
        helper.make_node("Pad", ["x", "pads"], ["y"]),
        helper.make_node("Conv", ["x", "k"], ["y"], pads=[2**40] * 4),
    ],
    ids=lambda node: node.op_type,
)
def test_huge_results_are_refused_at_once(node: onnx.NodeProto) -> None:
    constants = {
        "big": np.array([2**31, 2**31]),
        "one": np.ones(1, np.float32),
        "repeats": np.array([1, 2**40, 1, 1]),
        "pads": np.array([0, 0, 0, 2**45, 0, 0, 0, 0]),
        "k": np.ones((1, 3, 1, 1), np.float32),
    }
    started = time.monotonic()
    assert "bytes, at most" in refused(model_of([node], constants=constants))
    assert time.monotonic() - started < 2


def test_overflowing_shapes_are_refused() -> None:
    node = helper.make_node("Tile", ["x", "repeats"], ["y"])
    text = refused(model_of([node], constants={"repeats": np.array([2**62] * 4)}))
    assert "bytes, at most" in text
