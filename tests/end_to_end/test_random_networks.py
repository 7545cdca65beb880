"""The default pipeline passes its guard on random networks, and the packages compute what onnxruntime does."""

from __future__ import annotations

import random

import onnx
import pytest
from compilation import check_model, compile_model, lower
from random_networks import RandomNetwork
from tilec.analysis.proxies import Proxies
from tilec.lowering.proxies import proxies
from xdsl.dialects.builtin import ModuleOp

FEW = 24

REJECTED = (333, 381)
"""For which the order of lanes was once too long."""

ON_SMALL_MACHINES = (30241, 30257, 30361, 31944, 33566, 34100)
"""For which, on tiny4, the order of lanes was once too long or seemed to be, or the busiest core was too busy."""

WORSE_THAN_DUMB = (30226, 32389, 32861)
"""For which, on tiny4, the dumb schedule once took a seventh less time, or more."""

HARDLY = 1 + 1 / 32
"""By which schedules may be longer."""

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


@pytest.mark.parametrize("seed", ON_SMALL_MACHINES)
def test_a_network_on_a_small_machine(seed: int) -> None:
    check_model(RandomNetwork(seed).model(), machine="tiny4")


@pytest.mark.parametrize("seed", WORSE_THAN_DUMB)
def test_schedules_are_hardly_longer_than_the_dumb_one(seed: int) -> None:
    found: list[Proxies] = []

    def look(stage: str, module: ModuleOp) -> None:
        if stage == "spat-schedule-peft":
            found.append(proxies(module))

    lower(RandomNetwork(seed).model(), machine="tiny4", after_pass=look)
    (schedule,) = found
    assert schedule.scheduled_cycles is not None
    assert schedule.dumb_cycles is not None
    assert schedule.scheduled_cycles <= HARDLY * schedule.dumb_cycles


@pytest.mark.slow
@pytest.mark.parametrize("hundred", HUNDREDS)
def test_a_hundred_random_networks(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        check(seed)
