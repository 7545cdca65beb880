"""Register allocation, replayed: every instruction finds the addresses of the table in its registers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.codegen.columns import Columns
from tilec.codegen.global_layout import address_words
from tilec.codegen.instruction_table import NO_ADDRESS, InstructionTable
from tilec.codegen.isa import ISA, Op
from tilec.codegen.register_allocation import Allocated, allocate_registers

FIRST = Columns.of(Op.SETBW, a=8, b=8)
OPERANDS = {
    Op.VVADD: ("dest", "source", "second"),
    Op.VRELU: ("dest", "source"),
    Op.MVMUL: ("dest", "source"),
    Op.LMV: ("dest", "source"),
    Op.LLDI: ("dest",),
    Op.RECV: ("dest",),
    Op.SEND: ("source",),
    Op.LD: ("dest", "source"),
    Op.ST: ("dest", "source"),
}
READS_RS1 = {Op.VVADD, Op.VRELU, Op.LMV, Op.SEND, Op.ST}
"""Of those that may have an offset."""
LOCAL = st.sampled_from([0, 1, 2, 6, 64, 65535, 2**31 - 1])
GLOBAL = st.sampled_from([0, 64, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40 + 2**31 + 7])


@st.composite
def tables(draw: st.DrawFn) -> InstructionTable:
    parts: list[InstructionTable] = []
    for core in range(draw(st.integers(1, 3))):
        for place in range(draw(st.integers(0, 8))):
            op = draw(st.sampled_from(list(OPERANDS)))
            shared = {Op.LD: "source", Op.ST: "dest"}.get(op)
            addresses = {name: draw(GLOBAL if name == shared else LOCAL) for name in OPERANDS[op]}
            size, node = draw(st.integers(1, 9)), draw(st.integers(0, 3))
            parts.append(InstructionTable.of(op, core=core, key=0, place=place, node=node, a=size, b=core, **addresses))
    return InstructionTable.concat(parts)


@settings(deadline=None)
@given(tables(), st.booleans())
def test_addresses(table: InstructionTable, in_order: bool) -> None:
    allocated = allocate_registers(table, FIRST, in_order=in_order)
    columns = allocated.columns
    registers = np.zeros((int(allocated.core.max(initial=0)) + 1, 32), np.int64)
    needed: set[int] = set()
    for _ in range(2):  # Every core begins again, with what it has left in its registers.
        assert replayed(table, allocated, registers, needed) == len(table)
    loads = np.flatnonzero(columns.op == Op.SLDI).tolist()
    assert sorted(needed) == loads, "a load that changes nothing"
    assert in_order or not misread(allocated).any()


def replayed(table: InstructionTable, allocated: Allocated, registers: npt.NDArray[np.int64], needed: set[int]) -> int:
    """Executes the scalar instructions and compares all addresses. Adds the rows that change a register."""
    columns = allocated.columns
    core, position = -1, 0
    for row in range(len(columns.op)):
        op, rd, rs1, rs2 = (int(column[row]) for column in (columns.op, columns.rd, columns.rs1, columns.rs2))
        if allocated.core[row] != core:
            core = int(allocated.core[row])
            assert op == Op.SETBW
            continue
        held = registers[core]
        if op == Op.SLDI:
            if held[rd] != columns.a[row]:
                needed.add(row)
            held[rd] = columns.a[row]
            continue
        assert (op, core) == (table.op[position], table.core[position])
        assert (columns.a[row], columns.b[row]) == (table.a[position], table.b[position])
        assert allocated.node[row] == table.node[position]
        assert not int(columns.select[row]) & ~ISA[Op(op)].selectable
        added = [bool(columns.select[row] & bit) * int(columns.c[row]) for bit in (1, 2, 4)]
        found = {"dest": held[rd] + added[0], "source": held[rs1] + added[1], "second": held[rs2] + added[2]}
        if op == Op.LD:
            found["source"] = (held[rs1] << 32) | (held[rs1 + 1] & 0xFFFFFFFF)
        if op == Op.ST:
            found["dest"] = (held[rd] << 32) | (held[rd + 1] & 0xFFFFFFFF)
        for name in OPERANDS[Op(op)]:
            assert found[name] == getattr(table, name)[position]
        position += 1
    return position


def misread(allocated: Allocated) -> npt.NDArray[np.bool_]:
    """Which offsets the public simulator's reorder buffer adds to other operands than those that are selected.

    By its source (``OffsetField`` and ``ExecInfo``): to ``rd`` if ``offset_select`` has bit 0, to ``rs1`` and ``rs2``
    if the offset itself has bit 1 or 2.
    """
    columns = allocated.columns
    found = np.zeros(len(columns), np.bool_)
    for bit, ops in ((2, READS_RS1), (4, {Op.VVADD})):
        wrong = (columns.c & bit != 0) != (columns.select & bit != 0)
        found |= np.isin(columns.op, list(ops)) & wrong & (columns.c != 0)
    return found


def test_a_load_is_seen_where_it_writes_with_a_reorder_buffer() -> None:
    """It takes the register of ``ld``'s local address for 0, so that the offset is to hold all of it."""
    table = InstructionTable.of(Op.LD, core=0, key=0, place=np.arange(3), node=0, dest=[64, 70, 64], source=0, a=4)
    columns = allocate_registers(table, FIRST, in_order=False).columns
    assert columns.c.tolist() == [0, 64, 70, 64]
    assert columns.select.tolist() == [0, 1, 1, 1]
    assert not columns.rd.any()


