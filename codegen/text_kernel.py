"""Rows of numbers as text, row by row: the loop of :mod:`.row_text` that is compiled for many rows."""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers

ZERO = 48
MINUS = 45
BASE = 10


class Facts(NamedTuple):
    """How many rows there are."""

    rows: int


class Code(NamedTuple):
    """Templates, piece after piece, and what they are filled with."""

    kind: Numbers
    """Of each row: its template."""
    first: Numbers
    """Of each template, and of one more: its first piece."""
    column: Numbers
    """Of each piece: the column whose number stands there, or -1 for a literal."""
    begin: Numbers
    """Of each piece that is a literal: where it begins."""
    end: Numbers
    literal_u8: Numbers
    number: Numbers
    """All columns one after another."""


class State(NamedTuple):
    """What is written."""

    text_u8: Numbers
    """With room for the longest rows."""
    row_end: Numbers
    """Of each row: where its text ends."""


def run(facts: Facts, code: Code, state: State, rows: int) -> int:
    """Fills `text` and `row_end`; the length of the text."""
    at = 0
    for row in range(rows):
        piece = code.first[code.kind[row]]
        last = code.first[code.kind[row] + 1]
        while piece < last:
            column = code.column[piece]
            if column < 0:
                at = literal(code, state, piece, at)
            else:
                at = number(state, code.number[column * facts.rows + row], at)
            piece += 1
        state.row_end[row] = at
    return at


def literal(code: Code, state: State, piece: int, at: int) -> int:
    """Writes a literal at ``at``; where it ends."""
    place = code.begin[piece]
    end = code.end[piece]
    while place < end:
        state.text_u8[at] = code.literal_u8[place]
        at += 1
        place += 1
    return at


def number(state: State, value: int, at: int) -> int:
    """Writes a number in decimal; where it ends."""
    rest = value
    if value < 0:
        rest = -value
        state.text_u8[at] = MINUS
        at += 1
    end = at + 1
    above = rest
    while above >= BASE:
        above = above // BASE
        end += 1
    place = end
    while place > at:
        place -= 1
        above = rest // BASE
        state.text_u8[place] = ZERO + rest - above * BASE
        rest = above
    return end
