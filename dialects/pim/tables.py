"""Checks of the tables that ops of the `pim` dialect have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.utils.exceptions import VerifyException

from ..tile import ArrayAttr
from ..verification import numbers_fit, verify_numbers


def check_table(table: ArrayAttr, columns: Sequence[str], rows: int) -> None:
    if len(table.shape) != 2 or table.shape[1] != len(columns) or table.dtype != np.dtype("<i8"):
        raise VerifyException(f"a table i64[N, {len(columns)}] of {', '.join(columns)} expected")
    if table.has_data and table.size:
        if not numbers_fit(table):
            if (negative := (table.array < 0).any(axis=0)).any():
                raise VerifyException(f"a {columns[int(negative.argmax())]} in the table is negative")
            verify_numbers("a number of the table", table)
        if (last := int(table.array[:, 0].max())) >= rows:
            raise VerifyException(f"the table names row {last} of {rows}")


def check_addresses(table: ArrayAttr | None, columns: Sequence[str], keys: int = 1) -> None:
    """Of what `pim-plan-memory` adds: lines in order of their first ``keys`` columns, each once, since what stands
    there twice would be written or loaded twice."""
    if table is None:
        return
    if table.shape[1:] != (len(columns),) or table.dtype.kind not in "iu":
        raise VerifyException(f"a table of {', '.join(columns)} expected, not {table.tensor_type}")
    if table.has_data and len(table.array) > 1:
        later = table.array[1:, 0] > table.array[:-1, 0]
        for key in range(1, keys):
            same = (table.array[1:, :key] == table.array[:-1, :key]).all(axis=1)
            later |= same & (table.array[1:, key] > table.array[:-1, key])
        if not later.all():
            raise VerifyException(f"the table is not in order of {' and '.join(columns[:keys])}, each once")
