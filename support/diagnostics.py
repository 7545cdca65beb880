"""Errors that a user can cause and correct.

Two kinds of error exist. A *user* error (a bad file, an unsupported model, a machine that is too small) is a
:class:`TileError`; the tools print it on stderr and exit with code 1. A *compiler* error is an ``assert``.
"""

from __future__ import annotations

from collections.abc import Iterable


class TileError(Exception):
    """One user-facing error: ``error: <where>: <what, with quantities>; <remedy>``.

    ``where`` names the file, node, pass or option; ``what`` states the fact with its quantities; ``remedy`` (may be
    empty) says what to change. Names in models may have line breaks and worse in them, which are escaped.
    """

    def __init__(self, where: str, what: str, remedy: str = "") -> None:
        self.where = printable(where)
        self.what = printable(what)
        self.remedy = printable(remedy)
        super().__init__(str(self))

    def __str__(self) -> str:
        tail = f"; {self.remedy}" if self.remedy else ""
        return f"error: {self.where}: {self.what}{tail}"


class TileErrors(TileError):
    """Several user errors found in one sweep, reported together, in the order in which they were found."""

    def __init__(self, errors: Iterable[TileError]) -> None:
        self.errors = tuple(errors)
        assert self.errors, "an empty list of errors is no error"
        first = self.errors[0]
        super().__init__(first.where, first.what, first.remedy)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


def printable(text: str) -> str:
    """The text on one line, with escapes for what cannot be printed."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def system_reason(error: OSError) -> str:
    """What the system says about a file, as a part of a message."""
    return (error.strerror or str(error)).lower()
