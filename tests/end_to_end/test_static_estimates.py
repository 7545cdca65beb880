"""The compiler's estimates of one sample's latency have the errors that docs/timing.md states."""

from __future__ import annotations

import pytest
from static_estimates import STATED, documented_table, measure, stated_table

QUICK = {"digits_cnn", "mnist_lenet5", "mnist_resnet8", "squeezenet1_0_64"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in STATED]
)
def test_errors_are_as_stated(name: str) -> None:
    found, stated = measure(name), STATED[name]
    for which in ("timeline", "makespan", "planned"):
        low, high = getattr(stated, which)
        assert low <= getattr(found, which) <= high, which


def test_the_documentation_states_them() -> None:
    assert documented_table() == stated_table(), "run tests/static_estimates.py"
