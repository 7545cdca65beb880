"""Mutants of code generation, the last stage of the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
from mutant_registry import Stage
from mutation_run import Caught
from numpy.typing import NDArray
from tilec.codegen.columns import Columns
from tilec.codegen.instruction_table import InstructionTable
from tilec.codegen.isa import Op
from tilec.codegen.memory_image import GlobalMemory
from tilec.codegen.package import Package

STAGE = Stage("pim-codegen")
EXPAND = "tilec.codegen.build.expand_program"
REGISTERS = "tilec.codegen.register_allocation._interleaved"
Expand = Callable[..., tuple[InstructionTable, tuple[str, ...]]]
Ints = NDArray[np.int64]


def with_table(expand: Expand, edit: Callable[[InstructionTable], InstructionTable]) -> Expand:
    """Code generation that edits the instructions before they get registers."""

    def wrong(*arguments: Any) -> tuple[InstructionTable, tuple[str, ...]]:
        table, nodes = expand(*arguments)
        return edit(spaced(table)), nodes

    return wrong


def spaced(table: InstructionTable) -> InstructionTable:
    """The same with room between the places of an event."""
    return replace(table, place=table.place * 2)


def rows_of(table: InstructionTable, *ops: Op) -> Ints:
    return np.flatnonzero(np.isin(table.op, ops))


def taken(table: InstructionTable, rows: Ints, **changes: Any) -> InstructionTable:
    """Rows of a table, with some columns changed."""
    columns = {field.name: getattr(table, field.name)[rows] for field in fields(table)}
    for name, value in changes.items():
        columns[name] = np.broadcast_to(np.asarray(value, columns[name].dtype), len(rows)).copy()
    return InstructionTable(**columns)


def joined(*tables: InstructionTable) -> InstructionTable:
    return InstructionTable.concat(tables)


@STAGE.patch(REGISTERS, "registers are loaded once for each operand that names them", Caught.GUARD, "recomputed")
def registers_loaded_twice(interleaved: Any) -> Any:
    def wrong(table: Any, first: Any, plan: Any, registers: Any, loads: Any) -> Any:
        return interleaved(table, first, plan, registers, [*loads, *loads])

    return wrong


@STAGE.patch(
    EXPAND,
    "an instruction in place is issued once for its source and once for its destination",
    Caught.GUARD,
    "vector_count",
)
def instruction_twice(expand: Expand) -> Expand:
    return with_table(expand, lambda table: joined(table, taken(table, rows_of(table, Op.VRELU))))


@STAGE.patch(EXPAND, "vectors are cut into halves, for a unit that takes no more", Caught.GUARD, "vector_count")
def vectors_in_halves(expand: Expand) -> Expand:
    def edit(table: InstructionTable) -> InstructionTable:
        rows = rows_of(table, Op.VRELU)
        half = table.a[rows] // 2
        first = taken(table, rows, a=half)
        second = taken(
            table,
            rows,
            a=half,
            dest=table.dest[rows] + half,
            source=table.source[rows] + half,
            place=table.place[rows] + 1,
        )
        others = np.delete(np.arange(len(table)), rows)
        return joined(taken(table, others), first, second)

    return with_table(expand, edit)


@STAGE.patch(EXPAND, "every message is answered by sending the row back", Caught.GUARD, "sends", "receives")
def messages_acknowledged(expand: Expand) -> Expand:
    def edit(table: InstructionTable) -> InstructionTable:
        sends, receives = rows_of(table, Op.SEND), rows_of(table, Op.RECV)
        back = taken(table, receives, op=Op.SEND, source=table.dest[receives], dest=-1, place=table.place[receives] + 1)
        answer = taken(table, sends, op=Op.RECV, dest=table.source[sends], source=-1, place=table.place[sends] + 1)
        return joined(table, back, answer)

    return with_table(expand, edit)


@STAGE.patch(EXPAND, "rows are copied in place before they are sent", Caught.GUARD, "local_copies")
def copied_before_sending(expand: Expand) -> Expand:
    def edit(table: InstructionTable) -> InstructionTable:
        sends = rows_of(table, Op.SEND)
        return joined(
            table, taken(table, sends, op=Op.LMV, dest=table.source[sends], b=0, place=table.place[sends] - 1)
        )

    return with_table(expand, edit)


@STAGE.patch(
    EXPAND, "rows of the input are loaded again by each core that has them", Caught.GUARD, "host_to_device_copies"
)
def loaded_again(expand: Expand) -> Expand:
    return with_table(expand, lambda table: joined(table, taken(table, rows_of(table, Op.LD))))


@STAGE.patch(
    EXPAND, "results are stored by every instruction that writes to the row", Caught.GUARD, "device_to_host_copies"
)
def stored_twice(expand: Expand) -> Expand:
    return with_table(expand, lambda table: joined(table, taken(table, rows_of(table, Op.ST))))


@STAGE.patch(EXPAND, "messages go at the end of the event after theirs", Caught.GUARD, "makespan_cycles")
def messages_late(expand: Expand) -> Expand:
    def edit(table: InstructionTable) -> InstructionTable:
        rows = rows_of(table, Op.SEND, Op.RECV)
        key = table.key.copy()
        key[rows] += 5 * 60
        return replace(table, key=key)

    return with_table(expand, edit)


@STAGE.patch(EXPAND, "results are stored when everything else is done", Caught.BOTH, "makespan_cycles")
def stores_last(expand: Expand) -> Expand:
    def edit(table: InstructionTable) -> InstructionTable:
        return replace(table, key=np.where(table.op == Op.ST, table.key.max() + 1, table.key))

    return with_table(expand, edit)


@STAGE.package("constants lie in global memory at pages of their own", Caught.GUARD, "host_bytes")
def global_memory_in_pages(package: Package) -> Package:
    return replace(package, memory=GlobalMemory(package.memory.size_bytes + 4096, package.memory.constants))


@STAGE.package("bit widths are set before every matrix product", Caught.GUARD, "instruction_kinds")
def widths_for_each_product(package: Package) -> Package:
    program = package.program
    products = np.flatnonzero(program.columns.op == Op.MVMUL)
    times = np.ones(len(program.columns), np.int64)
    times[products] = 2
    rows = np.repeat(np.arange(len(times)), times)
    first = np.flatnonzero(program.columns.op == Op.SETBW)[0]
    columns = {name: column[rows].copy() for name, column in program.columns.items()}
    position = np.cumsum(times)[products] - 2
    for name, column in columns.items():
        column[position] = getattr(program.columns, name)[first]
    start = np.concatenate(([0], np.cumsum(times)))[program.core_start]
    assert program.node is not None
    made = replace(program, columns=Columns(**columns), core_start=start.astype(np.int64), node=program.node[rows])
    return replace(package, program=made)


@STAGE.patch(EXPAND, "the last element of sums is left out", Caught.NUMERICS)
def last_element_lost(expand: Expand) -> Expand:
    def edit(table: InstructionTable) -> InstructionTable:
        size = table.a.copy()
        size[rows_of(table, Op.VVADD)] -= 1
        return replace(table, a=size)

    return with_table(expand, edit)


@STAGE.patch(EXPAND, "products are read from the group after theirs", Caught.NUMERICS)
def wrong_group(expand: Expand) -> Expand:
    def edit(table: InstructionTable) -> InstructionTable:
        group = table.b.copy()
        rows = rows_of(table, Op.MVMUL)
        group[rows] = np.maximum(group[rows] - 1, 0)
        return replace(table, b=group)

    return with_table(expand, edit)


@STAGE.patch(EXPAND, "sends and receives of one step are ordered by their cores", Caught.VERIFIER)
def deadlock(expand: Expand) -> Expand:
    def edit(table: InstructionTable) -> InstructionTable:
        rows = rows_of(table, Op.RECV)
        key = table.key.copy()
        key[rows] = key[rows].max() - key[rows]
        return replace(table, key=key)

    return with_table(expand, edit)
