"""Topologies with gates, splits and depthwise convolutions, as published for phones and for detection."""

from __future__ import annotations

from collections.abc import Callable

from network_builder import Network, Value

Activation = Callable[[Value], Value]


def _conv(
    network: Network,
    x: Value,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    group: int = 1,
    apply: Activation | None = None,
) -> Value:
    """A convolution with batch normalization and perhaps an activation."""
    x = network.batch_norm(network.conv(x, channels, kernel, stride, kernel // 2, group, bias=False))
    return x if apply is None else apply(x)


def _classifier(network: Network, x: Value) -> Value:
    return network.linear(network.flatten(network.global_average_pool(x)), network.num_classes)


def shufflenet_v2(network: Network) -> Value:
    """ShuffleNet v2, 1.0 x (Ma et al. 2018): half of the channels goes past each unit."""

    def branch(x: Value, channels: int, stride: int) -> Value:
        x = _conv(network, x, channels, apply=network.relu)
        x = _conv(network, x, channels, 3, stride, channels)
        return _conv(network, x, channels, apply=network.relu)

    x = network.max_pool(_conv(network, network.input, 24, 3, 2, apply=network.relu), 3, 2, 1)
    for half, count in ((58, 4), (116, 8), (232, 4)):
        past = _conv(network, _conv(network, x, len(x.probe), 3, 2, len(x.probe)), half, apply=network.relu)
        x = network.shuffle(network.concat(past, branch(x, half, 2)), 2)
        for _ in range(count - 1):
            past, through = network.split(x, 2)
            x = network.shuffle(network.concat(past, branch(through, half, 1)), 2)
    return _classifier(network, _conv(network, x, 1024, apply=network.relu))


def mobilenet_v3_small(network: Network) -> Value:
    """MobileNet v3, small (Howard et al. 2019): depthwise convolutions with gates."""

    def gate(x: Value) -> Value:
        squeezed = (len(x.probe) // 4 + 4) // 8 * 8
        y = network.relu(network.conv(network.global_average_pool(x), squeezed, 1))
        return network.multiply(x, network.hard_sigmoid(network.conv(y, len(x.probe), 1)))

    x = _conv(network, network.input, 16, 3, 2, apply=network.hard_swish)
    settings = (
        (3, 16, 16, True, network.relu, 2),
        (3, 72, 24, False, network.relu, 2),
        (3, 88, 24, False, network.relu, 1),
        (5, 96, 40, True, network.hard_swish, 2),
        (5, 240, 40, True, network.hard_swish, 1),
        (5, 240, 40, True, network.hard_swish, 1),
        (5, 120, 48, True, network.hard_swish, 1),
        (5, 144, 48, True, network.hard_swish, 1),
        (5, 288, 96, True, network.hard_swish, 2),
        (5, 576, 96, True, network.hard_swish, 1),
        (5, 576, 96, True, network.hard_swish, 1),
    )
    for kernel, wide, channels, gated, apply, stride in settings:
        y = _conv(network, x, wide, apply=apply) if wide != len(x.probe) else x
        y = _conv(network, y, wide, kernel, stride, wide, apply)
        y = _conv(network, gate(y) if gated else y, channels)
        x = network.add(x, y) if stride == 1 and len(x.probe) == channels else y
    x = network.flatten(network.global_average_pool(_conv(network, x, 576, apply=network.hard_swish)))
    return network.linear(network.hard_swish(network.linear(x, 1024)), network.num_classes)


def efficientnet_b0(network: Network) -> Value:
    """EfficientNet-B0 (Tan and Le 2019)."""

    def gate(x: Value, squeezed: int) -> Value:
        y = network.swish(network.conv(network.global_average_pool(x), squeezed, 1))
        return network.multiply(x, network.sigmoid(network.conv(y, len(x.probe), 1)))

    x = _conv(network, network.input, 32, 3, 2, apply=network.swish)
    settings = (
        (1, 3, 1, 16, 1),
        (6, 3, 2, 24, 2),
        (6, 5, 2, 40, 2),
        (6, 3, 2, 80, 3),
        (6, 5, 1, 112, 3),
        (6, 5, 2, 192, 4),
        (6, 3, 1, 320, 1),
    )
    for expansion, kernel, first_stride, channels, count in settings:
        for block in range(count):
            stride = 1 if block else first_stride
            wide = expansion * len(x.probe)
            y = _conv(network, x, wide, apply=network.swish) if expansion != 1 else x
            y = gate(_conv(network, y, wide, kernel, stride, wide, network.swish), len(x.probe) // 4)
            y = _conv(network, y, channels)
            x = network.add(x, y) if stride == 1 and len(x.probe) == channels else y
    return _classifier(network, _conv(network, x, 1280, apply=network.swish))


def yolov8n_cls(network: Network) -> Value:
    """The classifier of YOLOv8, nano (Jocher et al. 2023): halves of channels, each step of which is kept."""

    def stage(x: Value, count: int) -> Value:
        channels = len(x.probe)
        parts = network.split(_conv(network, x, channels, apply=network.swish), 2)
        for _ in range(count):
            y = _conv(network, parts[-1], channels // 2, 3, apply=network.swish)
            y = _conv(network, y, channels // 2, 3, apply=network.swish)
            parts.append(network.add(parts[-1], y))
        return _conv(network, network.concat(*parts), channels, apply=network.swish)

    x = _conv(network, network.input, 16, 3, 2, apply=network.swish)
    for channels, count in ((32, 1), (64, 2), (128, 2), (256, 1)):
        x = stage(_conv(network, x, channels, 3, 2, apply=network.swish), count)
    return _classifier(network, _conv(network, x, 1280, apply=network.swish))
