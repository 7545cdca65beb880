"""What the verifier has found valid already.

Bodies consist of many ops of few kinds, and most passes leave most of them alone. An op with the trait `VerifiedAlone`
is valid if another one was with the same class, attributes and types. This is looked up under all of them: a change
of any, in place or not, is another entry.
"""

from __future__ import annotations

from functools import lru_cache

from xdsl.ir import Attribute, ErasedSSAValue, Operation
from xdsl.traits import IsTerminator

from ..dialects.traits import VerifiedAlone

Signature = tuple[object, ...]


class VerifiedOps:
    """Signatures of valid ops. Attributes are numbered by content, and held, so that no identity is used twice."""

    def __init__(self) -> None:
        self._valid: set[Signature] = set()
        self._numbers: dict[Attribute, int] = {}
        self._seen: dict[int, tuple[Attribute, int]] = {}
        """Numbers by identity, which is faster to look up."""

    def signature(self, op: Operation, is_last: bool) -> Signature | None:
        """All that the validity of ``op`` follows from; None if it is not known what that is.

        ``is_last`` says whether the op ends its block, which terminators have to, and no others.
        """
        kind = type(op)
        if not _is_verified_alone(kind, is_last) or op.attributes or op.regions or op.successor_uses:
            return None
        from ..dialects.tile import ArrayAttr  # brings numpy, which a module without such ops never needs

        seen, number = self._seen, self._number
        found: list[object] = [kind]
        for operand in op.operands:
            if type(operand) is ErasedSSAValue:
                return None
            known = seen.get(id(operand.type))
            found.append(number(operand.type) if known is None else known[1])
        found.append(None)
        for result in op.results:
            known = seen.get(id(result.type))
            found.append(number(result.type) if known is None else known[1])
        found.append(None)
        for name, attribute in op.properties.items():
            found.append(name)
            if type(attribute) is ArrayAttr:
                found += (attribute.dtype, attribute.shape)
            else:
                known = seen.get(id(attribute))
                found.append(number(attribute) if known is None else known[1])
        return tuple(found)

    def __contains__(self, signature: Signature | None) -> bool:
        return signature in self._valid

    def add(self, signature: Signature | None) -> None:
        """Remembers the signature of an op that was found valid."""
        if signature is not None:
            self._valid.add(signature)

    def _number(self, attribute: Attribute) -> int:
        number = self._numbers.setdefault(attribute, len(self._numbers))
        self._seen[id(attribute)] = attribute, number
        return number


@lru_cache(1024)
def _is_verified_alone(kind: type[Operation], is_last: bool) -> bool:
    """Whether ops of this kind are, where they stand."""
    alone = kind.has_trait(VerifiedAlone, value_if_unregistered=False)
    return alone and kind.has_trait(IsTerminator) == is_last
