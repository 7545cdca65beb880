"""Which constants hold the same numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dialects.array_data import ArrayData


class Constants:
    """The constants of the module that is looked at and of the one before, whose weights are not held for longer.
    Digests of all weights would take long: few have even some bytes in common."""

    def __init__(self) -> None:
        self._seen: dict[int, _Known] = {}
        """By the identity of a constant, which is held meanwhile."""
        self._kept: dict[int, _Known] = {}
        self._alike: dict[object, list[ArrayData]] = {}
        """The first ones, by type, shape and some bytes."""

    def first(self, data: ArrayData) -> ArrayData:
        """The first constant of equal content that was asked for."""
        known = self._seen.get(id(data))
        if known is None:
            known = self._seen[id(data)] = self._kept.get(id(data)) or self._find(data)
        return known.first

    def _find(self, data: ArrayData) -> _Known:
        kind = data.dtype, data.shape, data.sample if data.has_data else None
        alike = self._alike.setdefault(kind, [])
        for other in alike:
            if _equal(other, data):
                return _Known(data, other, kind)
        alike.append(data)
        return _Known(data, data, kind)

    def forget_others(self) -> None:
        """Ends a look at a module: constants that were not in it are let go."""
        firsts = {id(known.first): known for known in self._seen.values()}
        self._alike = {}
        for known in firsts.values():
            self._alike.setdefault(known.kind, []).append(known.first)
        self._kept, self._seen = self._seen, {}


class _Known(NamedTuple):
    data: ArrayData
    first: ArrayData
    """The first that is equal to it."""
    kind: object
    """Type, shape and some bytes."""


def _equal(one: ArrayData, other: ArrayData) -> bool:
    """Of the same type and shape. To compare bytes takes a tenth of the time of a digest."""
    if not one.has_data or not other.has_data:
        return one == other
    return one.array is other.array or np.array_equal(_bits(one), _bits(other))


def _bits(data: ArrayData) -> np.ndarray[tuple[int], np.dtype[np.unsignedinteger]]:
    flat = data.array.reshape(-1)
    return flat.view(f"u{flat.itemsize}")
