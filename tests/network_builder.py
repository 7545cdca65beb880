"""Builds an ONNX model op by op, with random weights and a probe image that is computed along.

From the probe come the statistics of the batch normalizations and the scale of layers without one, so that activations
neither explode nor vanish and the logits have a standard deviation of about 1. What comes from it is rounded, so that
it does not depend on the order in which a machine adds.
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
Extents: TypeAlias = int | tuple[int, int]
"""Of a kernel or of padding: in rows and columns, or one number for both."""


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
        self,
        x: Value,
        channels: int,
        kernel: Extents,
        stride: int = 1,
        pad: Extents = 0,
        group: int = 1,
        bias: bool = True,
    ) -> Value:
        """A convolution. With a bias, it is scaled to give a standard deviation of about 1."""
        shape = (channels, x.probe.shape[0] // group, *_both(kernel))
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
        attributes = {"kernel_shape": _both(kernel), "strides": [stride] * 2, "pads": [*_both(pad)] * 2, "group": group}
        return self._node("Conv", inputs, y, **attributes)

    def linear(self, x: Value, columns: int) -> Value:
        """A fully connected layer, scaled to give a standard deviation of about 1."""
        weights = self._he((columns, x.probe.shape[0]))
        y = weights @ x.probe
        factor = np.float32(1 / _rounded(y.std()))
        shift = (0.1 * self.random.standard_normal(columns)).astype(np.float32)
        inputs = [x.name, self._weight(weights * factor), self._weight(shift)]
        return self._node("Gemm", inputs, y * factor + shift, transB=1)

    def batch_norm(self, x: Value, epsilon: float = 1e-5) -> Value:
        channels = len(x.probe)
        scale = (1 + 0.1 * self.random.standard_normal(channels)).astype(np.float32)
        shift = (0.1 * self.random.standard_normal(channels)).astype(np.float32)
        # With few positions left, the statistics of one channel say little: mix in those of all.
        flat = x.probe.reshape(channels, -1).astype(np.float64)
        own = flat.shape[1] / (flat.shape[1] + 16)
        mean = _rounded(own * flat.mean(axis=1)).astype(np.float32)
        var = _rounded(own * flat.var(axis=1) + (1 - own) * flat.var() + 1e-3).astype(np.float32)
        columns = [v[:, None, None] for v in (scale, shift, mean, var)]
        y = (x.probe - columns[2]) / np.sqrt(columns[3] + epsilon) * columns[0] + columns[1]
        inputs = [x.name, *(self._weight(v) for v in (scale, shift, mean, var))]
        return self._node("BatchNormalization", inputs, y.astype(np.float32), epsilon=epsilon)

    def relu(self, x: Value) -> Value:
        return self._node("Relu", [x.name], np.maximum(x.probe, 0))

    def relu6(self, x: Value) -> Value:
        y = np.clip(x.probe, 0, 6)
        if self.opset < 11:
            return self._node("Clip", [x.name], y, min=0.0, max=6.0)
        return self._node("Clip", [x.name, self._constant(np.float32(0)), self._constant(np.float32(6))], y)

    def sigmoid(self, x: Value) -> Value:
        return self._node("Sigmoid", [x.name], 1 / (1 + np.exp(-x.probe)))

    def hard_sigmoid(self, x: Value) -> Value:
        return self._node("HardSigmoid", [x.name], np.clip(x.probe / 6 + 0.5, 0, 1), alpha=1 / 6, beta=0.5)

    def swish(self, x: Value) -> Value:
        return self.multiply(x, self.sigmoid(x))

    def hard_swish(self, x: Value) -> Value:
        if self.opset < 14:
            return self.multiply(x, self.hard_sigmoid(x))
        return self._node("HardSwish", [x.name], x.probe * np.clip(x.probe / 6 + 0.5, 0, 1))

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

    def multiply(self, a: Value, b: Value) -> Value:
        return self._node("Mul", [a.name, b.name], a.probe * b.probe)

    def split(self, x: Value, count: int) -> list[Value]:
        """As many equal parts of the channels."""
        parts = np.split(x.probe, count)
        extents = np.array([len(part) for part in parts])
        inputs = [x.name, self._constant(extents)] if self.opset >= 13 else [x.name]
        more = {} if self.opset >= 13 else {"split": extents.tolist()}
        first = self._node("Split", inputs, parts[0], axis=1, **more)
        names = [first.name, *(f"{first.name}{i}" for i in range(1, count))]
        self.nodes[-1].output[:] = names
        return [Value(name, part) for name, part in zip(names, parts, strict=True)]

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


def _both(extents: Extents) -> tuple[int, int]:
    return (extents, extents) if isinstance(extents, int) else extents


def convolve(x: Array, weights: Array, stride: int, pad: Extents, group: int) -> Array:
    """A convolution of one image [C, H, W]."""
    kernel = weights.shape[2:]
    padded = np.pad(x, ((0, 0), *((extent, extent) for extent in _both(pad))))
    rows, columns = ((extent - taken) // stride + 1 for extent, taken in zip(padded.shape[1:], kernel, strict=True))
    taps = [
        padded[:, i : i + (rows - 1) * stride + 1 : stride, j : j + (columns - 1) * stride + 1 : stride]
        for i, j in itertools.product(*map(range, kernel))
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
