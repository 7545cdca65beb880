"""Random grouped convolutions, of tensors that other layers computed, join and shuffle: onnxruntime's numbers."""

from __future__ import annotations

import random

import pytest
from compilation import check_model, compile_model
from odd_models import Graph, build, shuffle

FEW = 3
SIZE = 4
"""Rows and columns of every image."""


class _Network:
    """A chain of such convolutions."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.channels = self.draw.choice((6, 36, 96, 144))

    def model(self, g: Graph) -> str:
        name, channels = "x", self.channels
        for _ in range(self.draw.randint(1, 3)):
            name, channels = self._joined(g, name, channels)
            name, channels = self._convolved(g, name, channels)
        return name

    def _joined(self, g: Graph, name: str, channels: int) -> tuple[str, int]:
        """The tensor, or its channels shuffled, or with those of a convolution of it."""
        groups = self.draw.choice([n for n in (2, 3, 4) if channels % n == 0] or [1])
        kind = self.draw.choice(("plain", "shuffled", "joined", "joined"))
        if kind == "shuffled":
            return shuffle(g, name, channels, SIZE, groups), channels
        if kind == "joined":
            more = groups * self.draw.randint(1, 60)
            return g.add("Concat", name, g.conv(name, channels, more, 1), axis=1), channels + more
        return name, channels

    def _convolved(self, g: Graph, name: str, channels: int) -> tuple[str, int]:
        groups = self.draw.choice([n for n in range(2, channels) if channels % n == 0] or [1])
        outputs = groups * self.draw.randint(1, max(1, 320 // groups))
        kernel, dilation = self.draw.choice(((1, 1), (3, 1), (3, 2), (5, 1)))
        pad = dilation * (kernel - 1) // 2
        more = {"dilations": [1, dilation], "pads": [kernel // 2, pad, kernel // 2, pad]}
        return g.conv(name, channels, outputs, kernel, groups, **more), outputs


def check(seed: int) -> None:
    """One network on the reference machine, then for some samples at a time."""
    network = _Network(seed)
    model = build(network.model, 1, network.channels, SIZE, SIZE)
    check_model(model)
    compile_model(model, options=f" samples={random.Random(seed).randint(2, 4)}")


@pytest.mark.parametrize("seed", range(FEW))
def test_a_random_network(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("twenty", range(1, 6))
def test_twenty_random_networks(twenty: int) -> None:
    for seed in range(20 * twenty, 20 * twenty + 20):
        check(seed)