def test_a_first_address_of_0_is_loaded_if_another_one_is_left_there() -> None:
    def loads(*addresses: int) -> list[int]:
        places = np.arange(len(addresses))
        table = InstructionTable.of(Op.LD, core=0, key=0, place=places, node=0, dest=8, source=addresses, a=4)
        columns = allocate_registers(table, FIRST).columns
        return columns.a[columns.op == Op.SLDI].tolist()

    assert loads(0, 64) == [0, 64]
    assert loads(0, 64, 0) == [64, 0]
    assert loads(64, 64) == [64]
    assert loads(0, 0) == []


@given(st.integers(0, 2**62))
def test_address_words(address: int) -> None:
    high, low = address_words(np.array([address]))
    assert -(2**31) <= low[0] < 2**31
    assert int(high[0]) * 2**32 + int(low[0]) % 2**32 == address


def test_an_operation_in_place_needs_one_register() -> None:
    table = InstructionTable.of(Op.VRELU, core=0, key=0, place=np.arange(3), node=0, dest=64, source=64, a=4)
    columns = allocate_registers(table, FIRST, in_order=False).columns
    assert [Op(op) for op in columns.op] == [Op.SETBW, Op.SLDI, Op.VRELU, Op.VRELU, Op.VRELU]
    assert columns.rd[2] == columns.rs1[2] == columns.rd[1]


def test_nothing() -> None:
    assert len(allocate_registers(InstructionTable.concat([]), FIRST).columns.op) == 0


def test_order() -> None:
    table = InstructionTable.concat(
        [
            InstructionTable.of(Op.LLDI, core=[1, 0, 0], key=[0, 5, 3], place=0, node=[0, 1, 2], dest=0),
            InstructionTable.of(Op.LMV, core=0, key=3, place=[2, 1], node=[3, 4], dest=0, source=0),
        ]
    )
    assert table.in_order().node.tolist() == [2, 4, 3, 1, 0]


def test_broadcast() -> None:
    table = InstructionTable.of(Op.LMV, core=[[0], [1]], key=[[3], [4]], place=[0, 1, 2], node=7, dest=[[8], [9]])
    assert table.core.tolist() == [0, 0, 0, 1, 1, 1]
    assert table.dest.tolist() == [8, 8, 8, 9, 9, 9]
    assert table.place.tolist() == [0, 1, 2] * 2
    assert (table.source == NO_ADDRESS).all()
    assert len(table) == 6


@pytest.mark.parametrize("column", ["a", "b"])
def test_unused_columns_are_zero(column: str) -> None:
    table = InstructionTable.of(Op.VRELU, core=0, key=0, place=0, node=0, dest=0, source=0)
    assert getattr(table, column).tolist() == [0]
