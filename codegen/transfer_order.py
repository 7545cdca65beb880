"""Where in the work of its core each message and each access to global memory has its place."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ..support.arrays import Ints
from .columns import Program
from .isa import Op


class Transfers(NamedTuple):
    """Columns of transfers, of each once for each core that takes part."""

    op: Ints
    core: Ints
    before: Ints
    """Cycles that its core has worked before it, but for messages."""
    size: Ints
    """Bytes."""
    partner: Ints
    """The other core of a message, or 0."""


def order_digest(transfers: Sequence[Transfers]) -> str:
    """Stands for the places of all of them, in whatever order they are given."""
    columns = np.concatenate([np.zeros((0, 5), np.int64), *(np.stack(one, axis=1) for one in transfers)])
    return blake2b(columns[np.lexsort(columns.T)].tobytes(), digest_size=8).hexdigest()


def stream_order(program: Program, cycles: Ints) -> str:
    """The digest of a finished program, whose instruction ``k`` takes ``cycles[k]``."""
    columns, core = program.columns, program.core_of_rows().astype(np.int64)
    meets = np.isin(columns.op, (Op.SEND, Op.RECV))
    done = np.append(0, np.cumsum(np.where(meets, 0, cycles)))
    rows = np.flatnonzero(meets | np.isin(columns.op, (Op.LD, Op.ST)))
    at = core[rows]
    before = done[rows] - done[program.core_start[at]]
    partner = np.where(meets[rows], columns.b[rows], 0)
    found = Transfers(columns.op[rows].astype(np.int64), at, before, columns.a[rows].astype(np.int64), partner)
    return order_digest([found])
