"""Shapes of layers, read off their batches: those of the network, however the layers are cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import onnx
import pytest
from odd_models import Graph
from random_networks import RandomNetwork
from tilec.analysis.layer_cuts import LayerShape, RowReads
from tilec.dialects.registry import make_context
from tilec.lowering import yardsticks
from tilec.lowering.layer_shapes import Layer, layers_of
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.onnx_to_spat.context import LayerDemand, LayerMapping, minimum_row_parts
from tilec.lowering.proxies import proxies
from tilec.passes import convert_onnx_to_spat
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from tilec.support.diagnostics import TileError

Choose = Callable[[LayerDemand, LayerMapping], LayerMapping]


def layers_cut(model: onnx.ModelProto, choose: Choose, machine: str = "tiny4") -> tuple[list[LayerShape], int]:
    """The shapes of the layers of a network that is cut in this way, in any order; and the yardstick."""
    found: list[Layer] = []
    allocate = convert_onnx_to_spat.allocate_layers

    def chosen(demands: Sequence[LayerDemand], *arguments: Any) -> list[LayerMapping]:
        return [choose(*pair) for pair in zip(demands, allocate(demands, *arguments), strict=True)]

    def recorded(*arguments: Any) -> list[Layer]:
        found[:] = layers_of(*arguments)
        return found

    module = import_onnx(model.SerializeToString())
    passes = build_pipeline(f"tile-default{{machine={machine}}}")
    until = [one.name for one in passes].index("convert-onnx-to-spat") + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convert_onnx_to_spat, "allocate_layers", chosen)
        patch.setattr(yardsticks, "layers_of", recorded)
        PassManager(passes[:until]).run(make_context(), module)
        cycles = proxies(module).cut_span_cycles
    assert cycles is not None
    return sorted(layer.shape for layer in found), cycles


def as_it_is(demand: LayerDemand, mapping: LayerMapping) -> LayerMapping:
    return mapping


def one_window(demand: LayerDemand, mapping: LayerMapping) -> LayerMapping:
    return LayerMapping(1, 1, minimum_row_parts(demand.products[0]))


def at_random(seed: int) -> Choose:
    draw = random.Random(seed)

    def choose(demand: LayerDemand, mapping: LayerMapping) -> LayerMapping:
        product = draw.choice(demand.products)
        least = minimum_row_parts(product)
        parts = draw.randint(least, max(least, product.slice_count))
        return LayerMapping(draw.randint(1, demand.rows), product.windows, parts)

    return choose


WAYS = (as_it_is, one_window, at_random(1), at_random(2))


def convolution(shape: tuple[int, ...], outputs: int, kernel: int, bias: bool = True, **more: Any) -> onnx.ModelProto:
    graph = Graph(1, *shape)
    weights = graph.weight(outputs, shape[0] // more.get("group", 1), kernel, kernel)
    return graph.model(graph.add("Conv", "x", weights, *([graph.weight(outputs)] if bias else []), **more))


@pytest.mark.parametrize("choose", WAYS)
def test_convolutions(choose: Choose) -> None:
    """Of 6 x 10 positions with 4 channels, three by three: 4 x 8 windows, each of three rows of 3 x 4 elements."""
    row = RowReads(pieces=1, elements=12, reach=12, step=4)
    for bias in (False, True):
        shapes, _ = layers_cut(convolution((4, 6, 10), 5, 3, bias), choose)
        assert shapes == [LayerShape(4, 8, 5, (row,) * 3)]
    shapes, _ = layers_cut(convolution((4, 6, 10), 5, 3, pads=[1, 1, 1, 1], strides=[2, 2]), choose)
    assert shapes == [LayerShape(3, 5, 5, (row._replace(step=8),) * 3)]


@pytest.mark.parametrize("choose", WAYS)
def test_many_rows_and_outputs(choose: Choose) -> None:
    """A row of the kernel in several slices, outputs in several column parts: one layer all the same."""
    shapes, _ = layers_cut(convolution((150, 4, 5), 300, 3), choose, "reference144")
    assert shapes == [LayerShape(2, 3, 300, (RowReads(1, 450, 450, 150),) * 3)]


def test_columns_with_others_between_them() -> None:
    """Every third column of 2 channels: three runs of 2 elements, which reach over 7 columns, 14 elements."""
    shapes, _ = layers_cut(convolution((2, 7, 9), 5, 3, dilations=[3, 3]), one_window)
    assert shapes == [LayerShape(1, 3, 5, (RowReads(pieces=3, elements=6, reach=14, step=2),) * 3)]


@pytest.mark.parametrize("choose", WAYS)
def test_a_matrix_product(choose: Choose) -> None:
    graph = Graph(1, 3, 4, 4)
    model = graph.model(graph.add("Gemm", graph.add("Flatten", "x"), graph.weight(48, 10)))
    (shape,), _ = layers_cut(model, choose)
    assert (shape.lanes, shape.windows, shape.outputs) == (1, 1, 10)
    assert sum(read.elements for read in shape.reads) == 48


@pytest.mark.parametrize("choose", WAYS)
def test_what_a_layer_reads_twice(choose: Choose) -> None:
    """A tensor that is joined with itself: its rows are multiplied twice."""
    graph = Graph(1, 3, 5, 5)
    once = graph.add("Relu", "x")
    model = graph.model(graph.conv(graph.add("Concat", once, once, axis=1), 6, 4, 1))
    shapes, _ = layers_cut(model, choose)
    assert shapes == [LayerShape(5, 5, 4, (RowReads(1, 3, 3, 3),) * 2)]


def test_groups_in_blocks() -> None:
    """Two groups of 128 channels and 128 outputs fill an array each: two layers, which read channels of their own."""
    shapes, _ = layers_cut(convolution((256, 3, 3), 256, 1, group=2), as_it_is)
    assert shapes == [LayerShape(3, 3, 128, (RowReads(1, 128, 128, 256),), blocks=2)] * 2


@pytest.mark.parametrize("seed", range(30))
def test_the_yardstick_does_not_depend_on_how_layers_are_cut(seed: int) -> None:
    """Not even on replicas, but for what gives windows columns of their own, where there is no bias that does.

    Kernels with gaps that a product may read as well are not among these networks.
    """
    model, machine = RandomNetwork(seed).model(), ("tiny4", "reference144")[seed % 2]
    expected = layers_cut(model, as_it_is, machine)
    for way in range(3):
        try:
            found = layers_cut(model, at_random(way), machine)
        except TileError:
            continue  # It needs more arrays than there are.
        assert found[0] == expected[0]
        assert abs(found[1] - expected[1]) <= expected[1] // 50
