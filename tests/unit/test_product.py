"""Products of several windows: the matrix times the runs of input is the convolution, for any number of windows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.machine import EIGHT_BITS, Machine
from tilec.lowering.allocation import allocate_layers
from tilec.lowering.onnx_to_spat.context import LayerDemand
from tilec.lowering.onnx_to_spat.feature import Feature, Segment
from tilec.lowering.onnx_to_spat.product import Kernel, products
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

TINY = Machine.load("tiny4")


def naive(image: np.ndarray, weights: np.ndarray, kernel: Kernel) -> np.ndarray:
    """A convolution of one padded image ``[rows, columns, channels]``, written out."""
    rows, columns = kernel.output
    result = np.zeros((rows, columns, weights.shape[0]))
    for y in range(rows):
        for x in range(columns):
            for dy in range(kernel.size[0]):
                for dx in range(kernel.size[1]):
                    row = y * kernel.stride[0] + dy * kernel.dilation[0]
                    column = x * kernel.stride[1] + dx * kernel.dilation[1]
                    result[y, x] += weights[:, :, dy, dx] @ image[row, column]
    return result


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(1, 2),
    st.integers(1, 9),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
)
def test_all_products_of_a_layer_are_its_convolution(
    kernel_rows: int,
    kernel_columns: int,
    stride: int,
    dilation: int,
    columns: int,
    widths: list[int],
    outputs: int,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    kernel = Kernel((kernel_rows, kernel_columns), (1, stride), (1, dilation), 0, 0, (1, columns))
    channels = sum(widths)
    order = random.permutation(channels).astype(np.int32)
    split = np.split(order, np.cumsum(widths)[:-1])
    reach = (columns - 1) * stride + (kernel_columns - 1) * dilation + 1
    values = [Block(arg_types=[TensorType(f32, (kernel_rows, reach, width))]).args[0] for width in widths]
    segments = [Segment(value, part) for value, part in zip(values, split, strict=True)]
    feature = Feature.of(segments, 1, kernel_rows, reach)
    weights = random.standard_normal((outputs, channels, kernel_rows, kernel_columns)).astype(np.float32)
    image = random.standard_normal((kernel_rows, reach, channels)).astype(np.float32)
    expected = naive(image, weights, kernel)[0]
    for product in products(feature, kernel, outputs, TINY, EIGHT_BITS):
        matrix = product.matrix(weights)
        assert sum(part.length for part in product.slices) == len(matrix)
        extra = product.padded_kernel.pad_right(reach)
        padded = np.concatenate((image, np.zeros((kernel_rows, extra, channels), np.float32)), axis=1)
        found = []
        for index in range(product.columns):
            vector = []
            for piece, length in zip(product.pieces, product.lengths, strict=True):
                flat = padded[piece.row][:, split[piece.segment]].reshape(-1)
                width = widths[piece.segment]
                start = (piece.column * dilation + index * product.step) * width
                vector.append(flat[start : start + length])
            found.append((np.concatenate(vector) @ matrix).reshape(product.windows, outputs))
        np.testing.assert_allclose(np.concatenate(found)[:columns], expected, atol=1e-4)


def test_early_layers_take_fewer_products_for_a_row() -> None:
    value = Block(arg_types=[TensorType(f32, (56, 58, 64))]).args[0]
    feature = Feature.of([Segment(value, np.arange(64, dtype=np.int32))], 1, 56, 58)
    kernel = Kernel((3, 3), output=(56, 56))
    by_windows = {p.windows: p for p in products(feature, kernel, 64, Machine.load("reference144"), EIGHT_BITS)}
    # One window: 5 slices of 128 of its 576 inputs. Eight: 3 rows of 10 columns x 64 channels, 5 slices each.
    assert len(by_windows[1].slices) * by_windows[1].columns == 5 * 56
    assert len(by_windows[8].slices) * by_windows[8].columns == 15 * 7
    assert by_windows[8].group_arrays == 4


def test_where_arrays_are_short_products_fill_those_that_one_window_takes() -> None:
    """Of 5 layers on 4 cores: 27 x 6 weights leave room in their array for two windows, 72 x 100 leave none."""

    def demand(name: str, channels: int, outputs: int) -> LayerDemand:
        value = Block(arg_types=[TensorType(f32, (8, 10, channels))]).args[0]
        feature = Feature.of([Segment(value, np.arange(channels, dtype=np.int32))], 1, 8, 10)
        return LayerDemand(name, 8, tuple(products(feature, Kernel((3, 3), output=(8, 8)), outputs, TINY, EIGHT_BITS)))

    demands = [demand("small", 3, 6), *(demand(f"large{n}", 8, 100) for n in range(4))]
    found = allocate_layers(demands, 0, TINY, EIGHT_BITS, replicate=True)
    arrays = [
        next(len(p.slices) * p.group_arrays for p in one.products if p.windows == mapping.windows)
        for one, mapping in zip(demands, found, strict=True)
    ]
    assert arrays == [1] * 5
    assert found[0].windows > 1
    assert [mapping.windows for mapping in found[1:]] == [1] * 4
