"""Blocks of grouped convolutions: together they are the convolution, and they take the arrays that they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.machine import EIGHT_BITS, Machine
from tilec.dialects.array_layout import Rows
from tilec.lowering.onnx_to_spat.feature import Feature, Segment
from tilec.lowering.onnx_to_spat.group_blocks import GroupBlock, blocks_of, products_of
from tilec.lowering.onnx_to_spat.product import Kernel, Product
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

REFERENCE = Machine.load("reference144")
SMALL_ARRAYS = Machine.load("tiny4")


def feature_of(rows: int, columns: int, parts: list[list[int]]) -> Feature:
    """A feature whose segments have these logical channels."""
    values = [Block(arg_types=[TensorType(f32, (rows, columns, len(part)))]).args[0] for part in parts]
    segments = [Segment(value, np.array(part, np.int32)) for value, part in zip(values, parts, strict=True)]
    return Feature.of(segments, 1, rows, columns)


def in_order(channels: int, width: int) -> list[list[int]]:
    """Channels in segments of this width."""
    return [list(range(start, min(start + width, channels))) for start in range(0, channels, width)]


def arrays_of(blocks: list[GroupBlock], kernel: Kernel, machine: Machine) -> int:
    return sum(one.slice_count * one.group_arrays * one.column_parts for one in products(blocks, kernel, machine))


def products(blocks: list[GroupBlock], kernel: Kernel, machine: Machine) -> list[Product]:
    """What each block takes."""
    (usual, *_) = products_of(blocks, kernel, machine, EIGHT_BITS)
    found = [replace(usual, feature=block.feature, outputs=len(block.outputs)) for block in blocks]
    for one in found:
        assert one.slice_count <= usual.slice_count
        assert one.group_arrays <= usual.group_arrays
    return found


@pytest.mark.parametrize(("channels", "blocks"), [(128, 1), (256, 2), (512, 4), (1024, 8)])
def test_blocks_of_resnext_fill_their_arrays(channels: int, blocks: int) -> None:
    """32 groups (Xie et al. 2017), 3 x 3: each array of 128 x 128 holds whole groups, one position of the kernel."""
    kernel = Kernel((3, 3), pad_top=1, pad_left=1, output=(14, 14))
    found = blocks_of(feature_of(14, 14, in_order(channels, 256)), kernel, channels, 32, REFERENCE, EIGHT_BITS)
    assert [len(block.outputs) for block in found] == [128] * blocks
    assert arrays_of(found, kernel, REFERENCE) == 9 * blocks


def test_groups_that_do_not_divide_evenly() -> None:
    """17 groups of 24: five fill an array best; the last block has two."""
    kernel = Kernel((3, 3), pad_top=1, pad_left=1, output=(14, 14))
    found = blocks_of(feature_of(14, 14, in_order(408, 256)), kernel, 408, 17, REFERENCE, EIGHT_BITS)
    assert [one.groups for one in found] == [5, 4, 4, 4]
    assert [one.outputs.start for one in found] == [0, 120, 216, 312]
    assert [one.group_arrays for one in products(found, kernel, REFERENCE)] == [1] * 4


def test_groups_that_lie_apart_are_one_block() -> None:
    """A shuffle of channels puts one of each group side by side: no run of elements is of one group."""
    shuffled = [[group * 128 + place for place in range(128) for group in range(4)]]
    kernel = Kernel((1, 1), output=(14, 14))
    apart = blocks_of(feature_of(14, 14, shuffled), kernel, 512, 4, REFERENCE, EIGHT_BITS)
    together = blocks_of(feature_of(14, 14, [list(range(512))]), kernel, 512, 4, REFERENCE, EIGHT_BITS)
    assert len(apart) == 1
    assert len(together) == 4


def test_few_channels_stay_together() -> None:
    """Two groups of 8 channels: apart, each position of the kernel would take a product of its own for each."""
    kernel = Kernel((3, 3), pad_top=1, pad_left=1, output=(14, 14))
    assert len(blocks_of(feature_of(14, 14, [list(range(16))]), kernel, 16, 2, REFERENCE, EIGHT_BITS)) == 1


def naive(image: np.ndarray, weights: np.ndarray, kernel: Kernel, groups: int) -> np.ndarray:
    """A grouped convolution of one padded image ``[rows, columns, channels]``, written out."""
    result = np.zeros((*kernel.output, weights.shape[0]))
    outputs, channels = weights.shape[0] // groups, weights.shape[1]
    for y, x, out in np.ndindex(*result.shape):
        first = out // outputs * channels
        for dy, dx in np.ndindex(*kernel.size):
            row, column = y * kernel.stride[0] + dy * kernel.dilation[0], x * kernel.stride[1] + dx * kernel.dilation[1]
            result[y, x, out] += weights[out, :, dy, dx] @ image[row, column, first : first + channels]
    return result


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_blocks_of_a_layer_are_its_convolution(data: st.DataObject) -> None:
    """Whatever the groups, the machine's arrays, and the segments that channels come in."""
    groups, channels, outputs = (data.draw(st.integers(1, most)) for most in (12, 20, 20))
    size, stride, dilation, columns = (data.draw(st.integers(1, most)) for most in (3, 2, 3, 4))
    kernel = Kernel((size, size), (1, stride), (1, dilation), 0, 0, (1, columns))
    reach = (columns - 1) * stride + (size - 1) * dilation + 1
    total = groups * channels
    parts = in_order(total, data.draw(st.integers(max(1, total // 4), total)))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    weights = random.standard_normal((groups * outputs, channels, size, size)).astype(np.float32)
    bias = random.standard_normal(groups * outputs).astype(np.float32)
    image = random.standard_normal((size, reach, total))
    machine = data.draw(st.sampled_from([REFERENCE, SMALL_ARRAYS]))
    feature = feature_of(size, reach, parts)
    stored = {segment.value: part for segment, part in zip(feature.segments, parts, strict=True)}
    blocks = blocks_of(feature, kernel, groups * outputs, groups, machine, EIGHT_BITS)
    assert [channel for block in blocks for channel in block.outputs] == list(range(groups * outputs))
    found = []
    for block, product in zip(blocks, products(blocks, kernel, machine), strict=True):
        made = product.matrix(block.weights(weights), 0, len(block.outputs))
        matrix = made.array if isinstance(made, Rows) else made
        rows = []
        for index in range(product.columns):
            vector = []
            for piece, length in zip(product.pieces, product.lengths, strict=True):
                segment = product.feature.segments[piece.segment]
                flat = image[piece.row][:, stored[segment.value]].reshape(-1)
                start = (piece.column * dilation + index * product.step) * segment.pitch + segment.first
                vector.append(flat[start : start + length])
            mine = block.bias(bias)
            assert mine is not None
            rows.append(np.concatenate(vector) @ matrix + mine)
        found.append(np.stack(rows))
    expected = naive(image, weights, kernel, groups)[0] + bias
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, atol=1e-3)
