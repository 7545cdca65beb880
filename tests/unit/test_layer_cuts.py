"""The dumb way to cut layers, against all ways one by one, numbers counted by hand, and a check of what it deals."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.layer_cuts import LayerShape, Plan, RowReads, Ways, deal_arrays, ways_of
from tilec.analysis.machine import Machine, Precision
from tilec.codegen.isa import Op

TINY = Machine.load("tiny4")
"""Four cores of eight arrays of 128 x 128."""
BYTES = Precision()
POINT = RowReads(pieces=1, elements=16, reach=16, step=16)
"""What a window of a 1 x 1 kernel reads of 16 channels."""


def mvm(arrays: int) -> int:
    return int(TINY.mvm_cycles(arrays))


def add(elements: int) -> int:
    return int(TINY.vector_cycles(Op.VVADD, elements))


def ways(arrays: Sequence[int], cores: Sequence[int], cycles: Sequence[int]) -> Ways:
    return Ways(tuple(arrays), tuple(cores), tuple(cycles))


def message(elements: int) -> int:
    return int(TINY.send_cycles(0, 2, elements) + TINY.recv_cycles(0, 2, elements))


# Ways, by hand


def test_as_many_windows_as_an_array_holds() -> None:
    """Eight windows of 16 channels and of 16 outputs are 128 rows and 128 columns: one array, one product."""
    assert ways_of(LayerShape(8, 8, 16, (POINT,)), TINY, BYTES) == ways([1], [1], [mvm(1)])


def test_more_windows_in_more_arrays() -> None:
    """Nine windows take five products of two, or three of three; all nine at once need three arrays of 256 columns."""
    two = RowReads(1, 60, 60, 60)
    found = ways_of(LayerShape(1, 9, 64, (two,)), TINY, BYTES)
    assert found.arrays[0] == 1
    assert found.cycles[0] == 5 * mvm(1), "two windows: 120 rows, 128 columns"
    row = 9 * 64
    assert all(cycles < 5 * mvm(1) for cycles in found.cycles[1:])
    # Nine at once: 540 rows in 5 slices, 576 columns in 5 arrays.
    assert 5 * mvm(5) + 4 * add(row) > found.cycles[-1]


def test_rows_in_parts_come_together_by_messages() -> None:
    """Two rows of 100 elements: one core multiplies one after the other; two at once, but send their results."""
    rows = (RowReads(1, 100, 100, 100),) * 2
    found = ways_of(LayerShape(1, 1, 100, rows), TINY, BYTES)
    alone, apart = 2 * mvm(1) + add(100), mvm(1) + add(100) + message(100)
    assert apart < alone
    assert found == ways([2], [2], [apart])


def test_a_row_that_several_parts_read_is_sent_to_each() -> None:
    """One row of 2000 elements in 16 slices: four parts have four each. The row goes to three of them once more."""
    found = ways_of(LayerShape(1, 1, 100, (RowReads(1, 2000, 2000, 2000),)), TINY, BYTES)
    cycles = 4 * mvm(1) + 3 * add(100) + 2 * (add(100) + message(100)) + 3 * message(2000)
    assert found == ways([16], [4], [cycles])


def test_what_is_short_is_copied_side_by_side() -> None:
    """Nine rows of eight elements go into one array if they are copied, and else into nine."""
    rows = (RowReads(1, 8, 8, 8),) * 9
    found = ways_of(LayerShape(1, 1, 8, rows), TINY, BYTES)
    assert found == ways([1], [1], [mvm(1) + 9 * int(TINY.copy_cycles(8))])


def test_gaps_are_read_as_well_if_that_is_less() -> None:
    """A window of three columns of 8 channels, two apart: its five columns are 40 elements, and three times 8 are 24.
    Eight neighbouring windows read 12 columns together, 96 elements; each column for itself, three times 64."""
    gaps = RowReads(pieces=3, elements=24, reach=40, step=8)
    assert ways_of(LayerShape(1, 8, 16, (gaps,)), TINY, BYTES) == ways([1], [1], [mvm(1)])


def test_wide_rows_may_want_several_cores() -> None:
    """1000 outputs are eight arrays, as many as a core has; vector units of four cores may share them. Of 300 outputs,
    three arrays, two. What no core holds is in parts as well: 2000 outputs would be 16 arrays, on eight cores."""
    assert ways_of(LayerShape(1, 1, 1000, (POINT,)), TINY, BYTES) == ways([8], [4], [mvm(8)])
    assert ways_of(LayerShape(1, 1, 300, (POINT,)), TINY, BYTES) == ways([3], [2], [mvm(3)])
    found = ways_of(LayerShape(1, 1, 2000, (POINT,)), Machine.load("reference144"), BYTES)
    assert (found.arrays, found.cores) == ((16,), (8,))


def test_wide_layers_and_blocks_do_one_window_at_a_time() -> None:
    """Eight windows of 16 channels fit an array's rows."""
    alone = ways_of(LayerShape(1, 8, 300, (POINT,)), TINY, BYTES)
    assert alone == ways([3], [2], [8 * mvm(3)])
    assert ways_of(LayerShape(1, 8, 16, (POINT,), blocks=2), TINY, BYTES) == ways([1], [1], [8 * mvm(1)])


