"""What follows from objects that stay the same from one look at a module to the next.

Passes that leave bodies, windows and schedules alone leave everything alone that follows from these, whatever they do
to what lies between batches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

FoundT = TypeVar("FoundT")


class Derived:
    """What follows from certain objects, which do not change."""

    def __init__(self, objects: Sequence[object] = ()) -> None:
        self._objects = objects
        """Held, so that no other may get the identity of one."""
        self._found: dict[Hashable, Any] = {}

    def once(self, key: Hashable, compute: Callable[[], FoundT]) -> FoundT:
        """What ``compute`` finds, which follows from the objects and ``key`` alone. Nobody may change it."""
        if key not in self._found:
            self._found[key] = compute()
        return cast("FoundT", self._found[key])


class DerivedMemory:
    """What follows from objects of the module that is looked at, and of the one before."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, ...], Derived] = {}
        self._kept: dict[tuple[int, ...], Derived] = {}

    def of(self, objects: Sequence[object]) -> Derived:
        """What was found to follow from these very objects, in this order."""
        key = tuple(map(id, objects))
        found = self._seen.get(key) or self._kept.get(key) or Derived(objects)
        self._seen[key] = found
        return found

    def forget_others(self) -> None:
        """Ends a look at a module: what follows from objects that were not in it is let go."""
        self._kept, self._seen = self._seen, {}
