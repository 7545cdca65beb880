"""Which input rows a lane reads: the affine access map from a lane index to rows of an operand.

A distributed tensor is a stack of rows, ``rows x columns x channels``; the rows of the images of a mini-batch follow
one another. Lane ``(n, y)`` of a batch, that is lane ``n * lanes + y``, reads ``rows`` input rows of image ``n``: row
``k`` of its window is image row ``y * stride - pad_top + k * dilation``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

OUTSIDE = -1
"""Stands for a window row that lies outside the image and reads as zeros."""

LARGEST_FIELD = 1 << 31
"""No field of a window is larger, so that no sum of products of them leaves 64 bits."""

EDGES = ("zero", "clamp")


@dataclass(frozen=True)
class RowWindow:
    """An access map. All extents are in rows, except the column paddings, which are in columns."""

    height: int
    """Rows of one image of the operand."""
    lanes: int
    """Lanes per image."""
    rows: int = 1
    """Rows that one lane reads."""
    stride: int = 1
    dilation: int = 1
    pad_top: int = 0
    """Rows of zeros above the image; negative if the first window starts inside it."""
    pad_left: int = 0
    pad_right: int = 0
    edge: str = "zero"
    """What a row outside the image reads as: zeros, or the nearest row of the image (`clamp`)."""

    def rows_of(self, lanes: Rows) -> Rows:
        """The operand rows that each lane reads, shape ``[len(lanes), rows]``; OUTSIDE where a zero row is read."""
        image, y = np.divmod(lanes.astype(np.int64), self.lanes)
        row = (y * self.stride - self.pad_top)[:, None] + np.arange(self.rows, dtype=np.int64) * self.dilation
        inside = (row >= 0) & (row < self.height)
        absolute = image[:, None] * self.height + np.clip(row, 0, self.height - 1)
        return absolute if self.edge == "clamp" else np.where(inside, absolute, OUTSIDE)

    @property
    def reads_whole_image(self) -> bool:
        """Whether one lane needs every row of its image, so that it can start only when the last one is there."""
        return self.lanes == 1 and self.rows >= self.height

    def problems(self) -> list[str]:
        """What makes this access map meaningless; empty if nothing does."""
        found = [
            f"{field.name} is {value}, at least {least} expected"
            for field in fields(self)
            if field.name not in ("edge", "pad_top")
            for least in (1 if field.name in ("height", "lanes", "rows", "dilation") else 0,)
            if (value := getattr(self, field.name)) < least
        ]
        found += [
            f"{field.name} is {value}, at most {LARGEST_FIELD} expected"
            for field in fields(self)
            if field.name != "edge" and abs(value := getattr(self, field.name)) > LARGEST_FIELD
        ]
        if self.edge not in EDGES:
            found.append(f"edge is {self.edge!r}, one of {', '.join(EDGES)} expected")
        if self.edge == "clamp" and (self.pad_left or self.pad_right):
            found.append("a clamped window has no column padding")
        return found


@lru_cache(maxsize=1024)
def window_rows(window: RowWindow, lanes: int) -> Rows:
    """:meth:`RowWindow.rows_of` all lanes of a batch, ``[lanes, rows]``; read-only, since it is kept."""
    rows = window.rows_of(np.arange(lanes))
    rows.flags.writeable = False
    return rows
