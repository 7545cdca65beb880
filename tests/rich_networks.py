"""Random networks of the blocks that models are made of, with odd sizes, on machines of random measures."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from odd_models import Graph
from random_networks import Image, RandomNetwork
from tilec.analysis.machine_file import find_machine

LARGEST = 6000
"""Elements of a value."""
WIDEST = 400
"""Channels of a value."""


class _Graph(Graph):
    """With weights that leave values as large as they are: what comes of the differences of large ones is noise."""

    def weight(self, *shape: int, scale: float = 0.5) -> str:
        summands = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0] if len(shape) == 2 else 1
        return super().weight(*shape, scale=min(scale, summands**-0.5))


class RichNetwork(RandomNetwork):
    """Draws one block after another: residual and inception blocks, squeeze and excitation, shuffled channels,
    normalizations, dilated and grouped windows of odd sizes and paddings."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        draw = self.draw
        channels = draw.choice((1, 2, 3, 4, 6, 8, 16, 32, 64, 130, 200))
        most = 5 if channels >= 64 else 16
        height, width = (min(most, draw.choice((1, 1, 2, 3, 5, 7, 8, 11, 14, 16))) for _ in range(2))
        self.graph = _Graph(1, channels, height, width)
        self.images = [Image("x", channels, height, width)]
        self.second: tuple[int, ...] | None = None
        """The shape of a second input, if there is one."""
        if draw.random() < 0.3:
            self.second = draw.choice((1, 2, 4, 8)), draw.choice((height, draw.randint(1, 9))), width
            self.images.append(Image("x2", *self.second))

    def model(self) -> onnx.ModelProto:
        draw, inputs = self.draw, len(self.images)
        steps = (
            *(self.convolution, self.odd_windows, self.odd_windows, self.depthwise, self.pool, self.odd_pool),
            *(self.activation, self.slice, self.split, self.pad, self.attention, self.gate, self.concat, self.binary),
            *(self.maximum, self.residual, self.residual, self.batch_normalization, self.local_normalization),
            *(self.softmax, self.squeeze, self.shuffle, self.separable, self.scale, self.inception, self.dense),
        )
        for _ in range(draw.randint(2, 14)):
            source = self.images[-1] if draw.random() < 0.6 else draw.choice(self.images)
            made = draw.choice(steps)(source)
            self.images += [one for one in made if np.prod(one[1:]) <= LARGEST and one.channels <= WIDEST]
        if len(self.images) == inputs:
            self.images += self.activation(self.images[0])
        read = {name for node in self.graph.nodes for name in node.input}
        last = [one.name for one in self.images[inputs:] if one.name not in read] or [self.images[-1].name]
        if draw.random() < 0.35:
            last = [*(name for name in last if name != self.images[-1].name), self.classifier(self.images[-1])]
        if draw.random() < 0.2:
            last.append(draw.choice(self.images[inputs:]).name)  # One that is read as well.
        model = self.graph.model(*list(dict.fromkeys(last))[-5:])
        if self.second is not None and "x2" in {name for node in self.graph.nodes for name in node.input}:
            model.graph.input.append(onnx.helper.make_tensor_value_info("x2", 1, [1, *self.second]))
            model = onnx.shape_inference.infer_shapes(model)
        return model

    def classifier(self, x: Image) -> str:
        draw, graph = self.draw, self.graph
        outputs = draw.choice((1, 3, 10, 100, 300))
        weights = graph.weight(int(np.prod(x[1:])), outputs, scale=0.1)
        y = graph.add("Gemm", graph.add("Flatten", x.name), weights)
        if draw.random() < 0.5:
            y = graph.add("Gemm", graph.add("Relu", y), graph.weight(outputs, 7), graph.weight(7))
        return graph.add("Softmax", y, axis=1) if draw.random() < 0.3 else y

    def windows(
        self, x: Image, outputs: int, kernel: Sequence[int], pads: Sequence[int], group: int = 1, **more: Sequence[int]
    ) -> list[Image]:
        """A convolution; an activation where nothing would be left."""
        strides, dilations = more.get("strides", (1, 1)), more.get("dilations", (1, 1))
        sizes = [
            (size + before + behind - (k - 1) * apart - 1) // step + 1
            for size, before, behind, k, apart, step in zip(
                x[2:], pads[:2], pads[2:], kernel, dilations, strides, strict=True
            )
        ]
        if min(sizes) < 1:
            return self.activation(x)
        inputs = [x.name, self.graph.weight(outputs, x.channels // group, *kernel)]
        inputs += [self.graph.weight(outputs)] if self.draw.random() < 0.6 else []
        name = self.graph.add("Conv", *inputs, pads=list(pads), group=group, **{k: list(v) for k, v in more.items()})
        return [Image(name, outputs, *sizes)]

    def odd_windows(self, x: Image) -> list[Image]:
        draw = self.draw
        kernel = draw.choice((1, 2, 3, 5, 7, 11)), draw.choice((1, 2, 3, 4, 7, 9))
        dilations = draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 2, 4))
        pads = [draw.randint(0, (k - 1) * apart) for k, apart in [*zip(kernel, dilations, strict=True)] * 2]
        groups = [group for group in range(1, x.channels + 1) if x.channels % group == 0]
        group = draw.choice([*groups, *[1] * len(groups)])
        outputs = group * draw.choice((1, 2, 3, 5, 8, 17))
        if draw.random() < 0.2:
            outputs = group * max(1, draw.choice((129, 200, 260)) // group)
        strides = draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 2, 4))
        return self.windows(x, outputs, kernel, pads, group, strides=strides, dilations=dilations)

    def depthwise(self, x: Image) -> list[Image]:
        kernel, stride = self.draw.choice((3, 3, 5, 7)), self.draw.choice((1, 1, 2))
        outputs = x.channels * self.draw.choice((1, 1, 1, 2))
        return self.windows(x, outputs, (kernel,) * 2, (kernel // 2,) * 4, x.channels, strides=(stride,) * 2)

    def separable(self, x: Image) -> list[Image]:
        (middle,) = self.depthwise(x)
        return self.windows(middle, self.draw.choice((4, 8, 24, 64)), (1, 1), (0,) * 4)

    def odd_pool(self, x: Image) -> list[Image]:
        draw = self.draw
        kernel = [draw.randint(1, min(6, size + 1)) for size in x[2:]]
        begins, ends = ([min(draw.randint(0, 2), k // 2, k - 1) for k in kernel] for _ in range(2))
        strides = [draw.choice((1, 2, 3, 4)) for _ in kernel]
        pairs = [*zip(x[2:], begins, ends, kernel, strides, strict=True)]
        if any(size + begin + end < k for size, begin, end, k, _ in pairs):
            return self.activation(x)
        kind, more = draw.choice((("MaxPool", {}), ("AveragePool", {"count_include_pad": draw.choice((0, 1))})))
        name = self.graph.add(kind, x.name, kernel_shape=kernel, strides=strides, pads=begins + ends, **more)
        return [Image(name, x.channels, *((size + b + e - k) // step + 1 for size, b, e, k, step in pairs))]

    def batch_normalization(self, x: Image) -> list[Image]:
        graph, count = self.graph, x.channels
        variance = graph.constant(np.abs(graph.random.standard_normal(count)).astype(np.float32) + 0.5)
        weights = [graph.weight(count) for _ in range(3)]
        found = x._replace(name=graph.add("BatchNormalization", x.name, *weights, variance))
        return self.activation(found) if self.draw.random() < 0.4 else [found]

    def local_normalization(self, x: Image) -> list[Image]:
        return [x._replace(name=self.graph.add("LRN", x.name, size=self.draw.choice((1, 3, 5)), alpha=0.1))]

    def softmax(self, x: Image) -> list[Image]:
        return [x._replace(name=self.graph.add("Softmax", x.name, axis=1))]

    def squeeze(self, x: Image) -> list[Image]:
        graph, fewer = self.graph, max(1, x.channels // self.draw.choice((1, 2, 4)))
        y = graph.add("Relu", graph.conv(graph.add("GlobalAveragePool", x.name), x.channels, fewer, 1))
        y = graph.add(self.draw.choice(("Sigmoid", "HardSigmoid")), graph.conv(y, fewer, x.channels, 1))
        return [x._replace(name=graph.add("Mul", *self.draw.sample((x.name, y), 2)))]

    def residual(self, x: Image) -> list[Image]:
        graph, y = self.graph, x.name
        for _ in range(self.draw.randint(1, 3)):
            y = graph.conv(y, x.channels, x.channels, self.draw.choice((1, 3, 5)))
            y = graph.add("Relu", y) if self.draw.random() < 0.6 else y
        found = x._replace(name=graph.add("Add", y, x.name))
        return self.activation(found) if self.draw.random() < 0.5 else [found]

    def shuffle(self, x: Image) -> list[Image]:
        groups = [group for group in range(2, x.channels) if x.channels % group == 0]
        if not groups:
            return self.activation(x)
        group, graph = self.draw.choice(groups), self.graph
        y = graph.add("Reshape", x.name, self.numbers(1, group, x.channels // group, x.height, x.width))
        y = graph.add("Reshape", graph.add("Transpose", y, perm=[0, 2, 1, 3, 4]), self.numbers(1, *x[1:]))
        return [x._replace(name=y)]

    def scale(self, x: Image) -> list[Image]:
        graph, kind = self.graph, self.draw.choice(("Add", "Mul", "Sub", "Div"))
        number = np.float32(self.draw.choice((0.5, 2.0, -1.0)))
        if self.draw.random() < 0.5:
            number = np.abs(graph.random.standard_normal((1, x.channels, 1, 1))).astype(np.float32) + np.float32(0.3)
        return [x._replace(name=graph.add(kind, x.name, graph.constant(number)))]

    def inception(self, x: Image) -> list[Image]:
        graph, branches, channels = self.graph, list[str](), 0
        for kernel in self.draw.sample((1, 3, 5, 7), self.draw.randint(2, 3)):
            outputs = self.draw.choice((1, 3, 8, 16))
            branches.append(graph.add("Relu", graph.conv(x.name, x.channels, outputs, kernel)))
            channels += outputs
        if self.draw.random() < 0.5:
            branches.append(graph.add("MaxPool", x.name, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4))
            channels += x.channels
        return [x._replace(name=graph.add("Concat", *branches, axis=1), channels=channels)]

    def dense(self, x: Image) -> list[Image]:
        count, outputs = int(np.prod(x[1:])), self.draw.choice((8, 24))
        if count > 800:
            return self.activation(x)
        y = self.graph.add("Gemm", self.graph.add("Flatten", x.name), self.graph.weight(count, outputs, scale=0.1))
        return [Image(self.graph.add("Reshape", y, self.numbers(1, outputs, 1, 1)), outputs, 1, 1)]


def random_machine(seed: int, path: Path) -> Path:
    """Writes the file of a machine of few cores, of random measures."""
    draw = random.Random(seed)
    content = json.loads(find_machine("tiny4").read_text())
    chip = content["chip_config"]
    core, network = chip["core_config"], chip["network_config"]
    matrix, memory, mesh = core["matrix_config"], core["local_memory_config"], network["mesh"]
    layout = draw.randint(1, 6), draw.randint(1, 6)
    chip["core_cnt"], network["layout"] = layout[0] * layout[1], list(layout)
    core["rob_size"] = draw.choice((1, 1, 1, 4, 16))
    core["vector_width"], core["vector_latency_cycle"] = draw.choice((8, 32, 64)), draw.choice((1, 4, 10))
    rows = draw.choice((32, 64, 128, 128, 256))
    matrix["xbar_size"] = [rows, draw.choice((rows, rows, 64, 128))]
    matrix["dac_count"], matrix["adc_count"] = rows, draw.choice((4, 16, 32))
    matrix["xbar_array_count"], matrix["cell_precision"] = draw.choice((4, 8, 16, 64)), draw.choice((8, 8, 8, 4, 2))
    matrix["pipeline_mode"] = draw.choice((True, False))
    memory["memory_size"] = draw.choice((32768, 65536, 65536, 262144, 1 << 20))
    memory["data_width"] = draw.choice((8, 64, 128))
    chip["global_memory_config"]["data_width"], network["bus_width"] = (
        draw.choice((8, 32, 128)),
        draw.choice((8, 32, 128)),
    )
    mesh["base_latency"], mesh["hop_latency"] = draw.choice((1, 2, 40)), draw.choice((1, 2, 20))
    mesh["memory_latency"] = draw.choice((2, 15, 300))
    path.write_text(json.dumps(content))
    return path
