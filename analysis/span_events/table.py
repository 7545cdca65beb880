"""When rows are there, in a table of slots: a row stands in the first free one from its own on."""

from __future__ import annotations

from .layout import ABSENT, Facts, State


def slot_of(facts: Facts, state: State, row: int) -> int:
    """The slot of the row, or the free one where it would stand. The factor, near the golden part of 32 bits, spreads
    numbers that follow one another."""
    slot = ((row * 2654435761) >> 15) & facts.mask
    while state.held[slot] != row and state.held[slot] != ABSENT:
        slot = (slot + 1) & facts.mask
    return slot


def bring(facts: Facts, state: State, row: int, time: int) -> None:
    """The row is there from now on."""
    slot = slot_of(facts, state, row)
    state.held[slot] = row
    state.since[slot] = time


def time_of(facts: Facts, state: State, row: int) -> int:
    """Since when the row is there; `ABSENT` if it is not."""
    slot = slot_of(facts, state, row)
    if state.held[slot] == ABSENT:
        return ABSENT
    return state.since[slot]
