"""Dumb schedules: by hand, against brute force, and within what theory says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from guard_programs import module_at
from hypothesis import given
from hypothesis import strategies as st
from ir_edits import batches_of, change_array, layers_of, set_number
from tilec.analysis.dumb_schedules import (
    CoresOfReplicas,
    DumbOrders,
    LanesToPlace,
    busiest_cycles,
    place_by_work,
    place_in_turn,
)
from tilec.analysis.window import OUTSIDE
from tilec.dialects.registry import make_context
from tilec.lowering import dumb_schedules
from tilec.lowering.proxies import proxies
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import ModuleOp


def batch(lanes: int, replicas: int, cycles: int, arrays: int, *reads: tuple[int, list[list[int]]]) -> LanesToPlace:
    tables = tuple((producer, np.array(rows, np.int64)) for producer, rows in reads)
    return LanesToPlace(lanes, replicas, cycles, arrays, tables, row_bytes=10)


def ends(batches: list[LanesToPlace], placed: CoresOfReplicas | None, cores: int) -> list[int]:
    assert placed is not None
    orders = DumbOrders(batches, cores)
    return (orders.by_rows(orders.core_of_lanes(placed)) + orders.cycles).tolist()


# Places


def test_replicas_take_cores_in_turn() -> None:
    batches = [batch(6, 3, 1, 1), batch(4, 2, 1, 2), batch(4, 2, 1, 0)]
    assert place_in_turn(batches, 4, 3) == [[0, 1, 2], [3, 0], [1, 2]]
    assert place_in_turn([batch(6, 3, 1, 1), batch(4, 2, 1, 2)], 4, 2) is None, "one core is left with two arrays"
    assert place_in_turn([batch(6, 3, 1, 1), batch(1, 1, 1, 2)], 4, 2) == [[0, 1, 2], [3]]


def test_the_longest_work_goes_to_the_idlest_core() -> None:
    three = [batch(1, 1, cycles, 1) for cycles in (10, 40, 30)]
    assert place_by_work(three, 2, 2) == [[1], [0], [1]]
    # Four arrays of four cannot wait until the last.
    tight = [batch(1, 1, 9, 1), batch(1, 1, 8, 1), batch(1, 1, 1, 4)]
    assert place_by_work(tight, 2, 4) == [[1], [1], [0]]
    assert place_by_work([batch(4, 2, 10, 1)], 1, 1) is None


def test_replicas_count_as_full_as_the_fullest() -> None:
    # Five lanes on four cores are two on one of them: which one, another batch should not depend on.
    batches = [batch(5, 4, 10, 1), batch(5, 4, 10, 1), batch(1, 1, 7, 1)]
    placed = place_in_turn(batches, 4, 9)
    assert placed is not None
    assert busiest_cycles(batches, placed) == 20 + 20 + 7
    assert busiest_cycles([], []) == 0


# Orders


def test_list_scheduling_by_hand() -> None:
    two = batch(4, 2, 10, 1)
    assert ends([two], [[0, 1]], 4) == [10, 10, 20, 20]
    assert ends([two], [[0, 0]], 1) == [10, 20, 30, 40]
    # Lanes of 10 on two cores end at 10, 10, 20, 20; the reader, on a third, takes 5 for each of them.
    reader = batch(4, 1, 5, 0, (0, [[0], [1], [2], [3]]))
    assert ends([two, reader], [[0, 1], [2]], 3)[4:] == [15, 20, 25, 30]
    late = batch(1, 1, 5, 0, (0, [[0, 1, 2, OUTSIDE]]))
    assert ends([two, late], [[0, 1], [2]], 3)[4:] == [25]


def test_lanes_on_demand_by_hand() -> None:
    """The second reads rows 3, 2, 1, 0: row 3 is computed first, and read at once."""
    orders = DumbOrders([batch(4, 1, 10, 1), batch(4, 1, 5, 0, (0, [[3], [2], [1], [0]]))], 1)
    one_core = np.zeros(8, np.int64)
    assert orders.on_demand(one_core).tolist() == [45, 30, 15, 0, 10, 25, 40, 55]
    assert orders.by_rows(one_core).tolist()[:4] == [0, 10, 20, 30]
    # In that order one row and its reader's are held, in the other all four rows and one more.
    assert orders.held_bytes(one_core, orders.on_demand(one_core)) == 20
    assert orders.held_bytes(one_core, orders.by_rows(one_core)) == 50


@st.composite
def programs(draw: st.DrawFn) -> list[LanesToPlace]:
    made: list[LanesToPlace] = []
    for index in range(draw(st.integers(1, 3))):
        lanes = draw(st.integers(1, 4))
        reads: list[tuple[int, list[list[int]]]] = []
        for one in sorted(draw(st.sets(st.integers(0, index - 1), max_size=2))) if index else ():
            row = st.one_of(st.just(OUTSIDE), st.integers(0, made[one].lanes - 1))
            reads.append((one, draw(st.lists(st.lists(row, min_size=2, max_size=2), min_size=lanes, max_size=lanes))))
        made.append(batch(lanes, draw(st.integers(1, lanes)), draw(st.integers(1, 9)), 0, *reads))
    return made


def needs_of(batches: list[LanesToPlace], orders: DumbOrders) -> list[set[int]]:
    """The lanes that each lane reads, one by one."""
    return [
        {orders.first[of] + row for of, rows in one.reads for row in rows[lane].tolist() if row != OUTSIDE}
        for one in batches
        for lane in range(one.lanes)
    ]


@given(programs(), st.integers(1, 3), st.booleans(), st.booleans())
def test_orders_are_schedules(batches: list[LanesToPlace], cores: int, in_turn: bool, demand: bool) -> None:
    """Rows are there when they are read, and a core runs one lane at a time. A list schedule takes no less than the
    critical path or the fair share of the work, and no more than all of it."""
    placed = (place_in_turn if in_turn else place_by_work)(batches, cores, 0)
    assert placed is not None
    orders = DumbOrders(batches, cores)
    core = orders.core_of_lanes(placed)
    start = (orders.on_demand if demand else orders.by_rows)(core).tolist()
    end = [begin + cycles for begin, cycles in zip(start, orders.cycles.tolist(), strict=True)]
    needs = needs_of(batches, orders)
    assert all(end[need] <= start[lane] for lane, mine in enumerate(needs) for need in mine)
    for one in range(cores):
        mine = sorted((start[lane], end[lane]) for lane in np.flatnonzero(core == one).tolist())
        assert all(before[1] <= after[0] for before, after in pairwise(mine))
    path: list[int] = []
    for lane, mine in enumerate(needs):
        path.append(max((path[need] for need in mine), default=0) + int(orders.cycles[lane]))
    work = int(orders.cycles.sum())
    assert max(*path, -(-work // cores)) <= max(end) <= work


@given(programs(), st.integers(1, 3), st.booleans())
def test_held_bytes_step_by_step(batches: list[LanesToPlace], cores: int, demand: bool) -> None:
    placed = place_in_turn(batches, cores, 0)
    assert placed is not None
    orders = DumbOrders(batches, cores)
    core = orders.core_of_lanes(placed)
    start = (orders.on_demand if demand else orders.by_rows)(core)
    end = start + orders.cycles
    periods: list[tuple[int, int, int]] = []
    for row in range(orders.first[-1]):
        users: dict[int, list[int]] = {int(core[row]): [int(end[row])]}
        for lane, mine in enumerate(needs_of(batches, orders)):
            if row in mine:
                users.setdefault(int(core[lane]), []).append(int(end[lane]))
        periods += [
            (where, int(start[row] if where == core[row] else end[row]), max(last)) for where, last in users.items()
        ]
    most = max(
        sum(10 for where, first, last in periods if where == one and first <= step < last)
        for one in range(cores)
        for step in range(int(end.max()))
    )
    assert orders.held_bytes(core, start) == most


# In the record


def scheduled(size: int = 8) -> ModuleOp:
    module = module_at("graph", size)
    PassManager(build_pipeline("spat-merge-graph,spat-schedule-peft")).run(make_context(), module)
    return module


def dumb(module: ModuleOp) -> int:
    found = proxies(module).dumb_cycles
    assert found is not None
    return found


def test_the_yardstick_counts_transfers() -> None:
    module = scheduled()
    found = proxies(module)
    assert found.span_cycles is not None
    assert found.scheduled_cycles is not None
    assert found.span_cycles < found.scheduled_cycles
    assert found.span_cycles < dumb(module)


def test_the_yardstick_is_no_longer_for_a_worse_schedule() -> None:
    """Neither another order, nor other cores, nor fewer of them for what has no weights make it longer."""
    module = scheduled()
    in_turn = dumb(module)
    for op in batches_of(module):
        change_array(op, "steps", lambda steps: 100_000 * np.arange(len(steps))[::-1])
    assert dumb(module) == in_turn
    for op in batches_of(module):
        change_array(op, "cores", np.zeros_like)
        if op not in layers_of(module):
            change_array(op, "cores", lambda cores: cores[:1])
            set_number(op, "replicas", 1)
    assert dumb(module) == in_turn


def test_rows_that_find_no_room_come_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any memory for rows, the yardstick is the order that holds few of them. It is no shorter."""
    module = scheduled(32)
    before = dumb(module)
    monkeypatch.setattr(dumb_schedules, "MEMORY_PART", 1 << 20)
    assert dumb(module) > before


def test_what_reads_and_computes_nothing_has_no_schedule() -> None:
    orders = DumbOrders([], 4)
    none = orders.core_of_lanes([])
    assert orders.by_rows(none).tolist() == orders.on_demand(none).tolist() == []
    assert orders.held_bytes(none, orders.by_rows(none)) == 0
