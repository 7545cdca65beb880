"""The streams' files, made on a thread while the program is still being looked at.

Text and compression are two thirds of what it takes to write a package, and need nothing but the finished program. What
they do leaves Python to other threads nearly all the time. So they can begin when there is a program, beside the checks
of its streams, and whoever writes the package takes what is there. The bytes do not depend on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

from .columns import Program

Pieces = Callable[[Program], Iterable[bytes]]
"""A file's content, piece after piece."""


class _Making:
    """One file in the making."""

    def __init__(self, made: Pieces, program: Program) -> None:
        self._content: list[bytes] = []
        self._error: Exception | None = None
        # A compilation that fails does not wait for it.
        self._thread = threading.Thread(target=self._make, args=(made, program), daemon=True)
        self._thread.start()

    def _make(self, made: Pieces, program: Program) -> None:
        try:
            self._content.extend(piece for piece in made(program) if piece)
        except Exception as error:
            self._error = error

    def content(self) -> list[bytes]:
        """All pieces, once they are made. Raises what their making has raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._content


_making: WeakKeyDictionary[Program, dict[Pieces, _Making]] = WeakKeyDictionary()


def make_ahead(program: Program, made: Pieces) -> None:
    """Begins to make a file of the program."""
    _making.setdefault(program, {})[made] = _Making(made, program)


def pieces_of(program: Program, made: Pieces) -> Iterable[bytes]:
    """The file's content: what was made ahead, which is given away, or else made now."""
    ahead = _making.get(program, {}).pop(made, None)
    return made(program) if ahead is None else ahead.content()
