"""Instructions of lanes, against the definition of an access, one instruction after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.codegen import lane_expansion
from tilec.codegen.instruction_table import NO_ADDRESS
from tilec.codegen.isa import Op
from tilec.codegen.lane_expansion import Issue, LaneExpansion
from tilec.dialects.pim import Access

Row = tuple[int, ...]
ELEMENT_BYTES = 2


@st.composite
def accesses(draw: st.DrawFn, repeats: int, rows: int) -> Access:
    cycle = draw(st.integers(0, repeats))
    last = min(repeats, cycle or repeats) - 1
    row_step = draw(st.integers(0, (rows - 1) // max(last, 1)))
    row = draw(st.integers(0, rows - 1 - last * row_step))
    return Access(row, row_step, draw(st.integers(0, 9)), draw(st.integers(0, 5)), cycle)


@st.composite
def batches(draw: st.DrawFn) -> tuple[LaneExpansion, list[Row]]:
    """An expansion, and lines of core, key, place, opcode, addresses, immediates and node in any order."""
    expansion = LaneExpansion(ELEMENT_BYTES)
    expected: list[Row] = []
    for number in range(draw(st.integers(0, 3))):
        lanes, replicas, turns = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
        cores = draw(st.lists(st.integers(0, 5), min_size=lanes, max_size=lanes))
        counts = draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
        length = turns * sum(counts)
        keys = 100 * number + np.arange(lanes * length).reshape(lanes, length)
        issues: list[Issue] = []
        for at, per_turn in enumerate(counts):
            repeats, begin = turns * per_turn, sum(counts[:at])
            opcode = draw(st.sampled_from([Op.VVADD, Op.VRELU, Op.MVMUL]))
            groups = draw(st.lists(st.integers(0, 9), min_size=replicas, max_size=replicas))
            operands: list[tuple[np.ndarray, Access]] = []
            for _ in range(3 if opcode is Op.VVADD else 2):
                rows = draw(st.integers(1, 4))
                numbers = st.lists(st.integers(0, 999), min_size=lanes * rows, max_size=lanes * rows)
                operands.append((np.array(draw(numbers)).reshape(lanes, rows), draw(accesses(repeats, rows))))
            is_product = opcode is Op.MVMUL
            held = [(expansion.buffer(rows), access) for rows, access in operands]
            group = np.array(groups) if is_product else None
            issues.append(Issue(opcode, repeats, per_turn, sum(counts), begin, 8, 5, group, at, held))
            for lane in range(lanes):
                for repeat in range(repeats):
                    place = repeat // per_turn * sum(counts) + begin + repeat % per_turn
                    addresses = [NO_ADDRESS] * 3
                    for operand, (rows, access) in enumerate(operands):
                        index = repeat % access.cycle if access.cycle else repeat
                        element = access.start + index * access.step
                        addresses[operand] = int(rows[lane, access.row + index * access.row_step])
                        addresses[operand] += element * ELEMENT_BYTES
                    b = groups[lane % replicas] if is_product else 5
                    key = int(keys[lane, place])
                    expected.append((cores[lane], key, place, int(opcode), *addresses, 8, b, at))
        expansion.add(np.array(cores), replicas, keys, issues)
    return expansion, expected


@pytest.mark.parametrize("least", [0, 1 << 30])
def test_every_instruction_has_the_addresses_of_its_accesses(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_expansion, "WORTH_COMPILING", least)

    @settings(deadline=None)
    @given(batches())
    def check(drawn: tuple[LaneExpansion, list[Row]]) -> None:
        expansion, expected = drawn
        columns = vars(expansion.table()).values()
        assert sorted(zip(*(column.tolist() for column in columns), strict=True)) == sorted(expected)

    check()
