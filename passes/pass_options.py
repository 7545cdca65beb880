"""Options of passes: from the syntax tree to the typed fields of a pass, and back.

A field is a `bool`, `int`, `float`, `str`, an `Enum`, a `Literal`, a tuple of those, a frozen dataclass of those
(nested options), or a union of those with or without `None`. `-` and `_` are the same in names of options.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeGuard, Union, cast, get_args, get_origin, get_type_hints

from ..support.source import SourceError, choices, suggestion
from .pipeline_syntax import Group, Items, Option, Scalar, Span, Value, print_value

TRUE_WORDS = ("true", "True", "TRUE", "1")
FALSE_WORDS = ("false", "False", "FALSE", "0")
NONE_WORD = "none"

_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]{1,1000})")
_PLAIN_STRING = re.compile(r"[A-Za-z_/.][A-Za-z0-9_/.:+-]*")


class _Mismatch(Exception):
    """A value is not of the type asked for; ``span`` is the part at fault and ``remedy`` may help."""

    def __init__(self, span: Span, remedy: str = "") -> None:
        super().__init__()
        self.span = span
        self.remedy = remedy


@dataclasses.dataclass(frozen=True)
class Field:
    """One option of a pass."""

    name: str
    type: Any
    default: Any
    """`dataclasses.MISSING` if the option must be given."""

    @property
    def option_name(self) -> str:
        return self.name.replace("_", "-")


def option_fields(owner: type[Any]) -> tuple[Field, ...]:
    """The options that the dataclass ``owner`` takes."""
    types = get_type_hints(owner)
    return tuple(
        Field(field.name, types[field.name], _default(field)) for field in dataclasses.fields(owner) if field.init
    )


def read_options(owner: type[Any], options: Sequence[Option], text: str, source: str) -> dict[str, Any]:
    """The keyword arguments for ``owner`` that ``options``, a part of ``text``, stand for.

    ``source`` says in errors what the text is called.
    """
    fields = {field.name: field for field in option_fields(owner)}
    arguments: dict[str, Any] = {}
    for option in options:
        field = fields.get(option.name.replace("-", "_"))
        span = option.span
        if field is None:
            names = [known.option_name for known in fields.values()]
            known = f"its options are {choices(names)}" if names else "it takes no options"
            what = f"{_title(owner)} has no option '{option.name}'"
            raise SourceError(source, text, span.start, span.end, what, suggestion(option.name, names) or known)
        if field.name in arguments:
            raise SourceError(source, text, span.start, span.end, f"option '{option.name}' is given twice", "keep one")
        try:
            arguments[field.name] = _read(option.value, field.type, option.span, text, source)
        except _Mismatch as mismatch:
            what = f"option '{option.name}' of {_title(owner)} takes {describe_type(field.type)}"
            if option.value is None:
                what += ", and no value is given"
            raise SourceError(source, text, mismatch.span.start, mismatch.span.end, what, mismatch.remedy) from None
    return arguments


def missing_options(owner: type[Any], arguments: Mapping[str, Any]) -> list[Field]:
    """The options that ``owner`` cannot do without and ``arguments`` lacks."""
    return [
        field for field in option_fields(owner) if field.default is dataclasses.MISSING and field.name not in arguments
    ]


def write_options(owner: Any, include_defaults: bool = True) -> tuple[Option, ...]:
    """The options that build ``owner`` again; without ``include_defaults``, only those that differ from the default."""
    owner_type = cast("type[Any]", type(owner))
    return tuple(
        Option(field.option_name, _write(getattr(owner, field.name)))
        for field in option_fields(owner_type)
        if include_defaults or getattr(owner, field.name) != field.default
    )


def describe_type(hint: Any) -> str:
    """What a value of the type is called in messages and documents: `an integer`, `one of 'a', 'b'`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join("'none'" if part is NoneType else describe_type(part) for part in arguments)
    if origin is Literal:
        return f"one of {choices(map(str, arguments))}"
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return f"a list, each {describe_type(arguments[0])}"
        return f"a list of {len(arguments)}: {', '.join(map(describe_type, arguments))}"
    if _is_enum(hint):
        return f"one of {choices(_enum_words(hint))}"
    if _is_nested(hint):
        return f"options {{{' '.join(f'{field.option_name}=...' for field in option_fields(hint))}}}"
    names = {bool: "'true' or 'false'", int: "an integer", float: "a number", str: "a string"}
    assert hint in names, f"{hint} is no type of an option"
    return names[hint]


def value_text(value: Any) -> str:
    """How the value of an option is written."""
    return print_value(_write(value))


# Reading


