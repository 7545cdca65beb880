"""Which register holds which value when: of the values held, the one that is needed again last makes room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

_NEVER = 1 << 62


@dataclass(frozen=True, eq=False)
class Assignment:
    """Registers of n instructions, and the loads of registers that these need."""

    register: I64
    """Of each operand; 0 for the value 0."""
    load_row: I64
    """Ascending: the instruction before which a register is loaded."""
    load_register: I64
    load_value: I64


def assign_registers(core: npt.NDArray[np.int32], value: I64, pool: Sequence[int]) -> Assignment:
    """Registers of the pool for values [n, operands] of instructions in order, core by core; register 0 holds 0.

    Registers are loaded as rarely as is possible (Belady's rule: evict what is used furthest in the future). The pool
    has more registers than an instruction has operands; what they hold at a core's start is of no use.
    """
    row, operand = np.nonzero(_touches(value))
    operand %= value.shape[1]
    touched = value[row, operand]
    order = np.lexsort((touched, core[row]))
    changes = np.ones(len(row), np.bool_)
    changes[1:] = (np.diff(touched[order]) != 0) | (np.diff(core[row][order]) != 0)
    number = np.empty(len(row), np.int64)
    number[order] = np.cumsum(changes) - 1
    following = np.full(len(row), _NEVER)
    again = np.flatnonzero(~changes)
    following[order[again - 1]] = order[again]

    edges = [*np.flatnonzero(np.diff(core[row], prepend=-1)).tolist(), len(row)]
    places: list[int] = []
    loads: list[int] = []
    where = [-1] * (int(changes.sum()) + 1)
    for start, stop in pairwise(edges):
        span = slice(start, stop)
        _replace(number[span].tolist(), following[span].tolist(), len(pool), where, places, loads)

    registers = np.array(pool, np.int64)[np.array(places, np.int64)]
    found = np.zeros(value.shape, np.int64)
    found[row, operand] = registers
    for later in range(1, value.shape[1]):
        for earlier in range(later):
            same = value[:, later] == value[:, earlier]
            found[same, later] = found[same, earlier]
    loaded = np.array(loads, np.int64)
    return Assignment(found, row[loaded], registers[loaded], touched[loaded])


def _touches(value: I64) -> npt.NDArray[np.bool_]:
    """[n, 2 * operands]: each different value once, and all but the last a second time.

    The second time keeps a value from making room for another one of its own instruction.
    """
    first = value != 0
    for later in range(1, value.shape[1]):
        for earlier in range(later):
            first[:, later] &= value[:, later] != value[:, earlier]
    more = np.cumsum(first[:, ::-1], axis=1)[:, ::-1] > 1
    return np.concatenate([first, first & more], axis=1)


def _replace(
    values: list[int], following: list[int], count: int, where: list[int], places: list[int], loads: list[int]
) -> None:
    """One core. Appends to ``places`` the place of each value among ``count``, and to ``loads`` where one is loaded.

    ``where`` is -1 for each value, and for one that does not exist at its end.
    """
    until = [_NEVER] * count
    held = [-1] * count
    position = len(places)
    for value, again in zip(values, following, strict=True):
        place = where[value]
        if place < 0:
            place = until.index(max(until))
            where[held[place]] = -1
            held[place] = value
            where[value] = place
            loads.append(position)
        until[place] = again
        places.append(place)
        position += 1
