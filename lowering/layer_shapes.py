"""The layers of a graph as they are before they are cut: what a window reads, however many of them a product computes,
and however rows and columns of the weight matrix are dealt to parts.

A product of w windows reads, of each row, what one window reads and w - 1 steps more. How many they are follows from
the columns of its result and from the channels of what the layer gives in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ..analysis.layer_cuts import LayerShape, RowReads
from ..dialects import spat
from .batch_program import BatchProgram, Tensor
from .body_content import BodyContent
from .body_memory import TileBody
from .tile_counts import shapes_of, views_of

_Row = tuple[int, int]
"""A row that a lane reads: of which tensor, by its identity, and how far below the lane's first one."""


class _Run(NamedTuple):
    """Elements side by side that a product reads of a row."""

    start: int
    stop: int
    step: int
    """Elements from a product to the next."""


class _Read(NamedTuple):
    """What a product reads of a row."""

    runs: list[_Run]
    elements: int
    """Of all slices: those that are read twice, as where a tensor is joined with itself, twice."""

    @property
    def times(self) -> int | None:
        """How often it is read; None if it is not all of it as often."""
        times, rest = divmod(self.elements, sum(run.stop - run.start for run in self.runs))
        return None if rest else times


class Layer(NamedTuple):
    """A layer with weights, or some groups of one."""

    shape: LayerShape
    products: tuple[int, ...]
    """The batches that multiply."""
    sums: tuple[int, ...]
    """Those that add up what these give."""


class _Chain:
    """Batches whose products are added up to one tensor: a column part of a layer."""

    def __init__(self, products: list[int], sums: list[int], end: Tensor) -> None:
        self.products = products
        self.sums = sums
        self.end = end


def layers_of(program: BatchProgram, sums: Sequence[Sequence[bool]]) -> list[Layer]:
    """The layers of a graph of tiles, as far as they can be told; ``sums`` says of the results of each batch whether
    they are products, or sums of slices of them."""
    found: dict[tuple[tuple[str, ...], LayerShape, object], list[tuple[LayerShape, _Chain]]] = {}
    for chain in _chains(program, sums):
        rows = _rows_read(program, chain)
        shape = _shape(program, chain, rows)
        if shape is not None:
            # Column parts of a layer read the same.
            read = frozenset((row, run.start) for row, mine in rows.items() for run in mine.runs)
            key = tuple(program.batches[chain.products[0]].names), shape._replace(outputs=0), read
            found.setdefault(key, []).append((shape, chain))
    blocks = Counter(names for names, _, _ in found)
    layers: list[Layer] = []
    for (names, _, _), parts in found.items():
        shape, chains = parts[0][0], [chain for _, chain in parts]
        shape = shape._replace(outputs=sum(one.outputs for one, _ in parts), blocks=blocks[names])
        products = [index for chain in chains for index in chain.products]
        layers.append(Layer(shape, tuple(products), tuple(index for chain in chains for index in chain.sums)))
    return layers


def _chains(program: BatchProgram, sums: Sequence[Sequence[bool]]) -> list[_Chain]:
    """By their ends, which no other sum of the same node reads."""
    chains: dict[int, _Chain] = {}
    for index, batch in enumerate(program.batches):
        if not all(sums[index]) or len(batch.op.results) != 1:
            continue
        end = program.values[id(batch.op.results[0])]
        if batch.cost.products:
            chains[id(end)] = _Chain([index], [], end)
            continue
        read = dict.fromkeys(id(tensor) for tensor, _, _ in batch.reads)
        parts = [chains[one] for one in read if one in chains and _is_of(program, chains[one], batch.names)]
        if parts:
            for part in parts:
                del chains[id(part.end)]
            products = [product for part in parts for product in part.products]
            sums_before = [one for part in parts for one in part.sums]
            chains[id(end)] = _Chain(products, [*sums_before, *([index] if len(parts) > 1 else [])], end)
    return list(chains.values())


