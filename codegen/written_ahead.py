"""The streams' files, made on a thread while the program is still being looked at.

Text and compression are two thirds of what it takes to write a package, and need nothing but the finished program. What
they do leaves Python to other threads nearly all the time. So they can begin when there is a program, beside the checks
of its streams, and whoever writes the package takes what is there. The bytes do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

from ..support.background import Background
from .columns import Program

Pieces = Callable[[Program], Iterable[bytes]]
"""A file's content, piece after piece."""


_making: WeakKeyDictionary[Program, dict[Pieces, Background[list[bytes]]]] = WeakKeyDictionary()


def make_ahead(program: Program, made: Pieces) -> None:
    """Begins to make a file of the program."""
    _making.setdefault(program, {})[made] = Background(lambda: [piece for piece in made(program) if piece])


def pieces_of(program: Program, made: Pieces) -> Iterable[bytes]:
    """The file's content: what was made ahead, which is given away, or else made now."""
    ahead = _making.get(program, {}).pop(made, None)
    return made(program) if ahead is None else ahead.result()
