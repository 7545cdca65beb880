"""The default pipeline passes its guard on random networks, and the packages compute what onnxruntime does."""

from __future__ import annotations

import random

import onnx
import pytest
from compilation import check_model, compile_model
from random_networks import RandomNetwork

FEW = 24

REJECTED = (333, 381)
"""For which the order of lanes was once too long."""

HUNDREDS = range(1, 11)


def check(seed: int) -> None:
    """One network, for one of both machines, and then for some samples at a time."""
    model = RandomNetwork(seed).model()
    onnx.checker.check_model(model, full_check=True)
    draw = random.Random(seed)
    machine = draw.choice(("tiny4", "reference144"))
    check_model(model, machine=machine)
    compile_model(model, machine=draw.choice(("tiny4", "tiny4", machine)), options=f" samples={draw.randint(2, 4)}")


@pytest.mark.parametrize("seed", [*range(FEW), *REJECTED])
def test_a_random_network(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", HUNDREDS)
def test_a_hundred_random_networks(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        check(seed)
