"""The instructions of a body as plain numbers: what instruction selection (`selector.py`) decides.

The conversion makes IR of it (`body.py`); the cost model and the guard only count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from ...dialects.pim import Access
from ..body_content import Shape


class Empty(NamedTuple):
    """A tensor to write into."""

    source: int
    """The op of the body that it is for, by position."""
    result: int


class Issue(NamedTuple):
    """An instruction, ``repeat`` times per lane. Values are numbers, as everywhere in a selection."""

    source: int
    instruction: str
    length: int
    repeat: int
    reads: tuple[tuple[int, Access], ...]
    dest: int
    access: Access
    matrix: int | None
    matrix_row: int
    immediate: int | None
    chained: bool
    turns: int
    """In how many turns the repeats come, if the instruction alternates with others."""
    result: int


class Yield(NamedTuple):
    """The end of the body."""

    source: int
    values: tuple[int, ...]


class Pick(NamedTuple):
    """A window that a `spat.pick` needs beside those of the inputs: of which weight, and by whose table."""

    argument: int
    """Among the batch's weights."""
    source: int
    value: int


class Constant(NamedTuple):
    """A tile that instructions read."""

    argument: int | None
    """Among the batch's weights; None for a tile of ones."""
    columns: int
    channels: int
    value: int


class Matrix(NamedTuple):
    """The weights of a product."""

    argument: int
    value: int


class Selection(NamedTuple):
    """The instructions of a body."""

    shapes: tuple[Shape, ...]
    """Of all values; first come the windows of the inputs."""
    picks: tuple[Pick, ...]
    constants: tuple[Constant, ...]
    matrices: tuple[Matrix, ...]
    steps: tuple[Empty | Issue | Yield, ...]

    @property
    def issues(self) -> list[Issue]:
        return [step for step in self.steps if isinstance(step, Issue)]

    @property
    def scratch_elements(self) -> int:
        """Elements of the temporary tensors that live at the same instruction at most.

        A chain of instructions runs in turns, so that its tensors live all along; what is yielded is no temporary. A
        tensor of one chain alone takes room for one of the blocks of columns that it comes in.
        """
        tensor: dict[int, int] = {}  # the empty tensor that each value is a version of
        lives: dict[int, list[int]] = {}
        blocks: dict[int, int] = {}  # of each chain whose instructions take several columns at a time
        yielded: set[int] = set()
        position = turns = 0
        for step in self.steps:
            match step:
                case Empty():
                    tensor[step.result] = step.result
                case Issue():
                    position += not (step.chained and step.turns == turns)
                    turns = step.turns
                    if turns < step.repeat:
                        blocks[position] = turns
                    tensor[step.result] = tensor.get(step.dest, step.dest)
                    for value in (step.result, *(value for value, _ in step.reads)):
                        if (held := tensor.get(value)) is not None:
                            lives.setdefault(held, [position, position])[1] = position
                case Yield():
                    yielded.update(tensor.get(value, value) for value in step.values)
        change = [0] * (position + 2)
        for value, (first, last) in lives.items():
            if value not in yielded:
                size = math.prod(self.shapes[value])
                if first == last:
                    size //= blocks.get(first, 1)
                change[first] += size
                change[last + 1] -= size
        return max(accumulate(change), default=0)

    def written_size(self, issue: Issue) -> int:
        """Elements that one instruction writes, without those of unused array columns."""
        if issue.matrix is not None:
            return self.shapes[issue.matrix][1]
        return 1 if issue.instruction == "vvdmul" else issue.length


class Operand(NamedTuple):
    """A tile as an instruction reads it: ``columns`` columns of ``length`` elements of a tensor."""

    value: int
    access: Access
    columns: int
    length: int
    turns: int = 0
    """If it is written in turns with what it is computed from, or with what is computed from it: how many, each for as
    many columns one after another."""

    @property
    def is_contiguous(self) -> bool:
        return self.columns == 1 or self.access.step == self.length

    def reading(self, repeat: int) -> tuple[int, Access]:
        """How an instruction that repeats so often reads it; a single column repeats as often as needed."""
        access = self.access
        if repeat == 1 or self.columns == 1:
            access = Access(access.row, 0, access.start, 0)
        return self.value, access._replace(step=access.step * max(1, self.columns // repeat))


def shared_tile_stays(steps: Sequence[Empty | Issue | Yield]) -> bool:
    """Whether a product writes to a tile that has held other results, and its own ones are read behind the block.

    Then the tile has room for all columns, and what a product writes beyond its own, the unused columns of its array
    group, lies where the other results wait for later turns. A tile of one turn has room for that behind it.
    """
    tile: dict[int, int] = {}
    """Of each result, the value that stands for where it lies."""
    shared: dict[int, int] = {}
    """Tiles that products have taken, and in which block."""
    block = 0
    for step in steps:
        if isinstance(step, Empty):
            continue
        block += isinstance(step, Yield) or not step.chained
        reads = step.values if isinstance(step, Yield) else [value for value, _ in step.reads]
        if any(shared.get(tile.get(value, value), block) != block for value in reads):
            return True
        if isinstance(step, Issue):
            if step.instruction == "mvmul" and step.dest in tile:
                shared[tile[step.dest]] = block
            tile[step.result] = tile.setdefault(step.dest, step.dest)
    return False
