"""How many scalar instructions whole networks take for each useful one; docs/architecture.md tells how."""

from __future__ import annotations

import numpy as np
import pytest
from compilation import compile_model
from models import build
from tilec.codegen.isa import SCALAR_OPS, Op

MOST = {
    ("squeezenet1_0", 64): 0.25,
    ("resnet18", 64): 0.32,
    ("alexnet", 224): 0.5,
    ("squeezenet1_0", 224): 0.4,
    ("resnet18", 224): 0.5,
    ("googlenet", 224): 0.45,
}
SLOW_SIZE = 224


@pytest.mark.parametrize(
    ("name", "size"),
    [pytest.param(*one, marks=[pytest.mark.slow] if one[1] == SLOW_SIZE else []) for one in MOST],
)
def test_scalar_instructions_for_each_useful_one(name: str, size: int) -> None:
    op = compile_model(build(name, image_size=size)).program.columns.op
    scalars = int(np.isin(op, list(SCALAR_OPS)).sum())
    useful = len(op) - scalars - int((op == Op.SETBW).sum())
    assert scalars <= MOST[name, size] * useful
