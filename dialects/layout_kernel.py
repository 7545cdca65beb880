"""Rows of numbers gathered from columns: the loop of :mod:`.array_layout` that is compiled for large matrices."""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers

STRIP = 16
"""Columns that are copied at once: a cache line (64 bytes) of 4-byte elements of each row that is written, and as many
lines to read from."""


class Facts(NamedTuple):
    """How long rows of the matrix are, and how far apart neighbours in a row of it are in what it is made of."""

    length: int
    step: int


class Code(NamedTuple):
    """What it is made of."""

    row: Numbers
    """The rows of the matrix, in the order in which their first elements lie in `source`."""
    place: Numbers
    """Of each of these rows: where in `source` its first element is."""
    source_i32: Numbers


class State(NamedTuple):
    """What is written: row after row."""

    found_i32: Numbers


def run(facts: Facts, code: Code, state: State, rows: int) -> int:
    """Fills `found`; the number of its elements."""
    length = facts.length
    step = facts.step
    first = 0
    while first < length:
        width = min(STRIP, length - first)
        for number in range(rows):
            at = code.row[number] * length + first
            source = code.place[number] + first * step
            for column in range(width):
                state.found_i32[at + column] = code.source_i32[source]
                source += step
        first += width
    return rows * length
