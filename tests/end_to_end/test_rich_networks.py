"""The default pipeline passes its guard on networks of real blocks and odd sizes, on machines of random measures."""

from __future__ import annotations

import random
from pathlib import Path

import onnx
import pytest
from compilation import check_model, compile_model
from rich_networks import RichNetwork, random_machine
from tilec.passes.guard import GuardError
from tilec.support.diagnostics import TileError

FEW = 24

NO_ROOM = ("arrays", "memory")
HUNDREDS = range(1, 11)


def check(seed: int, directory: Path) -> None:
    """One network on one machine, for some samples at a time; then, on another machine, the numbers.

    What a machine has no room for is refused plainly.
    """
    model = RichNetwork(seed).model()
    onnx.checker.check_model(model, full_check=True)
    draw = random.Random(seed)
    own = str(random_machine(seed, directory / "machine.json"))
    options = f" samples={draw.choice((1, 1, 2, 3, 4))}"
    options += draw.choice(("", "", "", " replicate=false", f" lead={draw.randint(1, 9)}"))
    options += draw.choice(("", "", "", " weight-bits=4", " activation-bits=16"))
    refusal = ""
    try:
        compile_model(model, machine=f'"{own}"', options=options)
    except GuardError:
        raise
    except TileError as error:
        refusal = str(error)
    assert not refusal or any(word in refusal for word in NO_ROOM)
    check_model(model, machine="reference144")


@pytest.mark.parametrize("seed", range(FEW))
def test_a_rich_network(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("hundred", HUNDREDS)
def test_a_hundred_rich_networks(hundred: int, tmp_path: Path) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        check(seed, tmp_path)
