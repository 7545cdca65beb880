"""One core's instructions ready to execute: addresses resolved to elements, scalar instructions gone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..codegen.access import Accesses, accesses
from ..codegen.columns import Columns, Program, Target
from ..codegen.isa import OP_LIMIT, Op
from ..codegen.memory_image import WeightTable
from ..codegen.registers import RegisterValues, register_values
from ..codegen.stream_check import bad_accesses, group_rows
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .vector_unit import OPERATIONS

_EXECUTED = np.isin(np.arange(OP_LIMIT), [Op.MVMUL, Op.LD, Op.ST, *OPERATIONS])
_SECOND_IS_VALUE = np.isin(np.arange(OP_LIMIT), [Op.VMV, Op.VAVG, Op.VRSU, Op.VRSL])
_BYTE_LENGTHS = np.isin(np.arange(OP_LIMIT), [Op.LD, Op.ST, Op.LMV, Op.LLDI, Op.SEND, Op.RECV])


@dataclass(frozen=True)
class ResolvedCore:
    """Lists over the executed instructions of a core, and arrays over all of its instructions."""

    op: list[int]
    relu: list[int]
    group: list[int]
    to: list[int]
    source: list[int]
    second: list[int]
    length: list[int]
    executed_before: Ints
    """Per instruction of the core: how many executed ones stand before it."""
    message_at: Ints
    """Per instruction: of ``send`` the first element to send, of ``recv`` the first to write."""
    local_elements: int
    """The part of local memory that is touched."""
    global_elements: int
    """The part of global memory that is touched."""

    def __len__(self) -> int:
        return len(self.op)


def resolve_core(program: Program, weights: WeightTable, core: int, global_memory_bytes: int) -> ResolvedCore:
    """Resolves one core and checks that everything it touches is there. Its fields and groups must be valid."""
    columns, target = program.core(core), program.target
    registers = register_values(columns)
    arrays = np.array(program.groups[core], np.int64)
    touched = accesses(columns, registers, target, group_rows(program, weights, core), arrays)
    _check_weights(program, weights, core, columns)
    _check_ranges(program, core, touched, target, global_memory_bytes)
    return _resolved(columns, registers, touched, target)


def _resolved(columns: Columns, registers: RegisterValues, touched: Accesses, target: Target) -> ResolvedCore:
    op, unit = columns.op, target.element_bytes
    to = np.where(op == Op.ST, touched.global_write.start, touched.write.start) // unit
    source = np.where(op == Op.LD, touched.global_read.start, touched.read.start) // unit
    second = np.where(_SECOND_IS_VALUE[op], registers.rs2, touched.read2.start // unit)
    second = np.where(op == Op.LLDI, columns.b, second)
    length = np.where(_BYTE_LENGTHS[op], columns.a // unit, columns.a)
    executed = _EXECUTED[op]
    rows = np.flatnonzero(executed)
    return ResolvedCore(
        op=op[rows].tolist(),
        relu=columns.c[rows].tolist(),
        group=columns.b[rows].tolist(),
        to=to[rows].tolist(),
        source=source[rows].tolist(),
        second=second[rows].tolist(),
        length=length[rows].tolist(),
        executed_before=np.cumsum(executed) - executed,
        message_at=np.where(op == Op.SEND, source, to),
        local_elements=int(touched.local_end.max(initial=0)) // unit,
        global_elements=int(touched.global_end.max(initial=0)) // unit,
    )


def _check_weights(program: Program, weights: WeightTable, core: int, columns: Columns) -> None:
    has_none = np.array([weights.matrix(core, group) is None for group in range(len(program.groups[core]))], np.bool_)
    products = np.flatnonzero(columns.op == Op.MVMUL)
    bad = products[has_none[columns.b[products]]]
    if len(bad):
        where = program.place(int(program.core_start[core] + bad[0]))
        raise TileError(where, f"array group {columns.b[bad[0]]} holds no weights", "add them to the package")


def _check_ranges(program: Program, core: int, touched: Accesses, target: Target, global_memory_bytes: int) -> None:
    for index, what in bad_accesses(touched, target, global_memory_bytes, limit=1):
        raise TileError(program.place(int(program.core_start[core]) + index), what, "compile the model again")
