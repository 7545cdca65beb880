"""Blocks of ops without regions, as which most ops of a program come: the bodies of batches.

Most passes leave most of them alone. Whether a block is the very same as before is found out in one go over its ops,
not op by op.
"""

from __future__ import annotations

from itertools import chain
from operator import attrgetter

from xdsl.ir import Block, Operation

from ..dialects.block_ops import block_ops
from ..dialects.traits import is_within

_OPERANDS, _TYPE = attrgetter("_operands"), attrgetter("_type")
"""What is behind the properties `operands` and `type`, which take several times as long."""
_PARENT, _PROPERTIES, _RESULTS = attrgetter("parent"), attrgetter("properties"), attrgetter("results")
_REGIONS, _ATTRIBUTES, _SUCCESSORS = attrgetter("regions"), attrgetter("attributes"), attrgetter("successor_uses")


class BlockLook:
    """One look at a block: all that the validity of its ops follows from. Of the same block it mostly is the very same
    objects, which are compared faster than anything is made of them."""

    __slots__ = ("around", "block", "parts")

    def __init__(self, block: Block, ops: list[Operation], around: type[Operation]) -> None:
        results = list(map(_RESULTS, ops))
        types = list(map(_TYPE, chain(block.args, chain.from_iterable(results))))
        self.block = block
        self.around = around
        self.parts = (
            ops,
            list(map(_PARENT, ops)),
            list(map(_OPERANDS, ops)),
            results,
            types,
            block.args,
            list(map(_PROPERTIES, ops)),
        )

    @staticmethod
    def at(block: Block, around: type[Operation]) -> BlockLook | None:
        """A look at a block in an op of the class ``around``; None if more counts than would be seen."""
        ops = block_ops(block)
        if any(map(_REGIONS, ops)) or any(map(_ATTRIBUTES, ops)) or any(map(_SUCCESSORS, ops)):
            return None
        return BlockLook(block, ops, around)

    def remembered(self) -> BlockLook:
        """The look as it is now, whatever happens to the ops."""
        *parts, properties = self.parts
        self.parts = (*parts, list(map(dict, properties)))
        return self

    def is_like(self, before: BlockLook) -> bool:
        """Whether the block is as it was then."""
        if self.around is not before.around and any(map(is_within, set(map(type, self.parts[0])))):
            return False
        return self.parts == before.parts


class VerifiedBlocks:
    """The last look at each block whose ops were found valid, with what is in it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[BlockLook, list[object]]] = {}
        """By the identity of each block, which is held meanwhile."""
        self._before: dict[int, tuple[BlockLook, list[object]]] = {}

    def begin(self) -> None:
        """Before a module is verified. Blocks that were not in the one before are let go."""
        self._before, self._known = self._known, {}

    def known(self, look: BlockLook) -> list[object] | None:
        """What is in a block, as it was given to `add`, if it is as it was then."""
        found = self._known.get(id(look.block)) or self._before.get(id(look.block))
        if found is None or not look.is_like(found[0]):
            return None
        self._known[id(look.block)] = found
        return found[1]

    def add(self, look: BlockLook, content: list[object]) -> None:
        """Remembers a block whose ops were found valid."""
        self._known[id(look.block)] = look.remembered(), content
