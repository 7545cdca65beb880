"""The one form in which the clock takes programs, from a package or from a foreign ``program.json``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...codegen.columns import Program
from ...codegen.isa import EVENT_COUNT, OP_LIMIT, REGISTER_COLUMNS, SCALAR_OPS, VECTOR_OPS, Op
from ...codegen.json_reader import FIELDS, SLD, JsonProgram
from ...support.arrays import Ints
from ...support.diagnostics import TileError

Mask = npt.NDArray[np.bool_]

CODE_LIMIT = OP_LIMIT + 1
"""One more than the greatest opcode of a stream: the size of a table that is indexed by opcode."""


def op_mask(*ops: int) -> Mask:
    """A table over opcodes, true for these."""
    return np.isin(np.arange(CODE_LIMIT), ops)


IS_SCALAR = op_mask(*SCALAR_OPS, Op.SETBW, SLD)
"""Opcodes that leave the pipeline at decode."""
IS_VECTOR = op_mask(*VECTOR_OPS)


@dataclass(frozen=True, eq=False)
class Stream:
    """Columns of 64-bit integers, one row an instruction; the fields are those of the simulator's JSON."""

    op: Ints
    rd: Ints
    rs1: Ints
    rs2: Ints
    imm: Ints
    length: Ints
    size: Ints
    peer: Ints
    """Position of the other core in ``core_ids``, or -1 if there is no such core."""
    group: Ints
    input_bits: Ints
    """Of ``setbw`` its operand, of everything else the width in force."""
    output_bits: Ints
    weight_bits: Ints
    event: Ints
    value: Ints
    offset: Ints
    offset_select: Ints
    core_start: Ints
    core_ids: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @cached_property
    def unit_rows(self) -> Ints:
        """The instructions that go to a unit; most do not."""
        return np.flatnonzero(~IS_SCALAR[self.op])

    @cached_property
    def units(self) -> Stream:
        """Only these."""
        return selected(self, self.unit_rows)

    @property
    def core_count(self) -> int:
        """Number of cores that exist."""
        return len(self.core_ids)

    def core_of_rows(self) -> Ints:
        """Per instruction, the position of its core in ``core_ids``."""
        return np.repeat(np.arange(self.core_count), np.diff(self.core_start))

    def place(self, row: int) -> str:
        """Where an instruction stands, for messages."""
        number = int(np.searchsorted(self.core_start, row, side="right")) - 1
        code = int(self.op[row])
        name = "sld" if code == SLD else Op(code).name.lower()
        return f"core {self.core_ids[number]}, instruction {row - int(self.core_start[number])} ({name})"


def stream_of(program: Program | JsonProgram) -> Stream:
    """The stream of a program, checked for what no machine could execute."""
    raw = _of_program(program) if isinstance(program, Program) else _of_json(program)
    stream = _resolve(*raw)
    _check(stream)
    return stream


_Raw = tuple[Ints, dict[str, Ints], Ints, tuple[int, ...], tuple[tuple[int, ...], ...]]


def _of_json(program: JsonProgram) -> _Raw:
    return program.op, dict(program.fields), program.core_start, program.core_ids, program.groups


_UNIT_FIELDS = {
    "len": ("a", op_mask(*VECTOR_OPS, Op.LLDI, Op.LMV)),
    "size": ("a", op_mask(Op.LD, Op.ST, Op.SEND, Op.RECV, Op.LLDI, Op.LMV)),
    "core": ("b", op_mask(Op.SEND, Op.RECV, Op.SYNC)),
    "group": ("b", op_mask(Op.MVMUL)),
    "mbiw": ("a", op_mask(Op.MVMUL)),
    "event_register": ("a", op_mask(Op.SYNC, Op.WAIT)),
    "wait_value": ("b", op_mask(Op.WAIT)),
}
_SCALAR_FIELDS = {
    "imm": ("a", op_mask(*SCALAR_OPS)),
    "ibiw": ("a", op_mask(Op.SETBW)),
    "obiw": ("b", op_mask(Op.SETBW)),
}


def _of_program(program: Program) -> _Raw:
    """Cores without instructions are left out, as in ``program.json``."""
    columns = program.columns
    op = columns.op.astype(np.int64)
    a, b = columns.a.astype(np.int64), columns.b.astype(np.int64)
    found = {name: np.zeros(len(op), np.int64) for name in FIELDS}
    for name in REGISTER_COLUMNS:
        found[name] = getattr(columns, name).astype(np.int64)

    for rows, taken in ((~IS_SCALAR[op], _UNIT_FIELDS), (IS_SCALAR[op], _SCALAR_FIELDS)):
        at = np.flatnonzero(rows)
        codes, columns_at = op[at], {"a": a[at], "b": b[at]}
        for name, (column, has_it) in taken.items():
            found[name][at] = columns_at[column] * has_it[codes]
    selected = np.flatnonzero(columns.select)
    found["offset_value"][selected], found["offset_select"][selected] = columns.c[selected], columns.select[selected]
    used = np.flatnonzero(np.diff(program.core_start))
    start = np.append(program.core_start[used], len(op))
    return op, found, start, tuple(used.tolist()), tuple(program.groups[core] for core in used.tolist())


