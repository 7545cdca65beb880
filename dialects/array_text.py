"""The text form of a `#tile.array`: its elements, one element for all, or a digest."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import numpy as np
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .array_data import DTYPE_NAMES, DTYPES, ArrayData
from .array_layout import Array

MAX_RANK = 32
"""What numpy 1 allows; numpy 2 allows 64."""
MAX_SPLAT_BYTES = 2**31
"""A few characters of text must not be able to fill the memory."""
DEFAULT_INLINE_LIMIT = 64
"""The most elements that print in full."""

_inline_limit: ContextVar[int] = ContextVar("tile_array_inline_limit", default=DEFAULT_INLINE_LIMIT)


@contextmanager
def inline_limit(elements: int) -> Generator[None]:
    """Within the context, arrays of up to ``elements`` elements print in full (`--elide-larger-than`)."""
    token = _inline_limit.set(elements)
    try:
        yield
    finally:
        _inline_limit.reset(token)


def spelling(data: ArrayData) -> Literal["digest", "list", "splat"]:
    """`digest`, `list` or `splat`: a function of the content and the limit, so that text is stable."""
    if not data.has_data:
        return "digest"
    size = math.prod(data.shape)
    if size > 1 and _is_splat(data.array):
        return "splat"
    return "list" if size <= _inline_limit.get() else "digest"


def _is_splat(array: Array) -> bool:
    elements = _bits(array)
    # The first elements settle the matter for nearly every array that is no splat.
    return bool((elements[:64] == elements[0]).all() and (elements == elements[0]).all())


def _bits(array: Array) -> Array:
    return array.reshape(-1).view(f"u{array.dtype.itemsize}")


def print_array(printer: Printer, data: ArrayData) -> None:
    printer.print_string(DTYPE_NAMES[data.dtype])
    with printer.in_square_brackets():
        printer.print_list(data.shape, printer.print_int)
    printer.print_string(" ")
    match spelling(data):
        case "splat":
            printer.print_string(f"splat {_element_text(data.array.reshape(-1)[0])}")
        case "list":
            with printer.in_square_brackets():
                printer.print_list(data.array.reshape(-1), lambda element: printer.print_string(_element_text(element)))
        case _:
            printer.print_string(f'@"{data.digest}"')


def _element_text(element: Any) -> str:
    """The shortest text that parses back to the same bits."""
    match element.dtype.kind:
        case "b":
            return "true" if element else "false"
        case "f":
            return _float_text(element)
        case _:
            return str(element)


def _float_text(element: np.floating[Any]) -> str:
    if np.isnan(element):
        # Only the canonical NaN has a name; the others show their bits.
        bits = int(element.view(f"u{element.itemsize}"))
        return "nan" if bits == int(_nan(element.dtype).view(f"u{element.itemsize}")) else f"0x{bits:X}"
    if np.isinf(element):
        return "inf" if element > 0 else "-inf"
    magnitude = abs(float(element))
    if magnitude == 0 or 1e-4 <= magnitude < 1e16:
        return np.format_float_positional(element, unique=True, trim="0")
    return np.format_float_scientific(element, unique=True, trim="0")


def _nan(dtype: np.dtype[Any]) -> np.generic:
    return dtype.type(np.nan)


def parse_array(parser: AttrParser) -> ArrayData:
    name = parser.parse_identifier(context_msg=" for the element type of an array")
    if name not in DTYPES:
        parser.raise_error(f"unknown element type '{name}' of an array; one of {', '.join(DTYPES)} expected")
    dtype = DTYPES[name]
    shape = tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False, allow_negative=False)
        )
    )
    if len(shape) > MAX_RANK or any(extent >= 2**63 for extent in shape):
        parser.raise_error(f"the shape of an array has at most {MAX_RANK} dimensions of less than 2^63 elements")
    size = math.prod(shape)

    digest = parser.parse_optional_symbol_name()
    if digest is not None:
        if not digest.data:
            parser.raise_error("empty digest of an array")
        return ArrayData(dtype, shape, None, digest.data)

    if parser.parse_optional_keyword("splat") is not None:
        if size * dtype.itemsize > MAX_SPLAT_BYTES:
            parser.raise_error(f"a splat of {size} elements is larger than {MAX_SPLAT_BYTES} bytes")
        return ArrayData.of(np.full(shape, _parse_element(parser, dtype), dtype))

    elements = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_element(parser, dtype))
    if len(elements) != size:
        parser.raise_error(f"array of shape {list(shape)} has {size} elements, {len(elements)} given")
    return ArrayData.of(np.array(elements, dtype).reshape(shape))


def _parse_element(parser: AttrParser, dtype: np.dtype[Any]) -> np.generic:
    start = parser.pos
    if dtype.kind == "b":
        return np.bool_(parser.parse_boolean())
    if dtype.kind == "f":
        return _parse_float(parser, dtype)
    value = parser.parse_integer(allow_boolean=False)
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        parser.raise_error(f"{value} does not fit into {DTYPE_NAMES[dtype]}", start, parser.pos)
    return dtype.type(value)


def _parse_float(parser: AttrParser, dtype: np.dtype[Any]) -> np.generic:
    negative = parser.parse_optional_punctuation("-") is not None
    sign = -1.0 if negative else 1.0
    if parser.parse_optional_keyword("inf") is not None:
        return dtype.type(sign * math.inf)
    if parser.parse_optional_keyword("nan") is not None:
        return _nan(dtype)
    start = parser.pos
    value = parser.parse_number(allow_boolean=False)
    if parser.lexer.input.slice(start, start + 2) == "0x":
        if not 0 <= int(value) < 2 ** (8 * dtype.itemsize):
            parser.raise_error(f"bit pattern does not fit into {DTYPE_NAMES[dtype]}", start, parser.pos)
        return np.dtype(f"u{dtype.itemsize}").type(int(value)).view(dtype)
    with np.errstate(over="ignore"):
        return dtype.type(sign * value)
