"""The syntax of pass pipelines: text to a tree by the grammar in `pipeline.lark`, and a tree back to text.

Nothing here knows which passes exist; :mod:`.pipeline` gives the tree its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ..support.source import SourceError


@dataclass(frozen=True)
class Span:
    """A range of offsets in a pipeline's text. Spans do not take part in comparisons of trees."""

    start: int = 0
    end: int = 0


def _span() -> Any:
    return field(default=Span(), compare=False, repr=False)


@dataclass(frozen=True)
class Scalar:
    """One value; ``text`` is without quotes and escapes."""

    text: str
    quoted: bool = False
    span: Span = _span()


@dataclass(frozen=True)
class Items:
    """Several values: `1,2` or `{1,2}`."""

    items: tuple[Scalar, ...]
    span: Span = _span()


@dataclass(frozen=True)
class Group:
    """Nested options, `{a=1 b}`; `{}` and `{a}` may also stand for lists of no and of one item."""

    options: tuple[Option, ...]
    span: Span = _span()


Value: TypeAlias = Scalar | Items | Group


@dataclass(frozen=True)
class Option:
    """`name=value`, or the bare `name` (``value`` is None)."""

    name: str
    value: Value | None = None
    span: Span = _span()


@dataclass(frozen=True)
class PassElement:
    """A pass or a named pipeline, with its options."""

    name: str
    options: tuple[Option, ...] = ()
    span: Span = _span()


@dataclass(frozen=True)
class AnchorElement:
    """`builtin.module(...)`: a pipeline that runs on the ops called ``name``."""

    name: str
    elements: tuple[Element, ...] = ()
    span: Span = _span()


Element: TypeAlias = PassElement | AnchorElement


def parse_elements(text: str, name: str) -> tuple[Element, ...]:
    """The elements of the pipeline ``text``; ``name`` says in errors where the text comes from."""
    try:
        # The parser calls the builder while it reduces, so that no depth of nesting exhausts Python's stack.
        return _parser().parse(text)  # pyright: ignore[reportReturnType]
    except UnexpectedInput as error:
        _raise_syntax_error(error, text, name)


def print_elements(elements: Sequence[Element]) -> str:
    """Text that parses to ``elements``."""
    return ",".join(_element_text(element) for element in elements)


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("pipeline.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=False, transformer=_Builder(), propagate_positions=False)


class _Builder(Transformer[Token, tuple[Element, ...]]):
    """Builds the tree; one method for each alternative of the grammar."""

    def start(self, children: list[tuple[Element, ...]]) -> tuple[Element, ...]:
        return children[0] if children else ()

    def elements(self, children: list[Element]) -> tuple[Element, ...]:
        return tuple(children)

    def pass_without_options(self, children: list[Token]) -> PassElement:
        return PassElement(str(children[0]), (), _span_of(children[0]))

    def pass_with_options(self, children: list[Any]) -> PassElement:
        return PassElement(str(children[0]), tuple(children[1:]), _span_of(children[0]))

    def anchor(self, children: list[Any]) -> AnchorElement:
        elements = children[1] if len(children) > 1 else ()
        return AnchorElement(str(children[0]), elements, _span_of(children[0]))

    def flag(self, children: list[Token]) -> Option:
        return Option(str(children[0]), None, _span_of(children[0]))

    def assignment(self, children: list[Any]) -> Option:
        return Option(str(children[0]), children[1], _span_of(children[0]))

    def bare_list(self, children: list[Any]) -> Items:
        items = tuple(self.quoted([child]) if isinstance(child, Token) else child for child in children)
        return Items(items, Span(items[0].span.start, items[-1].span.end))

    def group(self, children: list[Option]) -> Group:
        return Group(tuple(children), Span(children[0].span.start, children[-1].span.end) if children else Span())

    def word(self, children: list[Token]) -> Scalar:
        return Scalar(str(children[0]), False, _span_of(children[0]))

    def quoted(self, children: list[Token]) -> Scalar:
        return Scalar(_unescape(children[0][1:-1]), True, _span_of(children[0]))


def _span_of(token: Token) -> Span:
    assert token.start_pos is not None and token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


# Errors

_TOKEN_NAMES = {
    "WORD": "a name or value",
    "QUOTED": "a quoted string",
    "COMMA": "','",
    "EQUAL": "'='",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LPAR": "'('",
    "RPAR": "')'",
    "$END": "the end",
}

_COMMA_BEFORE_OPTION = re.compile(r""",\s*[^\s,{}()="']+\s*$""")


def _raise_syntax_error(error: UnexpectedInput, text: str, name: str) -> NoReturn:
    match error:
        case UnexpectedCharacters():
            start, end = error.pos_in_stream or 0, len(text)
            raise SourceError(name, text, start, end, "unterminated string", "close the quote") from None
        case UnexpectedToken(token=token) if token.type == "$END":
            start = end = len(text.rstrip())
            found = "the end of the pipeline"
        case UnexpectedToken(token=token):
            start, end = token.start_pos or 0, token.end_pos or 0
            found = f"'{token}'"
        case _:
            assert False, f"unknown kind of syntax error {error!r}"
    before = text[:start].rstrip()
    if found == "'='" and _COMMA_BEFORE_OPTION.search(before):
        raise SourceError(name, text, start, end, "',' continues a list", "separate options by blanks") from None
    if before.endswith(",") and found in ("the end of the pipeline", "')'", "','"):
        raise SourceError(name, text, start, end, f"expected a pass after ',', found {found}", "") from None
    expected = sorted(_TOKEN_NAMES[kind] for kind in error.accepts or error.expected if kind in _TOKEN_NAMES)
    raise SourceError(name, text, start, end, f"expected {' or '.join(expected)}, found {found}") from None


# Text

_BARE = re.compile(r"[^\s,{}()=\"'\\]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _UNESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def _element_text(element: Element) -> str:
    match element:
        case PassElement(options=()):
            return element.name
        case PassElement():
            return f"{element.name}{{{_options_text(element.options)}}}"
        case AnchorElement():
            return f"{element.name}({print_elements(element.elements)})"


def _options_text(options: Sequence[Option]) -> str:
    return " ".join(
        option.name if option.value is None else f"{option.name}={print_value(option.value)}" for option in options
    )


def print_value(value: Value) -> str:
    """The text of one value of an option."""
    match value:
        case Scalar():
            return _scalar_text(value)
        case Items(items=items):
            texts = ",".join(_scalar_text(item) for item in items)
            return f"{{{texts}}}" if len(items) == 1 else texts
        case Group(options=options):
            return f"{{{_options_text(options)}}}"


def _scalar_text(scalar: Scalar) -> str:
    if not scalar.quoted:
        assert _BARE.fullmatch(scalar.text), f"{scalar.text!r} must be quoted"
        return scalar.text
    return '"' + "".join(_ESCAPES.get(character, character) for character in scalar.text) + '"'
