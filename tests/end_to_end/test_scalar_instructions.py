"""How many scalar instructions whole networks take for each useful one; docs/architecture.md tells how."""

from __future__ import annotations

import numpy as np
import pytest
from compilation import compile_model
from models import build
from tilec.codegen.isa import SCALAR_OPS, Op

MOST = {
    ("squeezenet1_0", 64): 0.42,
    ("resnet18", 64): 0.31,
    ("alexnet", 224): 0.41,
    ("squeezenet1_0", 224): 0.6,
    ("resnet18", 224): 0.5,
    ("resnet34", 224): 0.53,
    ("googlenet", 224): 0.45,
    ("mobilenet_v2", 224): 0.52,
    ("shufflenet_v1", 224): 0.68,
    ("resnet50", 224): 0.58,
    ("vgg16", 64): 0.36,
    ("vgg16", 224): 0.45,
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
