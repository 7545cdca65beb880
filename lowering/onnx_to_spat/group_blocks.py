"""Blocks of a grouped convolution: which groups share arrays.

The weights of all groups are a matrix with blocks on its diagonal and zeros elsewhere. One group alone may leave its
arrays half empty; all groups together fill them with zeros. A block is a convolution of some groups that follow one
another, dense, with zeros between them, on its own channels of the input. These lie between others: where the kernel
has several columns, each of its positions is a run of elements by itself, and arrays still read them where they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from ...analysis.machine import Machine, Precision
from ...analysis.slicing import split_evenly
from ...codegen.isa import Op
from .feature import Feature
from .product import Kernel, Product, products

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class GroupBlock:
    """Some groups of a convolution."""

    feature: Feature
    """The input's channels of these groups."""
    outputs: range
    """Of the layer."""
    groups: int

    def weights(self, weights: Weights) -> Weights:
        """Of the block, dense ``[outputs, channels, rows, columns]``; of the layer, those of each group."""
        mine = weights[self.outputs.start : self.outputs.stop]
        if self.groups == 1:
            return mine
        outputs, channels = len(mine) // self.groups, mine.shape[1]
        found = np.zeros((len(mine), self.feature.channels, *mine.shape[2:]), np.float32)
        for group in range(self.groups):
            rows = slice(group * outputs, (group + 1) * outputs)
            found[rows, group * channels : (group + 1) * channels] = mine[rows]
        return found

    def bias(self, bias: Weights | None) -> Weights | None:
        """The layer's bias of these outputs."""
        return None if bias is None else bias[self.outputs.start : self.outputs.stop]


def blocks_of(
    feature: Feature, kernel: Kernel, outputs: int, groups: int, machine: Machine, precision: Precision
) -> list[GroupBlock]:
    """The blocks of a layer with so many ``outputs`` and ``groups``.

    Those whose rows take the least time; of several, the fewest arrays. Where a block would leave half of an array's
    columns empty, all groups stay together: its products could do two windows at a time.
    """
    found, least = _blocks(feature, outputs, groups, 1), (inf, inf)
    assert found is not None
    columns = machine.array_cols_at(precision.weight_bits)
    if groups == 1:
        return found
    for count in dict.fromkeys(-(-groups // size) for size in range(groups, 0, -1)):
        blocks = _blocks(feature, outputs, groups, count)
        if blocks is None or (count > 1 and 2 * min(len(one.outputs) for one in blocks) <= columns):
            continue
        product = products_of(blocks, kernel, machine, precision)[0]
        cost = _row_cycles(product), product.parts * product.slice_count * product.group_arrays
        if cost < least:
            found, least = blocks, cost
    return found


def products_of(blocks: Sequence[GroupBlock], kernel: Kernel, machine: Machine, precision: Precision) -> list[Product]:
    """The ways to compute each of the blocks. What they take is at most what is said here, of slices and of columns."""
    outputs = max(len(block.outputs) for block in blocks)
    found = [products(block.feature, kernel, outputs, machine, precision, len(blocks)) for block in blocks]
    if len(blocks) == 1:
        return found[0]
    return [max((ways[0] for ways in found), key=lambda one: one.slice_count)]


def _blocks(feature: Feature, outputs: int, groups: int, count: int) -> list[GroupBlock] | None:
    """So many blocks of equally many groups, or nearly so; None if the channels of one do not lie side by side."""
    found: list[GroupBlock] = []
    channels, width = feature.channels // groups, outputs // groups
    for span in split_evenly(groups, count):
        mine = range(span.start * channels, span.stop * channels)
        narrowed = feature if count == 1 else feature.narrowed(mine)
        if narrowed is None:
            return None
        found.append(GroupBlock(narrowed, range(span.start * width, span.stop * width), len(span)))
    return found


def _row_cycles(product: Product) -> int:
    """Cycles of the products of one row, and of adding them up."""
    row = product.columns * -(-product.outputs // product.column_parts)
    add = int(product.machine.vector_cycles(Op.VVADD, row, product.precision))
    return product.parts * product.slice_count * (product.slice_cycles + add)
