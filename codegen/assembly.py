"""Programs as assembly text and back.

.. code-block:: text

    .target cores=2 array_rows=128 array_cols=128 arrays_per_core=8 local_memory_bytes=65536 element_bytes=1
    .node 0 "conv1"
    .core 0 groups=[2]
      setbw ibiw=8, obiw=8
      sldi r1, imm=4096
      mvmul r1, r0, mbiw=8, group=0, relu=1 @0
      vrelu r1, r0, len=64, offset=4096, select=3 @0
      send r1, size=64, core=1 @0
    .core 1 groups=[]
      ...

Registers stand in the order of the instruction set's table, other operands are named, ``@`` says which node of the
network an instruction comes from. An ``offset`` and the sum of what ``select``s operands stand only where there are
any: 1 for rd, 2 for rs1, 4 for rs2. Printing is done in bulk. Parsing takes some steps a line (about 15,000 lines a
second): it is for programs that people write or edit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from .assembly_parser import is_register, parse_program
from .columns import Program, Target
from .isa import ISA, OpInfo
from .package import Package
from .row_text import Piece, Template, rows_as_text

_CHUNK_ROWS = 1 << 15
_WITH_NODE = 256
_WITH_OFFSET = 512
_TARGET_FIELDS = [field.name for field in fields(Target)]


def assembly_text(program: Program) -> Iterator[str]:
    """The text of a program in pieces."""
    target = " ".join(f"{name}={getattr(program.target, name)}" for name in _TARGET_FIELDS)
    yield f".target cores={program.core_count} {target}\n"
    for index, name in enumerate(program.node_names):
        yield f".node {index} {json.dumps(name)}\n"
    for core in range(program.core_count):
        span = program.span(core)
        if span.start == span.stop and not program.groups[core]:
            continue
        yield f".core {core} groups=[{', '.join(map(str, program.groups[core]))}]\n"
        for start in range(span.start, span.stop, _CHUNK_ROWS):
            yield _rows(program, slice(start, min(start + _CHUNK_ROWS, span.stop)))


def _rows(program: Program, span: slice) -> str:
    rows = program.columns.take(span)
    numbers: dict[str, Any] = dict(rows.items())
    kinds = rows.op + np.where(rows.select != 0, _WITH_OFFSET, 0)
    if program.node is not None:
        numbers["node"] = program.node[span]
        kinds += np.where(numbers["node"] >= 0, _WITH_NODE, 0)
    (text,) = rows_as_text(kinds, numbers, _TEMPLATES)
    return text.decode()


def _template(info: OpInfo, with_offset: bool, with_node: bool) -> Template:
    pieces: list[Piece] = [f"  {info.mnemonic} ".encode()]
    for number, field in enumerate(info.fields):
        prefix = "r" if is_register(field) else f"{field.name}="
        pieces += [f"{', ' if number else ''}{prefix}".encode(), field.column]
    if with_offset:
        pieces += [b", offset=", "c", b", select=", "select"]
    return [*pieces, b" @", "node", b"\n"] if with_node else [*pieces, b"\n"]


_TEMPLATES = {
    int(op) + offset + node: _template(info, offset > 0, node > 0)
    for op, info in ISA.items()
    for offset in (0, _WITH_OFFSET)
    for node in (0, _WITH_NODE)
}


def parse_assembly(text: str, source: str = "<assembly>") -> Program:
    """The program that the text describes. Mistakes are user errors that name line and column."""
    return parse_program(text, source)


def reassemble(package: Package, text: str, source: str = "<assembly>") -> Package:
    """The package with its program replaced by the one that the text describes; everything else stays."""
    return replace(package, program=parse_assembly(text, source))