def _read(value: Value | None, hint: Any, where: Span, text: str, source: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    span = where if value is None or value.span == Span() else value.span
    if origin in (Union, UnionType):
        return _read_union(value, arguments, span, text, source)
    if value is None:
        if hint is bool:
            return True
        raise _Mismatch(span, "add '=' and a value")
    if origin is tuple:
        return _read_tuple(value, arguments, span, text, source)
    if _is_nested(hint):
        if not isinstance(value, Group):
            raise _Mismatch(span)
        arguments = read_options(hint, value.options, text, source)
        if missing := missing_options(hint, arguments):
            raise _Mismatch(span, f"'{missing[0].option_name}' is missing")
        return hint(**arguments)
    if not isinstance(value, Scalar):
        raise _Mismatch(span)
    return _read_scalar(value, hint, span)


def _read_union(value: Value | None, members: Sequence[Any], span: Span, text: str, source: str) -> Any:
    if NoneType in members and value == Scalar(NONE_WORD):
        return None
    alternatives = [member for member in members if member is not NoneType]
    if isinstance(value, Scalar) and value.quoted:
        # A quoted value is a string first: `"1"` for `int | str`.
        alternatives.sort(key=lambda member: member is not str)
    last = _Mismatch(span)
    for alternative in alternatives:
        try:
            return _read(value, alternative, span, text, source)
        except _Mismatch as mismatch:
            last = mismatch if len(alternatives) == 1 else _Mismatch(span)
    raise last


def _read_tuple(value: Value, arguments: Sequence[Any], span: Span, text: str, source: str) -> tuple[Any, ...]:
    items = tuple(_items(value, span))
    repeated = len(arguments) == 2 and arguments[1] is Ellipsis
    if not repeated and len(items) != len(arguments):
        raise _Mismatch(span, f"{len(items)} given")
    hints = [arguments[0]] * len(items) if repeated else arguments
    return tuple(_read(item, hint, item.span, text, source) for item, hint in zip(items, hints, strict=True))


def _items(value: Value, span: Span) -> Iterator[Scalar]:
    match value:
        case Scalar():
            yield value
        case Items():
            yield from value.items
        case Group():
            for option in value.options:
                if option.value is not None or len(value.options) > 1:
                    raise _Mismatch(span, "separate the items by ','")
                yield Scalar(option.name, span=option.span)


def _read_scalar(value: Scalar, hint: Any, span: Span) -> Any:
    text = value.text
    if hint is str:
        return text
    if hint is bool:
        if text not in TRUE_WORDS + FALSE_WORDS:
            raise _Mismatch(span)
        return text in TRUE_WORDS
    if hint is int:
        if not _INTEGER.fullmatch(text):
            raise _Mismatch(span)
        return int(text, 0 if "x" in text.lower() or "b" in text.lower() else 10)
    if hint is float:
        try:
            return float(text)
        except ValueError:
            raise _Mismatch(span) from None
    if get_origin(hint) is Literal:
        words = {str(choice): choice for choice in get_args(hint)}
    else:
        assert _is_enum(hint), f"{hint} is no type of an option"
        words = dict(zip(_enum_words(hint), hint, strict=True))
    if text not in words:
        raise _Mismatch(span, suggestion(text, words))
    return words[text]


def _is_enum(hint: Any) -> TypeGuard[type[Enum]]:
    return isinstance(hint, type) and issubclass(hint, Enum)


def _is_nested(hint: Any) -> TypeGuard[type[Any]]:
    return isinstance(hint, type) and dataclasses.is_dataclass(cast(Any, hint))


def _enum_words(hint: type[Enum]) -> list[str]:
    return [str(member.value) for member in hint]


# Writing


def _write(value: Any) -> Value:
    match value:
        case None:
            return Scalar(NONE_WORD)
        case Enum():
            return _write(value.value)
        case bool():
            return Scalar("true" if value else "false")
        case int():
            return Scalar(str(value))
        case float():
            return Scalar(repr(value))
        case str():
            plain = _PLAIN_STRING.fullmatch(value) and value not in (*TRUE_WORDS, *FALSE_WORDS, NONE_WORD)
            return Scalar(value, quoted=not plain)
        case tuple():
            items = [_write(item) for item in cast(tuple[Any, ...], value)]
            scalars = tuple(item for item in items if isinstance(item, Scalar))
            assert len(scalars) == len(items), "a list in an option holds plain values only"
            return Items(scalars) if scalars else Group(())
        case _:
            assert dataclasses.is_dataclass(value), f"{value!r} is no value of an option"
            return Group(write_options(value))


def _default(field: dataclasses.Field[Any]) -> Any:
    factory: Any = field.default_factory
    return field.default if factory is dataclasses.MISSING else factory()


def _title(owner: type[Any]) -> str:
    name = getattr(owner, "name", None)
    return f"pass '{name}'" if isinstance(name, str) else "the group"
