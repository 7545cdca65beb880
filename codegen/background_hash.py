"""A hash of large data, computed by a thread while the caller prepares and writes what follows."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from queue import Queue
from typing import TYPE_CHECKING

from ..support.background import Background

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_MOST_WAITING = 16
"""Pieces that are held because they are not hashed yet."""


class BackgroundHash:
    """A SHA-256 of pieces, in the order in which they are given."""

    def __init__(self) -> None:
        self._pieces: Queue[ReadableBuffer | None] = Queue(_MOST_WAITING)
        self._digest = Background(self._hash)

    def _hash(self) -> str:
        state = hashlib.sha256()
        while (piece := self._pieces.get()) is not None:
            state.update(piece)
        return state.hexdigest()

    def update(self, piece: ReadableBuffer) -> None:
        """Adds a piece, which must not change any more."""
        self._pieces.put(piece)

    def hexdigest(self) -> str:
        """The hash of all pieces. Nothing can be added any more."""
        self.end()
        return self._digest.result()

    def end(self) -> None:
        """Ends the thread when it is done with what it has."""
        self._pieces.put(None)


@contextmanager
def background_hash() -> Generator[BackgroundHash]:
    """A hash whose thread ends with the context."""
    hashing = BackgroundHash()
    try:
        yield hashing
    finally:
        hashing.end()
