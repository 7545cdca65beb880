"""Real network topologies with random weights, built without a training framework.

An ONNX model is built from a seed: the published architecture at any image size and number of classes, with weights
drawn as He et al. propose. A probe image is computed along while the graph is built; from it come the statistics of the
batch normalizations and the scale of layers without one, so that activations neither explode nor vanish and the logits
have a standard deviation of about 1. What comes from the probe is rounded, so that it does not depend on the order in
which a machine adds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Value:
    """A value of the graph and what it is for the probe image, without the batch dimension."""

    name: str
    probe: Array


class Network:
    """Builds a graph op by op."""

    def __init__(self, image_size: int, num_classes: int, seed: int, opset: int) -> None:
        self.num_classes = num_classes
        self.opset = opset
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.input_shape = (1, 3, image_size, image_size)
        self.input = Value("input", self.random.standard_normal(self.input_shape[1:]).astype(np.float32))

    def model(self, output: Value, name: str) -> onnx.ModelProto:
        self.nodes[-1].output[0] = "logits"
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, self.input_shape)],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, (1, *output.probe.shape))],
            self.initializers,
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8, producer_name="tile"
        )

    # Layers

    def conv(
        self, x: Value, channels: int, kernel: int, stride: int = 1, pad: int = 0, group: int = 1, bias: bool = True
    ) -> Value:
        """A convolution. With a bias, it is scaled to give a standard deviation of about 1."""
        shape = (channels, x.probe.shape[0] // group, kernel, kernel)
        weights = self._he(shape)
        y = convolve(x.probe, weights, stride, pad, group)
        inputs = [x.name]
        if bias:
            factor = np.float32(1 / _rounded(y.std()))
            shift = (0.1 * self.random.standard_normal(channels)).astype(np.float32)
            y = y * factor + shift[:, None, None]
            inputs += [self._weight(weights * factor), self._weight(shift)]
        else:
            inputs += [self._weight(weights)]
        attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "group": group}
        return self._node("Conv", inputs, y, **attributes)

    def linear(self, x: Value, columns: int) -> Value:
        """A fully connected layer, scaled to give a standard deviation of about 1."""
        weights = self._he((columns, x.probe.shape[0]))
        y = weights @ x.probe
        factor = np.float32(1 / _rounded(y.std()))
        shift = (0.1 * self.random.standard_normal(columns)).astype(np.float32)
        inputs = [x.name, self._weight(weights * factor), self._weight(shift)]
        return self._node("Gemm", inputs, y * factor + shift, transB=1)

    def batch_norm(self, x: Value) -> Value:
        channels = len(x.probe)
        scale = (1 + 0.1 * self.random.standard_normal(channels)).astype(np.float32)
        shift = (0.1 * self.random.standard_normal(channels)).astype(np.float32)
        # With few positions left, the statistics of one channel say little: mix in those of all.
        flat = x.probe.reshape(channels, -1).astype(np.float64)
        own = flat.shape[1] / (flat.shape[1] + 16)
        mean = _rounded(own * flat.mean(axis=1)).astype(np.float32)
        var = _rounded(own * flat.var(axis=1) + (1 - own) * flat.var() + 1e-3).astype(np.float32)
        columns = [v[:, None, None] for v in (scale, shift, mean, var)]
        y = (x.probe - columns[2]) / np.sqrt(columns[3] + 1e-5) * columns[0] + columns[1]
        inputs = [x.name, *(self._weight(v) for v in (scale, shift, mean, var))]
        return self._node("BatchNormalization", inputs, y.astype(np.float32), epsilon=1e-5)

    def relu(self, x: Value) -> Value:
        return self._node("Relu", [x.name], np.maximum(x.probe, 0))

    def relu6(self, x: Value) -> Value:
        y = np.clip(x.probe, 0, 6)
        if self.opset < 11:
            return self._node("Clip", [x.name], y, min=0.0, max=6.0)
        return self._node("Clip", [x.name, self._constant(np.float32(0)), self._constant(np.float32(6))], y)

    def max_pool(self, x: Value, kernel: int, stride: int, pad: int = 0, ceil: bool = False) -> Value:
        # Ceil mode came with opset 10.
        y = pool(x.probe, kernel, stride, pad, ceil and self.opset >= 10, np.maximum, -np.inf)
        return self._node("MaxPool", [x.name], y, **self._pool(kernel, stride, pad, ceil))

    def average_pool(self, x: Value, kernel: int, stride: int, pad: int = 0) -> Value:
        y = pool(x.probe, kernel, stride, pad, False, np.add, 0) / np.float32(kernel * kernel)
        return self._node("AveragePool", [x.name], y, **self._pool(kernel, stride, pad, False), count_include_pad=1)

    def _pool(self, kernel: int, stride: int, pad: int, ceil: bool) -> dict[str, Any]:
        attributes: dict[str, Any] = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        return {**attributes, "ceil_mode": 1} if ceil and self.opset >= 10 else attributes

    def global_average_pool(self, x: Value) -> Value:
        return self._node("GlobalAveragePool", [x.name], x.probe.mean(axis=(1, 2), keepdims=True))

    def lrn(self, x: Value) -> Value:
        squares = np.pad(x.probe**2, ((2, 2), (0, 0), (0, 0)))
        total = sum(squares[i : i + len(x.probe)] for i in range(5))
        return self._node("LRN", [x.name], x.probe / (1 + 1e-4 / 5 * total) ** 0.75, size=5)

    def flatten(self, x: Value) -> Value:
        return self._node("Flatten", [x.name], x.probe.reshape(-1), axis=1)

    def dropout(self, x: Value) -> Value:
        if self.opset < 12:
            return self._node("Dropout", [x.name], x.probe, ratio=0.5)
        return self._node("Dropout", [x.name, self._constant(np.float32(0.5))], x.probe)

    def add(self, a: Value, b: Value) -> Value:
        return self._node("Add", [a.name, b.name], a.probe + b.probe)

    def concat(self, *values: Value) -> Value:
        return self._node("Concat", [v.name for v in values], np.concatenate([v.probe for v in values]), axis=1)

    def shuffle(self, x: Value, groups: int) -> Value:
        """The channels of the groups, interleaved; with the shape arithmetic that frameworks export."""
        channels, height, width = x.probe.shape
        shape = self._node("Shape", [x.name], x.probe)
        batch = self._node("Gather", [shape.name, self._constant(np.array([0]))], x.probe, axis=0)

        def reshaped(value: str, extents: Sequence[int], probe: Array) -> Value:
            parts = [batch.name, self._constant(np.array(extents))]
            return self._node("Reshape", [value, self._node("Concat", parts, probe, axis=0).name], probe)

        split = x.probe.reshape(groups, channels // groups, height, width)
        y = reshaped(x.name, split.shape, split)
        y = self._node("Transpose", [y.name], split.transpose(1, 0, 2, 3), perm=[0, 2, 1, 3, 4])
        return reshaped(y.name, (channels, height, width), y.probe.reshape(x.probe.shape))

    # Parts

    def _node(self, kind: str, inputs: Sequence[str], probe: Array, **attributes: Any) -> Value:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}.out"], name=name, **attributes))
        return Value(f"{name}.out", probe)

    def _constant(self, array: Any) -> str:
        tensor = numpy_helper.from_array(np.asarray(array))
        return self._node("Constant", [], np.asarray(array), value=tensor).name

    def _weight(self, array: Array) -> str:
        name = f"weight_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    def _he(self, shape: tuple[int, ...]) -> Array:
        deviation = np.float32(math.sqrt(2 / math.prod(shape[1:])))
        return self.random.standard_normal(shape, np.float32) * deviation


def _rounded(value: Any) -> Any:
    """Two significant digits."""
    value = np.asarray(value, np.float64)
    exponent = np.floor(np.log10(np.maximum(np.abs(value), 1e-30)))
    return np.round(value / 10 ** (exponent - 1)) * 10 ** (exponent - 1)


def convolve(x: Array, weights: Array, stride: int, pad: int, group: int) -> Array:
    """A convolution of one image [C, H, W]."""
    kernel = weights.shape[2]
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
    rows, columns = ((extent - kernel) // stride + 1 for extent in padded.shape[1:])
    taps = [
        padded[:, i : i + (rows - 1) * stride + 1 : stride, j : j + (columns - 1) * stride + 1 : stride]
        for i, j in itertools.product(range(kernel), repeat=2)
    ]
    matrix = np.stack(taps, axis=1).reshape(group, -1, rows * columns)
    return (weights.reshape(group, -1, matrix.shape[1]) @ matrix).reshape(-1, rows, columns)


def pool(x: Array, kernel: int, stride: int, pad: int, ceil: bool, combine: Callable[..., Any], fill: float) -> Array:
    """A pool of one image [C, H, W]."""

    def count(size: int) -> int:
        room = size + 2 * pad - kernel
        positions = (-(-room // stride) if ceil else room // stride) + 1
        return positions - 1 if ceil and (positions - 1) * stride >= size + pad else positions

    rows, columns = map(count, x.shape[1:])
    padded = np.pad(x, ((0, 0), (pad, pad + stride), (pad, pad + stride)), constant_values=fill)
    taps = [
        padded[:, i : i + (rows - 1) * stride + 1 : stride, j : j + (columns - 1) * stride + 1 : stride]
        for i, j in itertools.product(range(kernel), repeat=2)
    ]
    result = taps[0]
    for tap in taps[1:]:
        result = combine(result, tap)
    return result


# Architectures


def _resnet(network: Network, blocks: Sequence[int], bottleneck: bool) -> Value:
    def conv_norm(x: Value, channels: int, kernel: int, stride: int = 1) -> Value:
        return network.batch_norm(network.conv(x, channels, kernel, stride, kernel // 2, bias=False))

    x = network.relu(conv_norm(network.input, 64, 7, 2))
    x = network.max_pool(x, 3, 2, 1)
    for stage, count in enumerate(blocks):
        channels = 64 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            wide = 4 * channels if bottleneck else channels
            if bottleneck:
                y = network.relu(conv_norm(x, channels, 1))
                y = network.relu(conv_norm(y, channels, 3, stride))
                y = conv_norm(y, wide, 1)
            else:
                y = network.relu(conv_norm(x, channels, 3, stride))
                y = conv_norm(y, channels, 3)
            if stride != 1 or len(x.probe) != wide:
                x = conv_norm(x, wide, 1, stride)
            x = network.relu(network.add(y, x))
    return network.linear(network.flatten(network.global_average_pool(x)), network.num_classes)


def _vgg16(network: Network) -> Value:
    x = network.input
    for channels, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x = network.relu(network.conv(x, channels, 3, 1, 1))
        x = network.max_pool(x, 2, 2)
    return _classifier(network, network.flatten(x))


def _alexnet(network: Network) -> Value:
    x = network.relu(network.conv(network.input, 64, 11, 4, 2))
    x = network.max_pool(x, 3, 2)
    x = network.relu(network.conv(x, 192, 5, 1, 2))
    x = network.max_pool(x, 3, 2)
    for channels in (384, 256, 256):
        x = network.relu(network.conv(x, channels, 3, 1, 1))
    return _classifier(network, network.flatten(network.max_pool(x, 3, 2)))


def _classifier(network: Network, x: Value) -> Value:
    for _ in range(2):
        x = network.dropout(network.relu(network.linear(x, 4096)))
    return network.linear(x, network.num_classes)


def _squeezenet1_0(network: Network) -> Value:
    def fire(x: Value, squeeze: int, expand: int) -> Value:
        x = network.relu(network.conv(x, squeeze, 1))
        return network.concat(network.relu(network.conv(x, expand, 1)), network.relu(network.conv(x, expand, 3, 1, 1)))

    x = network.max_pool(network.relu(network.conv(network.input, 96, 7, 2)), 3, 2, ceil=True)
    for squeeze, expand in ((16, 64), (16, 64), (32, 128)):
        x = fire(x, squeeze, expand)
    x = network.max_pool(x, 3, 2, ceil=True)
    for squeeze, expand in ((32, 128), (48, 192), (48, 192), (64, 256)):
        x = fire(x, squeeze, expand)
    x = fire(network.max_pool(x, 3, 2, ceil=True), 64, 256)
    x = network.relu(network.conv(network.dropout(x), network.num_classes, 1))
    return network.flatten(network.global_average_pool(x))


def _googlenet(network: Network, batch_norm: bool) -> Value:
    def conv(x: Value, channels: int, kernel: int, stride: int = 1) -> Value:
        y = network.conv(x, channels, kernel, stride, kernel // 2, bias=not batch_norm)
        return network.relu(network.batch_norm(y) if batch_norm else y)

    def lrn(x: Value) -> Value:
        return x if batch_norm else network.lrn(x)

    def inception(x: Value, c1: int, c3_in: int, c3: int, c5_in: int, c5: int, pooled: int) -> Value:
        return network.concat(
            conv(x, c1, 1),
            conv(conv(x, c3_in, 1), c3, 3),
            conv(conv(x, c5_in, 1), c5, 5),
            conv(network.max_pool(x, 3, 1, 1), pooled, 1),
        )

    x = lrn(network.max_pool(conv(network.input, 64, 7, 2), 3, 2, ceil=True))
    x = network.max_pool(lrn(conv(conv(x, 64, 1), 192, 3)), 3, 2, ceil=True)
    x = inception(x, 64, 96, 128, 16, 32, 32)
    x = inception(x, 128, 128, 192, 32, 96, 64)
    x = network.max_pool(x, 3, 2, ceil=True)
    x = inception(x, 192, 96, 208, 16, 48, 64)
    x = inception(x, 160, 112, 224, 24, 64, 64)
    x = inception(x, 128, 128, 256, 24, 64, 64)
    x = inception(x, 112, 144, 288, 32, 64, 64)
    x = inception(x, 256, 160, 320, 32, 128, 128)
    x = network.max_pool(x, 3, 2, ceil=True)
    x = inception(x, 256, 160, 320, 32, 128, 128)
    x = inception(x, 384, 192, 384, 48, 128, 128)
    x = network.dropout(network.flatten(network.global_average_pool(x)))
    return network.linear(x, network.num_classes)


def _mobilenet_v2(network: Network) -> Value:
    def conv(x: Value, channels: int, kernel: int, stride: int = 1, group: int = 1) -> Value:
        return network.batch_norm(network.conv(x, channels, kernel, stride, kernel // 2, group, bias=False))

    x = network.relu6(conv(network.input, 32, 3, 2))
    settings = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for expansion, channels, count, first_stride in settings:
        for block in range(count):
            stride = first_stride if not block else 1
            wide = expansion * len(x.probe)
            y = network.relu6(conv(x, wide, 1)) if expansion != 1 else x
            y = network.relu6(conv(y, wide, 3, stride, wide))
            y = conv(y, channels, 1)
            x = network.add(x, y) if stride == 1 and len(x.probe) == channels else y
    x = network.relu6(conv(x, 1280, 1))
    x = network.dropout(network.flatten(network.global_average_pool(x)))
    return network.linear(x, network.num_classes)


def _densenet121(network: Network) -> Value:
    def norm_relu_conv(x: Value, channels: int, kernel: int) -> Value:
        x = network.relu(network.batch_norm(x))
        return network.conv(x, channels, kernel, 1, kernel // 2, bias=False)

    x = network.relu(network.batch_norm(network.conv(network.input, 64, 7, 2, 3, bias=False)))
    x = network.max_pool(x, 3, 2, 1)
    for stage, count in enumerate((6, 12, 24, 16)):
        if stage:
            x = network.average_pool(norm_relu_conv(x, len(x.probe) // 2, 1), 2, 2)
        for _ in range(count):
            x = network.concat(x, norm_relu_conv(norm_relu_conv(x, 128, 1), 32, 3))
    x = network.global_average_pool(network.relu(network.batch_norm(x)))
    return network.linear(network.flatten(x), network.num_classes)


def _shufflenet_v1(network: Network, groups: int = 3) -> Value:
    def conv(x: Value, channels: int, kernel: int, stride: int = 1, group: int = 1) -> Value:
        return network.batch_norm(network.conv(x, channels, kernel, stride, kernel // 2, group, bias=False))

    x = network.max_pool(network.relu(conv(network.input, 24, 3, 2)), 3, 2, 1)
    for stage, count in enumerate((4, 8, 4)):
        channels = 240 << stage
        for block in range(count):
            narrow = channels // 4
            stride = 1 if block else 2
            y = network.relu(conv(x, narrow, 1, group=groups if stage or block else 1))
            y = network.shuffle(y, groups)
            y = conv(y, narrow, 3, stride, narrow)
            y = conv(y, channels if block else channels - len(x.probe), 1, group=groups)
            x = network.add(x, y) if block else network.concat(network.average_pool(x, 3, 2, 1), y)
            x = network.relu(x)
    return network.linear(network.flatten(network.global_average_pool(x)), network.num_classes)


ARCHITECTURES: dict[str, Callable[[Network], Value]] = {
    "alexnet": _alexnet,
    "densenet121": _densenet121,
    "googlenet": lambda network: _googlenet(network, batch_norm=False),
    "googlenet_bn": lambda network: _googlenet(network, batch_norm=True),
    "mobilenet_v2": _mobilenet_v2,
    "resnet18": lambda network: _resnet(network, (2, 2, 2, 2), bottleneck=False),
    "resnet34": lambda network: _resnet(network, (3, 4, 6, 3), bottleneck=False),
    "resnet50": lambda network: _resnet(network, (3, 4, 6, 3), bottleneck=True),
    "shufflenet_v1": _shufflenet_v1,
    "squeezenet1_0": _squeezenet1_0,
    "vgg16": _vgg16,
}


def build(name: str, image_size: int = 224, num_classes: int = 1000, seed: int = 0, opset: int = 17) -> onnx.ModelProto:
    """The architecture called ``name`` with random weights; its input is `input`, its output `logits`."""
    network = Network(image_size, num_classes, seed, opset)
    return network.model(ARCHITECTURES[name](network), name)
