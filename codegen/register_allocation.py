"""Registers for addresses: one per operand role, loaded only when the address in it has to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .columns import COLUMN_TYPES, Columns
from .global_layout import address_words
from .instruction_table import NO_ADDRESS, InstructionTable
from .isa import Op

I64 = npt.NDArray[np.int64]

ZERO = 0
"""Never written: registers start as 0."""
DEST, SOURCE, SECOND = 1, 2, 3
GLOBAL_HIGH, GLOBAL_LOW = 4, 5
"""The pair that holds the global address of a load or a store."""


@dataclass(frozen=True, eq=False)
class Allocated:
    """The instructions of all cores with their scalar instructions."""

    columns: Columns
    core: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]


def allocate_registers(table: InstructionTable, first: Columns) -> Allocated:
    """Turns addresses into registers. ``table`` is in order; ``first`` is put before the instructions of each core."""
    roles = _roles(table)
    starts = np.ones(len(table), np.bool_)
    starts[1:] = table.core[1:] != table.core[:-1]
    changes = [(register, value, _changes(value, used, starts)) for register, value, used in roles]
    before = len(first) * starts.astype(np.int64)
    for _, _, change in changes:
        before += change
    position = np.cumsum(before + 1) - 1
    total = int(position[-1]) + 1 if len(table) else 0

    out: dict[str, npt.NDArray[Any]] = {name: np.zeros(total, dtype) for name, dtype in COLUMN_TYPES.items()}
    core, node = np.zeros(total, np.int32), np.zeros(total, np.int32)
    slot = position - before
    for name, column in first.items():
        for offset in range(len(first)):
            out[name][slot[starts] + offset] = column[offset]
    slot += len(first) * starts
    for register, value, change in changes:
        where = slot[change]
        out["op"][where], out["rd"][where], out["a"][where] = Op.SLDI, register, value[change]
        slot += change
    _write_operations(table, position, out)
    owner = np.repeat(np.arange(len(table)), before + 1)
    core[:], node[:] = table.core[owner], table.node[owner]
    return Allocated(Columns.from_arrays(out), core, node)


def _roles(table: InstructionTable) -> list[tuple[int, I64, npt.NDArray[np.bool_]]]:
    """Each register with the value that every instruction needs in it, and whether it needs one."""
    load, store = table.op == Op.LD, table.op == Op.ST
    in_place = _in_place(table)
    high, low = address_words(np.where(load, table.source, table.dest))
    return [
        (SOURCE, table.source, (table.source != NO_ADDRESS) & ~load),
        (SECOND, table.second, table.second != NO_ADDRESS),
        (DEST, table.dest, (table.dest != NO_ADDRESS) & ~store & ~in_place),
        (GLOBAL_HIGH, high, load | store),
        (GLOBAL_LOW, low, load | store),
    ]


def _in_place(table: InstructionTable) -> npt.NDArray[np.bool_]:
    """Instructions that write where they read, so that one register serves both. Not loads and stores: equal numbers
    are different places there."""
    return (table.dest == table.source) & (table.op != Op.LD) & (table.op != Op.ST)


def _changes(value: I64, used: npt.NDArray[np.bool_], starts: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Where a register has to be loaded: it is used and holds something else. Registers of a core start as 0."""
    index = np.flatnonzero(used)
    core = np.cumsum(starts)[index]
    previous = np.zeros(len(index), np.int64)
    if len(index):
        same_core = core[1:] == core[:-1]
        previous[1:] = np.where(same_core, value[index[:-1]], 0)
    changed = np.zeros(len(value), np.bool_)
    changed[index] = value[index] != previous
    return changed


def _write_operations(table: InstructionTable, position: I64, out: dict[str, npt.NDArray[Any]]) -> None:
    load, store = table.op == Op.LD, table.op == Op.ST
    in_place = _in_place(table)
    out["op"][position] = table.op
    dest = np.where(table.dest == NO_ADDRESS, 0, np.where(in_place, SOURCE, DEST))
    out["rd"][position] = np.where(store, GLOBAL_HIGH, np.where(load, DEST, dest))
    source = np.where(table.source == NO_ADDRESS, 0, SOURCE)
    out["rs1"][position] = np.where(load, GLOBAL_HIGH, source)
    out["rs2"][position] = np.where(table.second == NO_ADDRESS, ZERO, SECOND)
    out["a"][position] = table.a
    out["b"][position] = table.b
