"""Registers for addresses: instructions with register numbers, and loads where a register has to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .address_plan import OPERANDS, AddressPlan, plan_addresses
from .columns import COLUMN_TYPES, Columns
from .global_layout import address_words
from .instruction_table import InstructionTable
from .isa import REGISTER_COUNT, Op
from .register_replacement import assign_registers

I64 = npt.NDArray[np.int64]

_WORD = 1 << 32


@dataclass(frozen=True, eq=False)
class Allocated:
    """The instructions of all cores with their scalar instructions."""

    columns: Columns
    core: npt.NDArray[np.int32]
    node: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Loads:
    """Loads of registers, each before the instruction ``row``."""

    row: I64
    register: I64
    value: I64


def allocate_registers(
    table: InstructionTable, first: Columns, *, element_bytes: int = 1, in_order: bool = True
) -> Allocated:
    """Turns addresses into registers. ``table`` is in order; ``first`` is put before the instructions of each core.

    ``in_order``: the machine executes one instruction after another; see `plan_addresses`.
    """
    plan = plan_addresses(table, element_bytes, in_order)
    # Register 0 is never written, and also the high word of global addresses that need none.
    address = _global_addresses(table)
    high = 0 if (address < _WORD).all() else 1
    low = high + 1
    local = assign_registers(table.core, plan.base, range(low + 1, REGISTER_COUNT))
    loads = [
        *(_shared_loads(table, address, register, word) for register, word in ((high, 0), (low, 1)) if register),
        _Loads(local.load_row, local.load_register, local.load_value),
    ]
    return _interleaved(table, first, plan, _registers(table, local.register, high), loads)


def _global_addresses(table: InstructionTable) -> I64:
    """The global side of loads and stores, -1 for all others."""
    return np.where(table.op == Op.LD, table.source, np.where(table.op == Op.ST, table.dest, -1))


def _shared_loads(table: InstructionTable, address: I64, register: int, word: int) -> _Loads:
    """Of the register for one word of global addresses, which holds something else before.

    A stream may run round after round. Before the first one the register holds 0, before the others what the stream
    leaves in it: a 0 at the start needs no load only if the register ends as 0, too.
    """
    row = np.flatnonzero(address >= 0)
    value = address_words(address[row])[word]
    starts = np.diff(table.core[row], prepend=-1) != 0
    last = value[np.append(starts[1:], True)[: len(row)]]
    is_new = value != np.roll(value, 1)
    is_new[starts] = (value[starts] != 0) | (last != 0)
    changed = np.flatnonzero(is_new)
    return _Loads(row[changed], np.full(len(changed), register), value[changed])


def _registers(table: InstructionTable, local: I64, high: int) -> I64:
    found = local.copy()
    found[table.op == Op.LD, OPERANDS.index("rs1")] = high
    found[table.op == Op.ST, OPERANDS.index("rd")] = high
    return found


def _interleaved(
    table: InstructionTable, first: Columns, plan: AddressPlan, registers: I64, loads: list[_Loads]
) -> Allocated:
    starts = np.ones(len(table), np.bool_)
    starts[1:] = table.core[1:] != table.core[:-1]
    row = np.concatenate([one.row for one in loads])
    order = np.argsort(row, kind="stable")
    before = len(first) * starts + np.bincount(row, minlength=len(table))
    position = np.cumsum(before + 1) - 1
    total = int(position[-1]) + 1 if len(table) else 0

    out: dict[str, npt.NDArray[Any]] = {name: np.zeros(total, dtype) for name, dtype in COLUMN_TYPES.items()}
    for name, column in first.items():
        for offset in range(len(first)):
            out[name][(position - before)[starts] + offset] = column[offset]
    row = row[order]
    nth = np.arange(len(row)) - np.searchsorted(row, row)
    slot = (position - before + len(first) * starts)[row] + nth
    out["op"][slot] = Op.SLDI
    out["rd"][slot] = np.concatenate([one.register for one in loads])[order]
    out["a"][slot] = np.concatenate([one.value for one in loads])[order]

    out["op"][position] = table.op
    for name, column in zip(OPERANDS, registers.T, strict=True):
        out[name][position] = column
    out["a"][position], out["b"][position] = table.a, table.b
    out["c"][position], out["select"][position] = plan.offset, plan.select
    owner = np.repeat(np.arange(len(table)), before + 1)
    return Allocated(Columns.from_arrays(out), table.core[owner], table.node[owner])
