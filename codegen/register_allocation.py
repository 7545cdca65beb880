"""Registers for addresses: instructions with register numbers, and loads where a register has to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from .address_plan import AddressPlan, plan_addresses
from .columns import COLUMN_TYPES, Columns
from .global_layout import address_words
from .instruction_table import InstructionTable
from .isa import REGISTER_COLUMNS, REGISTER_COUNT, Op
from .register_replacement import assign_registers

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

    row: Ints
    register: Ints
    value: Ints


def allocate_registers(
    table: InstructionTable, first: Columns, *, element_bytes: int = 1, in_order: bool = True
) -> Allocated:
    """Turns addresses into registers. ``table`` is in order; ``first`` is put before the instructions of each core.

    ``in_order``: the machine executes one instruction after another; see `plan_addresses`.
    """
    plan = plan_addresses(table, element_bytes, in_order)
    # Register 0 is never written, and also the high word of global addresses that need none.
    row, address = _global_addresses(table)
    high = 0 if (address < _WORD).all() else 1
    low = high + 1
    high_word, low_word = address_words(address)
    # A global address takes two registers one behind the other. The second one holds local addresses in between.
    forced = np.full(len(table), -1, np.int64)
    forced[row] = low_word & (_WORD - 1)
    local = assign_registers(table.core, plan.base, range(low, REGISTER_COUNT), forced)
    del forced
    value = np.where(local.load_value >= _WORD >> 1, local.load_value - _WORD, local.load_value)
    loads = [_Loads(local.load_row, local.load_register, value)]
    if high:
        loads.insert(0, _Loads(row, np.full(len(row), high), high_word))
    needed = [_without_first_zeros(table, one) for one in loads]
    return _interleaved(table, first, plan, _with_global(table, local.register, high), needed)


def _global_addresses(table: InstructionTable) -> tuple[Ints, Ints]:
    """Loads and stores, and the global side of each."""
    loads, stores = table.op == Op.LD, table.op == Op.ST
    row = np.flatnonzero(loads | stores)
    return row, np.where(loads[row], table.source[row], table.dest[row])


def _without_first_zeros(table: InstructionTable, loads: _Loads) -> _Loads:
    """Without those that load what the register holds.

    A stream may run round after round. Before the first one a register holds 0, before the others what the stream
    leaves in it: a 0 at the start needs no load only if the register ends as 0, too.
    """
    key = table.core[loads.row].astype(np.int64) * REGISTER_COUNT + loads.register
    order = np.argsort(key, kind="stable")
    value, starts = loads.value[order], np.diff(key[order], prepend=-1) != 0
    held = np.roll(value, 1)
    last = value[np.append(starts[1:], True)[: len(value)]]
    held[starts] = np.where((value[starts] == 0) & (last == 0), 0, -1 - value[starts])
    kept = np.sort(order[value != held])
    return _Loads(loads.row[kept], loads.register[kept], loads.value[kept])


def _with_global(table: InstructionTable, local: npt.NDArray[np.uint8], high: int) -> npt.NDArray[np.uint8]:
    """The registers of all operands: those of global addresses are put into ``local``."""
    local[table.op == Op.LD, REGISTER_COLUMNS.index("rs1")] = high
    local[table.op == Op.ST, REGISTER_COLUMNS.index("rd")] = high
    return local


def _interleaved(
    table: InstructionTable, first: Columns, plan: AddressPlan, registers: npt.NDArray[np.uint8], loads: list[_Loads]
) -> Allocated:
    starts = np.ones(len(table), np.bool_)
    starts[1:] = table.core[1:] != table.core[:-1]
    row = np.concatenate([one.row for one in loads])
    order = np.argsort(row, kind="stable")
    before = len(first) * starts + np.bincount(row, minlength=len(table))
    position = np.cumsum(before + 1) - 1
    total = int(position[-1]) + 1 if len(table) else 0

    out: dict[str, npt.NDArray[Any]] = {name: np.zeros(total, dtype) for name, dtype in COLUMN_TYPES.items()}
    begin = (position - before)[starts]
    for name, column in first.items():
        for offset in range(len(first)):
            out[name][begin + offset] = column[offset]
    row = row[order]
    nth = np.arange(len(row)) - np.searchsorted(row, row)
    slot = position[row] - before[row] + len(first) * starts[row] + nth
    out["op"][slot] = Op.SLDI
    out["rd"][slot] = np.concatenate([one.register for one in loads])[order]
    out["a"][slot] = np.concatenate([one.value for one in loads])[order]

    out["op"][position] = table.op
    for name, column in zip(REGISTER_COLUMNS, registers.T, strict=True):
        out[name][position] = column
    out["a"][position], out["b"][position] = table.a, table.b
    out["c"][position], out["select"][position] = plan.offset, plan.select
    before += 1
    return Allocated(Columns.from_arrays(out), np.repeat(table.core, before), np.repeat(table.node, before))
