"""The buffers of a core as columns, and the addresses that they are given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints


@dataclass(frozen=True, eq=False)
class Buffers:
    """The n buffers of a core, as columns."""

    size: Ints
    """[n] bytes; 0 is allowed and takes no room."""
    first: Ints
    """[n] first step at which the buffer holds something."""
    last: Ints
    """[n] last such step, inclusive."""
    alignment: Ints
    """[n] bytes of which the address must be a multiple."""
    group: Ints
    """[n] buffers of one non-negative group start at one address and may overlap each other; -1 stands alone."""

    @classmethod
    def build(
        cls,
        size: npt.ArrayLike,
        first: npt.ArrayLike,
        last: npt.ArrayLike,
        alignment: npt.ArrayLike = 1,
        group: npt.ArrayLike = -1,
    ) -> Buffers:
        """Makes the columns; ``alignment`` and ``group`` may be one number for all. Raises ValueError on nonsense."""
        sizes = np.asarray(size, dtype=np.int64)
        columns = (np.asarray(column, dtype=np.int64) for column in (first, last, alignment, group))
        buffers = cls(sizes, *(np.broadcast_to(column, sizes.shape) for column in columns))
        for fault, bad in (
            ("a negative size", buffers.size < 0),
            ("a last step before its first", buffers.last < buffers.first),
            ("an alignment below 1", buffers.alignment < 1),
        ):
            if bad.any():
                raise ValueError(f"buffer {int(bad.argmax())} has {fault}")
        return buffers

    def __len__(self) -> int:
        return self.size.shape[0]

    def content(self) -> bytes:
        """The columns as bytes: equal for equal planning problems."""
        return b"".join(column.tobytes() for column in (self.size, self.first, self.last, self.alignment, self.group))


@dataclass(frozen=True, eq=False)
class MemoryPlan:
    """Addresses of n buffers."""

    address: Ints
    """[n] bytes from the start of the memory."""
    peak: int
    """Bytes from address 0 to the end of the highest buffer."""
    lower_bound: int
    """Bytes that no plan can do with less than."""
    peak_step: int
    """Step that the peak is due to: of the steps of the highest buffer's life the one with most bytes live."""


def holders_at(buffers: Buffers, step: int) -> list[tuple[int, int]]:
    """(buffer, bytes) of all that live at ``step``, largest first; of a colocated set only the largest counts."""
    live = np.flatnonzero((buffers.first <= step) & (step <= buffers.last) & (buffers.size > 0))
    live = live[np.lexsort((live, -buffers.size[live]))]
    seen: set[int] = set()
    holders: list[tuple[int, int]] = []
    for buffer, group in zip(live.tolist(), buffers.group[live].tolist(), strict=True):
        if group < 0 or group not in seen:
            holders.append((buffer, int(buffers.size[buffer])))
            seen.add(group)
    return holders


def live_bytes(buffers: Buffers) -> tuple[Ints, Ints]:
    """(steps, bytes): from ``steps[i]`` until before ``steps[i + 1]``, ``bytes[i]`` are live. Groups are not merged."""
    steps, where = np.unique(np.concatenate((buffers.first, buffers.last + 1)), return_inverse=True)
    change = np.zeros(len(steps), dtype=np.int64)
    np.add.at(change, where.reshape(-1), np.concatenate((buffers.size, -buffers.size)))
    return steps, np.cumsum(change)
