"""The IR grows with layers, not with windows: as many ops for an image of twice the size."""

from __future__ import annotations

import pytest
from compilation import lower
from models import build
from xdsl.dialects.builtin import ModuleOp

LIMIT = 1.05


def op_counts(size: int) -> dict[str, int]:
    """The number of ops after every pass of the default pipeline."""
    counts: dict[str, int] = {}

    def count(name: str, module: ModuleOp) -> None:
        counts[name] = sum(1 for _ in module.walk())

    lower(build("resnet18", image_size=size, num_classes=10), after_pass=count)
    return counts


@pytest.mark.parametrize("size", [64, pytest.param(224, marks=pytest.mark.slow)])
def test_ops_after_every_pass(size: int) -> None:
    small, large = op_counts(size), op_counts(2 * size)
    assert small.keys() == large.keys()
    grown = {name: f"{small[name]} -> {large[name]}" for name in small if large[name] > LIMIT * small[name]}
    assert not grown
