"""Picking ops by their class. xDSL's classes are abstract, and a check against one takes longer than a look-up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar, cast

from xdsl.ir import Operation

OperationT = TypeVar("OperationT", bound=Operation)


class OpTable(list[Operation]):
    """Ops that are picked from again and again: it is known of each class where its ops are."""

    def __init__(self, ops: Iterable[Operation]) -> None:
        super().__init__(ops)
        self._places: dict[type[Operation], list[int]] = {}
        for place, kind in enumerate(map(type, self)):
            self._places.setdefault(kind, []).append(place)

    def of(self, kinds: tuple[type[OperationT], ...]) -> list[OperationT]:
        """The ops that are of one of ``kinds``, in their order."""
        found = [places for kind, places in self._places.items() if is_of(kind, kinds)]
        places = found[0] if len(found) == 1 else sorted(place for some in found for place in some)
        return cast("list[OperationT]", [self[place] for place in places])


def ops_of(ops: Iterable[Operation], *kinds: type[OperationT]) -> list[OperationT]:
    """The ops that are of one of ``kinds``, in their order."""
    if isinstance(ops, OpTable):
        return ops.of(kinds)
    return [cast("OperationT", op) for op in ops if is_of(type(op), kinds)]


@lru_cache(4096)
def is_of(kind: type[Operation], kinds: tuple[type[Operation], ...]) -> bool:
    """Whether ops of class ``kind`` are of one of ``kinds``."""
    return issubclass(kind, kinds)
