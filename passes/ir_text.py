"""A module as text, in the form that the options of the tools ask for."""

from __future__ import annotations

import math
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import IO, Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer


@dataclass(frozen=True)
class PrintOptions:
    """How IR is printed, in dumps as in the result."""

    generic: bool = False
    debuginfo: bool = False
    elide_larger_than: int | None = None
    """The most elements that a constant may have and print in full; None: what each attribute finds readable."""


def ir_text(op: Operation, options: PrintOptions = PrintOptions()) -> str:
    """The text of ``op``, with a newline at its end."""
    stream = StringIO()
    with elision(options.elide_larger_than):
        _Printer(stream, options).print_op(op)
    stream.write("\n")
    return stream.getvalue()


@contextmanager
def elision(limit: int | None) -> Generator[None]:
    """Within the context, arrays of more than ``limit`` elements are named by digest instead of printed."""
    # Without the module there are no arrays, and numpy need not be loaded.
    tile = sys.modules.get("tilec.dialects.tile")
    if tile is None or limit is None:
        yield
        return
    with tile.inline_limit(limit):
        yield


class _Printer(Printer):
    """xDSL's printer; leaves the elements of upstream's large constants out."""

    def __init__(self, stream: IO[str], options: PrintOptions) -> None:
        super().__init__(stream, print_generic_format=options.generic, print_debuginfo=options.debuginfo)
        self._limit = options.elide_larger_than

    def print_attribute(self, attribute: Attribute) -> None:
        dense = _as_dense(attribute)
        if dense is not None and self._limit is not None and math.prod(dense.get_shape()) > self._limit:
            self.print_string("dense_resource<__elided__> : ")
            self.print_attribute(dense.type)
        else:
            super().print_attribute(attribute)


def _as_dense(attribute: Attribute) -> DenseIntOrFPElementsAttr[Any] | None:
    return cast("DenseIntOrFPElementsAttr[Any]", attribute) if isinstance(attribute, DenseIntOrFPElementsAttr) else None
