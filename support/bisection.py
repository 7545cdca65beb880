"""Bisection in a part of a column, for kernels. Interpreted, the standard library's is quicker."""

from __future__ import annotations

from .kernel_columns import Column


def first_not_below(column: Column, low: int, high: int, number: int) -> int:
    """The first place from ``low`` on whose entry is ``number`` or more; ``high`` if none before is. They ascend."""
    while low < high:
        middle = (low + high) >> 1
        if column[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low
