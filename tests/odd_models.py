"""Small models with something unusual in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Build = Callable[["Graph"], str | tuple[str, ...]]


class Graph:
    """Builds a model node by node; values are names."""

    def __init__(self, *shape: int, opset: int = 17) -> None:
        self.shape = shape
        self.opset = opset
        self.random = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def weight(self, *shape: int, scale: float = 0.5) -> str:
        return self.constant(scale * self.random.standard_normal(shape).astype(np.float32))

    def constant(self, value: Any) -> str:
        name = f"c{len(self.initializers)}"
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{kind.lower()}{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"node_{kind}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x: str, channels_in: int, channels_out: int, kernel: int = 3, group: int = 1, **more: Any) -> str:
        weights = self.weight(channels_out, channels_in // group, kernel, kernel)
        more.setdefault("pads", [kernel // 2] * 4)
        return self.add("Conv", x, weights, self.weight(channels_out), group=group, **more)

    def model(self, *outputs: str) -> onnx.ModelProto:
        given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        wanted = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "odd", given, wanted, self.initializers)
        opsets = [helper.make_opsetid("", self.opset)]
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def build(make: Build, *shape: int) -> onnx.ModelProto:
    graph = Graph(*shape)
    outputs = make(graph)
    return graph.model(*([outputs] if isinstance(outputs, str) else outputs))


def squeeze_excite(g: Graph) -> str:
    x = g.conv("x", 3, 8)
    s = g.add("GlobalAveragePool", x)
    s = g.add("Relu", g.conv(s, 8, 4, 1))
    s = g.add("Sigmoid", g.conv(s, 4, 8, 1))
    return g.add("Mul", x, s)


def squeeze_excite_swapped(g: Graph) -> str:
    x = g.conv("x", 3, 8)
    s = g.add("Sigmoid", g.conv(g.add("GlobalMaxPool", x), 8, 8, 1))
    return g.add("Mul", s, x)


def shuffle(g: Graph, x: str, channels: int, size: int, groups: int = 2) -> str:
    n = g.shape[0]
    x = g.add("Reshape", x, g.constant(np.array([n, groups, channels // groups, size, size])))
    x = g.add("Transpose", x, perm=[0, 2, 1, 3, 4])
    return g.add("Reshape", x, g.constant(np.array([n, channels, size, size])))


def shuffled_residual(g: Graph) -> str:
    x = g.conv("x", 4, 8)
    return g.add("Relu", g.add("Add", shuffle(g, x, 8, 6), x))


def shuffled_lrn(g: Graph) -> str:
    return g.add("LRN", shuffle(g, g.conv("x", 4, 8), 8, 6), size=3, alpha=1.0)


def shuffled_softmax(g: Graph) -> str:
    return g.add("Softmax", shuffle(g, g.conv("x", 4, 8), 8, 6), axis=1)


def concat_grouped(g: Graph) -> str:
    x = g.add("Concat", g.conv("x", 4, 6), g.conv("x", 4, 10, 1), axis=1)
    return g.conv(x, 16, 8, 3, group=4)


def grouped_in_blocks(g: Graph) -> str:
    """Groups whose channels lie in one tensor, in another, or in both."""
    x = g.add("Concat", "x", g.conv("x", 144, 160, 1), g.conv("x", 144, 80, 1), axis=1)
    return g.conv(x, 384, 256, 3, group=8, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 3])


def shuffled_grouped(g: Graph) -> str:
    """As in a ShuffleNet: blocks of groups, then groups whose channels lie apart, then blocks again."""
    x = shuffle(g, g.conv("x", 260, 260, 1, group=2), 260, 4)
    return g.conv(g.conv(x, 260, 260, 1, group=2), 260, 520, 1, group=2)


def concat_lrn(g: Graph) -> str:
    x = g.add("Concat", g.conv("x", 4, 6), g.conv("x", 4, 10, 1), axis=1)
    return g.add("LRN", x, size=5, alpha=0.5)


def concat_depthwise(g: Graph) -> str:
    x = g.add("Concat", g.conv("x", 4, 6), "x", g.conv("x", 4, 10, 1), axis=1)
    return g.conv(x, 20, 20, 3, group=20)


def concat_same(g: Graph) -> str:
    x = g.add("Relu", "x")
    return g.conv(g.add("Concat", x, x, "x", axis=1), 12, 5, 3)


def concat_twice(g: Graph) -> str:
    """Everything is done to both halves: once is enough."""
    x = g.add("Concat", "x", "x", axis=1)
    x = g.add("Add", g.add("Relu", x), x)
    x = g.add("MaxPool", g.add("Concat", x, x, axis=1), kernel_shape=[2, 2])
    return g.conv(x, 16, 4, 3)


def concat_of_relu(g: Graph) -> str:
    """The second activation computes for one part what the first one has."""
    x = g.add("Concat", "x", g.add("Relu", "x"), axis=1)
    return g.add("Relu", x)


def same_twice(g: Graph) -> str:
    """Two nodes with equal constants and weights of their own."""
    clips = [g.add("Clip", "x", g.constant(np.float32(0)), g.constant(np.float32(6))) for _ in range(2)]
    weights, bias = np.ones((3, 4, 1, 1), np.float32), np.ones(3, np.float32)
    convs = [g.add("Conv", clip, g.constant(weights), g.constant(bias)) for clip in clips]
    return g.add("Sub", g.add("Add", *convs), g.conv("x", 4, 3))


def doubled(g: Graph) -> str:
    x = g.add("Conv", "x", g.weight(6, 4, 3, 3))
    return g.add("Add", x, x)


def sum_without_bias(g: Graph) -> str:
    """The network itself adds up products: these are no slices of one layer."""
    return g.add("Add", *(g.add("Conv", "x", g.weight(6, 4, 3, 3), pads=[1, 1, 1, 1]) for _ in range(2)))


def largest_of_three(g: Graph) -> str:
    x = g.conv("x", 4, 6)
    return g.add("Max", g.constant(np.float32(0.1)), x, g.conv("x", 4, 6, 1), x)


def least_of_one(g: Graph) -> str:
    return g.add("Add", "x", g.add("Min", g.add("Relu", "x")))


def concat_flatten_gemm(g: Graph) -> str:
    x = g.add("Concat", g.conv("x", 4, 6), g.conv("x", 4, 2, 1), axis=1)
    x = g.add("Flatten", x)
    return g.add("Gemm", x, g.weight(8 * 36, 10, scale=0.1), g.weight(10))


def shuffled_flatten_gemm(g: Graph) -> str:
    x = g.add("Flatten", shuffle(g, g.conv("x", 4, 8), 8, 6))
    return g.add("Gemm", x, g.weight(5, 8 * 36, scale=0.1), g.weight(5), transB=1)


def two_outputs(g: Graph) -> tuple[str, ...]:
    x = g.conv("x", 4, 8)
    return g.add("Relu", x), g.add("GlobalAveragePool", x)


def output_used_inside(g: Graph) -> tuple[str, ...]:
    x = g.add("Relu", g.conv("x", 4, 8))
    return x, g.conv(x, 8, 4)


def output_twice(g: Graph) -> tuple[str, ...]:
    x = g.add("Relu", g.conv("x", 4, 8))
    return x, g.add("Identity", x)


def concat_output(g: Graph) -> str:
    x = g.conv("x", 4, 8)
    return g.add("Concat", g.conv("x", 4, 3), shuffle(g, x, 8, 6), g.add("Relu", x), axis=1)


def input_used_twice(g: Graph) -> str:
    return g.add("Add", g.conv("x", 4, 4), "x")


def prelu(g: Graph) -> str:
    return g.add("PRelu", g.conv("x", 4, 6), g.constant(np.linspace(-0.5, 1, 6)[:, None, None]))


def huge_fc(g: Graph) -> str:
    return g.add("Gemm", "x", g.weight(5000, 10, scale=0.02), g.weight(10))


def mlp(g: Graph) -> str:
    x = g.add("Relu", g.add("Gemm", "x", g.weight(20, 300), g.weight(300)))
    x = g.add("MatMul", x, g.weight(300, 7, scale=0.1))
    return g.add("Softmax", g.add("Add", x, g.weight(7)), axis=1)


def transposed_gemm(g: Graph) -> str:
    return g.add("Gemm", "x", g.weight(7, 20), g.weight(1), transB=1, alpha=0.5, beta=2.0)


def batch_norm(g: Graph) -> str:
    x = g.add("Relu", g.conv("x", 4, 6))
    variance = g.constant(np.linspace(0.5, 2, 6))
    return g.add("BatchNormalization", x, g.weight(6), g.weight(6), g.weight(6), variance)


def split(g: Graph) -> str:
    a, b = g.add("Split", g.conv("x", 4, 8), outputs=2, axis=1)
    return g.add("Concat", g.add("Relu", a), b, axis=1)


def slices(g: Graph) -> str:
    x = g.conv("x", 4, 8)
    part = g.add("Slice", x, g.constant(np.array([2])), g.constant(np.array([7])), g.constant(np.array([1])))
    return g.conv(part, 5, 3)


def sliced(axes: Sequence[int], starts: Sequence[int], ends: Sequence[int], steps: Sequence[int] = ()) -> Build:
    """A slice of a convolution with 16 channels, and a convolution of that."""

    def make(g: Graph) -> str:
        more = [g.constant(np.array(steps))] if steps else []
        x = g.conv("x", 4, 16)
        return g.add("Relu", g.add("Slice", x, *(g.constant(np.array(one)) for one in (starts, ends, axes)), *more))

    return make


def padded(*pads: int, **attributes: Any) -> Build:
    return lambda g: g.add("Relu", g.add("Pad", g.conv("x", 4, 8), g.constant(np.array(pads)), **attributes))


def focus(g: Graph) -> str:
    """The four pixels of each square side by side."""

    def pixels(row: int, column: int) -> str:
        places = ([row, column], [9999, 9999], [2, 3], [2, 2])
        return g.add("Slice", "x", *(g.constant(np.array(one)) for one in places))

    return g.conv(g.add("Concat", *(pixels(row, column) for row in (0, 1) for column in (0, 1)), axis=1), 16, 8)


def shuffled_half(g: Graph) -> str:
    """Every other channel: half of a shuffle of two groups."""
    halves = g.add("Split", shuffle(g, g.conv("x", 4, 16), 16, 6, 8), outputs=2, axis=1)
    return g.add("Relu", halves[1])


def split_concat(g: Graph) -> str:
    """What a concatenation joined comes apart again, without a copy."""
    x = g.add("Concat", g.conv("x", 4, 3), g.conv("x", 4, 5), axis=1)
    a, b = g.add("Split", x, g.constant(np.array([3, 5])), outputs=2, axis=1)
    return g.add("Concat", g.add("Sigmoid", b), g.add("Relu", a), axis=1)


def split_vector(g: Graph) -> str:
    a, b = g.add("Split", g.add("Relu", "x"), outputs=2, axis=1)
    return g.add("Mul", g.add("Sigmoid", a), b)


def concat_flat(g: Graph) -> str:
    x = g.add("Concat", g.add("Flatten", g.conv("x", 4, 3)), g.add("Flatten", g.conv("x", 4, 2)), axis=1)
    return g.add("Gemm", x, g.weight(180, 7))


def spatial_attention(kind: str, left: bool) -> Build:
    """One value per position with two segments of channels."""

    def make(g: Graph) -> str:
        x = g.add("Concat", "x", g.conv("x", 4, 3), axis=1)
        attention = g.conv("x", 4, 1)
        return g.add(kind, *((attention, x) if left else (x, attention)))

    return make


def vector_minus_map(g: Graph) -> str:
    x = g.conv("x", 4, 8)
    return g.add("Sub", g.add("GlobalAveragePool", x), x)


def flat_sum(g: Graph) -> str:
    x, y = (g.add("Flatten", g.conv("x", 4, 6, kernel)) for kernel in (1, 3))
    return g.add("Add", g.add("Relu", g.add("Add", x, y)), g.weight(216))


def reshaped_sum(g: Graph) -> str:
    x = g.conv("x", 4, 4)
    return g.add("Add", x, g.add("Flatten", g.add("GlobalAveragePool", x)))


def column_attention(g: Graph) -> str:
    x = g.conv("x", 4, 6)
    return g.add("Mul", x, g.add("Sigmoid", g.conv(x, 6, 1)))


def computed_weights(g: Graph) -> str:
    return g.add("Conv", "x", g.add("Relu", "x"))


def constant_map(g: Graph) -> str:
    return g.add("Add", g.conv("x", 4, 6), g.weight(1, 6, 6, 6))


def constant_column(g: Graph) -> str:
    return g.add("Mul", g.conv("x", 4, 6), g.weight(6, 1, 6))


def scalar_math(g: Graph) -> str:
    x = g.add("Mul", g.add("Sub", "x", g.constant(np.float32(0.5))), g.constant(np.float32(3.0)))
    return g.add("Div", x, g.constant(np.float32(7.0)))


def pad_node(g: Graph) -> str:
    x = g.add("Pad", "x", g.constant(np.array([0, 0, 1, 2, 0, 0, 3, 0])))
    return g.conv(x, 4, 6, 3, pads=[0, 0, 0, 0])


def unary(kind: str, **attributes: Any) -> Build:
    return lambda g: g.add(kind, g.conv("x", 4, 6), **attributes)


def binary(kind: str) -> Build:
    return lambda g: g.add(kind, g.conv("x", 4, 6), g.conv("x", 4, 6, 1))


def with_constant(kind: str, left: bool = False) -> Build:
    def make(g: Graph) -> str:
        operands = (g.conv("x", 4, 6), g.weight(6, 1, 1))
        return g.add(kind, *(reversed(operands) if left else operands))

    return make


def sliced_behind(kind: str, **more: Any) -> Build:
    """Some channels of what is computed of all."""
    return lambda g: channels_of(g, g.add(kind, g.conv("x", g.shape[1], 12), **more), 3, 7, 1)


def slice_of_sum(g: Graph) -> str:
    """Channels of a layer that is added to its own input, and scaled: the layer need not compute the others."""
    wide = g.conv("x", g.shape[1], 12)
    y = g.add("Relu", g.add("Add", g.conv(wide, 12, 12), wide))
    y = g.add("Div", g.add("Mul", y, g.weight(12, 1, 1)), g.constant(2.0))
    return channels_of(g, y, 2, 11, 3)


def channels_of(g: Graph, x: str, start: int, end: int, step: int) -> str:
    return g.add("Slice", x, *(g.constant(np.array([number])) for number in (start, end, 1, step)))


def conv(channels: int, kernel: int, group: int = 1, **more: Any) -> Build:
    return lambda g: g.conv("x", g.shape[1], channels, kernel, group, **more)


def pool(kind: str, kernel: int, **more: Any) -> Build:
    return lambda g: g.add(kind, "x", kernel_shape=[kernel, kernel], **more)


def lrn(beta: float, size: int = 5) -> Build:
    return lambda g: g.add("LRN", g.conv("x", 4, 6), size=size, alpha=0.7, beta=beta, bias=1.5)


IMAGE = (1, 4, 6, 6)
WIDE = (1, 4, 9, 11)
MODELS: dict[str, tuple[Build, tuple[int, ...]]] = {
    "two images": (conv(8, 3), (2, 4, 6, 6)),
    "three images": (squeeze_excite, (3, 3, 5, 5)),
    "three images, pool": (pool("AveragePool", 3, strides=[2, 2], pads=[1, 1, 1, 1]), (3, 4, 7, 7)),
    "three images, flatten": (concat_flatten_gemm, (3, 4, 6, 6)),
    "stride over kernel": (conv(8, 1, strides=[2, 2]), WIDE),
    "stride 3 over kernel 2": (conv(5, 2, strides=[3, 3], pads=[0, 0, 0, 0]), WIDE),
    "stride over kernel, one row unread": (conv(5, 1, strides=[3, 2]), (1, 4, 8, 8)),
    "dilation": (conv(8, 3, dilations=[2, 2], pads=[2, 2, 2, 2]), WIDE),
    "dilation in rows": (conv(8, 3, dilations=[3, 1], pads=[0, 1, 0, 1]), WIDE),
    "asymmetric pads": (conv(8, 3, pads=[0, 2, 1, 0]), WIDE),
    "asymmetric stride and pads": (conv(8, 3, strides=[2, 1], pads=[1, 0, 2, 2]), WIDE),
    "large pads": (conv(4, 3, pads=[4, 5, 6, 3]), IMAGE),
    "auto_pad": (lambda g: g.add("Conv", "x", g.weight(4, 4, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2]), WIDE),
    "uneven kernel": (lambda g: g.add("Conv", "x", g.weight(4, 4, 1, 5), pads=[0, 2, 0, 2]), WIDE),
    "tall kernel": (lambda g: g.add("Conv", "x", g.weight(4, 4, 5, 1), pads=[2, 0, 2, 0]), WIDE),
    "sum of convolutions without bias": (sum_without_bias, IMAGE),
    "twice a convolution without bias": (doubled, IMAGE),
    "no bias": (lambda g: g.add("Conv", "x", g.weight(4, 4, 3, 3)), IMAGE),
    "kernel as large as the image": (conv(7, 6, pads=[0, 0, 0, 0]), IMAGE),
    "many slices": (conv(20, 7), (1, 40, 8, 8)),
    "many columns": (conv(300, 1), (1, 4, 3, 3)),
    "grouped": (conv(12, 3, group=2), IMAGE),
    "grouped with stride": (conv(6, 3, group=2, strides=[2, 2]), WIDE),
    "grouped in blocks": (grouped_in_blocks, (1, 144, 5, 6)),
    "grouped, shuffled, grouped": (shuffled_grouped, (1, 260, 4, 4)),
    "grouped, uneven blocks": (conv(408, 3, group=17), (1, 408, 4, 3)),
    "depthwise": (conv(4, 3, group=4), IMAGE),
    "depthwise, stride and dilation": (conv(4, 3, group=4, strides=[2, 2], dilations=[2, 2]), WIDE),
    "depthwise with multiplier": (conv(8, 3, group=4), IMAGE),
    "one pixel": (conv(8, 3), (1, 4, 1, 1)),
    "one channel": (conv(1, 3), (1, 1, 5, 5)),
    "one column": (conv(5, 3), (1, 2, 9, 1)),
    "one row": (conv(5, 3), (1, 2, 1, 9)),
    "max pool": (pool("MaxPool", 2, strides=[2, 2]), IMAGE),
    "max pool, overlapping": (pool("MaxPool", 3, strides=[2, 2], pads=[1, 1, 1, 1]), WIDE),
    "max pool, ceil": (pool("MaxPool", 3, strides=[2, 2], ceil_mode=1), (1, 4, 8, 10)),
    "max pool, ceil and pads": (pool("MaxPool", 2, strides=[2, 2], pads=[1, 0, 0, 1], ceil_mode=1), WIDE),
    "max pool, asymmetric pads": (pool("MaxPool", 3, pads=[2, 0, 1, 2]), WIDE),
    "max pool, dilated": (pool("MaxPool", 2, dilations=[2, 3]), WIDE),
    "max pool, dilated rows beside padded columns": (pool("MaxPool", 2, dilations=[2, 1], pads=[0, 1, 0, 1]), WIDE),
    "max pool, stride over kernel": (pool("MaxPool", 2, strides=[3, 3]), WIDE),
    "max pool, columns unread": (pool("MaxPool", 3, strides=[2, 2]), (1, 4, 4, 4)),
    "max pool, stride far over kernel": (pool("MaxPool", 2, strides=[4, 4]), (1, 4, 9, 17)),
    "max pool, stride far over kernel, pads": (pool("MaxPool", 2, strides=[4, 4], pads=[1, 1, 1, 1]), (1, 4, 9, 17)),
    "average pool, columns unread": (pool("AveragePool", 3, strides=[4, 2], pads=[0, 1, 0, 0]), (1, 4, 5, 5)),
    "average pool, stride far over kernel": (pool("AveragePool", 2, strides=[2, 5]), (1, 4, 6, 18)),
    "average pool of one": (pool("AveragePool", 1, strides=[2, 3]), (1, 1, 7, 7)),
    "dilation of one column": (
        lambda g: g.add("Conv", "x", g.weight(4, 3, 2, 1), dilations=[1, 2], pads=[1, 1, 1, 2]),
        (1, 3, 11, 1),
    ),
    "max pool, one pixel": (pool("MaxPool", 1), (1, 4, 1, 1)),
    "average pool": (pool("AveragePool", 2, strides=[2, 2]), IMAGE),
    "average pool, pads": (pool("AveragePool", 3, pads=[1, 1, 1, 1]), WIDE),
    "average pool, pads count": (pool("AveragePool", 3, pads=[1, 1, 1, 1], count_include_pad=1), WIDE),
    "average pool, asymmetric pads": (pool("AveragePool", 3, pads=[0, 2, 1, 1], strides=[2, 2]), WIDE),
    "average pool, ceil": (pool("AveragePool", 3, strides=[2, 2], ceil_mode=1), (1, 4, 8, 10)),
    "average pool of everything": (pool("AveragePool", 6), IMAGE),
    "global average": (lambda g: g.add("GlobalAveragePool", "x"), WIDE),
    "global maximum": (lambda g: g.add("GlobalMaxPool", "x"), WIDE),
    "global average of one column": (lambda g: g.add("GlobalAveragePool", "x"), (2, 3, 5, 1)),
    "relu on the input": (lambda g: g.add("Relu", "x"), IMAGE),
    "relu of a vector": (lambda g: g.add("Relu", "x"), (1, 10)),
    "relu of vectors": (lambda g: g.add("Relu", "x"), (5, 10)),
    "sum with itself": (lambda g: g.add("Add", "x", "x"), IMAGE),
    "input used twice": (input_used_twice, IMAGE),
    "squeeze and excite": (squeeze_excite, (1, 3, 6, 5)),
    "squeeze and excite, swapped": (squeeze_excite_swapped, (1, 3, 6, 5)),
    "shuffle, residual": (shuffled_residual, IMAGE),
    "shuffle, normalization": (shuffled_lrn, IMAGE),
    "shuffle, softmax": (shuffled_softmax, IMAGE),
    "shuffle, flatten": (shuffled_flatten_gemm, IMAGE),
    "shuffle of the input": (lambda g: shuffle(g, g.add("Relu", "x"), 4, 6), IMAGE),
    "concat, grouped": (concat_grouped, IMAGE),
    "concat, normalization": (concat_lrn, IMAGE),
    "concat, depthwise": (concat_depthwise, IMAGE),
    "concat of the same": (concat_same, IMAGE),
    "concat of the same, twice": (concat_twice, IMAGE),
    "concat of an activation": (concat_of_relu, IMAGE),
    "the same twice": (same_twice, IMAGE),
    "largest of three": (largest_of_three, IMAGE),
    "least of one": (least_of_one, IMAGE),
    "concat, flatten": (concat_flatten_gemm, IMAGE),
    "concat as output": (concat_output, IMAGE),
    "two outputs": (two_outputs, IMAGE),
    "output used inside": (output_used_inside, IMAGE),
    "output given twice": (output_twice, IMAGE),
    "huge layer": (huge_fc, (1, 5000)),
    "perceptron": (mlp, (1, 20)),
    "perceptron, four rows": (mlp, (4, 20)),
    "transposed product": (transposed_gemm, (1, 20)),
    "normalization": (batch_norm, IMAGE),
    "vector minus map": (vector_minus_map, IMAGE),
    "split": (split, IMAGE),
    "split of a concat": (split_concat, IMAGE),
    "split of a vector": (split_vector, (1, 10)),
    "half of a shuffle": (shuffled_half, (2, 4, 6, 6)),
    "slice of channels": (slices, IMAGE),
    "slice, channels backwards": (sliced([1], [15], [-99], [-3]), IMAGE),
    "slice, channels with steps": (sliced([1], [1], [16], [2]), IMAGE),
    "slice of one row backwards": (sliced([2, 3], [3, -1], [2, -99], [-1, -6]), IMAGE),
    "slice of one row and one column of one": (sliced([2, 3], [0, 1], [1, 3], [1 << 40, 1 << 40]), (1, 4, 1, 6)),
    "slice of rows and columns": (sliced([2, 3], [1, -4], [5, 6]), (3, 4, 6, 6)),
    "slice of everything with steps": (sliced([1, 2, 3], [2, 1, 0], [14, 99, 8], [1, 2, 3]), WIDE),
    "slice, focus": (focus, IMAGE),
    "slice of a softmax": (sliced_behind("Softmax", axis=1), IMAGE),
    "slice of a normalization": (sliced_behind("LRN", size=5, alpha=1.0), IMAGE),
    "slice of a sum of layers": (slice_of_sum, IMAGE),
    "padded": (padded(0, 0, 1, 2, 0, 0, 3, 0), IMAGE),
    "padded and cut": (padded(0, 0, 1, -2, 0, 0, -3, 1), IMAGE),
    "padded by more than the image": (padded(0, 0, 9, 0, 0, 0, 0, 8), (2, 4, 3, 3)),
    "spatial attention": (column_attention, IMAGE),
    "spatial attention, two segments": (spatial_attention("Mul", left=False), (2, 4, 6, 6)),
    "spatial attention on the left": (spatial_attention("Sub", left=True), IMAGE),
    "concat of flattened images": (concat_flat, (2, 4, 6, 6)),
    "flat sum": (flat_sum, IMAGE),
    "rows as output": (lambda g: g.add("Reshape", g.conv("x", 4, 6), g.constant(np.array([12, -1]))), IMAGE),
    "images together as output": (
        lambda g: g.add("Reshape", g.conv("x", 4, 6), g.constant(np.array([-1]))),
        (2, 4, 5, 3),
    ),
    "images together as rows": (
        lambda g: g.add("Reshape", g.conv("x", 4, 6), g.constant(np.array([1, 3, -1]))),
        (2, 4, 5, 3),
    ),
    "flatten as output": (lambda g: g.add("Flatten", g.conv("x", 4, 6)), (2, 4, 5, 3)),
    "shuffle, flatten as output": (lambda g: g.add("Flatten", shuffle(g, g.conv("x", 4, 8), 8, 6)), IMAGE),
    "input as output": (lambda g: (g.add("Relu", "x"), g.add("Identity", "x")), IMAGE),
    "flattened input": (lambda g: g.add("Flatten", "x"), (2, 3, 4, 5)),
    "shuffled input": (lambda g: shuffle(g, "x", 4, 6), IMAGE),
    "concat of inputs": (lambda g: g.add("Concat", "x", "x", axis=1), IMAGE),
    "constant map": (constant_map, IMAGE),
    "constant by column": (constant_column, IMAGE),
    "scalars": (scalar_math, IMAGE),
    "pad": (pad_node, IMAGE),
    "prelu": (prelu, IMAGE),
    "leaky relu": (unary("LeakyRelu", alpha=0.2), IMAGE),
    "leaky relu, steep": (unary("LeakyRelu", alpha=1.7), IMAGE),
    "hard sigmoid": (unary("HardSigmoid"), IMAGE),
    "hard swish": (unary("HardSwish"), IMAGE),
    "tanh": (unary("Tanh"), IMAGE),
    "sigmoid": (unary("Sigmoid"), IMAGE),
    "negation": (unary("Neg"), IMAGE),
    "absolute": (unary("Abs"), IMAGE),
    "clip": (
        lambda g: g.add("Clip", g.conv("x", 4, 6), g.constant(np.float32(-0.5)), g.constant(np.float32(1))),
        IMAGE,
    ),
    "clip, upper bound only": (lambda g: g.add("Clip", g.conv("x", 4, 6), "", g.constant(np.float32(1))), IMAGE),
    "softmax of a map": (unary("Softmax", axis=1), (1, 4, 3, 3)),
    "softmax of one channel": (lambda g: g.add("Softmax", "x", axis=1), (1, 1, 3, 3)),
    "normalization, beta 1/2": (lrn(0.5), IMAGE),
    "normalization, beta 3/4": (lrn(0.75), IMAGE),
    "normalization, beta 1": (lrn(1.0), IMAGE),
    "normalization, more than all channels": (lrn(1.0, 101), IMAGE),
    "normalization, just all channels": (lrn(0.75, 13), IMAGE),
    **{f"{kind}": (binary(kind), IMAGE) for kind in ("Add", "Sub", "Mul", "Max", "Min")},
    **{f"{kind} with a constant": (with_constant(kind), IMAGE) for kind in ("Add", "Sub", "Mul", "Max", "Min", "Div")},
    **{
        f"{kind} of a constant": (with_constant(kind, left=True), IMAGE) for kind in ("Add", "Sub", "Mul", "Max", "Min")
    },
}
