"""The zeros beside the rows of a ring: on random rings, they are all written, and no row or other buffer is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tilec.analysis.machine import EIGHT_BITS, Machine
from tilec.codegen.ring_zeros import ring_zeros
from tilec.dialects import pim
from tilec.dialects.tile import ArrayAttr
from tilec.lowering.target import Target

TARGET = Target(Machine.load("reference144"), EIGHT_BITS)


@given(
    st.integers(0, 3), st.integers(0, 3), st.integers(1, 9), st.integers(1, 40), st.integers(0, 20), st.integers(1, 12)
)
def test_zeros_are_where_no_row_is(left: int, right: int, columns: int, channels: int, slack: int, depth: int) -> None:
    """Byte by byte. Behind each row, and only there, ``slack`` bytes do not matter."""
    op = pim.RowsOp((8, columns, channels), left, right, slack)
    slot = (left + columns + right) * channels + slack
    rings = np.array([[2, 1000, depth * slot, 35], [5, 77, depth * slot, 5]])
    op.properties["rings"] = ArrayAttr.get(rings)
    fills = ring_zeros(op, TARGET)
    if not left + right:
        assert not len(fills.core)
        return
    for core, address, size, _ in rings.tolist():
        memory = np.full(2000 + size, 9)
        mine = fills.core == core
        for start, length in zip(fills.address[mine].tolist(), fills.size[mine].tolist(), strict=True):
            memory[start : start + length] = 0
        assert (memory[:address] == 9).all()
        assert (memory[address + size :] == 9).all()
        rows = memory[address : address + size].reshape(depth, slot)
        assert (rows[:, : left * channels] == 0).all()
        assert (rows[:, (left + columns) * channels : (left + columns + right) * channels] == 0).all()
        whole = int(TARGET.machine.fill_cycles(size))
        cycles = int(TARGET.machine.fill_cycles(fills.size[mine]).sum())
        if mine.sum() > 1:
            assert cycles < whole
            assert (rows[:, left * channels : (left + columns) * channels] == 9).all()
        else:
            assert cycles <= whole
    assert set(zip(fills.core.tolist(), fills.key.tolist(), strict=True)) == {(2, 35), (5, 5)}
