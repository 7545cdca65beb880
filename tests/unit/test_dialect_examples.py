"""Every op, attribute and type of our dialects has a documented example that parses, verifies and prints back."""

from __future__ import annotations

import inspect
import io
import re

import pytest
from tilec.dialects.registry import DIALECTS as NAMES
from tilec.dialects.registry import all_dialects, make_context
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

DIALECTS = [all_dialects()[name]() for name in NAMES]
OPS = [op for dialect in DIALECTS for op in dialect.operations]
ATTRIBUTES = [attribute for dialect in DIALECTS for attribute in dialect.attributes]


def examples(documented: type) -> list[str]:
    return re.findall(r"```mlir\n(.*?)```", inspect.getdoc(documented) or "", re.DOTALL)


def parse_ops(text: str) -> list[Operation]:
    """Parses ops that stand one after another; operands need no definition."""
    parser = Parser(make_context(), text)
    ops: list[Operation] = []
    while (op := parser.parse_optional_operation()) is not None:
        ops.append(op)
    assert parser.pos >= len(text.rstrip()), f"cannot be parsed: {text[parser.pos :]}"
    return ops


def printed(ops: list[Operation], generic: bool = False) -> str:
    stream = io.StringIO()
    printer = Printer(stream, print_generic_format=generic)
    for op in ops:
        printer.print_op(op)
        printer.print_string("\n")
    return stream.getvalue()


def normal(text: str) -> str:
    """Values renamed to `%0`, `%1`, … in order of appearance, and one space where there is any."""
    names: dict[str, str] = {}
    renamed = re.sub(r"%\w+", lambda match: names.setdefault(match.group(), f"%{len(names)}"), text)
    return " ".join(re.sub(r"\^\w+", "^bb", renamed).split())


@pytest.mark.parametrize("op_class", OPS, ids=lambda op: op.name)
def test_op(op_class: type[Operation]) -> None:
    found = examples(op_class)
    assert found, f"{op_class.name} has no example"
    for example in found:
        ops = parse_ops(example)
        assert any(type(inner) is op_class for op in ops for inner in op.walk())
        for op in ops:
            op.verify()
        assert normal(printed(ops)) == normal(example)
        again = parse_ops(printed(ops, generic=True))
        assert normal(printed(again)) == normal(example)


@pytest.mark.parametrize("attribute_class", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_attribute(attribute_class: type[Attribute]) -> None:
    found = examples(attribute_class)
    assert found, f"{attribute_class.name} has no example"
    for example in found:
        parser = Parser(make_context(), example)
        attribute = parser.parse_attribute()
        assert type(attribute) is attribute_class
        stream = io.StringIO()
        Printer(stream).print_attribute(attribute)
        assert stream.getvalue() == example.strip()
