"""The IR grows with layers, not with windows: about as many ops for an image of twice the size.

Which parts and replicas a layer gets depends on how its work compares with that of the others, and so, a little, on the
size of the image. Without replication next to nothing depends on it.
"""

from __future__ import annotations

import pytest
from compilation import lower
from models import build
from xdsl.dialects.builtin import ModuleOp


def op_counts(size: int, options: str) -> dict[str, int]:
    """The number of ops after every pass of the default pipeline."""
    counts: dict[str, int] = {}

    def count(name: str, module: ModuleOp) -> None:
        counts[name] = sum(1 for _ in module.walk())

    lower(build("resnet18", image_size=size, num_classes=10), options=options, after_pass=count)
    return counts


@pytest.mark.parametrize(
    ("size", "options", "limit"),
    [
        (64, " replicate=false", 1.01),
        (64, "", 1.1),
        pytest.param(224, "", 1.05, marks=pytest.mark.slow),
    ],
)
def test_ops_after_every_pass(size: int, options: str, limit: float) -> None:
    small, large = op_counts(size, options), op_counts(2 * size, options)
    assert small.keys() == large.keys()
    grown = {name: f"{small[name]} -> {large[name]}" for name in small if large[name] > limit * small[name]}
    assert not grown
