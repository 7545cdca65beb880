"""Networks for which the guard once rejected a pass of our own pipeline: it accepts all of them, and they compute."""

from __future__ import annotations

import numpy as np
import pytest
from compilation import check_model, compile_model
from odd_models import Build, Graph, build, shuffle


def numbers(g: Graph, *values: int) -> str:
    return g.constant(np.array(values))


def sliced_rows(g: Graph) -> str:
    """Every other row and two columns of a convolution: most lanes are short, and messages take most of the time."""
    return g.add("Slice", g.conv("x", 4, 4), numbers(g, 1, -3), numbers(g, 99, 5), numbers(g, 3, 2), numbers(g, 2, 1))


def padded_and_split(g: Graph) -> tuple[str, ...]:
    x = g.add("Conv", "x", g.weight(4, 5, 3, 3), g.weight(4), pads=[0, 1, 1, 1])
    x = g.add("Pad", x, numbers(g, 0, 0, 2, 3, 0, 0, -1, 3))
    return tuple(g.add("Split", x, numbers(g, 2, 1, 2), outputs=3, axis=2))


def gate_beside_a_layer(g: Graph) -> str:
    """A layer with weights reads all of what little else is done with."""
    x = g.add("HardSigmoid", "x")
    return g.add("Gemm", g.add("Flatten", x), g.weight(144, 5), g.weight(5))


def padded_and_normalized(g: Graph) -> tuple[str, ...]:
    x = g.add("Conv", "x", g.weight(2, 2, 2, 2), g.weight(2), group=2, pads=[2, 1, 1, 0])
    y = g.add("AveragePool", x, kernel_shape=[3, 3], strides=[1, 2])
    return g.add("Pad", x, numbers(g, 0, 0, 0, 2, 0, 0, 0, -1)), g.add("LRN", y, size=3, alpha=0.5, beta=0.75)


def long_rows_at_the_end(g: Graph) -> tuple[str, ...]:
    """Rows of few channels pass, and at last those of products, which are as long as an array is wide."""
    x = g.add("HardSigmoid", g.add("GlobalMaxPool", "x"))
    places = numbers(g, -4, 2, 6), numbers(g, -2, 1, 12), numbers(g, 2, 1, 3), numbers(g, 6, -2, 1)
    x = g.add("HardSigmoid", g.add("Slice", g.add("Max", x, "x"), *places))
    return g.add("HardSwish", x), g.add("GlobalMaxPool", x), g.add("Sub", g.conv(x, 1, 1, 1), x)


def one_short_row_each(g: Graph) -> str:
    """Three cores have a few bytes for each other, and are the sooner done the nearer they are to global memory."""
    x = g.add("AveragePool", "x", kernel_shape=[2, 3], strides=[1, 3], pads=[0, 2, 0, 0], count_include_pad=1)
    x = g.add("Pad", x, numbers(g, 0, 0, -1, 3, 0, 0, 0, 2))
    return g.add("AveragePool", x, kernel_shape=[1, 2], strides=[3, 2], count_include_pad=1)


def squared_slices(g: Graph) -> str:
    """What comes behind the sum of the slices of a layer is computed of whole rows, in one lane with it or not."""
    x = g.add("Conv", "x", g.weight(2, g.shape[1], 5, 1, scale=0.1), pads=[2, 0, 0, 0], strides=[1, 3])
    return g.add("GlobalAveragePool", g.add("Mul", x, x))


def read_twice_in_another_order(g: Graph) -> str:
    """Both layers want the channels where those of what they are combined with are: they move once."""
    x, y = shuffle(g, g.conv("x", 4, 8), 8, 6), g.conv("x", 4, 8)
    return g.add("Add", g.add("Sub", y, x), x)


def copied_by_a_pool(g: Graph) -> str:
    """A pool of single elements is a copy of what is read besides: without it, both are computed alike."""
    x = g.add("AveragePool", "x", kernel_shape=[1, 1], strides=[1, 1])
    return g.add("HardSigmoid", g.add("Concat", x, "x", axis=1))


@pytest.mark.parametrize(
    ("make", "shape", "samples"),
    [
        (sliced_rows, (1, 4, 6, 7), 2),
        (padded_and_split, (1, 5, 5, 7), 1),
        (gate_beside_a_layer, (1, 6, 8, 3), 2),
        (padded_and_normalized, (1, 4, 1, 6), 4),
        (long_rows_at_the_end, (1, 4, 6, 7), 2),
        (one_short_row_each, (1, 1, 3, 10), 2),
        (squared_slices, (1, 32, 20, 20), 1),
        (squared_slices, (1, 32, 20, 62), 1),
        (read_twice_in_another_order, (1, 4, 6, 6), 1),
        (copied_by_a_pool, (1, 2, 7, 5), 1),
    ],
)
def test_the_guard_accepts_our_own_pipeline(make: Build, shape: tuple[int, ...], samples: int) -> None:
    model = build(make, *shape)
    check_model(model, machine="tiny4")
    compile_model(model, machine="tiny4", options=f" samples={samples}")
