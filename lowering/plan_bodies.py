"""What the check of addresses asks of a body, whatever its places: equal bodies answer the same."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.ir import Operation, SSAValue

from ..analysis.buffers import Buffers
from ..dialects import pim
from ..dialects.block_ops import block_ops
from ..support.arrays import Ints
from .memory_requests import lifetimes
from .target import Target


class Write(NamedTuple):
    """A product that writes whole arrays, beyond what it is to write."""

    place: int
    """Of the op in the body."""
    value: int
    """The number of the block's argument that it writes to; `TILE` for a tile of the body."""
    elements: int
    """How many it writes behind its destination."""
    room: int
    """How many may be overwritten there, if it is a tile."""


TILE = -1


class BodyFrame(NamedTuple):
    """The temporary tiles of a body, and what it writes."""

    tiles: list[int]
    """Places of the ops that allocate them."""
    size: Ints
    """[tiles] bytes."""
    buffers: Buffers
    """The tiles by when they hold something, counted in instructions."""
    content: bytes
    """That of ``buffers``."""
    beyond: list[Write]
    written: list[tuple[int, int]]
    """Of each instruction that writes to an argument: its place, and the argument's number."""


def body_frame(batch: pim.CoreBatchOp, target: Target) -> BodyFrame:
    """The frame of a batch's body, wherever its tiles are."""
    ops = block_ops(batch.block)
    tiles = [place for place, op in enumerate(ops) if isinstance(op, pim.AllocOp)]
    allocs = [op for op in ops if isinstance(op, pim.AllocOp)]
    size = np.array([(prod(pim.shape_of(op.result)) + op.slack.value.data) * target.element_bytes for op in allocs])
    buffers = Buffers.build(size, *lifetimes(batch, allocs))
    number: dict[SSAValue, int] = {argument: number for number, argument in enumerate(batch.block.args)}
    slack: dict[SSAValue, int] = {op.result: op.slack.value.data for op in allocs}
    beyond: list[Write] = []
    written: list[tuple[int, int]] = []
    for place, op in enumerate(ops):
        if not isinstance(op, pim.IssueOp):
            continue
        dest = op.operands[-1]
        if dest not in slack:
            written.append((place, number.get(dest, TILE)))
        if "matrix_row" in op.properties:
            beyond.append(Write(place, number.get(dest, TILE), _elements_beyond(op, dest, target), slack.get(dest, 0)))
    return BodyFrame(tiles, size, buffers, buffers.content(), beyond, written)


def ops_at(batch: pim.CoreBatchOp, places: list[int]) -> list[Operation]:
    """The ops of a body at these places."""
    ops = block_ops(batch.block) if places else []
    return [ops[place] for place in places]


def _elements_beyond(op: pim.IssueOp, dest: SSAValue, target: Target) -> int:
    """How many elements a product writes behind its destination, since it fills whole arrays."""
    _, matrix, _ = op.split_operands
    assert matrix is not None
    *_, columns, channels = pim.shape_of(dest)
    wide = target.array_columns
    access = op.dest_access.data
    last = access.start + access.last(op.count) * access.step + -(-pim.shape_of(matrix)[1] // wide) * wide
    return last - columns * channels
