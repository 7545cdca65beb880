"""Random small networks of layers, views and elementwise nodes that are joined in odd ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import onnx
from odd_models import Graph

LARGEST = 3000
"""Elements of a value."""

ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "Neg", "Abs")
BINARY = ("Add", "Mul", "Sub", "Max", "Min")


class Image(NamedTuple):
    """A value, and its channels, rows and columns."""

    name: str
    channels: int
    height: int
    width: int


class RandomNetwork:
    """Draws one node after another; each reads values that are there."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = random.Random(seed)
        shape = draw.choice((1, 2, 3, 4, 6, 8, 12)), draw.randint(1, 13), draw.randint(1, 10)
        self.graph = Graph(1, *shape)
        self.images = [Image("x", *shape)]

    def model(self) -> onnx.ModelProto:
        """The network; its outputs are the values that nothing reads."""
        steps: tuple[Callable[[Image], list[Image]], ...] = (
            self.convolution, self.convolution, self.pool, self.activation, self.slice, self.split, self.pad,
            self.attention, self.gate, self.concat, self.binary, self.maximum,
        )  # fmt: skip
        for _ in range(self.draw.randint(2, 8)):
            source = self.images[-1] if self.draw.random() < 0.5 else self.draw.choice(self.images)
            made = self.draw.choice(steps)(source)
            self.images += [one for one in made if one.channels * one.height * one.width <= LARGEST]
        if len(self.images) == 1:
            self.images += self.activation(self.images[0])
        read = {name for node in self.graph.nodes for name in node.input}
        last = [one.name for one in self.images[1:] if one.name not in read] or [self.images[-1].name]
        if self.draw.random() < 0.3:
            flat = self.graph.add("Flatten", self.images[-1].name)
            _, channels, height, width = self.images[-1]
            outputs = self.draw.choice((3, 10))
            weights = self.graph.weight(channels * height * width, outputs, scale=0.1)
            last = [*(name for name in last if name != self.images[-1].name), self.graph.add("Gemm", flat, weights)]
        return self.graph.model(*last[-4:])

    def numbers(self, *values: int) -> str:
        return self.graph.constant(np.array(values, np.int64))

    def convolution(self, x: Image) -> list[Image]:
        draw, graph = self.draw, self.graph
        kernel = min(draw.choice((1, 1, 3, 5)), x.height + 2), min(draw.choice((1, 3, 3)), x.width + 2)
        stride = draw.choice((1, 1, 1, 2, 3)), draw.choice((1, 1, 1, 2))
        pads = [size // 2 for size in kernel]
        group, outputs = 1, draw.choice((1, 2, 3, 4, 8, 16, 40))
        if draw.random() < 0.2:
            group, outputs = x.channels, x.channels * draw.choice((1, 2))
        height, width = (
            (size + 2 * pad - k) // step + 1 for size, pad, k, step in zip(x[2:], pads, kernel, stride, strict=True)
        )
        if height < 1 or width < 1:
            return self.activation(x)
        inputs = [x.name, graph.weight(outputs, x.channels // group, *kernel)]
        inputs += [graph.weight(outputs)] if draw.random() < 0.7 else []
        name = graph.add("Conv", *inputs, strides=stride, pads=[*pads, *pads], group=group)
        return [Image(name, outputs, height, width)]

    def pool(self, x: Image) -> list[Image]:
        kernel = [min(self.draw.choice((1, 2, 3)), size) for size in x[2:]]
        stride = [self.draw.choice((1, 2, 3)) for _ in kernel]
        height, width = ((size - k) // step + 1 for size, k, step in zip(x[2:], kernel, stride, strict=True))
        kind = self.draw.choice(("MaxPool", "AveragePool"))
        return [Image(self.graph.add(kind, x.name, kernel_shape=kernel, strides=stride), x.channels, height, width)]

    def activation(self, x: Image) -> list[Image]:
        return [x._replace(name=self.graph.add(self.draw.choice(ACTIVATIONS), x.name))]

    def slice(self, x: Image) -> list[Image]:
        axes = sorted(self.draw.sample((1, 2, 3), self.draw.randint(1, 2)))
        shape, begins, ends, steps = list(x[1:]), list[int](), list[int](), list[int]()
        for axis in axes:
            size, step = shape[axis - 1], self.draw.choice((1, 1, 2, 3))
            begin = self.draw.randrange(size)
            end = self.draw.randint(begin + 1, size)
            shape[axis - 1] = len(range(begin, end, step))
            backwards = axis == 1 and self.draw.random() < 0.3
            first, last = range(begin, end, step)[0], range(begin, end, step)[-1]
            begins.append(last if backwards else begin - size if self.draw.random() < 0.3 else begin)
            ends.append(first - 1 - size if backwards else 1 << 40 if end == size else end)
            steps.append(-step if backwards else step)
        arguments = (self.numbers(*begins), self.numbers(*ends), self.numbers(*axes), self.numbers(*steps))
        return [Image(self.graph.add("Slice", x.name, *arguments), *shape)]

    def split(self, x: Image) -> list[Image]:
        axis = self.draw.choice((1, 1, 2, 3))
        size = x[axis]
        if size < 2:
            return self.activation(x)
        sizes = [self.draw.randint(1, size - 1)]
        sizes.append(size - sizes[0])
        names = self.graph.add("Split", x.name, self.numbers(*sizes), outputs=2, axis=axis)
        shapes = [[one if place == axis else x[place] for place in (1, 2, 3)] for one in sizes]
        return [Image(name, *shape) for name, shape in zip(names, shapes, strict=True)]

    def pad(self, x: Image) -> list[Image]:
        top, left, bottom, right = (self.draw.randint(0, 3) for _ in range(4))
        if x.height > 2 and self.draw.random() < 0.3:
            top = -1
        name = self.graph.add("Pad", x.name, self.numbers(0, 0, top, left, 0, 0, bottom, right))
        return [Image(name, x.channels, x.height + top + bottom, x.width + left + right)]

    def attention(self, x: Image) -> list[Image]:
        weight = self.graph.add("Sigmoid", self.graph.conv(x.name, x.channels, 1, self.draw.choice((1, 3))))
        operands = self.draw.sample((x.name, weight), 2)
        return [x._replace(name=self.graph.add(self.draw.choice(BINARY), *operands))]

    def gate(self, x: Image) -> list[Image]:
        (found,) = self.maximum(x)
        gate = self.graph.add("HardSigmoid", self.graph.conv(found.name, x.channels, x.channels, 1))
        operands = self.draw.sample((x.name, gate), 2)
        return [x._replace(name=self.graph.add(self.draw.choice(BINARY), *operands))]

    def concat(self, x: Image) -> list[Image]:
        other = self.draw.choice([one for one in self.images if one[2:] == x[2:]])
        name = self.graph.add("Concat", x.name, other.name, axis=1)
        return [Image(name, x.channels + other.channels, x.height, x.width)]

    def binary(self, x: Image) -> list[Image]:
        other = self.draw.choice([one for one in self.images if one[1:] == x[1:]])
        return [x._replace(name=self.graph.add(self.draw.choice(BINARY), x.name, other.name))]

    def maximum(self, x: Image) -> list[Image]:
        kind = self.draw.choice(("GlobalMaxPool", "GlobalAveragePool"))
        return [Image(self.graph.add(kind, x.name), x.channels, 1, 1)]
