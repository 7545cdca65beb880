"""A short and dumb way to cut the weight matrices of layers to arrays: a yardstick for what passes decide.

The ways to lay a layer over arrays differ in how many windows a product computes side by side, and in how many parts
its rows are cut. Of these, those count that are quicker than all that take no more arrays. First each layer takes the
fewest arrays. Then, as long as arrays last, the layer that works longest gets what shortens it most for each array that
it takes: a quicker way, or more replicas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

import numpy as np

from ..codegen.isa import Op
from ..support.arrays import Ints
from .machine import Machine, Precision

BUDGET = 3, 4
"""The share of the machine's arrays that is dealt: parts of layers do not fill every core to the last array."""


WIDE = 256
"""Outputs beyond which a layer may want several cores, whose vector units share them; and does one window at a time."""

KEPT = 1024
"""Shapes of which ways are kept: layers are alike, and there are several looks at each."""


class RowReads(NamedTuple):
    """What a window reads of one row of a tensor."""

    pieces: int
    """Runs of elements that lie side by side."""
    elements: int
    """Of all of them."""
    reach: int
    """From the first element to the last one, with what is between."""
    step: int
    """Elements from a window to the next."""


class LayerShape(NamedTuple):
    """A layer with weights, however it is cut."""

    lanes: int
    windows: int
    """Of a lane."""
    outputs: int
    """Of a window."""
    reads: tuple[RowReads, ...]
    blocks: int = 1
    """Of the whole layer, of whose groups this has some."""


class Ways(NamedTuple):
    """Ways to lay a replica over arrays, from few arrays to many, each quicker than the one before."""

    arrays: tuple[int, ...]
    cores: tuple[int, ...]
    """One for each part."""
    cycles: tuple[int, ...]
    """Of a lane, until its parts have come together, two and two, each pair with a message. A row that several parts
    read has been sent to all but one of them before."""


class Plan(NamedTuple):
    """What a layer gets."""

    way: int
    replicas: int


@lru_cache(KEPT)
def ways_of(shape: LayerShape, machine: Machine, precision: Precision) -> Ways:
    """The ways to compute a layer that are worth their arrays; none if a part takes more than a core has."""
    columns, per_core = machine.array_cols_at(precision.weight_bits), machine.arrays_per_core
    windows = np.unique(_ceil(shape.windows, _ceil(shape.windows, np.arange(1, shape.windows + 1))))
    tiles = _ceil(windows * shape.outputs, columns)
    narrow = shape.outputs <= WIDE and shape.blocks == 1
    windows = windows[(windows == 1) | (tiles <= per_core) & narrow]
    tiles = _ceil(windows * shape.outputs, columns)
    column_parts = _ceil(tiles, per_core)
    tiles = _ceil(tiles, column_parts)
    products = _ceil(shape.windows, windows)
    product_cycles = machine.mvm_cycles(tiles, precision)
    slices, copies = _slices(shape, windows, product_cycles, machine, precision)
    row = shape.windows * _ceil(shape.outputs, column_parts)
    add = machine.vector_cycles(Op.VVADD, row, precision)
    message = _message(row * precision.output_bytes, machine)
    read = max(reads.reach + (shape.windows - 1) * reads.step for reads in shape.reads)
    again = _message(np.asarray(read * precision.input_bytes), machine)

    # From here on, all ways: [windows, parts]
    parts = np.arange(1, min(int(slices.max()), machine.core_count) + 1)
    of_part = _ceil(slices[:, None], parts)
    levels = np.ceil(np.log2(parts)).astype(np.int64)
    slice_cycles = products * (product_cycles + copies // slices)
    cycles = of_part * slice_cycles[:, None] + (of_part - 1) * add[:, None] + levels * (add + message)[:, None]
    cycles += (_ceil(parts, len(shape.reads)) - 1) * again
    arrays = parts * of_part * (tiles * column_parts)[:, None]
    cores = parts * np.maximum(column_parts, _ceil(shape.outputs, WIDE))[:, None]
    fits = (of_part * tiles[:, None] <= per_core) & (cores <= machine.core_count) & (parts <= slices[:, None])
    order = np.lexsort((cycles[fits], arrays[fits]))
    found = [table[fits][order] for table in (arrays, cores, cycles)]
    quicker = found[2] < np.minimum.accumulate(np.append(np.iinfo(np.int64).max, found[2]))[:-1]
    return Ways(*(tuple(table[quicker].tolist()) for table in found))


def _message(size_bytes: Ints, machine: Machine) -> Ints:
    """Cycles of a message to a core halfway through the mesh."""
    far = machine.core_count // 2
    return machine.send_cycles(0, far, size_bytes) + machine.recv_cycles(0, far, size_bytes)


def _slices(
    shape: LayerShape, windows: Ints, product_cycles: Ints, machine: Machine, precision: Precision
) -> tuple[Ints, Ints]:
    """For products of so many windows, the slices, and the cycles of copying what they multiply side by side: if that
    is quicker than slices of what lies side by side already."""
    height = machine.array_rows
    direct, rows, pieces = (np.zeros(len(windows), np.int64) for _ in range(3))
    for reads, times in Counter(shape.reads).items():
        moved = (windows - 1) * reads.step
        together = reads.reach + moved < reads.elements + reads.pieces * moved
        together |= reads.pieces == 1
        count = np.where(together, 1, reads.pieces)
        mine = np.where(together, reads.reach + moved, reads.elements + reads.pieces * moved)
        direct += times * count * _ceil(mine, count * height)
        rows += times * mine
        pieces += times * count
    gathered = _ceil(rows, height)
    copied = pieces * machine.copy_cycles(_ceil(rows, pieces) * precision.input_bytes)
    rather = copied < (direct - gathered) * product_cycles
    return np.where(rather, gathered, direct), np.where(rather, copied, 0)


def deal_arrays(shapes: Sequence[LayerShape], ways: Sequence[Ways], cores: int, arrays: int) -> list[Plan]:
    """What each layer gets of so many ``arrays``, as long as all blocks have a core for each part of their replicas."""
    plans = [Plan(0, 1) for _ in shapes]
    free = arrays - sum(mine.arrays[0] for mine in ways)

    def busy(index: int, plan: Plan) -> int:
        return -(-shapes[index].lanes // plan.replicas) * ways[index].cycles[plan.way]

    queue = [(-busy(index, plan), index) for index, plan in enumerate(plans)]
    heapify(queue)
    while queue:
        cycles, index = -queue[0][0], queue[0][1]
        mine, plan, lanes = ways[index], plans[index], shapes[index].lanes
        turns = -(-lanes // plan.replicas)
        others = [plan._replace(way=way) for way in range(plan.way + 1, len(mine.arrays))]
        if turns > 1:
            others.append(plan._replace(replicas=-(-lanes // (turns - 1))))
        best, best_gain, taken = plan, 0.0, 0
        for other in others:
            more = other.replicas * mine.arrays[other.way] - plan.replicas * mine.arrays[plan.way]
            if more <= free and other.replicas * mine.cores[other.way] * shapes[index].blocks <= cores:
                gain = (cycles - busy(index, other)) / more
                if gain > best_gain:
                    best, best_gain, taken = other, gain, more
        if best is plan:
            heappop(queue)
            continue
        plans[index] = best
        free -= taken
        heapreplace(queue, (-busy(index, best), index))
    return plans


def _ceil(dividend: Ints | int, divisor: Ints | int) -> Ints:
    return -(-np.asarray(dividend, np.int64) // np.asarray(divisor, np.int64))
