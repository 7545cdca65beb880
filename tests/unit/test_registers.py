"""Register values without execution, against plain execution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import columns_strategy
from tilec.codegen import registers
from tilec.codegen.columns import Columns
from tilec.codegen.isa import Op
from tilec.codegen.registers import register_values


def wrap(value: int) -> int:
    """A number as 32 bits have it."""
    return (value + 2**31) % 2**32 - 2**31


def assert_as_executed(columns: Columns) -> None:
    """Executes one instruction after another and compares every operand."""
    found = register_values(columns)
    state = [0] * 32
    for row in range(len(columns)):
        rd, rs1, rs2 = int(columns.rd[row]), int(columns.rs1[row]), int(columns.rs2[row])
        expected = (state[rd], state[rs1], state[rs2], state[min(rd + 1, 31)], state[min(rs1 + 1, 31)])
        operands = (found.rd, found.rs1, found.rs2, found.next_rd, found.next_rs1)
        assert tuple(int(operand[row]) for operand in operands) == expected
        first, second, number = state[rs1], state[rs2], int(columns.a[row])
        results = {
            Op.SLDI: number,
            Op.SADD: first + second,
            Op.SSUB: first - second,
            Op.SMUL: first * second,
            Op.SADDI: first + number,
            Op.SMULI: first * number,
        }
        op = Op(int(columns.op[row]))
        if op in results:
            state[rd] = wrap(results[op])


SIMPLE = (Op.SLDI, Op.LD, Op.ST, Op.VVADD)
AFFINE = (Op.SLDI, Op.SADDI, Op.SADDI, Op.SMULI, Op.VVADD)
GENERAL = (*AFFINE, Op.SADD, Op.SSUB, Op.SMUL, Op.SEND)


@pytest.mark.parametrize("ops", [SIMPLE, AFFINE, GENERAL])
@pytest.mark.parametrize("compiled", [False, True])
def test_values_are_those_of_execution(ops: tuple[Op, ...], compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "WORTH_COMPILING", 0 if compiled else 1 << 30)

    @given(columns_strategy(ops, most=60))
    def check(columns: Columns) -> None:
        assert_as_executed(columns)

    check()


@pytest.mark.parametrize("compiled", [False, True])
def test_long_chains_across_chunks(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "WORTH_COMPILING", 0 if compiled else 1 << 30)
    monkeypatch.setattr(registers, "_CHUNK_ROWS", 7)
    rng = np.random.default_rng(0)
    count = 2000
    ops = rng.choice([Op.SLDI, Op.SADDI, Op.SADDI, Op.SADDI, Op.SMULI, Op.SADD, Op.VVADD], count)
    two = np.isin(ops, [Op.SADD, Op.VVADD])
    columns = Columns.of(
        ops,
        rd=rng.integers(0, 4, count),
        rs1=np.where(ops == Op.SLDI, 0, rng.integers(0, 4, count)),
        rs2=np.where(two, rng.integers(0, 4, count), 0),
        a=np.where(ops == Op.SADD, 0, rng.integers(1, 1000, count)),
    )
    assert_as_executed(columns)


def test_an_empty_core_has_no_values() -> None:
    assert len(register_values(Columns.empty()).rd) == 0


@pytest.mark.parametrize("compiled", [False, True])
def test_values_of_several_cores_are_those_of_each(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers begin as 0 again; a core may be empty."""

    @given(st.lists(columns_strategy(GENERAL, most=9), min_size=1, max_size=5))
    def check(cores: list[Columns]) -> None:
        monkeypatch.setattr(registers, "WORTH_COMPILING", 1 << 30)
        alone = [register_values(core) for core in cores]
        monkeypatch.setattr(registers, "WORTH_COMPILING", 0 if compiled else 1 << 30)
        begin = np.cumsum([0, *(len(core) for core in cores[:-1])])
        together = register_values(Columns.concat(cores), begin)
        for name, column in vars(together).items():
            assert column.tolist() == [value for core in alone for value in getattr(core, name).tolist()], name

    check()
