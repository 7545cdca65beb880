"""Rows that wait until all others of their image have been seen, as those that a gate scales."""

from __future__ import annotations

import pytest
from compilation import lower
from odd_models import Build, Graph, build
from tilec.dialects.spat import BatchOp, ComputeBatchOp
from tilec.lowering import lane_tasks
from tilec.lowering.lane_cost import BatchCosts
from tilec.lowering.lane_tasks import spread_vector_batches
from tilec.lowering.schedule_memory import waiting_bytes
from tilec.lowering.target import target_of
from xdsl.dialects.builtin import ModuleOp

IMAGE = (1, 8, 40, 40)
ROW = 40 * 8
"""Bytes of a row of the image: elements of 8 bits."""


def gated(g: Graph) -> str:
    x = g.add("Sigmoid", g.conv("x", 8, 8, 3, group=8))
    gate = g.add("HardSigmoid", g.conv(g.add("GlobalAveragePool", x), 8, 8, 1))
    # Behind something with much work, gates need no core for the time that they take.
    return g.conv(g.add("Mul", x, gate), 8, 64, 5)


def two_gates(g: Graph) -> str:
    """What the first one scaled goes on at once, into the sum that the second one scales, which waits."""
    x = g.add("Mul", "x", g.add("Sigmoid", g.add("GlobalAveragePool", "x")))
    y = g.add("Tanh", g.conv(x, 8, 8, 3, group=8))
    return g.add("Mul", g.add("Sigmoid", g.add("GlobalMaxPool", y)), g.add("Add", x, y))


def pooled(g: Graph) -> str:
    return g.add("GlobalAveragePool", g.add("Relu", g.conv("x", 8, 8, 3)))


def residual(g: Graph) -> str:
    return g.add("Add", g.conv(g.add("Relu", g.conv("x", 8, 8)), 8, 8, 1), g.conv("x", 8, 8, 1))


def merged(make: Build) -> ModuleOp:
    """The module before the schedule."""
    kept: list[ModuleOp] = []

    def keep(pass_name: str, module: ModuleOp) -> None:
        if pass_name == "spat-merge-trivial":
            kept.append(module.clone())

    lower(build(make, *IMAGE), "tiny4", after_pass=keep)
    return kept[0]


def batches_of(module: ModuleOp) -> list[ComputeBatchOp]:
    return [op for op in module.walk() if isinstance(op, ComputeBatchOp)]


@pytest.mark.parametrize(
    ("make", "expected"),
    [(gated, [40 * ROW]), (two_gates, [40 * ROW]), (pooled, []), (residual, [])],
)
def test_rows_that_wait(make: Build, expected: list[int]) -> None:
    module = merged(make)
    found = waiting_bytes(batches_of(module), target_of(module))
    assert [size for size in found if size] == expected


def waited_for(batches: list[ComputeBatchOp]) -> ComputeBatchOp:
    """The batch that computes the rows that a whole-image window and another one read."""
    for batch in batches:
        readers = [use.operation for use in batch.outs[0].uses if isinstance(use.operation, BatchOp)]
        if batch.lane_count == 40 and len(readers) == 2:
            return batch
    raise AssertionError("no batch has two readers")


@pytest.mark.parametrize(("samples", "expected"), [(1, 2), (3, 4)])
def test_they_are_spread_over_enough_cores(samples: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """12 800 bytes, of which a core may hold an eighth of its 65 536, or half of that if the next sample comes."""
    monkeypatch.setattr(lane_tasks, "WAITING", 1 / 8)
    module = merged(gated)
    batches = batches_of(module)
    spread_vector_batches(batches, BatchCosts(target_of(module)), samples)
    assert waited_for(batches).replica_count == expected
