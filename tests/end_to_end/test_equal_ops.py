"""Nodes of which both compute the same on the way, and come into one body."""

from __future__ import annotations

import numpy as np
import pytest
from compilation import check_model, lower
from ir_edits import ops_of
from odd_models import Graph
from tilec.dialects import spat


def relu_and_clip(join: str) -> Graph:
    """The Relu of a layer, and its Clip to [0, 6], which is the minimum of the same Relu and 6."""
    graph = Graph(1, 8, 8, 8)
    layer = graph.add("Conv", "x", graph.weight(16, 8, 1, 1))
    zero, six = graph.constant(np.float32(0)), graph.constant(np.float32(6))
    graph.add(join, graph.add("Relu", layer), graph.add("Clip", layer, zero, six))
    return graph


def two_pools(join: str) -> Graph:
    """Of windows of 3 rows both; the one of 3 columns has the maximum of rows that the other one needs, too."""
    graph = Graph(1, 8, 8, 8)
    wide = graph.add("MaxPool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    graph.add(join, wide, graph.add("MaxPool", "x", kernel_shape=[3, 1], pads=[1, 0, 1, 0]))
    return graph


@pytest.mark.parametrize("machine", ["tiny4", "reference144"])
@pytest.mark.parametrize("join", ["Add", "Mul"])
@pytest.mark.parametrize("make", [relu_and_clip, two_pools], ids=lambda make: make.__name__)
def test_is_computed_once(make: object, join: str, machine: str) -> None:
    """The guard, which is on, calls it recomputation to do it twice in one body."""
    graph = make(join)  # pyright: ignore[reportCallIssue]
    check_model(graph.model(graph.nodes[-1].output[0]), machine=machine)


def test_one_relu_is_left() -> None:
    """And that of the minimum, for which there is no instruction."""
    graph = relu_and_clip("Add")
    found: list[int] = []

    def look(stage: str, module: object) -> None:
        if stage == "spat-merge-graph":
            bodies = ops_of(module, spat.ComputeBatchOp)  # pyright: ignore[reportArgumentType]
            found.append(sum(isinstance(op, spat.ReluOp) for batch in bodies for op in batch.block.ops))

    lower(graph.model(graph.nodes[-1].output[0]), after_pass=look)
    assert found == [2]


@pytest.mark.parametrize("channels", [8, 16])
def test_constants_of_one_step_come_in_the_order_of_the_program(channels: int) -> None:
    """Those of a local response normalization are of several sizes; the guard, which is on, looks at their places."""
    graph = Graph(1, channels, 8, 8)
    layer = graph.conv("x", channels, channels, 3)
    check_model(graph.model(graph.add("LRN", layer, size=5, alpha=1e-3, beta=0.75)), machine="tiny4")


def test_a_product_less_itself() -> None:
    """It does not come column by column, as products of slices do: nothing is gained by turns of one operand."""
    graph = Graph(1, 4, 4, 4)
    layer = graph.add("Conv", graph.add("Concat", "x", "x", axis=1), graph.weight(2, 8, 1, 1))
    model = graph.model(graph.add("Max", graph.add("Sub", layer, layer), layer))
    check_model(model, machine="tiny4", options=" replicate=false")
