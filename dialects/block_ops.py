"""Going through the ops of a block quickly."""

from __future__ import annotations

from operator import attrgetter

from xdsl.ir import Block, Operation


def block_ops(block: Block) -> list[Operation]:
    """The ops of a block, several times as fast as by its own iterator."""
    found: list[Operation] = []
    op = block.first_op
    while op is not None:
        found.append(op)
        op = _NEXT(op)
    return found


_NEXT = attrgetter("_next_op")
"""Reads the field behind the property `next_op`, in half the time."""
