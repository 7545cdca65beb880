"""The critical path of a finished program: every core executes its stream in order, and messages make cores wait."""

from __future__ import annotations

import numpy as np

from ..support.arrays import Ints
from .columns import Program
from .isa import Op
from .rendezvous import Rendezvous, rendezvous


def stream_path(program: Program, cycles: Ints, met: Rendezvous | None = None) -> int | None:
    """Cycles until all cores are done, when instruction ``k`` takes ``cycles[k]`` once it begins.

    A message begins when both its cores have come to it. What cores share beside messages (global memory, the network)
    is free at once, which makes the clock's time longer; and a request flies while its receiver is busy, which makes it
    shorter, or a little longer where the receiver came first. None if the program does not finish, or uses events. The
    loop is over messages only. ``met`` is the program's :func:`rendezvous`, if that is known.
    """
    if np.isin(program.columns.op, (Op.SYNC, Op.WAIT)).any():
        return None
    met = rendezvous(program) if met is None else met
    if met.blocked:
        return None
    before = np.append(0, np.cumsum(cycles))
    send, receive = (np.array(rows, np.int64) for rows in (met.first, met.second))
    core = program.core_of_rows()
    ends = before[program.core_start]
    late = (-ends[:-1]).tolist()
    """Of each core, when its next instruction begins, less the cycles of all instructions before it in the columns."""
    columns = (core[send], core[receive], before[send], before[receive])
    for source, target, at_source, at_target in zip(*(column.tolist() for column in columns), strict=True):
        start, other = at_source + late[source], at_target + late[target]
        if other > start:
            start = other
        late[source], late[target] = start - at_source, start - at_target
    return int((ends[1:] + np.array(late, np.int64)).max(initial=0))
