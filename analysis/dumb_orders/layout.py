"""What the loops work on: lanes in flat columns, lists if they are interpreted, and arrays if they are compiled."""

from __future__ import annotations

from typing import NamedTuple

from ...support.kernel_columns import Numbers

ASKED, DONE = 1, 2


class Facts(NamedTuple):
    """Which order is asked for."""

    on_demand: int
    """1 for that in which rows are asked for, 0 for that in which they come."""
    unread: int
    """How many rows nobody reads."""


class Code(NamedTuple):
    """Lanes. A row has the number of the lane that computes it."""

    core: Numbers
    """Of each lane."""
    cycles: Numbers
    """Of each lane."""
    first: Numbers
    """Of each lane: its first one in `others`, and of one more the end of all."""
    others: Numbers
    """Rows that lanes read, if those are asked for; if not, the lanes that read their rows."""
    unread: Numbers
    """Rows that nobody reads."""


class State(NamedTuple):
    """What becomes of lanes."""

    start: Numbers
    """Of each lane: the cycle at which it begins."""
    missing: Numbers
    """Of each lane: how many of its rows are still to come. On demand: 0 before it is asked for, then `ASKED`, then
    `DONE`."""
    there: Numbers
    """Of each lane: the cycle at which the last of its rows comes."""
    free: Numbers
    """Of each core: the cycle at which it goes on."""
    queue: Numbers
    """A heap of lanes whose rows are there, as `cycle * lanes + lane`; on demand, a stack of lanes that are asked
    for."""
    size: Numbers
    """[1] of the heap."""
