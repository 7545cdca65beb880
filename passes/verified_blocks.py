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
_UNKNOWN = attrgetter("regions"), attrgetter("attributes"), attrgetter("successor_uses")


class BlockLook:
    """One look at a block: all that the validity of its ops follows from, by identity."""

    __slots__ = ("block", "held", "key")

    def __init__(self, block: Block, ops: list[Operation], around: type[Operation]) -> None:
        arguments, properties = block.args, list(map(_PROPERTIES, ops))
        operands, results = list(map(_OPERANDS, ops)), list(map(_RESULTS, ops))
        values = [*arguments, *chain.from_iterable(results)]
        self.block = block
        self.held: list[object] = [*ops, *map(_PARENT, ops), *values, *map(_TYPE, values)]
        """The objects whose identities are in the key: no other may get one while it is remembered."""
        self.held += chain.from_iterable(operands)
        self.held += chain.from_iterable([one.values() for one in properties])
        kinds = list(map(type, ops))
        self.key = (
            around if any(map(is_within, set(kinds))) else None,
            kinds,
            len(arguments),
            list(map(len, chain(operands, results, properties))),
            list(chain.from_iterable(properties)),
            list(map(id, self.held)),
        )

    @staticmethod
    def at(block: Block, around: type[Operation]) -> BlockLook | None:
        """A look at a block in an op of the class ``around``; None if more counts than would be seen."""
        ops = block_ops(block)
        return None if any(any(map(part, ops)) for part in _UNKNOWN) else BlockLook(block, ops, around)


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
        """What is in a block, as it was given to `add`, if it is the very same as then."""
        found = self._known.get(id(look.block)) or self._before.get(id(look.block))
        if found is None or found[0].key != look.key:
            return None
        self._known[id(look.block)] = found
        return found[1]

    def add(self, look: BlockLook, content: list[object]) -> None:
        """Remembers a block whose ops were found valid."""
        self._known[id(look.block)] = look, content
