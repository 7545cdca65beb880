"""The table of :mod:`.table` for the interpreted loop: a dictionary."""

from __future__ import annotations

from typing import cast

from .layout import ABSENT, Facts, State


def bring(_: Facts, state: State, row: int, time: int) -> None:
    """As :func:`.table.bring`."""
    state.since[row] = time


def time_of(_: Facts, state: State, row: int) -> int:
    """As :func:`.table.time_of`."""
    return cast("dict[int, int]", state.since).get(row, ABSENT)
