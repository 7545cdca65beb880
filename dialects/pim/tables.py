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


def check_addresses(table: ArrayAttr | None, columns: Sequence[str]) -> None:
    """Of what `pim-plan-memory` adds."""
    if table is not None and (table.shape[1:] != (len(columns),) or table.dtype.kind not in "iu"):
        raise VerifyException(f"a table of {', '.join(columns)} expected, not {table.tensor_type}")
