"""The input of `tile-opt`: bytes from a file or stdin, split into chunks, each parsed to a module."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Block, Operation
from xdsl.parser import Parser
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import (
    MultipleSpansParseError,
    ParseError,
    UnregisteredConstructException,
    VerifyException,
)

from ..support.diagnostics import TileError, system_reason
from ..support.files import is_device
from ..support.source import SourceError

SPLIT_MARKER = "// -----"

_QUOTE = re.compile(r"""//[^\n]*|"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"|(")""")
"""A comment, a string, or the quote that begins what is no string."""

MAX_INTEGER_BITS = (1 << 24) - 1
"""MLIR's limit on the width of an integer type."""

_INTEGER_TYPE = re.compile(r"""//[^\n]*|"(?:[^"\\\n]|\\.)*+"|(?<![\w%@#!^.$-])[su]?i([1-9]\d*)\b""")
"""A comment, a string, or an integer type with its width."""

_BEGINNING = re.compile(r"""(?:\s|//[^\n]*(?:\n|$))*(?:$|["%]|[#!][A-Za-z]|\{-#|(?:module|func)\b|[A-Za-z_]\w*\.)""")
"""What a module can begin with: aliases, resources, an op by its name or its results."""

_ONNX_FIRST_BYTE = b"\x08"
"""The tag of `ir_version`, with which a serialized ONNX model starts; no text starts so."""


_OTHER_FORMATS = {
    ".py": "a Python program",
    ".ipynb": "a notebook",
    ".pt": "a PyTorch file",
    ".pth": "a PyTorch file",
    ".pt2": "a PyTorch file",
    ".safetensors": "a file of weights",
    ".h5": "an HDF5 file",
    ".keras": "a Keras model",
    ".pb": "a TensorFlow graph",
    ".tflite": "a TensorFlow Lite model",
    ".npy": "an array",
    ".npz": "a file of arrays",
    ".tilepkg": "a compiled package",
}
"""What a file is by its name that is often taken for a model."""


@dataclass(frozen=True)
class Chunk:
    """A part of the input that is a module of its own."""

    name: str
    text: str
    """As many empty lines as the file has before the chunk, so that line numbers are the file's, and the chunk."""


@dataclass(frozen=True)
class OnnxInput:
    """An ONNX model: a file, whose folder may hold external data, or bytes from stdin."""

    name: str
    source: Path | bytes


