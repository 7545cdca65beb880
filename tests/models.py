"""Real network topologies with random weights, built without a training framework.

An ONNX model is built from a seed: the published architecture at any image size and number of classes, with weights
drawn as He et al. propose. :mod:`network_builder` scales them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx
from grouped_models import regnet_x_1_6gf, regnet_x_400mf, resnext50_32x4d
from mobile_models import efficientnet_b0, mobilenet_v3_small, shufflenet_v2, yolov8n_cls
from network_builder import Extents, Network, Value

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


def _inception_v3(network: Network) -> Value:
    """Without the auxiliary classifier, which only training has; of 75 pixels at least."""

    def conv(x: Value, channels: int, kernel: Extents, stride: int = 1, pad: Extents = 0) -> Value:
        y = network.conv(x, channels, kernel, stride, pad, bias=False)
        return network.relu(network.batch_norm(y, epsilon=1e-3))

    def row(x: Value, channels: int, length: int) -> Value:
        return conv(x, channels, (1, length), pad=(0, length // 2))

    def column(x: Value, channels: int, length: int) -> Value:
        return conv(x, channels, (length, 1), pad=(length // 2, 0))

    def pooled(x: Value, channels: int) -> Value:
        return conv(network.average_pool(x, 3, 1, 1), channels, 1)

    def large(x: Value, pool_channels: int) -> Value:
        return network.concat(
            conv(x, 64, 1),
            conv(conv(x, 48, 1), 64, 5, pad=2),
            conv(conv(conv(x, 64, 1), 96, 3, pad=1), 96, 3, pad=1),
            pooled(x, pool_channels),
        )

    def middle(x: Value, narrow: int) -> Value:
        twice = column(row(column(conv(x, narrow, 1), narrow, 7), narrow, 7), narrow, 7)
        return network.concat(
            conv(x, 192, 1),
            column(row(conv(x, narrow, 1), narrow, 7), 192, 7),
            row(twice, 192, 7),
            pooled(x, 192),
        )

    def small(x: Value) -> Value:
        once = conv(x, 384, 1)
        twice = conv(conv(x, 448, 1), 384, 3, pad=1)
        return network.concat(
            conv(x, 320, 1),
            network.concat(row(once, 384, 3), column(once, 384, 3)),
            network.concat(row(twice, 384, 3), column(twice, 384, 3)),
            pooled(x, 192),
        )

    x = conv(conv(conv(network.input, 32, 3, 2), 32, 3), 64, 3, pad=1)
    x = conv(conv(network.max_pool(x, 3, 2), 80, 1), 192, 3)
    x = network.max_pool(x, 3, 2)
    for pool_channels in (32, 64, 64):
        x = large(x, pool_channels)
    twice = conv(conv(conv(x, 64, 1), 96, 3, pad=1), 96, 3, 2)
    x = network.concat(conv(x, 384, 3, 2), twice, network.max_pool(x, 3, 2))
    for narrow in (128, 160, 160, 192):
        x = middle(x, narrow)
    y = conv(column(row(conv(x, 192, 1), 192, 7), 192, 7), 192, 3, 2)
    x = network.concat(conv(conv(x, 192, 1), 320, 3, 2), y, network.max_pool(x, 3, 2))
    x = small(small(x))
    x = network.flatten(network.dropout(network.global_average_pool(x)))
    return network.linear(x, network.num_classes)


ARCHITECTURES: dict[str, Callable[[Network], Value]] = {
    "alexnet": _alexnet,
    "densenet121": _densenet121,
    "efficientnet_b0": efficientnet_b0,
    "googlenet": lambda network: _googlenet(network, batch_norm=False),
    "googlenet_bn": lambda network: _googlenet(network, batch_norm=True),
    "inception_v3": _inception_v3,
    "mobilenet_v2": _mobilenet_v2,
    "mobilenet_v3_small": mobilenet_v3_small,
    "regnet_x_1_6gf": regnet_x_1_6gf,
    "regnet_x_400mf": regnet_x_400mf,
    "resnet18": lambda network: _resnet(network, (2, 2, 2, 2), bottleneck=False),
    "resnet34": lambda network: _resnet(network, (3, 4, 6, 3), bottleneck=False),
    "resnet50": lambda network: _resnet(network, (3, 4, 6, 3), bottleneck=True),
    "resnext50_32x4d": resnext50_32x4d,
    "shufflenet_v1": _shufflenet_v1,
    "shufflenet_v2": shufflenet_v2,
    "squeezenet1_0": _squeezenet1_0,
    "vgg16": _vgg16,
    "yolov8n_cls": yolov8n_cls,
}

SMALLEST = {
    "alexnet": 64,
    "efficientnet_b0": 64,
    "googlenet": 64,
    "googlenet_bn": 64,
    "inception_v3": 75,
    "squeezenet1_0": 64,
}
"""Image sizes of architectures that need more than 32 pixels."""


def build(name: str, image_size: int = 224, num_classes: int = 1000, seed: int = 0, opset: int = 17) -> onnx.ModelProto:
    """The architecture called ``name`` with random weights; its input is `input`, its output `logits`."""
    network = Network(image_size, num_classes, seed, opset)
    return network.model(ARCHITECTURES[name](network), name)
