"""Errors that point into a text: one line of it, with a caret below."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .diagnostics import TileError

_EXCERPT_WIDTH = 120


class SourceError(TileError):
    """A :class:`TileError` about the text ``source``, between the offsets ``start`` and ``end``.

    ``name`` is what the text is called: a file, or an option of the command line. ``line`` counts from 1.
    """

    def __init__(self, name: str, source: str, start: int, end: int, what: str, remedy: str = "") -> None:
        start = min(max(start, 0), len(source))
        begin_of_line = source.rfind("\n", 0, start) + 1
        end_of_line = source.find("\n", start)
        end_of_line = len(source) if end_of_line < 0 else end_of_line
        self.line = source.count("\n", 0, begin_of_line) + 1
        self.column = start - begin_of_line + 1
        self.excerpt = _excerpt(source[begin_of_line:end_of_line], self.column - 1, max(end - start, 1))
        super().__init__(f"{name}:{self.line}:{self.column}", what, remedy)

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.excerpt}"


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """`did you mean 'x'?`, or nothing if no candidate is near."""
    near = get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else ""


def choices(names: Iterable[str]) -> str:
    """The names, quoted, as a list for a message."""
    return ", ".join(f"'{name}'" for name in names)


def _excerpt(line: str, column: int, width: int) -> str:
    """``line`` (a window of it, if it is long) and below it carets under ``width`` characters from ``column`` on."""
    begin = max(0, column - _EXCERPT_WIDTH // 2) if len(line) > _EXCERPT_WIDTH else 0
    window = line[begin : begin + _EXCERPT_WIDTH]
    # Tabs stay tabs, so that the caret lands below its character in every terminal.
    indent = "".join("\t" if character == "\t" else " " for character in window[: column - begin])
    carets = "^" * max(1, min(width, len(window) - len(indent)))
    return f"  {window.rstrip()}\n  {indent}{carets}"
