"""Rows of numbers as text, in bulk: each kind of row has a template, and numpy fills in the numbers of many at once.

A template is a list of pieces: bytes that stand as they are, and names of columns whose numbers are written in decimal.
Rows are laid out side by side in one byte matrix, unused places hold NUL, and one compression at the end drops those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
Piece = bytes | str
"""Literal bytes, or the name of a column."""
Template = Sequence[Piece]
Numbers = Mapping[str, npt.NDArray[np.integer]]

_GROUP = 4
_BASE = 10**_GROUP
_ABSENT = 2 * _BASE
_BYTE_WIDTH, _WORD_WIDTH = 3, 11
"""The longest text of an 8-bit number, and of a 32-bit one with its sign."""


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


def rows_as_text(kinds: npt.NDArray[np.integer], numbers: Numbers, templates: Mapping[int, Template]) -> bytes:
    """The text of all rows, one after another. ``kinds`` says which template each row has."""
    present = np.unique(kinds).tolist()
    width = max((_width(templates[kind], numbers) for kind in present), default=0)
    text = np.zeros((len(kinds), width), np.uint8)
    for kind in present:
        rows = np.flatnonzero(kinds == kind)
        text[rows] = _fill(rows, numbers, templates[kind], width)
    flat = text.reshape(-1)
    return flat[flat != 0].tobytes()


def _width(template: Template, numbers: Numbers) -> int:
    return sum(len(piece) if isinstance(piece, bytes) else _number_width(numbers[piece]) for piece in template)


def _number_width(column: npt.NDArray[np.integer]) -> int:
    return _BYTE_WIDTH if column.dtype.itemsize == 1 else _WORD_WIDTH


def _fill(rows: npt.NDArray[np.intp], numbers: Numbers, template: Template, width: int) -> U8:
    """The rows of one template."""
    text = np.zeros((len(rows), width), np.uint8)
    at = 0
    for piece in template:
        if isinstance(piece, bytes):
            text[:, at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        else:
            column = numbers[piece]
            at += _write_numbers(text[:, at:], column[rows], _number_width(column))
    return text


def _write_numbers(text: U8, values: npt.NDArray[np.integer], width: int) -> int:
    """Writes one number a row, right-aligned in ``width`` places; returns ``width``."""
    if (values == values[0]).all():
        literal = b"%d" % int(values[0])
        text[:, width - len(literal) : width] = np.frombuffer(literal, np.uint8)
        return width
    magnitude = np.abs(values.astype(np.int64))
    if width > _BYTE_WIDTH:
        text[:, 0] = np.where(values < 0, ord("-"), 0)
    right = width
    while right > (width > _BYTE_WIDTH):
        left = max(right - _GROUP, int(width > _BYTE_WIDTH))
        rest = magnitude // _BASE
        index = magnitude - rest * _BASE + np.where(rest > 0, _BASE, 0)
        if right < width:
            index = np.where(magnitude > 0, index, _ABSENT)
        text[:, left:right] = _DIGITS[index][:, _GROUP - (right - left) :]
        magnitude, right = rest, left
        if not magnitude.any():
            break
    return width
