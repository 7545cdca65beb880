"""The networks that mutants of the compiler are run on: small, and with something in them for each pass to break."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from guard_programs import network
from odd_models import build
from onnx import TensorProto, helper, numpy_helper


def residual() -> onnx.ModelProto:
    """Two convolutions, a residual sum and a pool; messages between four cores."""
    return network()


def mixed() -> onnx.ModelProto:
    """What simplification is about: padding, normalizations, a variadic sum, bounds, a dropout, a mean, a Gemm."""
    random = np.random.default_rng(1)
    constants: dict[str, onnx.TensorProto] = {}

    def constant(name: str, *shape: int, least: float | None = None) -> str:
        array = random.standard_normal(shape) if least is None else least + random.random(shape)
        constants[name] = numpy_helper.from_array(array.astype(np.float32), name)
        return name

    def given(name: str, values: Sequence[float], kind: type = np.float32) -> str:
        constants[name] = numpy_helper.from_array(np.array(values, kind), name)
        return name

    def norm(name: str, x: str, y: str, channels: int) -> onnx.NodeProto:
        parameters = [constant(f"{name}_{part}", channels) for part in ("scale", "shift", "mean")]
        parameters.append(constant(f"{name}_var", channels, least=0.5))
        return helper.make_node("BatchNormalization", [x, *parameters], [y], name=name)

    nodes = [
        helper.make_node("Pad", ["x", given("around", [0, 0, 1, 1, 0, 0, 1, 1], np.int64)], ["p"], name="pad"),
        helper.make_node("Conv", ["p", constant("w1", 6, 3, 3, 3)], ["c1"], name="conv1"),
        norm("norm1", "c1", "n1", 6),
        helper.make_node("Clip", ["n1", given("low", 0), given("high", 3.4028235e38)], ["r1"], name="clip"),
        helper.make_node("Identity", ["r1"], ["i1"], name="identity"),
        helper.make_node(
            "Conv", ["i1", constant("w2", 6, 1, 3, 3)], ["d"], name="depthwise", group=6, pads=[1, 1, 1, 1]
        ),
        helper.make_node("Conv", ["d", constant("w3", 6, 6, 1, 1), constant("b3", 6)], ["e"], name="point1"),
        helper.make_node("Conv", ["e", constant("w4", 6, 6, 1, 1)], ["f"], name="point2"),
        norm("norm2", "i1", "n2", 6),
        helper.make_node("Sum", ["f", "n2", "i1"], ["s"], name="sum"),
        helper.make_node("Sub", ["s", constant("offset", 6, 1, 1)], ["m"], name="sub"),
        helper.make_node("MaxPool", ["m"], ["q"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("ReduceMean", ["q"], ["g"], name="mean", axes=[2, 3], keepdims=0),
        helper.make_node("Dropout", ["g"], ["h"], name="dropout"),
        helper.make_node(
            "Gemm", ["h", constant("w5", 5, 6), constant("b5", 5)], ["y"], name="gemm", transB=1, alpha=0.5
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "mixed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        list(constants.values()),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tall() -> onnx.ModelProto:
    """The same on larger images, so that memories hold few of all rows."""
    return network(24)


def deep() -> onnx.ModelProto:
    """Convolutions of many channels on small images: more rows of weights than one array holds."""
    return build(lambda g: g.add("Relu", g.conv(g.add("Relu", g.conv("x", 8, 24)), 24, 16)), 1, 8, 6, 6)


PROGRAMS = {"residual": residual, "mixed": mixed, "tall": tall, "spread": residual, "several": residual, "deep": deep}
MACHINES = {
    "residual": "tiny4",
    "mixed": "tiny4",
    "tall": "tiny4",
    "spread": "reference144",
    "several": "tiny4",
    "deep": "reference144",
}
"""On 4 cores, everything is scarce; on 144, replicas are many and far from one another."""
SAMPLES = {"several": 2}
"""Samples in flight, where it is not one."""


def pipeline_of(program: str) -> str:
    """The passes that compile the program."""
    return f"tile-default{{machine={MACHINES[program]} samples={SAMPLES.get(program, 1)}}}"
