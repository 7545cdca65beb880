"""What the loop works on: events in flat columns, lists if it is interpreted, and arrays if it is compiled."""

from __future__ import annotations

from typing import NamedTuple

from ...support.kernel_columns import Numbers

ABSENT = -1
"""For none, and the time of a row that nobody has brought."""


class Facts(NamedTuple):
    """Numbers of the table."""

    mask: int
    """One less than the slots of the table, a power of two, and more than twice as many as rows are brought."""
    port: int
    """The number, among cores, of the port of global memory; `ABSENT` for none."""


class Code(NamedTuple):
    """Events in their order."""

    first: Numbers
    """Of each event: its first one in `needed`."""
    needs: Numbers
    """How many rows it needs."""
    core: Numbers
    partner: Numbers
    """`ABSENT` for none."""
    cycles: Numbers
    partner_cycles: Numbers
    network_cycles: Numbers
    made: Numbers
    """The row that it brings to a core, as one number; `ABSENT` for none."""
    needed: Numbers
    """Of all events: rows on cores, as numbers."""


class State(NamedTuple):
    """What becomes of cores and rows."""

    free: Numbers
    """Of each core: the cycle at which it goes on."""
    through: Numbers
    """Of each core: when the network has taken what it has sent or received last."""
    held: Numbers
    """Of each slot of the table: a row on a core, or `ABSENT`. Interpreted it is empty."""
    since: Numbers
    """Of each slot: the cycle at which that row is there. Interpreted it is a dictionary by row."""
    gap_begin: Numbers
    """Of each time at which the port has nothing to do, before the last load that it serves; ascending."""
    gap_end: Numbers
    gaps: Numbers
    """[1] how many there are."""
