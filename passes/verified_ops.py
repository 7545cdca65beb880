"""What the verifier has already found valid.

Modules consist of many ops of few kinds, and most passes leave most of them alone. An op with the trait `VerifiedAlone`
or `VerifiedWithin` is valid if another op was that agrees with it in everything that the trait names: class,
attributes, types, and what is in it. These, as they are now, are the key of a table, so that any change, in place or
not, leads to another entry. They are looked up by identity first, which is fast, then by content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import cast

from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.ir import Attribute, Block, ErasedSSAValue, Operation, SSAValue
from xdsl.traits import ConstantLike, IsTerminator

from ..dialects.block_looks import BlockLooks, array_class
from ..dialects.traits import VerifiedAlone, VerifiedWithin
from .verified_blocks import VerifiedBlocks
from .verified_parts import NOT_TOLD_APART, VerifiedParts

Signature = tuple[object, ...]

_TYPE = attrgetter("_type")
"""What is behind the property `type`, which takes several times as long."""


@dataclass(slots=True, eq=False)
class Look:
    """One look at an op: all that its validity follows from, by identity."""

    key: Signature
    held: tuple[Attribute, ...]
    """The attributes and types whose identities are in the key: no other may get one while it is remembered."""
    facts: Signature
    """What else counts: who makes operands, what is in the op and around it."""
    shapes: bool
    """Whether types and shapes of arrays count for more than `verify_arrays`."""


class VerifiedOps:
    """Signatures of valid ops, numbered. Attributes are numbered by content, and held, as long as they count."""

    def __init__(self) -> None:
        self._valid: dict[Signature, int] = {}
        self._numbers: dict[Attribute, int] = {}
        self._seen: dict[int, tuple[Attribute, int]] = {}
        """Numbers of attributes by identity, which is faster to look up."""
        self._known: dict[Signature, tuple[int, Look]] = {}
        """The numbers of ops by identity, in the module that is being verified and in the one before."""
        self._before: dict[Signature, tuple[int, Look]] = {}
        self.blocks = VerifiedBlocks()
        self.looks = BlockLooks()
        """At modules that nobody else looks at."""
        self.parts = VerifiedParts(self.attribute_number)

    def begin(self) -> None:
        """Before a module is verified."""
        self._before, self._known = self._known, {}
        self.blocks.begin()

    def end(self) -> None:
        """Behind that. Attributes that were not in this module are let go, arrays among them."""
        self._before = {}
        self.blocks.end()

    def look(
        self,
        op: Operation,
        is_last: bool,
        operands: Sequence[SSAValue],
        around: type[Operation] | None,
        inside: Signature | None = (),
    ) -> Look | None:
        """All that the validity of ``op`` follows from; None if it is not known what that is.

        ``is_last`` says whether the op ends its block, which terminators have to, and no others. ``operands`` are
        those of the op, and none of them erased. ``around`` is the class of the op around it, ``inside`` the content
        of its regions, None if it cannot be told.
        """
        kind = type(op)
        traits = _traits(kind, is_last)
        if traits is None or inside is None or op.attributes or op.successor_uses:
            return None
        properties = op.properties
        held = (*properties.values(), *map(_TYPE, operands), *map(_TYPE, op.results))
        facts: Signature = ()
        if traits.within:
            facts = (around, *inside, *[_constant(type(value.owner)) for value in operands])
        key = (kind, len(operands), tuple(properties), *map(id, held), None, *facts)
        return Look(key, held, facts, traits.shapes)

    def known(self, look: Look) -> int | None:
        """The number of an op that was found valid and was the very same in all that counts; None if none was."""
        found = self._known.get(look.key)
        if found is None:
            found = self._before.get(look.key)
            if found is None:
                return None
            self._known[look.key] = found
        return found[0]

    def signature(self, look: Look) -> Signature | None:
        """All that the validity of an op follows from, but for what `verify_arrays` checks, by content.

        None if numbers of an array are not loaded: once they are, they may be found to be wrong.
        """
        array_kind, seen = array_class(), self._seen
        found: list[object] = [*look.key[:3]]
        for attribute in look.held:
            if array_kind is None or type(attribute) is not array_kind:
                known = seen.get(id(attribute))
                number = self.attribute_number(attribute) if known is None else known[1]
                if number == NOT_TOLD_APART:
                    return None
                found.append(number)
            elif not attribute.has_data:
                return None
            elif look.shapes:
                found += (attribute.dtype, attribute.shape)
            else:
                found.append(array_kind)
        found += (None, *look.facts)
        return tuple(found)

    def has(self, signature: Signature) -> bool:
        """Whether an op with this signature was found valid."""
        return signature in self._valid

    def add(self, signature: Signature, look: Look) -> int:
        """Remembers an op that was found valid, its arrays included; its number."""
        number = self._valid.setdefault(signature, len(self._valid))
        self._known[look.key] = number, look
        return number

    def attribute_number(self, attribute: Attribute) -> int:
        """The number of an attribute or type: the same for equal ones. NOT_TOLD_APART if it has arrays without data."""
        found = self._seen.get(id(attribute))
        if found is not None:
            return found[1]
        if not _is_loaded(attribute):
            return NOT_TOLD_APART
        number = self._numbers.setdefault(attribute, len(self._numbers))
        self._seen[id(attribute)] = attribute, number
        return number


def is_erased(values: Sequence[SSAValue]) -> bool:
    """Whether one of the values has lost its definition."""
    return any(type(value) is ErasedSSAValue for value in values)


def _is_loaded(attribute: Attribute) -> bool:
    """Whether the numbers of all arrays in an attribute can be read."""
    if isinstance(attribute, BuiltinArrayAttr):
        return all(map(_is_loaded, cast("BuiltinArrayAttr[Attribute]", attribute).data))
    kind = array_class()
    return kind is None or not isinstance(attribute, kind) or attribute.has_data


@dataclass(frozen=True)
class _Traits:
    """How ops of a kind are verified: alone or within."""

    within: bool
    shapes: bool
    """Whether types and shapes of arrays count."""


@lru_cache(1024)
def _traits(kind: type[Operation], is_last: bool) -> _Traits | None:
    """Those of this kind where they stand; None if it is not known what their validity follows from."""
    if kind.has_trait(IsTerminator, value_if_unregistered=False) != is_last:
        return None
    if kind.has_trait(VerifiedAlone, value_if_unregistered=False):
        return _Traits(False, True)
    within = kind.get_trait(VerifiedWithin)
    return None if within is None else _Traits(True, within.shapes_seen_from_around)


@lru_cache(1024)
def _constant(owner: type[Operation | Block]) -> type[Operation | Block] | None:
    """The class of the op that defines a value, if it is a constant."""
    return owner if issubclass(owner, Operation) and owner.has_trait(ConstantLike) else None
