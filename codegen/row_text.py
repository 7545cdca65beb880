"""Instructions as text, in bulk: each opcode has a template, and numpy fills in the numbers of many rows at once.

A template is a list of pieces: bytes that stand as they are, and names of columns whose numbers are written in decimal.
Rows are laid out side by side in one byte matrix, unused places hold NUL, and one compression at the end drops those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .columns import Columns

U8 = npt.NDArray[np.uint8]
Piece = bytes | str
"""Literal bytes, or the name of a column."""
Template = Sequence[Piece]

_GROUP = 4
_BASE = 10**_GROUP
_ABSENT = 2 * _BASE
_NUMBER_WIDTH = {"op": 3, "rd": 3, "rs1": 3, "rs2": 3, "a": 11, "b": 11, "c": 11}
"""The longest text of a column's number, sign included."""


def _digit_table() -> U8:
    """Text of a group of four digits. Row n: n without leading zeros; row 10000 + n: with them; row 20000: nothing."""
    table = np.zeros((2 * _BASE + 1, _GROUP), np.uint8)
    numbers = np.arange(_BASE)
    for place in range(_GROUP):
        power = 10 ** (_GROUP - 1 - place)
        digit = numbers // power % 10 + ord("0")
        table[_BASE : 2 * _BASE, place] = digit
        table[:_BASE, place] = np.where((numbers >= power) | (power == 1), digit, 0)
    return table


_DIGITS = _digit_table()


def rows_as_text(columns: Columns, templates: Mapping[int, Template]) -> bytes:
    """The text of all instructions, one after another."""
    present = np.unique(columns.op).tolist()
    width = max((_width(templates[code]) for code in present), default=0)
    text = np.zeros((len(columns), width), np.uint8)
    for code in present:
        rows = np.flatnonzero(columns.op == code)
        text[rows] = _fill(columns.take(rows), templates[code], width)
    flat = text.reshape(-1)
    return flat[flat != 0].tobytes()


def _width(template: Template) -> int:
    return sum(len(piece) if isinstance(piece, bytes) else _NUMBER_WIDTH[piece] for piece in template)


def _fill(columns: Columns, template: Template, width: int) -> U8:
    """The rows of one opcode."""
    text = np.zeros((len(columns), width), np.uint8)
    at = 0
    for piece in template:
        if isinstance(piece, bytes):
            text[:, at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        else:
            at += _write_numbers(text[:, at:], getattr(columns, piece), _NUMBER_WIDTH[piece])
    return text


def _write_numbers(text: U8, values: npt.NDArray[np.integer], width: int) -> int:
    """Writes one number a row, right-aligned in ``width`` places; returns ``width``."""
    if len(values) == 0 or (values == values[0]).all():
        literal = b"%d" % int(values[0]) if len(values) else b""
        text[:, width - len(literal) : width] = np.frombuffer(literal, np.uint8)
        return width
    magnitude = np.abs(values.astype(np.int64))
    if width > 3:
        text[:, 0] = np.where(values < 0, ord("-"), 0)
    right = width
    while right > (width > 3):
        left = max(right - _GROUP, int(width > 3))
        rest = magnitude // _BASE
        index = magnitude - rest * _BASE + np.where(rest > 0, _BASE, 0)
        if right < width:
            index = np.where(magnitude > 0, index, _ABSENT)
        text[:, left:right] = _DIGITS[index][:, _GROUP - (right - left) :]
        magnitude, right = rest, left
        if not magnitude.any():
            break
    return width
