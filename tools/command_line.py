"""Command lines in LLVM's manner, by argparse: `-flag` for `--flag`, `--flag=false`, and errors with suggestions."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from typing import NoReturn

from ..support.diagnostics import TileError
from ..support.source import suggestion

_TRUE = ("true", "TRUE", "True", "1")
_FALSE = ("false", "FALSE", "False", "0")


class CommandLine(argparse.ArgumentParser):
    """A parser whose errors are TileErrors, and which never guesses at abbreviated options."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise TileError(self.prog, message, "see --help")

    def option_strings(self) -> list[str]:
        return [string for action in self._actions for string in action.option_strings]

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parses ``arguments``; a TileError for what is unknown, with the nearest known option."""
        flags = {string for action in self._actions if action.nargs == 0 for string in action.option_strings}
        valued = {string for action in self._actions if action.nargs is None for string in action.option_strings}
        known = self.option_strings()
        namespace, unknown = self.parse_known_args(list(_llvm_spelling(arguments, flags, valued, known)))
        if unknown:
            name = unknown[0].partition("=")[0]
            what = f"unknown option '{name}'" if name.startswith("-") else f"unexpected argument '{name}'"
            raise TileError(self.prog, what, suggestion(name, known) or "see --help")
        return namespace


class VersionAction(argparse.Action):
    """Prints the versions that a bug report should name, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"{parser.prog} {version('tilec')} (xdsl {version('xdsl')})")
        parser.exit()


def dimension(text: str) -> tuple[str, int]:
    """The value of `--dim NAME=N`."""
    name, _, value = text.partition("=")
    if not name or not value.isascii() or not value.isdigit() or not 0 < int(value[:20]) < 2**63:
        raise argparse.ArgumentTypeError(f"expected NAME=N with a positive N, not '{text}'")
    return name, int(value)


def number(text: str) -> float:
    """The value of an option that takes a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, not '{text}'") from None


def at_least_zero(text: str) -> float:
    """The value of an option that takes a finite number of at least 0."""
    value = number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"must be 0 or more, not {text}")
    return value


def seed(text: str) -> int:
    """The value of an option that takes the seed of random numbers."""
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 on, of at most 20 digits, not '{text}'")
    return int(text)


def _llvm_spelling(arguments: Sequence[str], flags: set[str], valued: set[str], known: Iterable[str]) -> Iterable[str]:
    """The arguments in the one spelling that argparse knows; what follows a ``valued`` option is left alone."""
    options = set(known)
    is_value = False
    for index, argument in enumerate(arguments):
        if argument == "--":
            yield from arguments[index:]
            return
        if is_value or not argument.startswith("-"):
            is_value = False
            yield argument
            continue
        name, equals, value = argument.partition("=")
        if name not in options and f"-{name}" in options:
            name = f"-{name}"
        is_value = name in valued and not equals
        if name in flags and equals:
            if value in _FALSE:
                negative = f"--no-{name.removeprefix('--')}"
                if negative in options:
                    yield negative
            elif value in _TRUE:
                yield name
            else:
                raise TileError(name, f"takes 'true' or 'false', not '{value}'", "give one of them")
        else:
            yield f"{name}{equals}{value}"
