"""Architectures of grouped convolutions, with random weights."""

from __future__ import annotations

from collections.abc import Sequence

from network_builder import Network, Value


def resnext50_32x4d(network: Network) -> Value:
    """Xie et al. 2017: bottlenecks whose 3 x 3 convolution has 32 groups, of 4 channels in the first stage."""
    x = network.max_pool(network.relu(_conv_norm(network, network.input, 64, 7, 2)), 3, 2, 1)
    for stage, count in enumerate((3, 4, 6, 3)):
        for block in range(count):
            x = _bottleneck(network, x, 128 << stage, 256 << stage, 32, 2 if stage and not block else 1)
    return network.linear(network.flatten(network.global_average_pool(x)), network.num_classes)


def regnet_x_400mf(network: Network) -> Value:
    """Radosavovic et al. 2020: groups of 16 channels, without a bottleneck."""
    return _regnet_x(network, ((1, 32), (2, 64), (7, 160), (12, 400)), 16)


def regnet_x_1_6gf(network: Network) -> Value:
    """The same authors': groups of 24 channels, which fill no array evenly."""
    return _regnet_x(network, ((2, 72), (4, 168), (10, 408), (2, 912)), 24)


def _regnet_x(network: Network, stages: Sequence[tuple[int, int]], group_width: int) -> Value:
    x = network.relu(_conv_norm(network, network.input, 32, 3, 2))
    for count, channels in stages:
        for block in range(count):
            x = _bottleneck(network, x, channels, channels, channels // group_width, 1 if block else 2)
    return network.linear(network.flatten(network.global_average_pool(x)), network.num_classes)


def _bottleneck(network: Network, x: Value, channels: int, wide: int, groups: int, stride: int) -> Value:
    y = network.relu(_conv_norm(network, x, channels, 1))
    y = network.relu(_conv_norm(network, y, channels, 3, stride, groups))
    y = _conv_norm(network, y, wide, 1)
    if stride != 1 or len(x.probe) != wide:
        x = _conv_norm(network, x, wide, 1, stride)
    return network.relu(network.add(y, x))


def _conv_norm(network: Network, x: Value, channels: int, kernel: int, stride: int = 1, group: int = 1) -> Value:
    return network.batch_norm(network.conv(x, channels, kernel, stride, kernel // 2, group, bias=False))
