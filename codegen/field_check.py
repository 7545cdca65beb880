"""Whether the numbers in the columns are instructions at all: known opcodes, operands within their bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .columns import COLUMN_TYPES, Columns
from .isa import BY_CODE, ISA, mnemonic

_OPERANDS = tuple(name for name in COLUMN_TYPES if name not in ("op", "select"))
_CODES = 256


def _bounds() -> tuple[dict[str, npt.NDArray[np.int64]], dict[str, npt.NDArray[np.int64]]]:
    """Per operand column and opcode, the least and greatest value; 0 and 0 where the opcode does not use the column."""
    least = {name: np.zeros(_CODES, np.int64) for name in _OPERANDS}
    most = {name: np.zeros(_CODES, np.int64) for name in _OPERANDS}
    for op, info in ISA.items():
        for field in info.fields:
            least[field.column][op] = field.least
            most[field.column][op] = field.most
    return least, most


_LEAST, _MOST = _bounds()
_SELECTABLE = np.array([BY_CODE[code].selectable if code in BY_CODE else 0 for code in range(_CODES)], np.uint8)
_KNOWN = np.isin(np.arange(_CODES), list(BY_CODE))


@dataclass(frozen=True)
class FieldFault:
    """One row that is no instruction."""

    row: int
    reason: str


def field_faults(columns: Columns, limit: int = 10) -> list[FieldFault]:
    """The first rows that are no valid instructions, in order, at most ``limit``."""
    bad = ~_KNOWN[columns.op]
    for name in _OPERANDS:
        column = getattr(columns, name)
        wrong = (column < _LEAST[name][columns.op]) | (column > _MOST[name][columns.op])
        bad |= wrong & (columns.select == 0) if name == "c" else wrong
    bad |= (columns.select & ~_SELECTABLE[columns.op]) != 0
    return [FieldFault(int(row), _reason(columns, int(row))) for row in np.flatnonzero(bad)[:limit]]


def _reason(columns: Columns, row: int) -> str:
    code = int(columns.op[row])
    info = BY_CODE.get(code)
    if info is None:
        return f"{mnemonic(code)} does not exist"
    select = int(columns.select[row])
    if select & ~info.selectable:
        return f"{info.mnemonic}: select is {select}, but the offset can be added only to {info.selectable}"
    for name in _OPERANDS:
        value = int(getattr(columns, name)[row])
        least, most = int(_LEAST[name][code]), int(_MOST[name][code])
        if not least <= value <= most:
            field = next((field for field in info.fields if field.column == name), None)
            if field is None:
                return f"{info.mnemonic} has no operand {name}, but {value} stands there"
            return f"{info.mnemonic}: {field.name} is {value}, not from {least} to {most}"
    raise AssertionError(f"row {row} is a valid instruction")
