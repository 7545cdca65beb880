"""Products of several windows: the matrix times the runs of input is the convolution, for any number of windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.machine import EIGHT_BITS, Machine
from tilec.dialects import array_layout
from tilec.lowering.allocation import allocate_layers
from tilec.lowering.onnx_to_spat.context import LayerDemand, LayerMapping
from tilec.lowering.onnx_to_spat.feature import Feature, Segment
from tilec.lowering.onnx_to_spat.product import Kernel, products
from tilec.support.diagnostics import TileError
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


@settings(max_examples=120, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(1, 4),
    st.integers(1, 9),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 1 << 16]),
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
    large: int,
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
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(array_layout, "_LARGE", large)
            matrix = product.matrix(weights, 0, product.matrix_shape[1])
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


def demand(name: str, channels: int, outputs: int) -> LayerDemand:
    """A convolution of 3 x 3 for 8 rows of 8 positions."""
    value = Block(arg_types=[TensorType(f32, (8, 10, channels))]).args[0]
    feature = Feature.of([Segment(value, np.arange(channels, dtype=np.int32))], 1, 8, 10)
    return LayerDemand(name, 8, tuple(products(feature, Kernel((3, 3), output=(8, 8)), outputs, TINY, EIGHT_BITS)))


def arrays(one: LayerDemand, mapping: LayerMapping) -> int:
    """That the parts of one replica take."""
    (product,) = [product for product in one.products if product.windows == mapping.windows]
    return -(-len(product.slices) // mapping.row_parts) * product.group_arrays * mapping.row_parts


def test_where_arrays_are_short_products_compute_fewer_windows() -> None:
    """27 x 6 weights leave room in their array for eight windows, whatever else there is. 72 x 100 leave none, so that
    each further window takes an array more: with many such layers on 4 cores of 8 arrays there is none for it."""
    windows: list[int] = []
    for count in (1, 6, 12, 24, 31):
        demands = [demand("small", 3, 6), *(demand(f"large{n}", 8, 100) for n in range(count))]
        small, *large = allocate_layers(demands, TINY, EIGHT_BITS, replicate=True)
        used = [arrays(one, mapping) * mapping.replicas for one, mapping in zip(demands, (small, *large), strict=True)]
        assert sum(used) <= 32
        assert (small.windows, arrays(demands[0], small)) == (8, 1)
        assert len({one.windows for one in large}) == 1 or count < 24
        windows.append(large[0].windows)
    assert windows == sorted(windows, reverse=True)
    assert windows[0] > windows[2] > windows[-1] == 1
    assert set(large) == {LayerMapping(1, 1, 1)}


def test_without_replication_each_layer_takes_the_fewest_arrays() -> None:
    demands = [demand("small", 3, 6), demand("large", 20, 100)]
    small, large = allocate_layers(demands, TINY, EIGHT_BITS, replicate=False)
    assert small == LayerMapping(1, 1, 1)
    assert large == LayerMapping(1, 1, 1)
    assert allocate_layers([], TINY, EIGHT_BITS, replicate=True) == []


def test_layers_that_do_not_fit_are_refused() -> None:
    demands = [demand(f"large{n}", 8, 100) for n in range(33)]
    with pytest.raises(TileError, match=r"the layers need 33 arrays, the machine has 32 \(4 cores of 8\)"):
        allocate_layers(demands, TINY, EIGHT_BITS, replicate=True)


@pytest.mark.parametrize(
    ("outputs", "rows", "parts"), [(256, 8, 1), (319, 8, 1), (320, 8, 2), (1000, 8, 4), (1000, 1, 1)]
)
def test_wide_outputs_are_split(outputs: int, rows: int, parts: int) -> None:
    """Into parts of 256, the last of at least 64; not layers of one row, as far as a core has the arrays."""
    value = Block(arg_types=[TensorType(f32, (rows, 1, 64))]).args[0]
    feature = Feature.of([Segment(value, np.arange(64, dtype=np.int32))], 1, rows, 1)
    found = products(feature, Kernel((1, 1), output=(rows, 1)), outputs, Machine.load("reference144"), EIGHT_BITS)
    assert {product.column_parts for product in found} == {parts}
