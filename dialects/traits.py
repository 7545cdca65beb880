"""Traits of ops, beside those of xDSL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove, OpTrait


class VerifiedAlone(OpTrait):
    """Whether an op is valid follows from its class, its own attributes, and the types of its operands and results.

    Of a `#tile.array` among its attributes, only the type and the shape count. Nothing else does: not the ops that make
    its operands or use its results, nor the op around it; only a terminator has to stand last. So all ops that agree in
    this are equally valid, and the verifier looks at one of them.
    """


class _WithArrays(Protocol):
    def verify_arrays(self) -> None: ...


@dataclass(frozen=True)
class VerifiedWithin(OpTrait):
    """Whether an op is valid follows from what it is and what is in it, who makes its operands, and `verify_arrays`.

    What it is: its class, its own attributes, and the types of its operands and results. What is in it: all of its
    regions, which use no value from outside. Of the op around it only the class counts, and of the ops that make its
    operands only which of them are constants.

    Of a `#tile.array` among its attributes only the presence counts here: its type, shape and elements are checked by
    the method `verify_arrays`, which depends on nothing else, and which `verify_` calls. So if one such op was valid,
    only the arrays have to be checked in all others that agree with it in the rest.
    """

    shapes_seen_from_around: bool = False
    """Whether the op around it checks types and shapes of its arrays, so that these count as well."""

    @staticmethod
    def verify_arrays(op: Operation) -> None:
        """Raises a VerifyException if the arrays of ``op`` are not what it demands."""
        cast("_WithArrays", op).verify_arrays()


@lru_cache(1024)
def is_within(kind: type[Operation]) -> bool:
    """Whether the validity of such ops follows from what is in them."""
    return kind.has_trait(VerifiedWithin, value_if_unregistered=False)


class Isolated(IsolatedFromAbove):
    """xDSL's trait, with a quick check first: whether everything that is used inside is also defined inside. xDSL's own
    check climbs from every use to the op."""

    def verify(self, op: Operation) -> None:
        if not _uses_what_it_defines(op):
            super().verify(op)


def _uses_what_it_defines(op: Operation) -> bool:
    """Whether all operands of what is in ``op`` are defined in it, at whatever place."""
    defined: set[int] = set()
    used: set[int] = set()
    pending: list[Block] = [block for region in op.regions for block in region.blocks]
    while pending:
        block = pending.pop()
        defined.update(map(id, block.args))
        inner = block.first_op
        while inner is not None:
            used.update(map(id, inner.operands))
            defined.update(map(id, inner.results))
            for region in inner.regions:
                pending += region.blocks
            inner = inner.next_op
    return used <= defined
