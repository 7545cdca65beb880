"""``program.bin``: the columns of a program, compact and quick to load.

Layout: the magic, a header length (u32, little endian), a JSON header, then one zlib stream for each array in the order
that the header lists them. Arrays are little endian.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..analysis.json_record import parse_json, require_whole
from ..support.diagnostics import TileError
from .archive import corrupt
from .byte_sink import ByteSink
from .columns import COLUMN_TYPES, Columns, Program, Target
from .field_check import field_faults

_MAGIC = b"TILEBIN2"
_LENGTH = struct.Struct("<I")
_LEVEL = 1
"""Of zlib. The default level takes five times as long, and saves a quarter of the bytes."""
_CHUNK_ITEMS = 1 << 20
_MOST_INSTRUCTIONS = 1 << 28
_MOST_CORES = 1 << 12


def write_program(program: Program, file: ByteSink) -> None:
    """Writes the program to an open binary file."""
    header = {
        "target": asdict(program.target),
        "groups": program.groups,
        "node_names": program.node_names,
        "instructions": len(program.columns),
        "nodes": program.node is not None,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    file.write(_MAGIC + _LENGTH.pack(len(text)) + text)
    for array in _arrays(program):
        for piece in _deflated(np.ascontiguousarray(array, array.dtype.newbyteorder("<"))):
            file.write(piece)


def _arrays(program: Program) -> list[npt.NDArray[Any]]:
    columns = [column for _, column in program.columns.items()]
    return [program.core_start, *columns] + ([] if program.node is None else [program.node])


def _deflated(array: npt.NDArray[Any]) -> Iterator[bytes]:
    compressor = zlib.compressobj(_LEVEL)
    for start in range(0, len(array), _CHUNK_ITEMS):
        if piece := compressor.compress(array[start : start + _CHUNK_ITEMS].tobytes()):
            yield piece
    yield compressor.flush()


def read_program(data: bytes, source: str) -> Program:
    """The program in ``data``. Every way in which the data can be wrong is a user error about ``source``."""
    header, body = _read_header(data, source)
    try:
        target, groups, names, count, has_nodes = _header_fields(header)
    except (KeyError, TypeError, ValueError) as error:
        raise corrupt(source, f"bad header ({error})") from None
    stream = _Inflater(body, source)
    start = stream.array(len(groups) + 1, np.int64)
    columns = Columns(*(stream.array(count, dtype) for dtype in COLUMN_TYPES.values()))
    node = stream.array(count, np.int32) if has_nodes else None
    stream.finish()
    if start[0] != 0 or start[-1] != count or (np.diff(start) < 0).any():
        raise corrupt(source, "the cores do not divide the instructions")
    program = Program(target, columns, start, groups, node, names)
    if faults := field_faults(columns, limit=1):
        raise corrupt(source, f"{program.place(faults[0].row)}: {faults[0].reason}")
    return program


def _read_header(data: bytes, source: str) -> tuple[dict[str, Any], memoryview]:
    if not data.startswith(_MAGIC[:-1]):
        raise corrupt(source, "it is no program file")
    if not data.startswith(_MAGIC):
        raise TileError(source, f"has format version {data[7:8]!r}", "read it with the version that wrote it")
    body = memoryview(data)[len(_MAGIC) :]
    if len(body) < _LENGTH.size:
        raise corrupt(source, "it ends in its header")
    (length,) = _LENGTH.unpack(body[: _LENGTH.size])
    body = body[_LENGTH.size :]
    if length > len(body):
        raise corrupt(source, "it ends in its header")
    header = parse_json(bytes(body[:length]), source)
    if not isinstance(header, dict):
        raise corrupt(source, "bad header")
    return cast("dict[str, Any]", header), body[length:]


def _header_fields(header: dict[str, Any]) -> tuple[Target, tuple[tuple[int, ...], ...], tuple[str, ...], int, bool]:
    target = Target.from_json(header["target"])
    groups = tuple(tuple(require_whole(count, 1, 2**31 - 1) for count in core) for core in header["groups"])
    if not 1 <= len(groups) <= _MOST_CORES:
        raise ValueError(f"{len(groups)} cores")
    names = tuple(header["node_names"])
    if not all(isinstance(name, str) for name in names):
        raise ValueError("a node name is no string")
    return target, groups, names, require_whole(header["instructions"], 0, _MOST_INSTRUCTIONS), header["nodes"] is True


class _Inflater:
    """Takes one array after another out of concatenated zlib streams, never more bytes than asked for."""

    def __init__(self, data: memoryview, source: str) -> None:
        self._data = data
        self._source = source

    def array(self, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        little = np.dtype(dtype).newbyteorder("<")
        size = count * little.itemsize
        inflater = zlib.decompressobj()
        try:
            text = inflater.decompress(self._data, size + 1)
        except zlib.error as error:
            raise corrupt(self._source, f"damaged data ({error})") from None
        if len(text) != size or not inflater.eof:
            raise corrupt(self._source, f"an array does not have its {size} bytes")
        self._data = memoryview(inflater.unused_data)
        return np.frombuffer(text, little).astype(dtype, copy=False)

    def finish(self) -> None:
        if len(self._data):
            raise corrupt(self._source, f"{len(self._data)} bytes too many")