def _is_of(program: BatchProgram, chain: _Chain, names: Sequence[str]) -> bool:
    return program.batches[chain.products[0]].names == names


def _shape(program: BatchProgram, chain: _Chain, rows: Mapping[_Row, _Read]) -> LayerShape | None:
    """None where it cannot be told."""
    first = chain.products[0]
    _, windows, outputs = _end(program, chain).shape
    bodies = [_multiplied(program, index) for index in chain.products]
    widths = {width for body in bodies for width in body.widths}
    rows_held = sum(body.rows for body in bodies)
    several, rest = divmod(max(widths), outputs)
    if rest or len(widths) > 1 or not several or rows_held != sum(read.elements for read in rows.values()):
        return None
    reads: list[RowReads] = []
    for read in rows.values():
        one, times = _reads_of_one(read.runs, several), read.times
        if one is None or times is None:
            return None
        reads += [one] * times
    return LayerShape(program.batches[first].lanes, windows, outputs, tuple(sorted(reads)))


def _rows_read(program: BatchProgram, chain: _Chain) -> dict[_Row, _Read]:
    """What the first product reads of each row, of all slices together."""
    found: dict[_Row, list[_Run]] = {}
    for index in chain.products:
        batch = program.batches[index]
        places = dict(zip(batch.read_inputs, batch.reads, strict=True))
        for source, row, run in _multiplied(program, index).runs:
            tensor, window, _ = places.get(source, (None, None, None))
            if tensor is not None and window is not None:
                found.setdefault((id(tensor), row * window.dilation - window.pad_top), []).append(run)
    return {row: _Read(_joined(sorted(runs)), sum(run.stop - run.start for run in runs)) for row, runs in found.items()}


def _joined(runs: Sequence[_Run]) -> list[_Run]:
    """Runs that adjoin as one."""
    found = [runs[0]]
    for run in runs[1:]:
        last = found[-1]
        if run.start <= last.stop:
            found[-1] = last._replace(stop=max(last.stop, run.stop))
        else:
            found.append(run)
    return found


def _reads_of_one(runs: Sequence[_Run], several: int) -> RowReads | None:
    """What one window reads of a row of which the product of ``several`` reads these runs."""
    step, rest = divmod(runs[0].step, several)
    moved = (several - 1) * step
    elements = [run.stop - run.start - moved for run in runs]
    if rest or min(elements) <= 0:
        return None
    return RowReads(len(runs), sum(elements), runs[-1].stop - runs[0].start - moved, step)


class _Multiplied(NamedTuple):
    """What a body multiplies."""

    widths: tuple[int, ...]
    """Columns of each product."""
    rows: int
    """Of the weights of all."""
    runs: list[tuple[int, int, _Run]]
    """Of inputs: which, the row, and what of it."""


def _multiplied(program: BatchProgram, index: int) -> _Multiplied:
    body = program.bodies[index]
    assert isinstance(body, TileBody)
    return body.once("multiplied", partial(_multiplied_by, body.content))


def _multiplied_by(content: BodyContent) -> _Multiplied:
    shapes = shapes_of(content)
    products = [op for op in content.ops if op.name == spat.VMMOp.name]
    runs: list[tuple[int, int, _Run]] = []
    for number, (source, row, start, step) in views_of(content).items():
        if source < content.inputs:
            runs.append((source, row, _Run(start, start + shapes[number][1], step)))
    widths = tuple([op.shapes[0][1] for op in products])
    return _Multiplied(widths, sum([shapes[op.operands[0]][1] for op in products]), runs)


def _end(program: BatchProgram, chain: _Chain) -> Tensor:
    """What the layer gives: with a bias, if it has one."""
    names = program.batches[chain.products[0]].names
    readers = {index for index, _ in chain.end.readers}
    if len(readers) == 1:
        (index,) = readers
        reader = program.batches[index]
        if reader.names == names and not reader.cost.products and len(reader.op.results) == 1:
            return program.values[id(reader.op.results[0])]
    return chain.end
