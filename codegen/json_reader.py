"""Reads ``program.json``, plain or compressed: streams of this project's and of any other compiler, as columns.

The simulator's JSON can say more than a :class:`~.columns.Program`: a ``len`` that differs from the
``size``, ``sld``. A :class:`JsonProgram` keeps all of it, one column a field, so that foreign streams can be timed as
they are; :meth:`JsonProgram.to_program` gives the program of a stream that needs none of it. Fields are read as the
simulator reads them: absent is 0, unknown is ignored, fractions are cut off, and integers wrap to 32 bits.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from ..support.diagnostics import TileError, system_reason
from .columns import COLUMN_TYPES, Columns, Program, Target
from .field_check import field_faults
from .isa import BY_CODE, BY_MNEMONIC, ISA, OP_LIMIT, REGISTER_COLUMNS, REGISTER_COUNT

SLD = OP_LIMIT
"""The code of ``sld``, which exists in streams only: the simulator takes a cycle for it and sets r0 to 0."""

FIELDS = (
    *REGISTER_COLUMNS,
    *("imm", "len", "size", "core", "group", "relu"),
    *("ibiw", "obiw", "mbiw", "event_register", "wait_value", "offset_value", "offset_select"),
)
"""The numbers of an instruction. The last two stand in an object ``offset``."""

_OFFSETS = ("offset_value", "offset_select")
_CODES = {name: int(info.op) for name, info in BY_MNEMONIC.items()} | {"sld": SLD}
_MOST_CORES = 1 << 16
_REMEDY = "give a stream that a compiler for pimsim-nn wrote"
_GREATEST = 2.0**62
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


@dataclass(frozen=True, eq=False)
class JsonProgram:
    """A stream as it stands in the file. Instruction ``k`` of the ``n``-th core is row ``core_start[n] + k``."""

    source: str
    core_ids: tuple[int, ...]
    """The cores that have a list, in ascending order; the list may be empty."""
    core_start: Ints
    """Shape [number of cores + 1]."""
    op: Ints
    """Opcodes of :mod:`.isa`, or :data:`SLD`."""
    fields: Mapping[str, Ints]
    """One column for each of :data:`FIELDS`."""
    groups: tuple[tuple[int, ...], ...]
    """Per core, per array group: its number of arrays."""
    core_limit: int
    """``core_cnt`` of the file: one more than the greatest core number that it looks at."""

    def to_program(self, target: Target) -> Program:
        """The program of the stream; a user error for a stream that no :class:`~.columns.Program` can express."""
        columns = self._columns()
        cores = [Columns.empty()] * self.core_limit
        groups: list[tuple[int, ...]] = [()] * self.core_limit
        for number, core in enumerate(self.core_ids):
            cores[core] = columns.take(slice(int(self.core_start[number]), int(self.core_start[number + 1])))
            groups[core] = self.groups[number]
        program = Program.from_cores(target, cores, groups)
        if faults := field_faults(program.columns, limit=1):
            raise TileError(self.source, f"{program.place(faults[0].row)}: {faults[0].reason}", _REMEDY)
        return program

    def place(self, row: int) -> str:
        """Where instruction ``row`` stands, for messages."""
        number = int(np.searchsorted(self.core_start, row, side="right")) - 1
        return f"core {self.core_ids[number]}, instruction {row - int(self.core_start[number])}"

    def _columns(self) -> Columns:
        arrays: dict[str, npt.NDArray[np.integer]] = {name: np.zeros(len(self.op), np.int64) for name in COLUMN_TYPES}
        arrays["op"] = self.op
        if len(rows := np.flatnonzero(self.op == SLD)):
            raise self._inexpressible(int(rows[0]), "sld, which the simulator does not implement")
        selectable = np.array([BY_CODE[op].selectable if op in BY_CODE else 0 for op in range(OP_LIMIT)])[self.op]
        offset, select = self.fields["offset_value"], self.fields["offset_select"]
        if len(rows := np.flatnonzero((offset != 0) & (select & selectable == 0) | (select & ~selectable != 0))):
            raise self._inexpressible(int(rows[0]), "an offset that its operands do not take")
        for op, info in ISA.items():
            at = self.op == op
            for field in info.fields:
                first, *others = (self.fields[key] for key in field.json_keys)
                arrays[field.column][at] = first[at]
                for other in others:
                    if len(rows := np.flatnonzero(at & (other != first))):
                        raise self._inexpressible(int(rows[0]), f"different {' and '.join(field.json_keys)}")
        selected = select != 0
        arrays["c"][selected], arrays["select"][selected] = offset[selected], select[selected]
        return Columns.from_arrays(arrays)

    def _inexpressible(self, row: int, what: str) -> TileError:
        return TileError(self.source, f"{self.place(row)} has {what}", "such a stream can only be timed")


def read_program_json(path: Path) -> JsonProgram:
    """The stream in a file; whatever is wrong with it is a user error."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TileError(str(path), f"cannot be read: {system_reason(error)}", "name a file that can be read") from None
    return parse_program_json(data, str(path))


