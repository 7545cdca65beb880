"""What an offset takes over: one address of an instruction, and the others at a distance that is in a register."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.codegen import address_plan
from tilec.codegen.address_plan import plan_addresses
from tilec.codegen.instruction_table import NO_ADDRESS, InstructionTable
from tilec.codegen.isa import ISA, OFFSET_BITS, REGISTER_COLUMNS, Op, Unit

PLAIN = {
    Op.VVADD: {"rd", "rs1", "rs2"},
    Op.VVSUB: {"rd", "rs1", "rs2"},
    Op.VVMAX: {"rd", "rs1", "rs2"},
    Op.VVMUL: {"rd", "rs1", "rs2"},
    Op.VVSLL: {"rd", "rs1", "rs2"},
    Op.VVSRA: {"rd", "rs1", "rs2"},
    Op.VVDMUL: {"rs1", "rs2"},
    Op.VRELU: {"rd", "rs1"},
    Op.VTANH: {"rd", "rs1"},
    Op.VSIGM: {"rd", "rs1"},
    Op.VRSU: {"rd", "rs1"},
    Op.VRSL: {"rd", "rs1"},
    Op.VAVG: {"rs1"},
    Op.LMV: {"rd", "rs1"},
    Op.LLDI: {"rd"},
    Op.RECV: {"rd"},
    Op.SEND: {"rs1"},
    Op.LD: {"rd"},
    Op.ST: {"rs1"},
}
"""The local operands that the simulator adds an offset to (``getFinalRD`` and its like in its ``ExecInfo``)."""


@pytest.mark.parametrize("op", list(Op))
def test_operands_that_take_an_offset(op: Op) -> None:
    assert set(ISA[op].offsets) == PLAIN.get(op, set())
    assert not ISA[op].offsets or ISA[op].unit in (Unit.VECTOR, Unit.TRANSFER)


def table(op: Op, count: int, **addresses: object) -> InstructionTable:
    return InstructionTable.of(op, core=0, key=0, place=np.arange(count), node=0, **addresses)  # pyright: ignore[reportArgumentType]


ADDRESS = st.sampled_from([0, 2, 4, 6, 100, 104, 2**31 - 2])
ROWS = st.lists(
    st.tuples(st.sampled_from([Op.VVADD, Op.VRELU, Op.MVMUL, Op.LMV]), ADDRESS, ADDRESS, ADDRESS), max_size=9
)


@given(ROWS, st.booleans(), st.sampled_from([1, 2]))
def test_base_and_offset_give_the_address(
    rows: list[tuple[Op, int, int, int]], in_order: bool, element_bytes: int
) -> None:
    parts = [
        table(op, 1, dest=dest, source=source, **({"second": second} if op == Op.VVADD else {}))
        for op, dest, source, second in rows
    ]
    whole = InstructionTable.concat(parts)
    plan = plan_addresses(whole, element_bytes, in_order)
    for row, (op, *address) in enumerate(rows):
        unit = element_bytes if ISA[op].unit is Unit.VECTOR else 1
        used = REGISTER_COLUMNS if op == Op.VVADD else REGISTER_COLUMNS[:2]
        for operand, name in enumerate(used):
            selected = bool(plan.select[row] & OFFSET_BITS[name])
            assert plan.base[row, operand] + selected * plan.offset[row] * unit == address[operand]
        assert not plan.select[row] & ~ISA[op].selectable
        held = set(plan.base[row, : len(used)].tolist()) - {0}
        different = len(set(address[: len(used)]))
        assert len(held) <= (different - 1 if in_order and op != Op.MVMUL else different)
        if op == Op.MVMUL:
            assert plan.select[row] == plan.offset[row] == 0
        if not in_order and plan.offset[row]:
            for name, bit in (("rs1", 2), ("rs2", 4))[: 1 + (op == Op.VVADD)]:
                assert bool(plan.offset[row] & bit) == bool(plan.select[row] & OFFSET_BITS[name])


def test_reorder_buffers_get_the_offsets_that_they_understand() -> None:
    """Bit 1 of the offset adds it to rs1 there; see ``test_register_allocation.misread``."""

    def selects(op: Op, in_order: bool, **addresses: object) -> list[int]:
        return plan_addresses(table(op, 2, **addresses), 1, in_order).select.tolist()

    assert selects(Op.SEND, True, source=[64, 68]) == [2, 2]
    assert selects(Op.SEND, False, source=[64, 66]) == [0, 2]
    assert selects(Op.RECV, False, dest=[64, 66]) == [1, 1]
    assert selects(Op.LMV, False, dest=[64, 68], source=512) == [1, 1]


@pytest.mark.parametrize("op", [Op.LLDI, Op.RECV])
def test_a_single_address_takes_no_register(op: Op) -> None:
    plan = plan_addresses(table(op, 5, dest=np.arange(5) * 64), 1, in_order=True)
    assert not plan.base.any()
    assert plan.offset.tolist() == [0, 64, 128, 192, 256]


def test_copies_side_by_side_share_their_distance() -> None:
    plan = plan_addresses(table(Op.LMV, 5, dest=8 + np.arange(5) * 8, source=1008 + np.arange(5) * 8), 1, in_order=True)
    assert plan.base[:, :2].tolist() == [[0, 1000]] * 5
    assert plan.offset.tolist() == [8, 16, 24, 32, 40]


def test_an_address_that_recurs_is_held() -> None:
    plan = plan_addresses(table(Op.LMV, 5, dest=5000, source=np.arange(5) * 24), 1, in_order=True)
    assert (plan.base[1:, 0] == 5000).all()
    assert not plan.base[:, 1].any()
    assert plan.select[1:].tolist() == [OFFSET_BITS["rs1"]] * 4


@settings(deadline=None)
@given(ROWS, st.sampled_from([1, 2]), st.lists(st.integers(0, 2), min_size=9, max_size=9))
def test_machine_code_plans_the_same(
    rows: list[tuple[Op, int, int, int]], element_bytes: int, cores: list[int]
) -> None:
    parts = [
        InstructionTable.of(
            op,
            core=core,
            key=0,
            place=0,
            node=0,
            dest=dest % 4096,
            source=source % 4096,
            second=second % 4096 if op == Op.VVADD else NO_ADDRESS,
        )
        for (op, dest, source, second), core in zip(rows, sorted(cores), strict=False)
    ]
    whole = InstructionTable.concat(parts)
    plain = plan_addresses(whole, element_bytes, in_order=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(address_plan, "WORTH_COMPILING", 1)
        patch.setattr(address_plan, "local_addresses", lambda *_: pytest.fail("it is not compiled"))
        compiled = plan_addresses(whole, element_bytes, in_order=True) if parts else plain
    for name, column in vars(plain).items():
        np.testing.assert_array_equal(getattr(compiled, name), column, err_msg=name)
