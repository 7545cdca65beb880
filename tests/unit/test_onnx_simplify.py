"""`onnx-simplify` changes no results: random small networks, and the corner cases of single patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx_reference import assert_same, check_model, op_counts, simplify
from tilec.dialects import onnx as ops
from tilec.dialects.location import node_name
from tilec.dialects.onnx_base import shape_of
from tilec.lowering.onnx_importer import import_onnx
from tilec.simulators.onnx_interpreter import interpret
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.test import TestOp


@dataclass
class Graph:
    """A chain of nodes under construction."""

    shape: tuple[int, ...]
    random: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    value: str = "x"

    def constant(self, array: NDArray[Any]) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = array
        return name

    def normal(self, *shape: int) -> str:
        return self.constant(self.random.standard_normal(shape).astype(np.float32))

    def positive(self, *shape: int) -> str:
        return self.constant((self.random.random(shape) + 0.5).astype(np.float32))

    def add(self, kind: str, *inputs: str, **attributes: Any) -> None:
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs or [self.value], [output], name=output, **attributes))
        self.value = output

    def model(self, shape: Sequence[int]) -> onnx.ModelProto:
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, None)]
        initializers = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def extend(graph: Graph, step: str) -> None:
    """Adds one random layer."""
    channels, size = graph.shape[1], graph.shape[2]
    match step:
        case "conv":
            outputs = int(graph.random.integers(1, 5))
            kernel = int(graph.random.integers(1, min(size, 3) + 1))
            inputs = [graph.value, graph.normal(outputs, channels, kernel, kernel)]
            if graph.random.random() < 0.5:
                inputs.append(graph.normal(outputs))
            graph.add("Conv", *inputs)
            graph.shape = (1, outputs, size - kernel + 1, size - kernel + 1)
        case "norm":
            parameters = (graph.normal(channels), graph.normal(channels), graph.normal(channels))
            graph.add("BatchNormalization", graph.value, *parameters, graph.positive(channels))
        case "add" | "mul" | "sub" | "div":
            shapes = [(), (1,), (channels, 1, 1), (1, channels, 1, 1), (size,), (1, 1, size, size), (1, 1, 1, 1)]
            constant = graph.positive(*shapes[graph.random.integers(len(shapes))])
            operands = [graph.value, constant]
            if step in ("add", "mul") and graph.random.random() < 0.3:
                operands.reverse()
            graph.add(step.capitalize(), *operands)
        case "residual":
            graph.add("Add", graph.value, graph.value)
        case "sum":
            graph.add("Sum", graph.value, graph.positive(channels, 1, 1), graph.value)
        case "mean":
            graph.add("Mean", graph.value, graph.positive(1))
        case "relu":
            graph.add("Relu")
        case "clip":
            bounds = [graph.constant(np.array(bound, np.float32)) for bound in (0, 1)]
            graph.add("Clip", graph.value, *bounds[: int(graph.random.integers(0, 3))])
        case "pad":
            pads = [0, 0, 1, 0, 0, 0, 1, 2]
            graph.add("Pad", graph.value, graph.constant(np.array(pads)))
            graph.add("Slice", graph.value, *(graph.constant(np.array(v)) for v in ([0], [size], [3])))
            graph.shape = (1, channels, size + 2, size)
            graph.add("Slice", graph.value, *(graph.constant(np.array(v)) for v in ([1], [size + 1], [2])))
            graph.shape = (1, channels, size, size)
        case "pool":
            if size > 2:
                kind = "MaxPool" if graph.random.random() < 0.5 else "AveragePool"
                graph.add(kind, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
        case "padded pool":
            if size > 2:
                graph.add("Relu")
                graph.add("Pad", graph.value, graph.constant(np.array([0, 0, 1, 0, 0, 0, 0, 1])))
                graph.add("MaxPool" if graph.random.random() < 0.5 else "AveragePool", kernel_shape=[2, 2])
        case "transpose":
            graph.add("Transpose", perm=[0, 1, 3, 2])
        case "shuffle":
            shape = graph.constant(np.array([0, channels, size * size]))
            graph.add("Reshape", graph.value, shape)
            graph.add("Dropout")
            graph.add("Reshape", graph.value, graph.constant(np.array(graph.shape)))
        case _:
            raise AssertionError(step)


STEPS = (
    "conv",
    "conv",
    "norm",
    "norm",
    "add",
    "mul",
    "sub",
    "div",
    "residual",
    "sum",
    "mean",
    "relu",
    "clip",
    "pad",
    "pool",
    "padded pool",
    "transpose",
    "shuffle",
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=7), st.integers(0, 2**32 - 1))
def test_random_networks_keep_their_results(steps: list[str], seed: int) -> None:
    graph = Graph((1, 3, 7, 7), np.random.default_rng(seed))
    for step in steps:
        extend(graph, step)
    module = check_model(graph.model((1, 3, 7, 7)))
    text = str(module)
    assert str(simplify(module)) == text, "the normal form is not a fixed point"


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 3),
    st.sampled_from([None, (), (1,), (4,), (1, 4), "column", "full"]),
    st.sampled_from([1.0, 0.5, -2.0]),
    st.sampled_from([1.0, 0.0, 3.0]),
    st.booleans(),
    st.booleans(),
)
def test_every_gemm(rows: int, bias: Any, alpha: float, beta: float, trans_a: bool, trans_b: bool) -> None:
    graph = Graph((), np.random.default_rng(rows))
    inputs = ["x", graph.normal(*((4, 5) if trans_b else (5, 4)))]
    if bias is not None:
        inputs.append(graph.normal(*{"column": (rows, 1), "full": (rows, 4)}.get(bias, bias)))
    graph.add("Gemm", *inputs, alpha=alpha, beta=beta, transA=int(trans_a), transB=int(trans_b))
    check_model(graph.model((5, rows) if trans_a else (rows, 5)))


@pytest.mark.parametrize("trans", [(0, 1), (1, 0)])
def test_gemm_of_activations(trans: tuple[int, int]) -> None:
    graph = Graph((), np.random.default_rng(0))
    graph.add("Relu", "x")
    bias = graph.normal(5) if trans == (1, 0) else graph.normal(3)
    graph.add("Gemm", "x", graph.value, bias, transA=trans[0], transB=trans[1], alpha=2.0, beta=0.5)
    counts = op_counts(check_model(graph.model((3, 5))))
    assert counts == {"Relu": 1, "Transpose": 1, "MatMul": 1, "Mul": 1, "Add": 1}


def module_of(graph: Graph, shape: Sequence[int]) -> ModuleOp:
    return import_onnx(graph.model(shape).SerializeToString())


def test_fused_ops_name_all_their_nodes() -> None:
    graph = Graph((1, 3, 4, 4), np.random.default_rng(0))
    for step in ("conv", "norm"):
        extend(graph, step)
    module = simplify(module_of(graph, (1, 3, 4, 4)))
    (conv,) = (op for op in module.walk() if isinstance(op, ops.ConvOp))
    assert node_name(conv) == "v0+v1"
    assert ops.constant_of(conv.w) is not None


def test_depthwise_convolution_takes_scales() -> None:
    graph = Graph((1, 4, 5, 5), np.random.default_rng(0))
    graph.add("Conv", "x", graph.normal(8, 1, 3, 3), group=4)
    graph.shape = (1, 8, 3, 3)
    extend(graph, "norm")
    assert op_counts(check_model(graph.model((1, 4, 5, 5)))) == {"Conv": 1}


def test_normalization_after_a_gemm() -> None:
    graph = Graph((3, 4), np.random.default_rng(0))
    graph.add("Gemm", "x", graph.normal(4, 6))
    graph.add("BatchNormalization", graph.value, *(graph.normal(6) for _ in range(3)), graph.positive(6))
    assert op_counts(check_model(graph.model((3, 4)))) == {"Gemm": 1}


def test_shared_weights_are_not_shared_after_folding() -> None:
    graph = Graph((1, 3, 4, 4), np.random.default_rng(0))
    weights = graph.normal(3, 3, 1, 1)
    graph.add("Conv", "x", weights)
    graph.add("Mul", graph.value, graph.normal(3, 1, 1))
    graph.add("Conv", graph.value, weights)
    assert op_counts(check_model(graph.model((1, 3, 4, 4)))) == {"Conv": 2}


def test_special_values() -> None:
    graph = Graph((2,), np.random.default_rng(0))
    graph.add("Div", "x", graph.constant(np.array([0, np.inf], np.float32)))
    graph.add("Mul", graph.value, graph.constant(np.array([1, np.nan], np.float32)))
    inputs = {"x": np.array([1, 2], np.float32)}
    module = module_of(graph, (2,))
    expected = interpret(module, inputs)
    assert_same(interpret(simplify(module), inputs), expected)


def test_integers_are_left_alone() -> None:
    nodes = [
        helper.make_node("Sub", ["x", "c"], ["d"]),
        helper.make_node("Div", ["d", "c"], ["e"]),
        helper.make_node("Neg", ["e"], ["y"]),
    ]
    value = helper.make_tensor_value_info("x", TensorProto.INT64, [3])
    output = helper.make_tensor_value_info("y", TensorProto.INT64, [3])
    constant = numpy_helper.from_array(np.array([2]), "c")
    graph = helper.make_graph(nodes, "g", [value], [output], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    check_model(model, {"x": np.array([-7, 0, 9])})


@pytest.mark.parametrize("size", [2**31, 2**10])
def test_large_constants_are_not_folded_blindly(size: int) -> None:
    value = ops.ConstantOp.from_array(np.zeros(1, np.float32)).value
    full = ops.ConstantOfShapeOp.create(result_types=[TensorType(f32, (size,))], properties={"value": value})
    module = ModuleOp([full, TestOp([full.output])])
    simplify(module)
    assert any(isinstance(op, ops.ConstantOfShapeOp) for op in module.walk()) == (size == 2**31)


def slice_of(graph: Graph, start: int, end: int, step: int = 1, axis: int = 1) -> None:
    graph.add("Slice", graph.value, *(graph.constant(np.array([one])) for one in (start, end, axis, step)))


def layer_shapes(module: ModuleOp) -> list[tuple[int, ...]]:
    return [shape_of(op.results[0]) for op in module.walk() if isinstance(op, ops.ConvOp | ops.GemmOp)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("span", "kept"), [((2, 7, 1), 5), ((1, 99, 3), 3), ((-1, 8, 1), 1)])
def test_channels_that_nobody_reads_are_not_computed(bias: bool, span: tuple[int, int, int], kept: int) -> None:
    graph = Graph((1, 3, 5, 5), np.random.default_rng(0))
    graph.add("Conv", "x", graph.normal(8, 3, 3, 3), *([graph.normal(8)] if bias else []))
    graph.add("BatchNormalization", graph.value, *(graph.normal(8) for _ in range(3)), graph.positive(8))
    graph.add("LeakyRelu", graph.value, alpha=0.3)
    slice_of(graph, *span)
    module = check_model(graph.model((1, 3, 5, 5)))
    assert op_counts(module) == {"Conv": 1, "LeakyRelu": 1}
    assert layer_shapes(module) == [(1, kept, 3, 3)]


@pytest.mark.parametrize(("read", "counts"), [((1,), {"Gemm": 1}), ((0, 2), {"Gemm": 1, "Split": 1, "Mul": 1})])
def test_pieces_that_nobody_reads_are_not_computed(read: tuple[int, ...], counts: dict[str, int]) -> None:
    graph = Graph((2, 4), np.random.default_rng(0))
    graph.add("Gemm", "x", graph.normal(4, 10), graph.normal(10))
    pieces = ["p0", "p1", "p2"]
    split = ["v0", graph.constant(np.array([3, 4, 3]))]
    graph.nodes.append(helper.make_node("Split", split, pieces, name="split", axis=1))
    graph.value = pieces[read[0]]
    if len(read) > 1:
        graph.add("Mul", *(pieces[index] for index in read))
    module = check_model(graph.model((2, 4)))
    assert op_counts(module) == counts
    assert layer_shapes(module) == [(2, 4 if read == (1,) else 6)]


def test_a_slice_of_a_concatenation_takes_what_it_reads() -> None:
    graph = Graph((1, 3, 5, 5), np.random.default_rng(0))
    graph.add("Conv", "x", graph.normal(8, 3, 1, 1))
    graph.add("Concat", "x", graph.value, "x", axis=1)
    slice_of(graph, 4, 9, 2)
    module = check_model(graph.model((1, 3, 5, 5)))
    assert op_counts(module) == {"Conv": 1}
    assert layer_shapes(module) == [(1, 3, 5, 5)]


@pytest.mark.parametrize("shape", [(5,), (8, 1, 1), (8, 5, 5), (1, 1, 1, 1), (1, 8, 1, 5)])
def test_a_layer_is_narrowed_behind_a_scale(shape: tuple[int, ...]) -> None:
    """However the scale is broadcast."""
    graph = Graph((1, 4, 5, 5), np.random.default_rng(0))
    graph.add("Conv", "x", graph.normal(8, 4, 1, 1))
    graph.add("Mul", graph.normal(*shape), graph.value)
    slice_of(graph, 2, 6)
    module = check_model(graph.model((1, 4, 5, 5)))
    assert "Slice" not in op_counts(module)
    assert layer_shapes(module) == [(1, 4, 5, 5)]


@pytest.mark.parametrize("why", ["another reader", "other axes", "two operands", "grouped"])
def test_layers_stay_as_they_are_where_more_is_read(why: str) -> None:
    graph = Graph((1, 4, 5, 5), np.random.default_rng(0))
    graph.add("Conv", "x", graph.normal(8, 2 if why == "grouped" else 4, 1, 1), group=2 if why == "grouped" else 1)
    layer = graph.value
    if why == "two operands":
        graph.add("Concat", "x", layer, axis=1)
    slice_of(graph, 2, 6, axis=2 if why == "other axes" else 1)
    if why == "another reader":
        sliced = graph.value
        graph.add("Concat", sliced, layer, axis=1)
    module = check_model(graph.model((1, 4, 5, 5)))
    assert op_counts(module)["Slice"] == 1
    assert layer_shapes(module) == [(1, 8, 5, 5)]
