"""Import of ONNX files: what becomes of names, constants, shapes and versions, and what bad files are answered with."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx_reference import check_model, op_counts
from tilec.dialects import onnx as ops
from tilec.dialects.location import node_name
from tilec.dialects.onnx_base import shape_of
from tilec.dialects.registry import make_context
from tilec.lowering.onnx_importer import import_onnx
from tilec.passes.guard import Guard
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from tilec.support.diagnostics import TileError, TileErrors
from xdsl.dialects.builtin import ModuleOp

NEWEST = onnx.defs.onnx_opset_version()


def tensor(name: str, shape: Sequence[int | str | None] | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] = (tensor("x", [1, 3, 8, 8]),),
    outputs: Sequence[str] = ("y",),
    constants: dict[str, NDArray[Any]] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, [tensor(name, None) for name in outputs], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def imported(model: onnx.ModelProto, **dims: int) -> ModuleOp:
    module = import_onnx(model.SerializeToString(), dims)
    module.verify()
    return module


def refused(model: onnx.ModelProto | bytes | Path, **dims: int) -> str:
    """The whole text of the error that importing ``model`` gives."""
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
    with pytest.raises(TileError) as error:
        import_onnx(source, dims)
    return str(error.value)


def test_an_output_is_listed_once() -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    assert "output 'y' is listed twice; list each output once" in refused(model_of([relu], outputs=("y", "y")))


def test_an_input_that_nothing_reads_does_no_harm() -> None:
    """Not even to the guard."""
    inputs = (tensor("x", [1, 3, 8, 8]), tensor("unread", [1, 3, 8, 8]))
    module = imported(model_of([helper.make_node("Relu", ["x"], ["y"])], inputs))
    guard = Guard()
    PassManager(build_pipeline("tile-default{machine=reference144}"), (guard,)).run(make_context(), module)
    assert not any(found.fault for found in guard.examined)


RELU = helper.make_node("Relu", ["x"], ["y"], name="act")


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


# External data


def external_model(folder: Path, location: str, **entries: str) -> Path:
    model = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])], [tensor("x", [4])], constants={"w": np.ones(4, np.float32)}
    )
    (weights,) = model.graph.initializer
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        weights.external_data.add(key=key, value=value)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a model, with data inside and data outside of it."""
    (tmp_path / "secret.bin").write_bytes(bytes(1000))
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/data.bin").write_bytes(bytes(8) + np.arange(4, dtype="<f4").tobytes())
    return folder


def test_external_data(folder: Path) -> None:
    module = import_onnx(external_model(folder, "sub/data.bin", offset="8", length="16"))
    assert "[0.0, 1.0, 2.0, 3.0]" in str(module)


def test_external_data_outside_the_folder(folder: Path) -> None:
    os.symlink("../secret.bin", folder / "link.bin")
    os.symlink("..", folder / "up")
    for location in (
        "../secret.bin",
        str(folder.parent / "secret.bin"),
        "link.bin",
        "up/secret.bin",
        "sub/../../secret.bin",
    ):
        text = refused(external_model(folder, location))
        assert "initializer 'w' has the external path" in text
        assert "outside the model's folder" in text


def test_link_inside_the_folder(folder: Path) -> None:
    os.symlink("sub/data.bin", folder / "link.bin")
    import_onnx(external_model(folder, "link.bin", offset="8"))


@pytest.mark.parametrize(
    ("location", "entries", "message"),
    [
        ("missing.bin", {}, "which is not a file there"),
        ("sub", {}, "which is not a file there"),
        ("", {}, "outside the model's folder"),
        (".", {}, "which is not a file there"),
        ("a\0b", {}, "is no path"),
        ("x" * 5000, {}, "is no path|not a file"),
        ("sub/data.bin", {"offset": "16"}, "bytes 16 to 32 of 'sub/data.bin', which has 24"),
        ("sub/data.bin", {"offset": "-8"}, "bytes -8 to 8"),
        ("sub/data.bin", {"length": "12"}, "needs 16 bytes, its external data has 12"),
        ("sub/data.bin", {"offset": "eight"}, "no number"),
    ],
)
def test_bad_external_data(folder: Path, location: str, entries: dict[str, str], message: str) -> None:
    with pytest.raises(TileError, match=message):
        import_onnx(external_model(folder, location, **entries))


def test_external_data_of_a_fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe.bin")
    assert "not a file there" in refused(external_model(folder, "pipe.bin"))


def test_external_data_without_a_folder(folder: Path) -> None:
    assert "read the model from its file" in refused(external_model(folder, "sub/data.bin").read_bytes())


# Files that are no models


def test_missing_file(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "missing.onnx")
    assert "is not a regular file" in refused(tmp_path)


@pytest.mark.parametrize(
    "content", [b"\xff\xff\xff", b"hello, this is a text\n" * 9, os.urandom(64) + b"\xff" * 64, bytes(100)]
)
def test_no_protobuf(content: bytes) -> None:
    assert "is no ONNX model" in refused(content)


def test_empty() -> None:
    assert "<model>: is empty; give a complete .onnx file" in refused(b"")
    assert "no IR version or no graph" in refused(onnx.ModelProto(ir_version=8))
    assert "no IR version or no graph" in refused(onnx.ModelProto(graph=onnx.GraphProto(name="g")))
    assert "empty graph" in refused(onnx.ModelProto(ir_version=8, graph=onnx.GraphProto(name="g")))


def test_no_outputs() -> None:
    assert "<model>: has no outputs, so that nothing is computed" in refused(model_of([RELU], outputs=[]))


def test_ir_version() -> None:
    model = model_of([RELU])
    model.ir_version = onnx.IR_VERSION + 1
    assert f"has IR version {onnx.IR_VERSION + 1}" in refused(model)


def test_no_opset() -> None:
    model = model_of([RELU])
    del model.opset_import[:]
    assert "which opset" in refused(model)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_truncated_or_damaged(data: st.DataObject) -> None:
    """Whatever happens to the bytes, the answer is a module or a TileError."""
    content = bytearray(SMALL)
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(TileError):
        import_onnx(bytes(content)).verify()


SMALL = model_of(
    [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "shape"], ["f"]),
        helper.make_node("Gemm", ["f", "m", "b"], ["y"], transB=1, alpha=0.5),
    ],
    constants={
        "w": np.ones((2, 3, 3, 3), np.float32),
        "shape": np.array([1, -1]),
        "m": np.ones((5, 32), np.float32),
        "b": np.ones(5, np.float32),
    },
).SerializeToString()


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
        ([helper.make_node("Relu", [""], ["y"])], "leaves out an input that it needs"),
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
        "error: <model>: node 'n1': Det (opset 17): the operator is not supported",
        "error: <model>: node 'n2': Hardmax (opset 17): the operator is not supported",
        "error: <model>: node 'n4': Reshape (opset 17): the standard knows no attribute other",
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
