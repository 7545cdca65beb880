"""The syntax of pass pipelines: text to a tree by the grammar in `pipeline.lark`, and a tree back to text.

Nothing here knows which passes exist; :mod:`.pipeline` gives the tree its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ..support.source import SourceError


class Span(NamedTuple):
    """A range of offsets in a pipeline's text."""

    start: int = 0
    end: int = 0


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of the tree. Where it stands in the text takes no part in comparisons."""

    span: Span = field(default=Span(), compare=False, repr=False)


@dataclass(frozen=True)
class Scalar(Node):
    """One value; ``text`` is without quotes and escapes."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Items(Node):
    """Several values: `1,2` or `{1,2}`."""

    items: tuple[Scalar, ...]


@dataclass(frozen=True)
class Group(Node):
    """Nested options, `{a=1 b}`; `{}` and `{a}` may also stand for lists of no and of one item."""

    options: tuple[Option, ...]


Value: TypeAlias = Scalar | Items | Group


@dataclass(frozen=True)
class Option(Node):
    """`name=value`, or the bare `name` (``value`` is None)."""

    name: str
    value: Value | None = None


@dataclass(frozen=True)
class PassElement(Node):
    """A pass or a named pipeline, with its options."""

    name: str
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class AnchorElement(Node):
    """`builtin.module(...)`: a pipeline that runs on the ops called ``name``."""

    name: str
    elements: tuple[Element, ...] = ()


Element: TypeAlias = PassElement | AnchorElement


def parse_elements(text: str, name: str) -> tuple[Element, ...]:
    """The elements of the pipeline ``text``; ``name`` says in errors where the text comes from."""
    try:
        # The parser calls the builder while it reduces, so that no depth of nesting exhausts Python's stack.
        return cast(tuple[Element, ...], _parser().parse(text))  # pyright: ignore[reportUnknownMemberType]
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
        return PassElement(str(children[0]), span=_span_of(children[0]))

    def pass_with_options(self, children: list[Any]) -> PassElement:
        return PassElement(str(children[0]), tuple(children[1:]), span=_span_of(children[0]))

    def anchor(self, children: list[Any]) -> AnchorElement:
        elements = children[1] if len(children) > 1 else ()
        return AnchorElement(str(children[0]), elements, span=_span_of(children[0]))

    def flag(self, children: list[Token]) -> Option:
        return Option(str(children[0]), span=_span_of(children[0]))

    def assignment(self, children: list[Any]) -> Option:
        return Option(str(children[0]), children[1], span=_span_of(children[0]))

    def bare_list(self, children: list[Any]) -> Items:
        items = tuple(self.quoted([child]) if isinstance(child, Token) else child for child in children)
        return Items(items, span=Span(items[0].span.start, items[-1].span.end))

    def group(self, children: list[Option]) -> Group:
        span = Span(children[0].span.start, children[-1].span.end) if children else Span()
        return Group(tuple(children), span=span)

    def word(self, children: list[Token]) -> Scalar:
        return Scalar(str(children[0]), span=_span_of(children[0]))

    def quoted(self, children: list[Token]) -> Scalar:
        return Scalar(_unescape(children[0][1:-1]), quoted=True, span=_span_of(children[0]))


def _span_of(token: Token) -> Span:
    assert token.start_pos is not None
    assert token.end_pos is not None
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
    if not isinstance(error, UnexpectedToken):
        # Words are nearly anything; what no token can start with is a quote without its end.
        assert isinstance(error, UnexpectedCharacters), repr(error)
        start = cast(int, error.pos_in_stream)  # pyright: ignore[reportUnknownMemberType]
        raise SourceError(name, text, start, len(text), "unterminated string", "close the quote") from None

    token = cast(Token, error.token)  # pyright: ignore[reportUnknownMemberType]
    at_end = token.type == "$END"
    span = Span(len(text.rstrip()), len(text.rstrip())) if at_end else _span_of(token)
    found = "the end of the pipeline" if at_end else f"'{token}'"
    before = text[: span.start].rstrip()
    expected = sorted(_TOKEN_NAMES[kind] for kind in error.accepts or error.expected if kind in _TOKEN_NAMES)
    what, remedy = f"expected {' or '.join(expected)}, found {found}", ""
    if token == "=" and _COMMA_BEFORE_OPTION.search(before):
        what, remedy = "',' continues a list", "separate options by blanks"
    elif before.endswith(",") and (at_end or token in (")", ",")):
        what = f"expected a pass after ',', found {found}"
    raise SourceError(name, text, span.start, span.end, what, remedy) from None


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
