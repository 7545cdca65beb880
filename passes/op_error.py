"""Errors about one op: where it is in the source or in the network, and its name; never the whole module."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import IRNode, Operation
from xdsl.utils.diagnostic import Diagnostic

from ..dialects.location import file_location, known_place
from ..support.diagnostics import TileError


class OpError(TileError):
    """``op`` is at fault. ``line`` is its line in the source file, if it has one."""

    def __init__(self, op: Operation, what: str, remedy: str = "") -> None:
        self.line = source_line(op)
        super().__init__(location_text(op), f"'{op_title(op)}' op {what}", remedy)


def op_title(op: Operation) -> str:
    """The name of the op as in the text."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def location_text(op: Operation) -> str:
    """Where ``op``, or else the nearest op around it, comes from: `model.mlir:3:5`, `node 'conv1'`."""
    current: Operation | None = op
    while current is not None:
        if place := known_place(current):
            return place
        current = current.parent_op()
    return "unknown location"


def source_line(op: Operation) -> int | None:
    """The line of ``op`` in the file that it was parsed from."""
    location = file_location(op)
    return None if location is None else location.line.data


@contextmanager
def concise_diagnostics() -> Generator[None]:
    """Within the context, an error that xDSL raises about an op names the op and its location.

    By default xDSL prints the whole module, weights included, into a note of every such exception.
    """

    def raise_exception(self: Diagnostic, ir: IRNode, underlying_error: Exception) -> NoReturn:
        for op in self.op_messages:
            if not any(note.startswith("in op ") for note in getattr(underlying_error, "__notes__", ())):
                underlying_error.add_note(f"in op '{op_title(op)}' at {location_text(op)}")
        raise underlying_error

    original = Diagnostic.raise_exception
    Diagnostic.raise_exception = raise_exception
    try:
        yield
    finally:
        Diagnostic.raise_exception = original
