"""On which cores rows are read, when each lane has a core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..support import heap
from ..support.arrays import Ints
from ..support.kernel_columns import as_array
from ..support.machine_code import Kernel, can_compile
from . import use_kernel
from .lane_graph import WORTH_COMPILING, LaneGraph

USES = Kernel("uses", (heap, use_kernel), use_kernel)


@dataclass(frozen=True, eq=False)
class RowUses:
    """The uses of rows on cores: m of them, by row, then core."""

    first: Ints
    """[n + 1] the first use of each row."""
    core: Ints
    """[m] where the row is read."""
    row: Ints
    """[m]"""
    start: Ints
    """[m + 1] the first of each use's readers in"""
    readers: Ints
    """lanes that read the row there, most urgent first."""
    by_urgency: Ints
    """[m] the uses of each row, that of the most urgent reader first."""


def row_uses(graph: LaneGraph, core: Ints) -> RowUses:
    """The uses of rows when each lane is on its ``core`` [n]."""
    found = _compiled if len(core) >= WORTH_COMPILING and can_compile() else _vectorized
    return found(graph, core)


def _vectorized(graph: LaneGraph, core: Ints) -> RowUses:
    """By sorting all reads."""
    urgent = graph.by_urgency
    here = core[urgent]
    order = np.argsort(graph.row * (int(core.max(initial=0)) + 1) + here, kind="stable")
    row, at, lanes = graph.row[order], here[order], urgent[order]
    begins = np.ones(len(row), np.bool_)
    begins[1:] = (row[1:] != row[:-1]) | (at[1:] != at[:-1])
    start = np.flatnonzero(begins)
    first = np.searchsorted(row[start], np.arange(len(core) + 1))
    place = graph.place[lanes[start]]
    by_urgency = np.argsort(row[start] * len(core) + place, kind="stable")
    return RowUses(first, at[start], row[start], np.append(start, len(row)), lanes, by_urgency)


def _compiled(graph: LaneGraph, core: Ints) -> RowUses:
    """The same, as machine code, row by row."""
    reads, lanes, cores = len(graph.row), len(core), int(core.max(initial=0)) + 1
    lengths = (lanes + 1, reads, reads, reads + 1, reads, reads, cores, cores, cores, cores)
    columns = np.split(np.zeros(sum(lengths), np.int64), np.cumsum(lengths[:-1]))
    code = graph.row_first, graph.by_urgency, as_array(core)
    uses = USES.run(use_kernel.Facts(), code, columns, lanes)
    first, use_core, use_row, start, readers, by_urgency = columns[:6]
    return RowUses(first, use_core[:uses], use_row[:uses], start[: uses + 1], readers, by_urgency[:uses])
