"""The one form in which the clock takes programs, from a package or from a foreign ``program.json``."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from ...codegen.columns import Program
from ...codegen.isa import OP_LIMIT, SCALAR_OPS, VECTOR_OPS, Op
from ...codegen.json_reader import FIELDS, SLD, JsonProgram
from ...support.diagnostics import TileError

I64 = npt.NDArray[np.int64]
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

    op: I64
    rd: I64
    rs1: I64
    rs2: I64
    imm: I64
    length: I64
    size: I64
    peer: I64
    """Position of the other core in ``core_ids``, or -1 if there is no such core."""
    group: I64
    input_bits: I64
    """Of ``setbw`` its operand, of everything else the width in force."""
    output_bits: I64
    weight_bits: I64
    event: I64
    value: I64
    offset: I64
    offset_select: I64
    core_start: I64
    core_ids: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def core_count(self) -> int:
        """Number of cores that exist."""
        return len(self.core_ids)

    def core_of_rows(self) -> I64:
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


_Raw = tuple[I64, dict[str, I64], I64, tuple[int, ...], tuple[tuple[int, ...], ...]]


def _of_json(program: JsonProgram) -> _Raw:
    return program.op, dict(program.fields), program.core_start, program.core_ids, program.groups


def _of_program(program: Program) -> _Raw:
    """Cores without instructions are left out, as in ``program.json``."""
    columns = program.columns
    op = columns.op.astype(np.int64)
    a, b = columns.a.astype(np.int64), columns.b.astype(np.int64)
    found = {name: np.zeros(len(op), np.int64) for name in FIELDS}
    for name in ("rd", "rs1", "rs2"):
        found[name] = getattr(columns, name).astype(np.int64)

    def put(name: str, column: I64, *ops: Op) -> None:
        mask = op_mask(*ops)[op]
        found[name][mask] = column[mask]

    put("imm", a, *SCALAR_OPS)
    put("len", a, *VECTOR_OPS, Op.LLDI, Op.LMV)
    put("size", a, Op.LD, Op.ST, Op.SEND, Op.RECV, Op.LLDI, Op.LMV)
    put("core", b, Op.SEND, Op.RECV, Op.SYNC)
    put("group", b, Op.MVMUL)
    put("mbiw", a, Op.MVMUL)
    put("ibiw", a, Op.SETBW)
    put("obiw", b, Op.SETBW)
    put("event_register", a, Op.SYNC, Op.WAIT)
    put("wait_value", b, Op.WAIT)
    used = np.flatnonzero(np.diff(program.core_start))
    start = np.append(program.core_start[used], len(op))
    return op, found, start, tuple(used.tolist()), tuple(program.groups[core] for core in used.tolist())


def _resolve(
    op: I64, found: dict[str, I64], start: I64, core_ids: tuple[int, ...], groups: tuple[tuple[int, ...], ...]
) -> Stream:
    return Stream(
        op,
        found["rd"],
        found["rs1"],
        found["rs2"],
        found["imm"],
        found["len"],
        found["size"],
        _positions(found["core"], core_ids),
        found["group"],
        _in_force(op, found["ibiw"], start),
        _in_force(op, found["obiw"], start),
        found["mbiw"],
        found["event_register"],
        found["wait_value"],
        found["offset_value"],
        found["offset_select"],
        start,
        core_ids,
        groups,
    )


def _positions(cores: I64, core_ids: tuple[int, ...]) -> I64:
    most = max(core_ids, default=0)
    position = np.full(most + 2, -1, np.int64)
    position[list(core_ids)] = np.arange(len(core_ids))
    return position[np.where((cores < 0) | (cores > most), most + 1, cores)]


def _in_force(op: I64, widths: I64, start: I64) -> I64:
    """Per instruction the last ``setbw``'s operand on its core; 0 before the first one."""
    rows = np.arange(len(op))
    last = np.maximum.accumulate(np.where(op == Op.SETBW, rows, -1)) if len(op) else rows
    begin = np.repeat(start[:-1], np.diff(start))
    return np.where(last >= begin, widths[np.maximum(last, 0)], 0) if len(op) else rows


_SIZED = op_mask(*VECTOR_OPS, Op.LLDI, Op.LMV)
_BYTES = op_mask(Op.LD, Op.ST, Op.SEND, Op.RECV)
_EVENTS = op_mask(Op.SYNC, Op.WAIT)


def _check(stream: Stream) -> None:
    """What makes the simulator crash or hang, as user errors."""
    op = stream.op
    counts = np.array([len(groups) for groups in stream.groups] or [0])
    is_mvm = op == Op.MVMUL
    limit = np.repeat(counts, np.diff(stream.core_start)) if stream.core_count else np.empty(0, np.int64)
    _refuse(stream, is_mvm & ((stream.group < 0) | (stream.group >= limit)), "names a group that the core has not")
    _refuse(stream, is_mvm & (stream.weight_bits < 1), "has no weight width (mbiw)")
    _refuse(stream, (op == Op.SETBW) & ((stream.input_bits < 0) | (stream.output_bits < 0)), "has a negative width")
    _refuse(stream, _SIZED[op] & (stream.length < 0), "has a negative length")
    _refuse(stream, _BYTES[op] & (stream.size < 0), "has a negative size")
    _refuse(stream, op_mask(Op.SEND, Op.SYNC)[op] & (stream.peer < 0), "names a core that the program has not")
    _refuse(stream, _EVENTS[op] & ((stream.event < 0) | (stream.event > 31)), "names an event that is not from 0 to 31")


def _refuse(stream: Stream, wrong: Mask, what: str) -> None:
    if len(rows := np.flatnonzero(wrong)):
        raise TileError(stream.place(int(rows[0])), what)


def begins_without_widths(stream: Stream) -> bool:
    """Whether something executes before its core's first ``setbw`` and another width is in force at the list's end."""
    ends = stream.core_start[1:][np.diff(stream.core_start) > 0] - 1
    final = np.zeros(stream.core_count, np.bool_)
    final[stream.core_of_rows()[ends]] = (stream.input_bits[ends] > 0) | (stream.output_bits[ends] > 0)
    early = (stream.input_bits == 0) & (stream.output_bits == 0) & ~IS_SCALAR[stream.op]
    return bool((early & final[stream.core_of_rows()]).any())


def twice(stream: Stream) -> Stream:
    """Every list two times: once as it executes first, and once as it executes from then on."""
    counts = np.diff(stream.core_start)
    spans = zip(stream.core_start[:-1].tolist(), stream.core_start[1:].tolist(), strict=True)
    lists: list[I64] = [np.arange(first, last) for first, last in spans]
    rows = np.concatenate([np.empty(0, np.int64), *(part for rows in lists for part in (rows, rows))])
    start = np.concatenate([[0], np.cumsum(2 * counts)])
    columns = {name: getattr(stream, name)[rows] for name in _COLUMNS}
    for name in ("input_bits", "output_bits"):
        operand = np.where(columns["op"] == Op.SETBW, columns[name], 0)
        columns[name] = _in_force(columns["op"], operand, start)
    return Stream(**columns, core_start=start, core_ids=stream.core_ids, groups=stream.groups)


_COLUMNS = tuple(field.name for field in fields(Stream) if field.name not in ("core_start", "core_ids", "groups"))
