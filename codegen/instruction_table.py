"""Instructions before registers: addresses in place of register numbers, and the place of each in its core's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints

NO_ADDRESS = -1
"""Stands for an operand that an instruction does not have."""


@dataclass(frozen=True, eq=False)
class InstructionTable:
    """n instructions as columns; addresses in bytes, local except for the global side of ``ld`` and ``st``."""

    core: npt.NDArray[np.int32]
    key: Ints
    """The event that the instruction belongs to; see `lowering/event_order.py`."""
    place: npt.NDArray[np.int32]
    """Order within the event."""
    op: npt.NDArray[np.uint8]
    dest: Ints
    source: Ints
    second: npt.NDArray[np.int32]
    a: npt.NDArray[np.int32]
    b: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]

    @classmethod
    def of(
        cls,
        op: npt.ArrayLike,
        *,
        core: npt.ArrayLike,
        key: npt.ArrayLike,
        place: npt.ArrayLike,
        node: npt.ArrayLike,
        dest: npt.ArrayLike = NO_ADDRESS,
        source: npt.ArrayLike = NO_ADDRESS,
        second: npt.ArrayLike = NO_ADDRESS,
        a: npt.ArrayLike = 0,
        b: npt.ArrayLike = 0,
    ) -> InstructionTable:
        """Instructions from numbers and arrays of any shapes that broadcast together."""
        given = (core, key, place, op, dest, source, second, a, b, node)
        arrays = [np.asarray(value) for value in given]
        shape = np.broadcast(*arrays).shape
        typed: list[Any] = []
        for array, kind in zip(arrays, _TYPES, strict=True):
            column = np.empty(shape, kind)
            column[...] = array
            typed.append(column.reshape(-1))
        return cls(*typed)

    @classmethod
    def room(cls, count: int) -> dict[str, Any]:
        """Columns for so many instructions, to be filled."""
        return {field.name: np.empty(count, kind) for field, kind in zip(fields(cls), _TYPES, strict=True)}

    @classmethod
    def concat(cls, parts: Sequence[InstructionTable]) -> InstructionTable:
        return cls.joined([*parts])

    @classmethod
    def joined(cls, parts: list[InstructionTable]) -> InstructionTable:
        """The instructions of all parts, which are no longer in the list then: a part whose columns nobody else holds
        is in memory twice for one column at a time only."""
        columns = [[getattr(part, field.name) for part in parts] for field in fields(cls)]
        parts.clear()
        found: list[Any] = []
        for kind in _TYPES:
            found.append(np.concatenate([np.zeros(0, kind), *columns.pop(0)]))
        return cls(*found)

    def __len__(self) -> int:
        return len(self.core)

    def in_order(self) -> InstructionTable:
        """Core by core, each in the order in which it executes."""
        found = InstructionTable.concat([self])
        found.put_in_order()
        return found

    def put_in_order(self) -> None:
        """Changes the columns, one after the other, so that cores come one after the other, each in the order in which
        it executes: a program may be most of what is in memory."""
        order = self._order()
        for field in fields(self):
            column = getattr(self, field.name)
            column[:] = column[order]

    def _order(self) -> npt.NDArray[np.intp]:
        """By core, then key, then place; first come, first served among equals."""
        if not len(self):
            return np.zeros(0, np.intp)
        # One number a row sorts several times faster than three, if they have room in it.
        columns = (self.core, self.key, self.place)
        least = [int(column.min()) for column in columns]
        spans = [int(column.max()) - low + 1 for column, low in zip(columns, least, strict=True)]
        if spans[0] * spans[1] * spans[2] >= 1 << 63:
            return np.lexsort((self.place, self.key, self.core))
        number = np.zeros(len(self), np.int64)
        for column, low, span in zip(columns, least, spans, strict=True):
            number *= span
            number += column
            number -= low
        return np.argsort(number, kind="stable")


_TYPES: tuple[Any, ...] = (
    np.int32,
    np.int64,
    np.int32,
    np.uint8,
    np.int64,
    np.int64,
    np.int32,
    np.int32,
    np.int32,
    np.int32,
)
