"""Picking ops by their class. xDSL's classes are abstract, and a check against one takes longer than a look-up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar, cast

from xdsl.ir import Operation

OperationT = TypeVar("OperationT", bound=Operation)


def ops_of(ops: Iterable[Operation], *kinds: type[OperationT]) -> list[OperationT]:
    """The ops that are of one of ``kinds``, in their order."""
    return [cast("OperationT", op) for op in ops if is_of(type(op), kinds)]


@lru_cache(4096)
def is_of(kind: type[Operation], kinds: tuple[type[Operation], ...]) -> bool:
    """Whether ops of class ``kind`` are of one of ``kinds``."""
    return issubclass(kind, kinds)
