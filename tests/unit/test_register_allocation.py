"""Register allocation, replayed: every instruction finds the addresses of the table in its registers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.machine import Machine
from tilec.codegen.columns import Columns
from tilec.codegen.global_layout import address_words
from tilec.codegen.instruction_table import NO_ADDRESS, InstructionTable
from tilec.codegen.isa import ISA, Op
from tilec.codegen.register_allocation import allocate_registers, takes_offsets

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
LOCAL = st.sampled_from([0, 1, 64, 65535, 2**31 - 1])
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
def test_addresses(table: InstructionTable, offsets: bool) -> None:
    allocated = allocate_registers(table, FIRST, offsets=offsets)
    columns = allocated.columns
    core, registers = -1, np.zeros(32, np.int64)
    position = 0
    for row in range(len(columns.op)):
        op, rd, rs1, rs2 = (int(column[row]) for column in (columns.op, columns.rd, columns.rs1, columns.rs2))
        if allocated.core[row] != core:
            core, registers = int(allocated.core[row]), np.zeros(32, np.int64)
            assert op == Op.SETBW
            continue
        if op == Op.SLDI:
            assert registers[rd] != columns.a[row], "a load that changes nothing"
            registers[rd] = columns.a[row]
            continue
        assert (op, core) == (table.op[position], table.core[position])
        assert (columns.a[row], columns.b[row]) == (table.a[position], table.b[position])
        assert allocated.node[row] == table.node[position]
        assert not int(columns.select[row]) & ~(ISA[Op(op)].selectable if offsets else 0)
        added = [bool(columns.select[row] & bit) * int(columns.c[row]) for bit in (1, 2, 4)]
        found = {
            "dest": registers[rd] + added[0],
            "source": registers[rs1] + added[1],
            "second": registers[rs2] + added[2],
        }
        if op == Op.LD:
            found["source"] = (registers[rs1] << 32) | (registers[rs1 + 1] & 0xFFFFFFFF)
        if op == Op.ST:
            found["dest"] = (registers[rd] << 32) | (registers[rd + 1] & 0xFFFFFFFF)
        for name in OPERANDS[Op(op)]:
            assert found[name] == getattr(table, name)[position]
        position += 1
    assert position == len(table)


@pytest.mark.parametrize(("rob_size", "offsets"), [(1, True), (2, False), (8, False)])
def test_offsets_only_where_instructions_execute_in_order(rob_size: int, offsets: bool) -> None:
    machine = Machine.load("tiny4")
    chip = machine.architecture.chip_config
    chip = replace(chip, core_config=replace(chip.core_config, rob_size=rob_size))
    assert takes_offsets(replace(machine, architecture=replace(machine.architecture, chip_config=chip))) == offsets


@given(st.integers(0, 2**62))
def test_address_words(address: int) -> None:
    high, low = address_words(np.array([address]))
    assert -(2**31) <= low[0] < 2**31
    assert int(high[0]) * 2**32 + int(low[0]) % 2**32 == address


def test_an_operation_in_place_needs_one_register() -> None:
    table = InstructionTable.of(Op.VRELU, core=0, key=0, place=np.arange(3), node=0, dest=64, source=64, a=4)
    columns = allocate_registers(table, FIRST).columns
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
