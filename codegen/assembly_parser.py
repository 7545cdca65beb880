"""From assembly text to columns; every mistake is a user error that names line and column."""

from __future__ import annotations

import difflib
import json
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from ..support.diagnostics import TileError, TileErrors
from .columns import COLUMN_TYPES, Columns, Program, Target
from .isa import BY_MNEMONIC, INT32_MAX, INT32_MIN, REGISTER_COLUMNS, Field, OpInfo

_ERRORS_SHOWN = 20
_MOST_CORES = 4096
_TARGET_FIELDS = [field.name for field in fields(Target)]


def parse_program(text: str, source: str) -> Program:
    """The program that the text describes; ``source`` names the text in errors."""
    try:
        tree = _parser().parse(text)  # pyright: ignore[reportUnknownMemberType]
    except UnexpectedInput as error:
        found = text[error.pos_in_stream :].split("\n", 1)[0][:30] if error.pos_in_stream is not None else ""
        what = f"unexpected {found!r}" if found.strip() else "unexpected end of line"
        raise TileError(f"{source}:{error.line}:{error.column}", what, "see docs/package_format.md") from None
    return _Assembler(source).assemble(tree)


@cache
def _parser() -> Lark:
    grammar = Path(__file__).with_name("assembly.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", maybe_placeholders=False)


