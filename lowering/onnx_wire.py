"""Weights of an `.onnx` file without going through protobuf, which copies them several times.

An `.onnx` file is a message in protobuf's wire format: fields, each a key (number and wire type) and a value. Nearly
all bytes of it are the values of one field, `ModelProto.graph.initializer.raw_data`. :func:`without_raw_data` copies
everything else, and says where those stand in the file.

Source: protobuf.dev/programming-guides/encoding and onnx/onnx.proto (field numbers).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO
from typing import TypeAlias

_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
_BYTES = 2
"""The wire type of a value with its length before it."""

Seekable: TypeAlias = BufferedReader | BytesIO
"""A file, or its content."""

LEAST_BYTES = 4096
"""Smaller tensors stay in the message."""


class NotWireFormatError(Exception):
    """The bytes are no message, or one that is written in an unusual way."""


@dataclass
class Message:
    """A model's message without the raw data of its large initializers."""

    content: bytearray = field(default_factory=bytearray)
    initializers: int = 0
    """How many there are."""
    raw_data: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """By number of initializer: where its raw data is in the file, and how many bytes it has."""


def without_raw_data(file: Seekable) -> Message:
    """Reads all of a model that is not raw data. Raises NotWireFormatError, and OSError if it cannot be read."""
    size = file.seek(0, 2)
    found = Message()
    for one in _fields(file, 0, size):
        if one.number == _GRAPH and one.wire == _BYTES:
            graph = bytearray()
            for part in _fields(file, one.start, one.end):
                if part.number == _INITIALIZER and part.wire == _BYTES:
                    _append(graph, _INITIALIZER, _tensor(file, part, found))
                    found.initializers += 1
                else:
                    graph += _read(file, part.begin, part.end)
            _append(found.content, _GRAPH, graph)
        else:
            found.content += _read(file, one.begin, one.end)
    return found


@dataclass(frozen=True, slots=True)
class _Field:
    number: int
    wire: int
    begin: int
    """Where the key is in the file."""
    start: int
    """Where the value is."""
    end: int


def _tensor(file: Seekable, tensor: _Field, found: Message) -> bytes | bytearray:
    """An initializer without its raw data, which is noted down."""
    if tensor.end - tensor.start < LEAST_BYTES:
        return _read(file, tensor.start, tensor.end)
    kept = bytearray()
    for part in _fields(file, tensor.start, tensor.end):
        if part.number == _RAW_DATA and part.wire == _BYTES and part.end - part.start >= LEAST_BYTES:
            if found.initializers in found.raw_data:
                raise NotWireFormatError("raw data comes twice")
            found.raw_data[found.initializers] = part.start, part.end - part.start
        else:
            kept += _read(file, part.begin, part.end)
    return kept


def _fields(file: Seekable, begin: int, end: int) -> Iterator[_Field]:
    """The fields of the message from ``begin`` to ``end``. Whoever takes them may move in the file."""
    while begin < end:
        file.seek(begin)
        key = _varint(file)
        match key & 7:
            case 0:  # a number
                start = file.tell()
                _varint(file)
                stop = file.tell()
            case 1:  # 64 bits
                start = file.tell()
                stop = start + 8
            case 2:  # bytes, with their length
                length = _varint(file)
                start = file.tell()
                stop = start + length
            case 5:  # 32 bits
                start = file.tell()
                stop = start + 4
            case other:
                raise NotWireFormatError(f"wire type {other}")
        if stop > end:
            raise NotWireFormatError("a field ends behind its message")
        yield _Field(key >> 3, key & 7, begin, start, stop)
        begin = stop


def _varint(file: Seekable) -> int:
    found = shift = 0
    while shift < 64:
        byte = file.read(1)
        if not byte:
            raise NotWireFormatError("the file ends in a number")
        found |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return found
        shift += 7
    raise NotWireFormatError("a number of more than 64 bits")


def _append(message: bytearray, number: int, value: bytes | bytearray) -> None:
    """Adds a field with ``value`` to a message."""
    message.append(number << 3 | _BYTES)
    length = len(value)
    while length >= 0x80:
        message.append(length & 0x7F | 0x80)
        length >>= 7
    message.append(length)
    message += value


def _read(file: Seekable, begin: int, end: int) -> bytes:
    file.seek(begin)
    found = file.read(end - begin)
    if len(found) != end - begin:
        raise NotWireFormatError("the file has become shorter")
    return found
