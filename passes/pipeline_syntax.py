"""The syntax tree of pass pipelines, and its text. :mod:`.pipeline_parser` makes the tree from text.

Nothing here knows which passes exist; :mod:`.pipeline` gives the tree its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


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


_PLAIN = re.compile(r"[^\s,{}()=\"']+(,[^\s,{}()=\"']+)*")


def plain_elements(text: str) -> tuple[PassElement, ...] | None:
    """The passes of a list without options, spaces or nested pipelines, as which named ones come; None if there is
    more to ``text``."""
    if not _PLAIN.fullmatch(text):
        return None
    return tuple(PassElement(word[0], span=Span(*word.span())) for word in re.finditer("[^,]+", text))


def print_elements(elements: Sequence[Element]) -> str:
    """Text that parses to ``elements``."""
    return ",".join(_element_text(element) for element in elements)


_BARE = re.compile(r"[^\s,{}()=\"'\\]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


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
