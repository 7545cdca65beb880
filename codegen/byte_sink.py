"""Anything that bytes can be written to: an open file, a hashing file, a buffer."""

from __future__ import annotations

from typing import Protocol


class ByteSink(Protocol):
    """The one method of a file that our writers use."""

    def write(self, data: bytes, /) -> int:
        """Writes all of ``data``."""
        ...


class FileSink(ByteSink, Protocol):
    """What ``zipfile`` asks of a file besides."""

    def flush(self) -> None:
        """Hands on what is buffered."""
        ...

    def close(self) -> None:
        """Ends writing."""
        ...
