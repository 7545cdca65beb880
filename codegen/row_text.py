"""Rows of numbers as text, in bulk: each kind of row has a template.

A template is a list of pieces: bytes that stand as they are, and names of columns whose numbers are written in decimal.
Machine code writes many rows one after another, if llvmlite is installed (:mod:`.text_kernel`). Otherwise numpy fills
in the numbers of all rows at once: each row is a line of one byte matrix, whose unused places hold NUL and are dropped
at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from ..support.machine_code import Kernel, can_compile
from . import text_kernel
from .text_kernel import Facts

U8 = npt.NDArray[np.uint8]
Piece = bytes | str
"""Literal bytes, or the name of a column."""
Template = Sequence[Piece]
Numbers = Mapping[str, npt.NDArray[np.integer]]

WORTH_COMPILING = 5_000
"""Rows from which on machine code is quicker, if it has been loaded already."""

TEXT = Kernel("text", (text_kernel,), text_kernel)

_GROUP = 4
_BASE = 10**_GROUP
_ABSENT = 2 * _BASE


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


def rows_as_text(
    kinds: npt.NDArray[np.integer], numbers: Numbers, templates: Mapping[int, Template], cuts: Sequence[int] = ()
) -> list[bytes]:
    """The text of all rows, one after another, cut before the rows ``cuts``. ``kinds`` says which template each has."""
    present = np.flatnonzero(np.bincount(kinds)).tolist()
    widths = {name: _number_width(column) for name, column in numbers.items()}
    width = max((_width(templates[kind], widths) for kind in present), default=0)
    if len(kinds) >= WORTH_COMPILING and can_compile():
        return _written(kinds, numbers, templates, cuts, width)
    return _filled(kinds, numbers, templates, cuts, widths, width)


def _written(
    kinds: npt.NDArray[np.integer],
    numbers: Numbers,
    templates: Mapping[int, Template],
    cuts: Sequence[int],
    width: int,
) -> list[bytes]:
    """By machine code, row by row. No row is longer than ``width``."""
    names = {name: place for place, name in enumerate(numbers)}
    listed = [templates.get(kind, ()) for kind in range(max(templates) + 1)]
    pieces = [piece for template in listed for piece in template]
    literals = [piece if isinstance(piece, bytes) else b"" for piece in pieces]
    ends = list(accumulate(map(len, literals)))
    code = (
        *(np.array(values, np.int64) for values in (kinds, [0, *accumulate(map(len, listed))])),
        np.array([-1 if isinstance(piece, bytes) else names[piece] for piece in pieces], np.int64),
        *(np.array(values, np.int64) for values in ([0, *ends[:-1]], ends)),
        np.frombuffer(b"".join(literals), np.uint8),
        np.concatenate([column.astype(np.int64) for column in numbers.values()]),
    )
    text, row_end = np.empty(len(kinds) * width, np.uint8), np.empty(len(kinds), np.int64)
    end = TEXT.run(Facts(len(kinds)), code, (text, row_end), len(kinds))
    bounds = [0, *(int(row_end[cut - 1]) if cut else 0 for cut in cuts), end]
    return [text[begin:stop].tobytes() for begin, stop in pairwise(bounds)]


def _filled(
    kinds: npt.NDArray[np.integer],
    numbers: Numbers,
    templates: Mapping[int, Template],
    cuts: Sequence[int],
    widths: Mapping[str, int],
    width: int,
) -> list[bytes]:
    """By numpy, kind by kind, in places that are ``width`` wide."""
    text = np.zeros((len(kinds), width), np.uint8)
    for kind in np.unique(kinds).tolist():
        rows = np.flatnonzero(kinds == kind)
        text[rows] = _fill(rows, numbers, widths, templates[kind], width)
    return [part.tobytes().translate(None, b"\0") for part in np.split(text, cuts)]


def _width(template: Template, widths: Mapping[str, int]) -> int:
    return sum(len(piece) if isinstance(piece, bytes) else widths[piece] for piece in template)


def _number_width(column: npt.NDArray[np.integer]) -> int:
    """Places for the longest number, with its sign."""
    return max(len(str(int(extreme))) for extreme in (column.min(initial=0), column.max(initial=0)))


def _fill(
    rows: npt.NDArray[np.intp], numbers: Numbers, widths: Mapping[str, int], template: Template, width: int
) -> U8:
    """The rows of one template."""
    text = np.zeros((len(rows), width), np.uint8)
    at = 0
    for piece in template:
        end = at + (len(piece) if isinstance(piece, bytes) else widths[piece])
        if isinstance(piece, bytes):
            text[:, at:end] = np.frombuffer(piece, np.uint8)
        else:
            _write_numbers(text[:, at:end], numbers[piece][rows])
        at = end
    return text


def _write_numbers(text: U8, values: npt.NDArray[np.integer]) -> None:
    """Writes one number a row, right-aligned. All have room."""
    right = text.shape[1]
    if (values == values[0]).all():
        literal = b"%d" % int(values[0])
        text[:, right - len(literal) :] = np.frombuffer(literal, np.uint8)
        return
    negative = values < 0
    signed = bool(negative.any())
    rest = np.abs(values.astype(np.int64)).astype(np.uint32)
    is_first = True
    while right > 0:
        left = max(right - _GROUP, 0)
        above = rest // _BASE
        index = rest - above * _BASE + np.where(above > 0, _BASE, 0)
        if not is_first:
            index = np.where(rest > 0, index, _ABSENT)
        text[:, left:right] = _DIGITS[index, _GROUP - (right - left) :]
        rest, right, is_first = above, left, False
        if not rest.any():
            break
    if signed:  # a negative number has a place more than digits, and what is unused between goes
        text[negative, 0] = ord("-")
