"""Pass pipelines from text to a syntax tree, by the grammar in `pipeline.lark`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ..support.source import SourceError
from .pipeline_syntax import AnchorElement, Element, Group, Items, Option, PassElement, Scalar, Span


def parse_elements(text: str, name: str) -> tuple[Element, ...]:
    """The elements of the pipeline ``text``; ``name`` says in errors where the text comes from."""
    try:
        # The parser calls the builder while it reduces, so that no depth of nesting exhausts Python's stack.
        return cast(tuple[Element, ...], _parser().parse(text))  # pyright: ignore[reportUnknownMemberType]
    except UnexpectedInput as error:
        _raise_syntax_error(error, text, name)


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


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


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