def read_input(name: str, split: bool = False) -> list[Chunk] | OnnxInput:
    """Reads the file ``name``, or stdin if it is `-`. A TileError if it cannot be read or is not text."""
    if not name:
        raise TileError("input", "its name is empty", "give a .mlir or .onnx file, or '-' for stdin")
    # The text holds it, in locations, as UTF-8.
    shown = "<stdin>" if name == "-" else name.encode(errors="backslashreplace").decode()
    if (kind := _OTHER_FORMATS.get(Path(name).suffix.lower())) is not None:
        raise TileError(shown, f"is {kind}, neither MLIR text nor an ONNX model", "give a .mlir or .onnx file")
    try:
        if name == "-":
            data = sys.stdin.buffer.read()
        else:
            if is_device(Path(name)):
                raise TileError(
                    shown, "is a device, which may have no end", "give a .mlir or .onnx file, or '-' for stdin"
                )
            with Path(name).open("rb") as file:
                data = file.read(1)
                if _is_onnx(name, data):  # The importer reads it, and not all at once.
                    return OnnxInput(shown, Path(name))
                data += file.read()
    except OSError as error:
        raise TileError(shown, f"cannot be read: {system_reason(error)}", "give a .mlir or .onnx file") from error
    if _is_onnx(name, data):
        return OnnxInput(shown, data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"is neither UTF-8 text nor an ONNX model: byte {error.start} is 0x{data[error.start]:02x}"
        raise TileError(shown, what, "give a .mlir or .onnx file") from None
    if not name.endswith((".mlir", "-")) and _BEGINNING.match(text) is None:
        raise TileError(shown, "is neither MLIR text nor an ONNX model", "give a .mlir or .onnx file")
    return list(_split(shown, text)) if split else [Chunk(shown, text)]


def _is_onnx(name: str, data: bytes) -> bool:
    return name.endswith(".onnx") or data.startswith(_ONNX_FIRST_BYTE)


def _split(name: str, text: str) -> Iterator[Chunk]:
    lines: list[str] = []
    skipped = 0
    for number, line in enumerate(text.split("\n")):
        if line.rstrip() == SPLIT_MARKER:
            yield Chunk(name, "\n" * skipped + "\n".join(lines))
            lines, skipped = [], number + 1
        else:
            lines.append(line)
    yield Chunk(name, "\n" * skipped + "\n".join(lines))


def parse_chunk(chunk: Chunk, context: Context) -> ModuleOp:
    """The module of ``chunk``; ops without a location get their place in the file. A SourceError if it is malformed."""
    _check_strings(chunk)
    _check_integer_types(chunk)
    parser: _LocatingParser | None = None
    try:
        parser = _LocatingParser(context, chunk)
        if parser.pos >= len(chunk.text):
            # MLIR takes an empty file for an empty module; xDSL's parser does not.
            return ModuleOp([])
        return parser.parse_module()
    except TileError:
        raise
    except ParseError as error:
        start, end = _undefined_value(error, chunk.text) or (error.span.start, error.span.end)
        raise SourceError(chunk.name, chunk.text, start, end, _parse_message(error)) from error
    except RecursionError as error:
        what, remedy = "regions or attributes are nested too deeply", "flatten them"
        raise SourceError(chunk.name, chunk.text, _position(parser), 0, what, remedy) from error
    except Exception as error:
        # Parsers of attributes and ops build what they parse, and so fail in every way that building can.
        known = isinstance(error, UnregisteredConstructException | VerifyException | ValueError)
        what = " ".join(str(error).split()) if known else f"malformed: {type(error).__name__}: {error}"
        position = _position(parser)
        raise SourceError(chunk.name, chunk.text, position, position, what) from error


def _check_strings(chunk: Chunk) -> None:
    """Refuses strings without an end, on which xDSL's lexer takes exponential time."""
    for match in _QUOTE.finditer(chunk.text):
        if match[1] is not None:
            what = "unterminated string, or one with an unknown escape"
            raise SourceError(chunk.name, chunk.text, match.start(), match.end(), what, "close it on the same line")


def _check_integer_types(chunk: Chunk) -> None:
    """Refuses integer types wider than MLIR's limit: xDSL computes their range, a number of as many bits."""
    for match in _INTEGER_TYPE.finditer(chunk.text):
        if match[1] is None:
            continue
        if len(match[1]) > len(str(MAX_INTEGER_BITS)) or int(match[1]) > MAX_INTEGER_BITS:
            what = f"an integer type of {match[1]} bits; at most {MAX_INTEGER_BITS} are allowed"
            raise SourceError(chunk.name, chunk.text, match.start(), match.end(), what, "correct the width")


class _LocatingParser(Parser):
    """xDSL's parser; gives each op that has no location in the text its place in the text, as MLIR's does."""

    def __init__(self, context: Context, chunk: Chunk) -> None:
        self._file = StringAttr(chunk.name)
        self._line_starts = [0, *(index + 1 for index, char in enumerate(chunk.text) if char == "\n")]
        super().__init__(context, chunk.text, chunk.name)

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        if op.has_trait(NoTerminator, value_if_unregistered=False):
            # MLIR takes `{}` for a region of one empty block, where no terminator has to be in it.
            for region in op.regions:
                if not region.blocks:
                    region.add_block(Block())
        if isinstance(op.location, UnknownLoc):
            line = bisect_right(self._line_starts, start)
            column = start - self._line_starts[line - 1] + 1
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op


def _position(parser: Parser | None) -> int:
    return 0 if parser is None else parser.pos


def _undefined_value(error: ParseError, text: str) -> tuple[int, int] | None:
    """Where the first value that is used and never defined is used; xDSL reports it at the end of the text."""
    message = re.match(r"values used but not defined: \[(%[^,\]]+)", error.msg)
    code = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), text)
    use = None if message is None else re.search(re.escape(message[1]) + r"(?![\w$.-])", code)
    return None if use is None else use.span()


def _parse_message(error: ParseError) -> str:
    message = " ".join(error.msg.split())
    if isinstance(error, MultipleSpansParseError):
        places = ", ".join(f"'{span.text}' at line {span.get_location().line}" for span, _ in error.refs)
        message += f": {places}" if places else ""
    return message
