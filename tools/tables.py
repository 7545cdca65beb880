"""Tables for people, in plain text."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from ..support.diagnostics import printable


def text_table(rows: Sequence[Sequence[str]], headers: Sequence[str], left: Sequence[int] = (0,)) -> str:
    """The rows under their headers, numbers to the right; columns with a number in ``left`` to the left."""
    align = ["left" if column in left else "right" for column in range(len(headers))]
    shown = [[printable(cell) for cell in row] for row in rows]  # names may have line breaks in them
    lines = tabulate(shown, headers, tablefmt="simple", colalign=align, disable_numparse=True).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)
