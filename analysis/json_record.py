"""Reading a frozen dataclass from JSON: declared fields with bounds, every mistake found and named by its JSON path.

A record class declares its fields with :func:`whole`, :func:`real`, :func:`flag`, :func:`text`, :func:`pair` and
:func:`record`; :class:`RecordReader` does the rest. A field that the JSON lacks takes its default; whether a field may
be lacking is the caller's to say.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, cast

from ..support.diagnostics import TileError, TileErrors, system_reason
from ..support.json_values import decode_json

R = TypeVar("R")
Check = Callable[["RecordReader", object, str], Any]
_CHECK = "json_record.check"


def whole(default: int, least: int, most: int) -> int:
    """An integer field; ``8.0`` is accepted for ``8``."""
    return _declare(default, lambda reader, value, path: reader.whole(value, path, least, most))


def real(default: float, least: float, most: float) -> float:
    """A finite number."""
    return _declare(default, lambda reader, value, path: reader.real(value, path, least, most))


def flag(default: bool) -> bool:
    """``true`` or ``false``."""
    return _declare(default, lambda reader, value, path: reader.of_type(value, path, bool, "true or false"))


def text(default: str) -> str:
    """A string."""
    return _declare(default, lambda reader, value, path: reader.of_type(value, path, str, "a string"))


def pair(default: tuple[int, int], least: int, most: int) -> tuple[int, int]:
    """Two integers: ``[rows, columns]``."""
    return _declare(default, lambda reader, value, path: reader.pair(value, path, least, most))


def record(cls: type[R]) -> R:
    """A nested object."""
    check: Check = lambda reader, value, path: reader.record(cls, value, path)  # noqa: E731
    return field(default_factory=cls, metadata={_CHECK: check})


def _declare(default: R, check: Check) -> R:
    return field(default=default, metadata={_CHECK: check})


@dataclass
class RecordReader:
    """Reads records and collects the mistakes; ``source`` (a file name) begins the place of each of them."""

    source: str
    ignored_keys: frozenset[str] = frozenset()
    """Keys that may stand anywhere and mean nothing."""

    def __post_init__(self) -> None:
        self.errors: list[TileError] = []

    def error(self, path: str, what: str, remedy: str = "correct it") -> None:
        """Notes one mistake at a JSON path."""
        self.errors.append(TileError(f"{self.source}: {path}" if path else self.source, what, remedy))

    def raise_errors(self) -> None:
        """Raises all mistakes noted so far, if any."""
        if self.errors:
            raise TileErrors(self.errors)

    def record(self, cls: type[R], value: object, path: str) -> R:
        """A record of class ``cls``; after a mistake the field has its default, so that reading can go on."""
        found = self.mapping(value, path)
        declared = {item.name: item.metadata[_CHECK] for item in fields(cast(Any, cls))}
        prefix = f"{path}." if path else ""
        for key in found:
            if key not in declared and key not in self.ignored_keys:
                near = difflib.get_close_matches(key, declared, n=1)
                self.error(prefix + key, "unknown field", f"did you mean `{near[0]}`?" if near else "remove it")
        values = {name: check(self, found[name], prefix + name) for name, check in declared.items() if name in found}
        return cls(**{name: value for name, value in values.items() if value is not None})

    def mapping(self, value: object, path: str) -> Mapping[str, object]:
        """A JSON object; after a mistake an empty one."""
        if isinstance(value, dict):
            return cast("dict[str, object]", value)
        self.error(path, f"expected an object, found {_show(value)}")
        return {}

    def whole(self, value: object, path: str, least: int, most: int) -> int | None:
        """An integer from ``least`` to ``most``."""
        number = self._number(value, path)
        if number is None:
            return None
        if number != int(number):
            return self.error(path, f"expected a whole number, found {_show(value)}")
        return int(number) if self._in_range(number, path, least, most) else None

    def real(self, value: object, path: str, least: float, most: float) -> float | None:
        """A finite number from ``least`` to ``most``."""
        number = self._number(value, path)
        return float(number) if number is not None and self._in_range(number, path, least, most) else None

    def of_type(self, value: object, path: str, kind: type[R], name: str) -> R | None:
        """A value of a plain type."""
        shown = _show(value)
        return value if isinstance(value, kind) else self.error(path, f"expected {name}, found {shown}")

    def pair(self, value: object, path: str, least: int, most: int) -> tuple[int, int] | None:
        """Two integers."""
        shown = _show(value)
        listed = cast("list[object]", value) if isinstance(value, list) else []
        if len(listed) != 2:
            return self.error(path, f"expected two whole numbers, found {shown}")
        first = self.whole(listed[0], f"{path}[0]", least, most)
        second = self.whole(listed[1], f"{path}[1]", least, most)
        return None if first is None or second is None else (first, second)

    def _number(self, value: object, path: str) -> int | float | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            return self.error(path, f"expected a number, found {_show(value)}")
        return value

    def _in_range(self, number: float, path: str, least: float, most: float) -> bool:
        if least <= number <= most:
            return True
        self.error(path, f"{_show(number)} is out of range", f"give a value from {least:.10g} to {most:.10g}")
        return False


def read_bytes(path: Path) -> bytes:
    """The content of a file; a user error if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise TileError(str(path), f"cannot be read: {system_reason(error)}", "name a file that can be read") from None


def parse_json(data: bytes, source: str) -> object:
    """Parses JSON bytes; ``source`` is named in the user error for malformed ones."""
    try:
        return decode_json(data)
    except RecursionError:
        raise TileError(source, "is not valid JSON: nested too deeply", "flatten it") from None
    except ValueError as error:
        raise TileError(source, f"is not valid JSON: {error}", "correct it") from None


def require_whole(value: object, least: int, most: int) -> int:
    """``value`` if it is a whole number within the bounds; a ValueError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{str(value)[:40]} is not a whole number from {least} to {most}")
    return value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _show(value: object) -> str:
    shown = "an integer of many digits" if isinstance(value, int) and abs(value) >= 10**300 else repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
