"""What bodies on `spat` amount to, counted on the shapes of their ops alone, whatever instructions they become.

Elements that vector operations compute are those that the network asks for: sums of slices of a product, which depend
on the height of arrays, are not among them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from ..dialects import spat
from .body_content import BodyContent, Shape, TileOp
from .body_costs import KEPT, Amounts

_BINARY = frozenset(kind.name for kind in (spat.VAddOp, spat.VSubOp, spat.VMulOp, spat.VMaxOp))
_UNARY = frozenset(kind.name for kind in (spat.ReluOp, spat.TanhOp, spat.SigmoidOp))
_REDUCTIONS = frozenset(kind.name for kind in (spat.ReduceRowsOp, spat.ReduceColumnsOp, spat.ReduceChannelsOp))


@lru_cache(KEPT)
def element_passes(content: BodyContent, partial_inputs: tuple[bool, ...]) -> tuple[Amounts, tuple[bool, ...]]:
    """Elements that vector operations compute, without sums of slices; and which results are products or such sums.

    ``partial_inputs`` says of which inputs the latter holds.
    """
    partial = {number for number, holds in enumerate(partial_inputs) if holds}
    shapes = shapes_of(content)
    found: list[tuple[int, int]] = []
    yielded: tuple[int, ...] = ()
    for position, (op, number) in enumerate(content.numbered()):
        if op.name == spat.YieldOp.name:
            yielded = op.operands
        elif op.name == spat.VMMOp.name or (op.name == spat.ViewOp.name and op.operands[0] in partial):
            partial.add(number)
        elif op.name == spat.VAddOp.name and partial.issuperset(op.operands):
            partial.add(number)
        elif op.name in _BINARY or op.name in _UNARY:
            found.append((position, math.prod(op.shapes[0])))
        elif op.name in _REDUCTIONS:
            found.append((position, math.prod(shapes[op.operands[0]]) - math.prod(op.shapes[0])))
    return tuple(found), tuple([result in partial for result in yielded])


@lru_cache(KEPT)
def needless_ops(content: BodyContent, array_rows: int | None) -> Amounts:
    """Ops that need not be: copies of what lies side by side already, and products of two slices, of a vector that
    lies side by side, which an array could hold together."""
    views = views_of(content)
    shapes = shapes_of(content)
    products: dict[int, TileOp] = {}
    found: list[tuple[int, int]] = []
    for position, (op, _) in enumerate(content.numbered()):
        if op.name == spat.GatherOp.name and all(_adjoin(views, shapes, *pair) for pair in pairwise(op.operands)):
            found.append((position, 1))
        elif op.name == spat.VMMOp.name:
            vector, matrix = op.operands
            before = products.get(matrix)
            if before is not None and array_rows is not None:
                length = shapes[before.operands[0]][1]
                follows = _row(op) == _row(before) + length and _adjoin(views, shapes, before.operands[0], vector)
                if follows and length + shapes[vector][1] <= array_rows:
                    found.append((position, 1))
            products[matrix] = op
    return tuple(found)


@lru_cache(KEPT)
def repeatable_constants(content: BodyContent) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Constants of several columns that only right operands of sums and products read, which could repeat one column:
    the index among the weights, and the positions of the ops."""
    shapes = shapes_of(content)
    uses: dict[int, list[int]] = {}
    others: set[int] = set()
    for position, (op, _) in enumerate(content.numbered()):
        for index, operand in enumerate(op.operands):
            if op.name in _BINARY and index == 1:
                uses.setdefault(operand, []).append(position)
            else:
                others.add(operand)
    weights = range(content.inputs, len(content.arguments))
    candidates = [one for one in weights if one in uses and one not in others]
    columns = [one for one in candidates if len(shapes[one]) == 2 and shapes[one][0] > 1]
    return tuple((one - content.inputs, tuple(uses[one])) for one in columns)


@lru_cache(KEPT)
def unpacked_products(content: BodyContent, array_rows: int, array_columns: int) -> tuple[Amounts, Amounts]:
    """Products of which an array could do two at a time, those of neighbouring columns; and all products."""
    shapes, views = shapes_of(content), views_of(content)
    gathered = {number: op.operands for op, number in content.numbered() if op.name == spat.GatherOp.name}
    unpacked: list[tuple[int, int]] = []
    products: list[tuple[int, int]] = []
    for position, (op, _) in enumerate(content.numbered()):
        if op.name == spat.VMMOp.name:
            vector = op.operands[0]
            columns = shapes[vector][0]
            products.append((position, columns))
            rows = _rows_of_two(gathered.get(vector, (vector,)), views, shapes)
            if columns > 1 and rows <= array_rows and 2 * op.shapes[0][1] <= array_columns:
                unpacked.append((position, columns))
    return tuple(unpacked), tuple(products)


def _rows_of_two(tiles: Sequence[int], views: dict[int, tuple[int, int, int, int]], shapes: list[Shape]) -> int:
    """Rows of the matrix that multiplies two neighbouring columns of these tiles side by side at once.

    What they read of one row together they read as it lies, with what is between, or each for itself if that is less.
    What comes twice in the vector has rows of the matrix twice.
    """
    runs: dict[object, list[tuple[int, int]]] = {}
    times: Counter[object] = Counter()
    rows = 0
    for tile in tiles:
        length = shapes[tile][1]
        source, row, start, step = views.get(tile, (tile, 0, 0, length))
        times[source, row, start] += 1
        runs.setdefault((source, row, times[source, row, start]), []).append((start, start + length + step))
    for run in runs.values():
        together = max(end for _, end in run) - min(start for start, _ in run)
        rows += min(together, sum(end - start for start, end in run))
    return rows


@lru_cache(KEPT)
def array_count(content: BodyContent, array_columns: int) -> int:
    """Arrays that a replica of the batch takes."""
    return sum(-(-op.shapes[0][1] // array_columns) for op in content.ops if op.name == spat.VMMOp.name)


def shapes_of(content: BodyContent) -> list[Shape]:
    return [*content.arguments, *(shape for op in content.ops for shape in op.shapes)]


def _row(product: TileOp) -> int:
    (row,) = (value for name, value in product.properties if name == "row")
    assert isinstance(row, int)
    return row


def views_of(content: BodyContent) -> dict[int, tuple[int, int, int, int]]:
    """Of each view, its source, row, start and step."""
    views: dict[int, tuple[int, int, int, int]] = {}
    for op, number in content.numbered():
        if op.name == spat.ViewOp.name:
            given = dict(op.properties)
            row, start, step = given["row"], given["start"], given["step"]
            assert isinstance(row, int)
            assert isinstance(start, int)
            assert isinstance(step, int)
            views[number] = op.operands[0], row, start, step
    return views


def _adjoin(views: dict[int, tuple[int, int, int, int]], shapes: list[Shape], first: int, second: int) -> bool:
    """Whether the second tile is the view of what lies right behind the first one, column by column."""
    if first not in views or second not in views:
        return False
    source, row, start, step = views[first]
    return views[second] == (source, row, start + shapes[first][1], step)
