"""Columns, programs, and the bounds of their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from programs import TARGET, columns_strategy
from tilec.analysis.machine import Machine, Precision
from tilec.codegen.columns import COLUMN_TYPES, INSTRUCTION_BYTES, Columns, Program, Target
from tilec.codegen.field_check import field_faults
from tilec.codegen.isa import BY_MNEMONIC, ISA, Op, Unit, mnemonic


def test_the_table_is_consistent() -> None:
    for op, info in ISA.items():
        assert info.op is op
        assert len(set(info.columns)) == len(info.columns)
        assert set(info.columns) <= set(COLUMN_TYPES)
        assert all(field.least <= field.most for field in info.fields)
        assert BY_MNEMONIC[info.mnemonic] is info
    assert mnemonic(8) == "mvmul"
    assert mnemonic(77) == "opcode 77"
    assert INSTRUCTION_BYTES == 17


def test_units_are_as_the_simulator_has_them() -> None:
    assert {op.name for op in Op if ISA[op].unit is Unit.TRANSFER} == set("LD ST LLDI LMV SEND RECV SYNC WAIT".split())
    assert sum(info.unit is Unit.VECTOR for info in ISA.values()) == 14


def test_of_broadcasts_numbers_and_arrays() -> None:
    made = Columns.of(Op.SLDI, rd=np.array([1, 2, 3]), a=np.array([10, -20, 30]))
    assert len(made) == 3
    assert made.op.tolist() == [2, 2, 2]
    assert made.a.tolist() == [10, -20, 30]
    assert made.a.dtype == np.int32


@pytest.mark.parametrize("bad", [{"rd": 256}, {"rd": -1}, {"a": 2**31}, {"a": -(2**31) - 1}])
def test_of_refuses_numbers_that_do_not_fit(bad: dict[str, int]) -> None:
    with pytest.raises(AssertionError, match="do not fit"):
        Columns.of(Op.SLDI, **bad)


@given(columns_strategy(), columns_strategy())
def test_concat_and_take_are_inverse(first: Columns, second: Columns) -> None:
    joined = Columns.concat([first, second])
    assert joined.take(slice(0, len(first))).equals(first)
    assert joined.take(np.arange(len(first), len(joined))).equals(second)


@given(columns_strategy())
def test_valid_instructions_have_no_faults(columns: Columns) -> None:
    assert field_faults(columns) == []


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (Columns.of(0), "opcode 0 does not exist"),
        (Columns.of(255), "opcode 255 does not exist"),
        (Columns.of(Op.SADD, rd=32), "sadd: rd is 32, not from 0 to 31"),
        (Columns.of(Op.LD, rs1=31, a=1), "ld: rs1 is 31, not from 0 to 30"),
        (Columns.of(Op.VVADD), "vvadd: len is 0, not from 1 to 2147483647"),
        (Columns.of(Op.MVMUL, a=8, c=2), "mvmul: relu is 2, not from 0 to 1"),
        (Columns.of(Op.SLDI, c=7), "sldi has no operand c, but 7 stands there"),
        (Columns.of(Op.SEND, rd=1, a=4), "send has no operand rd, but 1 stands there"),
    ],
)
def test_a_bad_number_is_named(columns: Columns, reason: str) -> None:
    good = Columns.of(Op.SETBW, a=8, b=8)
    faults = field_faults(Columns.concat([good, columns, good]))
    assert [(fault.row, fault.reason) for fault in faults] == [(1, reason)]


def test_places_in_a_program_are_named() -> None:
    cores = [Columns.of(Op.SLDI, a=np.arange(3)), Columns.empty(), Columns.of([Op.SETBW, Op.VRELU], a=8, b=[8, 0])]
    nodes = [np.full(len(core), number, np.int32) for number, core in enumerate(cores)]
    made = Program.from_cores(TARGET, cores, [[], [], []], nodes, ["conv1", "conv2"])
    assert made.place(1) == "core 0, instruction 1 (sldi, node conv1)"
    assert made.place(4) == "core 2, instruction 1 (vrelu)"
    assert made.core_of_rows().tolist() == [0, 0, 0, 2, 2]
    assert len(made.core(1)) == 0
    assert made.core(2).op.tolist() == [Op.SETBW, Op.VRELU]


def test_a_target_has_the_facts_of_a_machine() -> None:
    machine = Machine.load("tiny4")
    assert Target.of(machine, Precision()) == Target(128, 128, 8, 65536, 1)
    assert Target.of(machine, Precision(16, 16, 12)) == Target(128, 64, 8, 65536, 2)
    with pytest.raises(AssertionError, match="elements of two sizes"):
        Target.of(machine, Precision(8, 8, 16))