def test_no_way_where_no_core_holds_a_part() -> None:
    """Five parts for four cores."""
    assert ways_of(LayerShape(1, 1, 1200, (POINT,)), TINY, BYTES) == ways([], [], [])


# Ways, against all of them


READS = st.builds(
    lambda pieces, elements, gap, step: RowReads(
        pieces, pieces * elements, pieces * elements + (pieces - 1) * gap, step
    ),
    st.integers(1, 3),
    st.integers(1, 150),
    st.integers(1, 40),
    st.integers(1, 90),
)
SHAPES = st.builds(
    LayerShape,
    st.integers(1, 9),
    st.integers(1, 12),
    st.integers(1, 300),
    st.lists(READS, min_size=1, max_size=4).map(tuple),
    st.integers(1, 2),
)


def all_ways(shape: LayerShape, machine: Machine) -> list[tuple[int, int, int]]:
    """Arrays, cores and cycles of each number of products, of the fewest windows, and of parts, with loops."""
    found: list[tuple[int, int, int]] = []
    height, columns, per_core = machine.array_rows, machine.array_cols, machine.arrays_per_core
    for windows in range(1, shape.windows + 1):
        tiles = ceil(windows * shape.outputs / columns)
        if windows > 1 and (
            shape.outputs > 256
            or shape.blocks > 1
            or tiles > per_core
            or ceil(shape.windows / windows) == ceil(shape.windows / (windows - 1))
        ):
            continue
        beside = ceil(tiles / per_core)
        cores = max(beside, ceil(shape.outputs / 256))
        tiles = ceil(tiles / beside)
        lengths: list[int] = []
        direct = 0
        for reads in shape.reads:
            moved = (windows - 1) * reads.step
            together, apart = reads.reach + moved, reads.elements + reads.pieces * moved
            if reads.pieces == 1 or together < apart:
                direct += ceil(together / height)
                lengths.append(together)
            else:
                direct += reads.pieces * ceil(apart / reads.pieces / height)
                lengths += [apart] + [0] * (reads.pieces - 1)
        gathered = ceil(sum(lengths) / height)
        copies = len(lengths) * int(machine.copy_cycles(ceil(sum(lengths) / len(lengths))))
        product = int(machine.mvm_cycles(tiles))
        slices = direct
        if copies < (direct - gathered) * product:
            slices = gathered
        else:
            copies = 0
        row = shape.windows * ceil(shape.outputs / beside)
        sums, far = int(machine.vector_cycles(Op.VVADD, row)), machine.core_count // 2
        sent = int(machine.send_cycles(0, far, row) + machine.recv_cycles(0, far, row))
        read = max(reads.reach + (shape.windows - 1) * reads.step for reads in shape.reads)
        again = int(machine.send_cycles(0, far, read) + machine.recv_cycles(0, far, read))
        for parts in range(1, slices + 1):
            mine = ceil(slices / parts)
            if mine * tiles <= per_core and parts * cores <= machine.core_count:
                cycles = mine * ceil(shape.windows / windows) * (product + copies // slices)
                cycles += (mine - 1) * sums + ceil(log2(parts)) * (sums + sent)
                cycles += (ceil(parts / len(shape.reads)) - 1) * again
                found.append((parts * mine * tiles * beside, parts * cores, cycles))
    return found


@settings(deadline=None)
@given(SHAPES)
def test_ways_are_those_that_no_other_way_is_better_than(shape: LayerShape) -> None:
    found, every = ways_of(shape, TINY, BYTES), all_ways(shape, TINY)
    mine = list(zip(found.arrays, found.cores, found.cycles, strict=True))
    assert set(mine) <= set(every)
    best: list[tuple[int, int]] = []
    for arrays, cycles in sorted({(arrays, cycles) for arrays, _, cycles in every}):
        if not best or cycles < best[-1][1]:
            best.append((arrays, cycles))
    assert [(arrays, cycles) for arrays, _, cycles in mine] == best


# What is dealt


def test_the_layer_that_works_longest_gets_arrays_first() -> None:
    """Each layer takes one. The second one works 80 cycles, 40 with a second replica, which takes one more; its other
    way saves less for each array. Then the first one works longest, 50 cycles, and 25 with two replicas."""
    shapes = [LayerShape(2, 1, 1, (POINT,)), LayerShape(2, 1, 1, (POINT,))]
    both = [ways([1], [1], [25]), ways([1, 4], [1, 2], [40, 15])]
    assert deal_arrays(shapes, both, 4, 2) == [Plan(0, 1), Plan(0, 1)]
    assert deal_arrays(shapes, both, 4, 3) == [Plan(0, 1), Plan(0, 2)]
    assert deal_arrays(shapes, both, 4, 4) == [Plan(0, 2), Plan(0, 2)]
    assert deal_arrays(shapes, both, 4, 10) == [Plan(0, 2), Plan(1, 2)]
    assert deal_arrays(shapes, both, 3, 10) == [Plan(0, 2), Plan(0, 2)], "two replicas of two parts take four cores"


def test_blocks_have_as_many_replicas_as_there_are_cores_for_all() -> None:
    shape = LayerShape(6, 1, 1, (POINT,), blocks=2)
    assert deal_arrays([shape, shape], [ways([1], [1], [9])] * 2, 4, 100) == [Plan(0, 2)] * 2


@st.composite
def layers(draw: st.DrawFn) -> tuple[LayerShape, Ways]:
    count = draw(st.integers(1, 4))
    arrays = np.cumsum([draw(st.integers(1, 5)) for _ in range(count)]).tolist()
    cycles = np.cumsum([draw(st.integers(1, 9)) for _ in range(count)])[::-1].tolist()
    return LayerShape(draw(st.integers(1, 6)), 1, 1, (POINT,)), ways(
        arrays, [draw(st.integers(1, 2)) for _ in arrays], cycles
    )


@given(st.lists(layers(), min_size=1, max_size=4), st.integers(0, 40), st.integers(2, 8))
def test_nothing_is_left_that_would_make_a_layer_quicker(
    given_layers: list[tuple[LayerShape, Ways]], arrays: int, cores: int
) -> None:
    shapes, found = [shape for shape, _ in given_layers], [mine for _, mine in given_layers]
    plans = deal_arrays(shapes, found, cores, arrays)

    def taken(mine: Ways, plan: Plan) -> int:
        return plan.replicas * mine.arrays[plan.way]

    def busy(shape: LayerShape, mine: Ways, plan: Plan) -> int:
        return ceil(shape.lanes / plan.replicas) * mine.cycles[plan.way]

    total = sum(map(taken, found, plans))
    assert total <= max(arrays, sum(mine.arrays[0] for mine in found))
    for shape, mine, plan in zip(shapes, found, plans, strict=True):
        assert 1 <= plan.replicas <= shape.lanes
        assert plan == Plan(0, 1) or plan.replicas * mine.cores[plan.way] <= cores
        for way in range(plan.way, len(mine.arrays)):
            for replicas in (plan.replicas, plan.replicas + 1):
                other = Plan(way, replicas)
                if busy(shape, mine, other) < busy(shape, mine, plan) and (
                    way == plan.way or replicas == plan.replicas
                ):
                    more = taken(mine, other) - taken(mine, plan)
                    assert total + more > arrays or replicas * mine.cores[way] > cores


@pytest.mark.parametrize("cores", [1, 5])
def test_arrays_that_do_not_suffice(cores: int) -> None:
    """Then each layer has one replica that takes as few as possible."""
    shape = LayerShape(6, 1, 1, (POINT,))
    assert deal_arrays([shape, shape], [ways([4, 5], [1, 1], [9, 8])] * 2, cores, 3) == [Plan(0, 1)] * 2
