"""Which core reads which row: the loop of :mod:`.row_uses`, to be compiled."""

from __future__ import annotations

from typing import NamedTuple

from ..support.heap import heap_pop, heap_push
from ..support.kernel_columns import Numbers


class Facts(NamedTuple):
    """Nothing is the same for all rows."""


class Code(NamedTuple):
    """Who reads."""

    row_first: Numbers
    """Of each row, and one more: where its readers begin in"""
    reader: Numbers
    """the lanes that read a row, most urgent first."""
    core: Numbers
    """Of each lane."""


class State(NamedTuple):
    """What the loop finds; see :class:`.row_uses.RowUses`."""

    first: Numbers
    use_core: Numbers
    use_row: Numbers
    start: Numbers
    readers: Numbers
    by_urgency: Numbers

    heap: Numbers
    """[cores] those that read a row."""
    counted: Numbers
    """[cores] lanes there that read the row,"""
    next_reader: Numbers
    """and where the next of them goes in `readers`."""
    use: Numbers
    """[cores] the use."""


def run(code: Code, state: State, rows: int) -> int:
    """Fills in the uses of all rows; returns how many there are."""
    uses = 0
    for row in range(rows):
        state.first[row] = uses
        cores = count_readers(code, state, row)
        for number in range(cores):
            core = heap_pop(state.heap, 0, cores - number)
            state.use_core[uses + number], state.use_row[uses + number] = core, row
            state.use[core], state.next_reader[core] = uses + number, state.start[uses + number]
            state.start[uses + number + 1] = state.start[uses + number] + state.counted[core]
        share_out(code, state, row, uses)
        uses += cores
    state.first[rows] = uses
    return uses


def count_readers(code: Code, state: State, row: int) -> int:
    """How many cores read a row: they are in the heap, and the lanes of each are counted."""
    cores = 0
    for read in range(code.row_first[row], code.row_first[row + 1]):
        core = code.core[code.reader[read]]
        if state.counted[core] == 0:
            heap_push(state.heap, 0, cores, core)
            cores += 1
        state.counted[core] += 1
    return cores


def share_out(code: Code, state: State, row: int, uses: int) -> None:
    """Puts the readers of a row, whose uses begin at ``uses``, to those of their cores."""
    known = 0
    for read in range(code.row_first[row], code.row_first[row + 1]):
        lane = code.reader[read]
        core = code.core[lane]
        if state.counted[core] > 0:  # the most urgent one there
            state.by_urgency[uses + known] = state.use[core]
            state.counted[core] = 0
            known += 1
        state.readers[state.next_reader[core]] = lane
        state.next_reader[core] += 1
