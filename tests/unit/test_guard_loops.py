"""The loops of the guard find the same whether they are compiled or interpreted."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tilec.analysis import critical_path, dumb_schedules
from tilec.analysis.critical_path import Events, core_span
from tilec.analysis.dumb_schedules import DumbOrders, LanesToPlace, place_in_turn
from tilec.analysis.span_events import dict_table, table
from tilec.analysis.span_events.layout import ABSENT, Facts, State
from tilec.analysis.window import OUTSIDE
from tilec.support.machine_code import can_compile


def random_events(seed: int, count: int, cores: int, rows: int) -> Events:
    """Lanes and messages that need rows, some of which nobody brings; and loads, through a port of number ``cores``."""
    draw = np.random.default_rng(seed)
    loads = draw.random(count) < 0.2
    partner = np.where((draw.random(count) < 0.5) & ~loads, -1, draw.integers(0, cores, count))
    needs = np.where(loads, 0, draw.integers(0, 4, count))
    return Events(
        draw.permutation(count),
        np.where(loads, cores, draw.integers(0, cores, count)),
        partner,
        draw.integers(0, 50, count),
        draw.integers(0, 50, count),
        np.where((partner < 0) | loads, 0, draw.integers(0, 2, count) * draw.integers(1, 90, count)),
        np.where(draw.random(count) < 0.3, -1, draw.integers(0, rows, count)),
        draw.integers(0, rows, int(needs.sum())),
        needs,
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_events(seed: int, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_compile()
    cores = 1 + seed % 7
    events = random_events(seed, 1 + 100 * seed, cores, rows=1 + 40 * seed)
    interpreted = core_span(events, shared, cores)
    monkeypatch.setattr(critical_path, "WORTH_COMPILING", 0)
    assert core_span(events, shared, cores) == interpreted
    assert interpreted.unready or seed == 0 or shared


LOAD = st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 30))


@given(st.lists(LOAD, max_size=30))
def test_loads_are_served_as_they_are_asked_for(loads: list[tuple[int, int, int]]) -> None:
    """Each as soon as its core and the port are free; what a core asks for late holds up nobody who asks before."""
    free, served = [0] * 4, list[tuple[int, int]]()
    for core, cycles, more in loads:
        begin = free[core]
        while any(begin < last and first < begin + cycles for first, last in served):
            begin += 1
        served.append((begin, begin + cycles))
        free[core] = begin + cycles + more
    core, cycles, more = np.array(loads, np.int64).reshape(-1, 3).T
    none, ones = np.zeros(len(loads), np.int64), np.ones(len(loads), np.int64)
    events = Events(np.arange(len(loads)), 4 * ones, core, cycles, cycles + more, none, -ones, none[:0], none)
    assert core_span(events, port_number=4).cycles == max(free)


@pytest.mark.parametrize("seed", range(20))
def test_orders(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 30, 1 + seed).tolist()
    batches: list[LanesToPlace] = []
    for index, lanes in enumerate(sizes):
        reads: list[tuple[int, np.ndarray[tuple[int, int], np.dtype[np.int64]]]] = []
        for producer in draw.integers(0, index, 2).tolist() if index else ():
            rows = draw.integers(-1, sizes[producer], (lanes, 3))
            reads.append((producer, np.where(rows < 0, OUTSIDE, rows)))
        batches.append(LanesToPlace(lanes, 1 + lanes // 3, int(draw.integers(0, 9)), 0, tuple(reads)))
    orders = DumbOrders(batches, 3)
    placed = place_in_turn(batches, 3, 0)
    assert placed is not None
    core = orders.core_of_lanes(placed)
    interpreted = [orders.by_rows(core).tolist(), orders.on_demand(core).tolist()]
    monkeypatch.setattr(dumb_schedules, "WORTH_COMPILING", 0)
    assert [orders.by_rows(core).tolist(), orders.on_demand(core).tolist()] == interpreted


@given(st.lists(st.tuples(st.integers(0, 1 << 36), st.integers(0, 1 << 40)), max_size=40), st.integers(0, 1 << 36))
def test_the_table_is_a_dictionary(lines: list[tuple[int, int]], other: int) -> None:
    slots = list(accumulate([2] + [2] * len(lines), lambda a, _: a * 2 if a <= 2 * len(lines) else a))[-1]
    facts, one = Facts(slots - 1, ABSENT), State([], [], [ABSENT] * slots, [0] * slots, [], [], [])
    two = State([], [], [], {}, [], [], [])  # pyright: ignore[reportArgumentType]
    for row, time in lines:
        table.bring(facts, one, row, time)
        dict_table.bring(facts, two, row, time)
    for row in (other, *(row for row, _ in lines)):
        assert table.time_of(facts, one, row) == dict_table.time_of(facts, two, row)
