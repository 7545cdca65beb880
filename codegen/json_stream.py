"""``program.json.gz``: the instruction streams in the form that the pimsim-nn simulator reads.

Written chunk by chunk, compressed while writing; the text of the whole program never exists. The same program gives the
same bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator

import numpy as np

from .byte_sink import ByteSink
from .columns import Program
from .isa import ISA, OpInfo
from .row_text import Piece, Template, rows_as_text

_CHUNK_ROWS = 1 << 15
_LEVEL = 1
"""Of gzip. The text is so regular that level 1 already gives a few bytes an instruction."""
_GZIP = 16 + zlib.MAX_WBITS
_SEPARATOR = b",\n"
_WITH_OFFSET = 256


def write_program_json(program: Program, file: ByteSink) -> None:
    """Writes the program to an open binary file."""
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    for text in program_json(program):
        if piece := compressor.compress(text):
            file.write(piece)
    file.write(compressor.flush())


def program_json(program: Program) -> Iterator[bytes]:
    """The JSON text in pieces. Cores without instructions are left out: the simulator never finishes an empty list."""
    yield b'{"config":' + _config(program)
    count = len(program.columns)
    for start in range(0, count, _CHUNK_ROWS):
        yield from _chunk(program, start, min(start + _CHUNK_ROWS, count))
    yield b"\n}\n"


def _chunk(program: Program, start: int, stop: int) -> Iterator[bytes]:
    """Some rows of the program, with the heads and the ends of the cores among them."""
    rows = program.columns.take(slice(start, stop))
    kinds = rows.op + np.where(rows.select != 0, _WITH_OFFSET, 0)
    begins = program.core_start[:-1]
    first = int(np.searchsorted(begins, start, side="right")) - 1
    cores = [
        core
        for core in range(first, int(np.searchsorted(begins, stop)))
        if program.span(core).start < program.span(core).stop
    ]
    cuts = [program.span(core).start - start for core in cores[1:]]
    texts = rows_as_text(kinds, dict(rows.items()), _TEMPLATES, cuts)
    for core, text in zip(cores, texts, strict=True):
        span = program.span(core)
        if span.start >= start:
            yield b',\n"core%d":[\n' % core
        if span.stop > stop:
            yield text
        else:
            yield text.removesuffix(_SEPARATOR)
            yield b"\n]"


def _config(program: Program) -> bytes:
    groups = {f"core{core}": counts for core, counts in enumerate(program.groups) if counts}
    config = {"core_cnt": program.core_count, "array_group_map": groups}
    return json.dumps(config, separators=(",", ":")).encode()


def _template(info: OpInfo, with_offset: bool) -> Template:
    pieces: list[Piece] = [b'{"op":"%s"' % info.mnemonic.encode()]
    for field in info.fields:
        for key in field.json_keys:
            pieces += [b',"%s":' % key.encode(), field.column]
    if with_offset:
        pieces += [b',"offset":{"offset_value":', "c", b',"offset_select":', "select", b"}"]
    return [*pieces, b"}" + _SEPARATOR]


_TEMPLATES = {int(op) + kind: _template(info, kind > 0) for op, info in ISA.items() for kind in (0, _WITH_OFFSET)}