def _resolve(
    op: Ints, found: dict[str, Ints], start: Ints, core_ids: tuple[int, ...], groups: tuple[tuple[int, ...], ...]
) -> Stream:
    input_bits, output_bits = _in_force(op, start, found["ibiw"], found["obiw"])
    return Stream(
        op,
        found["rd"],
        found["rs1"],
        found["rs2"],
        found["imm"],
        found["len"],
        found["size"],
        _positions(op, found["core"], core_ids),
        found["group"],
        input_bits,
        output_bits,
        found["mbiw"],
        found["event_register"],
        found["wait_value"],
        found["offset_value"],
        found["offset_select"],
        start,
        core_ids,
        groups,
    )


def _positions(op: Ints, cores: Ints, core_ids: tuple[int, ...]) -> Ints:
    most = max(core_ids, default=0)
    position = np.full(most + 2, -1, np.int64)
    position[list(core_ids)] = np.arange(len(core_ids))
    rows = np.flatnonzero(_WITH_PEER[op])
    found = np.full(len(op), -1, np.int64)
    named = cores[rows]
    found[rows] = position[np.where((named < 0) | (named > most), most + 1, named)]
    return found


def _in_force(op: Ints, start: Ints, *operands: Ints) -> list[Ints]:
    """Per instruction and operand that of the last ``setbw`` on its core; 0 before the first one."""
    at = np.flatnonzero(op == Op.SETBW)
    begins = np.unique(np.concatenate([at, start[:-1][np.diff(start) > 0]]))
    lengths = np.diff(np.append(begins, len(op)))
    is_set = op[begins] == Op.SETBW
    return [np.repeat(np.where(is_set, operand[begins], 0), lengths) for operand in operands]


_SIZED = op_mask(*VECTOR_OPS, Op.LLDI, Op.LMV)
_BYTES = op_mask(Op.LD, Op.ST, Op.SEND, Op.RECV)
_EVENTS = op_mask(Op.SYNC, Op.WAIT)
_WITH_PEER = op_mask(Op.SEND, Op.RECV, Op.SYNC)
_MUST_EXIST = op_mask(Op.SEND, Op.SYNC)


def _check(stream: Stream) -> None:
    """What makes the simulator crash or hang, as user errors."""
    widths = np.flatnonzero(stream.op == Op.SETBW)
    negative = (stream.input_bits[widths] < 0) | (stream.output_bits[widths] < 0)
    _refuse(stream, widths, negative, "has a negative width")
    rows, units = stream.unit_rows, stream.units
    op, event = units.op, units.event
    counts = np.array([len(groups) for groups in units.groups] or [0])
    is_mvm = op == Op.MVMUL
    limit = np.repeat(counts, np.diff(units.core_start)) if units.core_count else np.empty(0, np.int64)
    strange = is_mvm & ((units.group < 0) | (units.group >= limit))
    _refuse(stream, rows, strange, "names a group that the core does not have")
    _refuse(stream, rows, is_mvm & (units.weight_bits < 1), "has no weight width (mbiw)")
    _refuse(stream, rows, _SIZED[op] & (units.length < 0), "has a negative length")
    _refuse(stream, rows, _BYTES[op] & (units.size < 0), "has a negative size")
    _refuse(stream, rows, _MUST_EXIST[op] & (units.peer < 0), "names a core that the program does not have")
    no_event = _EVENTS[op] & ((event < 0) | (event >= EVENT_COUNT))
    _refuse(stream, rows, no_event, f"names no event from 0 to {EVENT_COUNT - 1}")


def _refuse(stream: Stream, rows: Ints, wrong: Mask, what: str) -> None:
    if len(found := rows[wrong]):
        raise TileError(stream.place(int(found[0])), what, "make the stream again")


def begins_without_widths(stream: Stream) -> bool:
    """Whether something executes before its core's first ``setbw`` and another width is in force at the list's end."""
    ends = stream.core_start[1:][np.diff(stream.core_start) > 0] - 1
    final = np.zeros(stream.core_count, np.bool_)
    final[stream.core_of_rows()[ends]] = (stream.input_bits[ends] > 0) | (stream.output_bits[ends] > 0)
    early = (stream.input_bits == 0) & (stream.output_bits == 0) & ~IS_SCALAR[stream.op]
    return bool((early & final[stream.core_of_rows()]).any())


def selected(stream: Stream, rows: Ints) -> Stream:
    """Some instructions of a stream, in ascending order."""
    columns = {name: getattr(stream, name)[rows] for name in _COLUMNS}
    start = np.searchsorted(rows, stream.core_start)
    return Stream(**columns, core_start=start, core_ids=stream.core_ids, groups=stream.groups)


def twice(stream: Stream) -> Stream:
    """Every list two times: once as it executes first, and once as it executes from then on."""
    counts = np.diff(stream.core_start)
    spans = zip(stream.core_start[:-1].tolist(), stream.core_start[1:].tolist(), strict=True)
    lists: list[Ints] = [np.arange(first, last) for first, last in spans]
    rows = np.concatenate([np.empty(0, np.int64), *(part for rows in lists for part in (rows, rows))])
    start = np.concatenate([[0], np.cumsum(2 * counts)])
    columns = {name: getattr(stream, name)[rows] for name in _COLUMNS}
    columns["input_bits"], columns["output_bits"] = _in_force(
        columns["op"], start, columns["input_bits"], columns["output_bits"]
    )
    return Stream(**columns, core_start=start, core_ids=stream.core_ids, groups=stream.groups)


_COLUMNS = tuple(field.name for field in fields(Stream) if field.name not in ("core_start", "core_ids", "groups"))
