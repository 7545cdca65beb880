"""The columns that a kernel works on (:mod:`.machine_code`): arrays for machine code, lists for the interpreter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Numbers = list[int]
"""A list, or an array for the compiled loop."""

Column = list[int]
"""The same, passed by itself: `llvm_text` knows parameters of this type by its name."""


def as_array(column: Any) -> Any:
    """A column of whole numbers for machine code: contiguous, 64 bits. Is ``column`` itself if that is so already."""
    return np.ascontiguousarray(column, np.int64)


def as_arrays(columns: Iterable[Any]) -> list[Any]:
    """The columns for machine code."""
    return [np.ascontiguousarray(column, np.int64) for column in columns]


def as_lists(columns: Iterable[Any]) -> list[Any]:
    """The columns, which are arrays, for the interpreter: Python indexes lists several times as fast."""
    return [column.tolist() for column in columns]
