"""Values of JSON files that our tools wrote and anybody may have edited: each is of its kind, or the error names it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, cast

_MOST = 1e300
"""Far above anything that is counted or measured, and small enough to compute with."""


class Kind(Enum):
    """What a value has to be, as an error says it."""

    WHOLE = "a whole number from 0 up"
    NUMBER = "a number from 0 up"
    COUNTS = "a table of whole numbers from 0 up"
    FLAG = "true or false"
    TEXT = "a text"
    TABLE = "a table"
    LIST = "a list"


def decode_json(data: bytes | str) -> Any:
    """The value of a JSON text; a ValueError if it is none, a RepeatedKeyError if it says something twice: all but the
    last would be lost, and who has edited the file would not notice."""
    return json.loads(data, object_pairs_hook=_unique_object)


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The table of these pairs; a RepeatedKeyError if a key stands in it twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in found if keys.count(key) > 1)
        raise RepeatedKeyError(f"key {repeated!r} stands more than once in one object")
    return found


class RepeatedKeyError(ValueError):
    """A table of a JSON text says something twice."""


def entry(table: Mapping[str, Any], name: str, kind: Kind) -> Any:
    """The value of this name; a ValueError if there is none, or it is not of the kind."""
    if name not in table:
        raise ValueError(f"'{name}' is missing")
    return require(table[name], kind, f"'{name}'")


def require(value: Any, kind: Kind, name: str) -> Any:
    """The value, if it is of the kind; else a ValueError that says what it is and what it has to be."""
    if _FITS[kind](value):
        return value
    text = json.dumps(value)
    raise ValueError(f"{name} is {text if len(text) <= 40 else text[:37] + '...'}, but has to be {kind.value}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST


def _is_whole(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int)


_FITS: Mapping[Kind, Callable[[Any], bool]] = {
    Kind.WHOLE: _is_whole,
    Kind.NUMBER: _is_number,
    Kind.COUNTS: lambda value: isinstance(value, dict) and all(map(_is_whole, cast("dict[str, Any]", value).values())),
    Kind.FLAG: lambda value: isinstance(value, bool),
    Kind.TEXT: lambda value: isinstance(value, str),
    Kind.TABLE: lambda value: isinstance(value, dict),
    Kind.LIST: lambda value: isinstance(value, list),
}