class _Assembler:
    """Turns the syntax tree into columns; collects mistakes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.errors: list[TileError] = []
        self.target: dict[str, int] = {}
        self.groups: dict[int, tuple[int, ...]] = {}
        self.names: list[str] = []
        self.rows: dict[int, list[tuple[int, ...]]] = {}
        self.nodes: dict[int, list[int]] = {}
        self.core = -1

    def assemble(self, tree: Tree[Token]) -> Program:
        """The program; raises all mistakes together."""
        handlers = {"target": self._target, "node": self._node, "core": self._core, "instruction": self._instruction}
        for statement in tree.children:
            assert isinstance(statement, Tree)
            handlers[str(statement.data)](statement)
            if len(self.errors) >= _ERRORS_SHOWN:
                break
        if not self.target and not self.errors:
            self.errors.append(TileError(f"{self.source}:1:1", "no .target", "begin the text with one"))
        if self.errors:
            raise TileErrors(self.errors)
        return self._program()

    def _program(self) -> Program:
        count = self.target["cores"]
        target = Target(**{name: value for name, value in self.target.items() if name != "cores"})
        cores = [_columns(self.rows.get(core, [])) for core in range(count)]
        groups = [self.groups.get(core, ()) for core in range(count)]
        nodes = None
        if self.names:
            nodes = [np.array(self.nodes.get(core, []), np.int32) for core in range(count)]
        return Program.from_cores(target, cores, groups, nodes, self.names)

    def _target(self, tree: Tree[Token]) -> None:
        found = self._settings(tree.children)
        first = _first_token(tree)
        if self.target:
            return self._error(first, "a second .target")
        expected = ["cores", *_TARGET_FIELDS]
        for name, token in found.items():
            if name not in expected:
                self._error(token, f"unknown setting {name}", _nearest(name, expected))
            elif not 1 <= int(token) <= (_MOST_CORES if name == "cores" else 2**31 - 1):
                self._error(token, f"{name} is {token}")
        if missing := [name for name in expected if name not in found and name != "element_bytes"]:
            self._error(first, f".target lacks {', '.join(missing)}")
        self.target = {name: int(token) for name, token in found.items()}

    def _node(self, tree: Tree[Token]) -> None:
        index, name = (child for child in tree.children if isinstance(child, Token))
        if int(index) != len(self.names):
            self._error(index, f"node {index} stands where node {len(self.names)} is expected")
        try:
            self.names.append(json.loads(name))
        except ValueError:
            self._error(name, "bad escape in string")

    def _core(self, tree: Tree[Token]) -> None:
        number, *groups = (child for child in tree.children if isinstance(child, Token))
        self.core = int(number)
        if not 0 <= self.core < self.target.get("cores", 0):
            self._error(number, f"core {number} does not exist", "give .target first, with enough cores")
        if self.core in self.groups:
            self._error(number, f"core {number} stands twice")
        for count in groups:
            if not 1 <= int(count) < 2**31:
                self._error(count, f"a group of {count} arrays")
        self.groups[self.core] = tuple(int(count) for count in groups)

    def _instruction(self, tree: Tree[Token]) -> None:
        mnemonic, *operands = tree.children
        assert isinstance(mnemonic, Token)
        info = BY_MNEMONIC.get(mnemonic)
        if info is None:
            return self._error(mnemonic, f"unknown instruction {mnemonic}", _nearest(mnemonic, list(BY_MNEMONIC)))
        if self.core < 0:
            return self._error(mnemonic, "an instruction before the first .core")
        row = dict.fromkeys(COLUMN_TYPES, 0) | {"op": int(info.op)}
        row |= self._registers(info, mnemonic, operands) | self._immediates(info, mnemonic, operands)
        self.rows.setdefault(self.core, []).append(tuple(row.values()))
        self.nodes.setdefault(self.core, []).append(self._reference(operands))

    def _registers(self, info: OpInfo, mnemonic: Token, operands: list[Any]) -> dict[str, int]:
        tokens = [operand.children[0] for operand in operands if operand.data == "register"]
        expected = [field for field in info.fields if is_register(field)]
        if len(tokens) != len(expected):
            self._error(mnemonic, f"{mnemonic} takes {len(expected)} registers, not {len(tokens)}")
            return {}
        pairs = zip(expected, tokens, strict=True)
        return {field.column: self._number(field, token, token[1:]) for field, token in pairs}

    def _immediates(self, info: OpInfo, mnemonic: Token, operands: list[Any]) -> dict[str, int]:
        found = self._settings([operand for operand in operands if operand.data == "setting"])
        optional = _offset_fields(info) if "offset" in found or "select" in found else ()
        expected = {field.name: field for field in (*info.fields, *optional) if not is_register(field)}
        for name, token in found.items():
            if name not in expected:
                self._error(token, f"{mnemonic} has no operand {name}", _nearest(name, list(expected)))
        if missing := [name for name in expected if name not in found]:
            self._error(mnemonic, f"{mnemonic} lacks {', '.join(missing)}")
        known = {name: token for name, token in found.items() if name in expected}
        return {expected[name].column: self._number(expected[name], token, token) for name, token in known.items()}

    def _number(self, field: Field, token: Token, digits: str) -> int:
        value = int(digits) if len(digits) < 20 else field.most + 1
        if not field.least <= value <= field.most:
            self._error(token, f"{field.name} is {digits[:20]}, not from {field.least} to {field.most}")
        return value

    def _reference(self, operands: list[Any]) -> int:
        for operand in operands:
            if operand.data == "node_reference":
                token = operand.children[0]
                if not 0 <= int(token) < len(self.names):
                    self._error(token, f"node {token} does not exist")
                return int(token)
        return -1

    def _settings(self, children: list[Any]) -> dict[str, Token]:
        found: dict[str, Token] = {}
        for child in children:
            name, value = child.children
            if str(name) in found:
                self._error(name, f"{name} is given twice")
            found[str(name)] = value
        return found

    def _error(self, token: Token, what: str, remedy: str = "") -> None:
        self.errors.append(TileError(f"{self.source}:{token.line}:{token.column}", what, remedy))


def is_register(field: Field) -> bool:
    """Whether an operand is a register, written by position, and not a named number."""
    return field.column in REGISTER_COLUMNS


def _offset_fields(info: OpInfo) -> tuple[Field, ...]:
    """The offset and what it is added to; none if the instruction cannot have one."""
    if not info.selectable:
        return ()
    offset = Field("c", "offset", INT32_MIN, INT32_MAX, ())
    return offset, Field("select", "select", 1, info.selectable, ())


def _first_token(tree: Tree[Token]) -> Token:
    return next(tree.scan_values(lambda value: isinstance(value, Token)))


def _nearest(name: str, candidates: list[str]) -> str:
    near = difflib.get_close_matches(name, candidates, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known are {', '.join(candidates)}"


def _columns(rows: list[tuple[int, ...]]) -> Columns:
    table = np.array(rows, np.int64).reshape(-1, len(COLUMN_TYPES))
    return Columns.from_arrays({name: table[:, number] for number, name in enumerate(COLUMN_TYPES)})