def parse_program_json(data: bytes, source: str) -> JsonProgram:
    """The stream in ``data``, compressed or not; ``source`` is named in user errors."""
    content = _parse(_inflate(data, source), source)
    config = _mapping(content.get("config"), source, "config")
    limit = _whole(config.get("core_cnt"), source, "config.core_cnt", 0, _MOST_CORES)
    group_map = _mapping(config.get("array_group_map"), source, "config.array_group_map")
    core_ids = tuple(core for core in range(limit) if f"core{core}" in content)
    parts = [_read_core(content.pop(f"core{core}"), source, core) for core in core_ids]
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part["op"]) for part in parts], out=start[1:])
    columns = {name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in parts)]) for name in _COLUMNS}
    groups = tuple(_read_groups(group_map.get(f"core{core}", []), source, core) for core in core_ids)
    return JsonProgram(source, core_ids, start, columns.pop("op"), columns, groups, limit)


_COLUMNS = ("op", *FIELDS)


def _inflate(data: bytes, source: str) -> bytes:
    if data[:1] == b"{" or data.lstrip()[:1] == b"{":
        return data
    try:
        return zlib.decompress(data, _GZIP_OR_ZLIB)
    except zlib.error as error:
        raise TileError(source, f"is neither JSON nor compressed JSON ({error})", _REMEDY) from None


def _parse(text: bytes, source: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except RecursionError:
        raise TileError(source, "is not valid JSON: nested too deeply", "flatten it") from None
    except ValueError as error:
        raise TileError(source, f"is not valid JSON: {error}", "correct it") from None
    return _mapping(content, source, "the file")


def _mapping(value: object, source: str, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TileError(source, f"{path} is {_shown(value)}, not an object", _REMEDY)
    return cast("dict[str, Any]", value)


def _read_groups(value: object, source: str, core: int) -> tuple[int, ...]:
    path = f"config.array_group_map.core{core}"
    if not isinstance(value, list):
        raise TileError(source, f"{path} is {_shown(value)}, not a list", _REMEDY)
    counts = cast("list[object]", value)
    return tuple(_whole(count, source, f"{path}[{number}]", 0, 2**31 - 1) for number, count in enumerate(counts))


def _read_core(value: object, source: str, core: int) -> dict[str, Ints]:
    """The columns of one core. The quick way first; whatever is wrong is looked for afterwards."""
    if not isinstance(value, list):
        raise TileError(source, f"core{core} is {_shown(value)}, not a list", _REMEDY)
    lines = cast("list[Any]", value)
    try:
        op = [_CODES[name] for name in map(itemgetter("op"), lines)]
        found = {name: _column([line.get(name, 0) for line in lines]) for name in FIELDS if name not in _OFFSETS}
        offsets = [line.get("offset", _NO_OFFSET) for line in lines]
        for name in _OFFSETS:
            found[name] = _column([offset.get(name, 0) for offset in offsets])
    except (TypeError, KeyError, AttributeError, ValueError, OverflowError):
        raise _first_error(lines, source, core) from None
    for name in REGISTER_COLUMNS:
        if len(rows := np.flatnonzero((found[name] < 0) | (found[name] >= REGISTER_COUNT))):
            row = int(rows[0])
            raise _error(source, core, row, f"{name} is {found[name][row]}, not a register from 0 to 31")
    found["op"] = np.array(op, np.int64)
    return found


_NO_OFFSET: dict[str, int] = {}


def _column(values: list[Any]) -> Ints:
    """Integers, wrapped to 32 bits."""
    array = np.asarray(values if values else np.empty(0, np.int64))
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        raise TypeError
    if array.dtype.kind == "f":
        if not (np.abs(array) < _GREATEST).all():
            raise ValueError
        array = np.trunc(array)
    return ((array.astype(np.int64) + 2**31) % 2**32) - 2**31


def _first_error(lines: list[Any], source: str, core: int) -> TileError:
    for row, line in enumerate(lines):
        if not isinstance(line, dict):
            return _error(source, core, row, f"is {_shown(line)}, not an object")
        fields = cast("dict[str, Any]", line)
        name = fields.get("op")
        if name == "nop":
            return _error(source, core, row, "is nop, which hangs the simulator's core")
        if not isinstance(name, str) or name not in _CODES:
            return _error(source, core, row, f"has no known op but {_shown(name)}")
        offset = fields.get("offset", _NO_OFFSET)
        if not isinstance(offset, dict):
            return _error(source, core, row, f"offset is {_shown(offset)}, not an object")
        for key in FIELDS:
            value = cast("dict[str, Any]", offset if key in _OFFSETS else fields).get(key, 0)
            if not isinstance(value, int | float) or not math.isfinite(value) or abs(value) >= _GREATEST:
                return _error(source, core, row, f"{key} is {_shown(value)}, not a number")
    raise AssertionError(f"core {core} of {source} was refused for no reason")


def _error(source: str, core: int, row: int, what: str) -> TileError:
    return TileError(source, f"core {core}, instruction {row} {what}", _REMEDY)


def _whole(value: object, source: str, path: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise TileError(source, f"{path} is {_shown(value)}, not a whole number from {least} to {most}", _REMEDY)
    return value


def _shown(value: object) -> str:
    return "missing" if value is None else str(json.dumps(value))[:40]
