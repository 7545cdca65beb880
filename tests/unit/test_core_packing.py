"""Packing replicas into cores: nothing is overfull, what collides stays apart, and it beats chance by proof."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tilec.analysis import core_packing
from tilec.analysis.core_packing import SCALE, Groups, NoRoomError, pack_groups, validate_packing
from tilec.analysis.packing_kernel import LOAD

AMPLE = 1_000_000_000
"""Memory that nothing fills."""


def groups(
    busy: list[list[float]],
    *,
    arrays: list[int] | None = None,
    batch: list[int] | None = None,
    memory: list[list[float]] | None = None,
    scratch: list[int] | None = None,
) -> Groups:
    """Groups of one array, of batches of their own and without memory, unless something else is said."""
    count = len(busy)
    return Groups(
        np.rint(SCALE * np.array(busy)).astype(np.int64),
        np.zeros(np.shape(busy), np.int64) if memory is None else np.array(memory, np.int64),
        np.array(scratch or [0] * count),
        np.array(arrays or [1] * count),
        np.array(batch or range(count)),
    )


@st.composite
def random_groups(draw: st.DrawFn, most_arrays: int = 6) -> Groups:
    count, periods = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Groups(
        random.integers(0, SCALE + 1, (count, periods)) * (random.random((count, periods)) < 0.6),
        random.integers(0, 50, (count, periods)),
        random.integers(0, 20, count),
        random.integers(1, most_arrays + 1, count),
        random.integers(0, draw(st.integers(1, count)), count),
    )


def held(found: Groups, core: NDArray[np.int64], home: int) -> float:
    """Bytes that a core holds at most, with the largest of the scratch areas that are used in turn."""
    mine = core == home
    if not mine.any():
        return 0.0
    return float(found.memory[mine].sum(axis=0).max() + found.scratch[mine].max())


@settings(max_examples=300, deadline=None)
@given(random_groups(), st.integers(1, 6), st.integers(1, 8))
def test_a_packing_is_valid_or_a_group_finds_no_room(found: Groups, cores: int, arrays_per_core: int) -> None:
    try:
        core = pack_groups(found, cores, arrays_per_core, AMPLE)
    except NoRoomError as error:
        refused = error.group
    else:
        assert validate_packing(found, core, cores, arrays_per_core) == []
        return
    # By decreasing size: a group finds no room only where every core is more than half full.
    assert 0 <= refused < len(found.arrays)
    assert found.arrays.max() > arrays_per_core or found.arrays.sum() > cores * arrays_per_core / 2


@settings(max_examples=300, deadline=None)
@given(random_groups(), st.integers(2, 6))
def test_collides_no_more_than_a_packing_at_random(found: Groups, cores: int) -> None:
    """Each group goes where it adds least, so no more than the mean over cores. The sum is then no more than its mean
    over all packings, where two groups meet in one of ``cores`` cases."""
    count = len(found.arrays)
    apart = Groups(found.busy, found.memory, found.scratch, np.ones(count, np.int64), np.arange(count))
    core = pack_groups(apart, cores, len(found.arrays), AMPLE)
    work, periods = found.busy.sum(axis=1), found.busy.shape[1]
    cost = {
        pair: int(LOAD * periods * found.busy[pair[0]] @ found.busy[pair[1]] + work[pair[0]] * work[pair[1]])
        for pair in combinations(range(len(work)), 2)
    }
    mean = sum(cost.values()) / cores
    assert sum(value for (one, other), value in cost.items() if core[one] == core[other]) <= mean


@settings(max_examples=200, deadline=None)
@given(random_groups(most_arrays=1), st.integers(1, 6))
def test_replicas_of_a_batch_go_to_different_cores_while_there_are_any(found: Groups, cores: int) -> None:
    core = pack_groups(found, cores, len(found.arrays), AMPLE)
    for batch in np.unique(found.batch):
        homes = core[found.batch == batch]
        assert len(set(homes.tolist())) == min(len(homes), cores)


@settings(max_examples=200, deadline=None)
@given(random_groups(most_arrays=1), st.integers(2, 4), st.integers(20, 120))
def test_a_group_exceeds_the_memory_only_where_no_core_has_room(found: Groups, cores: int, memory: int) -> None:
    """Whoever chose last on a core that is overfull found all others overfull with it too. Chosen is by work."""
    batch = np.arange(len(found.arrays), dtype=np.int64)
    apart = Groups(found.busy, found.memory, found.scratch, found.arrays, batch)
    core = pack_groups(apart, cores, len(batch), memory)
    order = np.argsort(-found.busy.sum(axis=1), kind="stable")
    so_far = np.full(len(core), -1)
    for group in order.tolist():
        before = so_far.copy()
        so_far[group] = core[group]
        if held(apart, so_far, int(core[group])) > memory:
            for other in range(cores):
                tried = before.copy()
                tried[group] = other
                assert held(apart, tried, other) >= held(apart, so_far, int(core[group])) > memory


@settings(max_examples=300, deadline=None)
@given(random_groups(), st.integers(1, 6), st.integers(1, 12), st.sampled_from([30, 90, AMPLE]))
def test_the_compiled_loop_packs_as_the_one_in_numpy(
    found: Groups, cores: int, arrays_per_core: int, memory: int
) -> None:
    """Or refuses the same group."""

    def packed(pack: Callable[[Groups, NDArray[np.int64], int, int, int], NDArray[np.int64]]) -> list[int] | int:
        try:
            return pack(found, np.argsort(-found.arrays), cores, arrays_per_core, memory).tolist()
        except NoRoomError as error:
            return error.group

    assert packed(core_packing._compiled) == packed(core_packing._interpreted)  # pyright: ignore[reportPrivateUsage]


def test_groups_that_are_busy_at_different_times_share_a_core() -> None:
    early, late = [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]
    core = pack_groups(groups([early, early, late, late]), 2, 8, AMPLE)
    assert sorted(core[:2].tolist()) == sorted(core[2:].tolist()) == [0, 1]


def test_an_idle_core_is_better_than_one_that_is_busy_at_other_times() -> None:
    assert sorted(pack_groups(groups([[1.0, 0.0], [0.0, 1.0]]), 2, 8, AMPLE).tolist()) == [0, 1]


def test_memory_counts_more_than_collisions() -> None:
    """The third group would run undisturbed beside the first, but their rows do not fit together."""
    busy = [[1.0, 0.0], [0.5, 0.9], [0.0, 0.8]]
    memory = [[80.0, 80.0], [10.0, 10.0], [30.0, 30.0]]
    assert pack_groups(groups(busy), 2, 8, 100).tolist() == [1, 0, 1]
    assert pack_groups(groups(busy, memory=memory), 2, 8, 100).tolist() == [1, 0, 0]


def test_groups_of_a_core_share_their_scratch() -> None:
    """60 + 60 bytes of rows and the larger scratch area, 30, fit in 150 bytes, though not in 149."""
    busy = [[1.0, 0.0], [0.5, 0.9], [0.0, 0.8]]
    found = groups(busy, memory=[[60.0, 60.0], [10.0, 10.0], [60.0, 60.0]], scratch=[30, 0, 20])
    assert pack_groups(found, 2, 8, 150).tolist() == [1, 0, 1]
    assert pack_groups(found, 2, 8, 149).tolist() == [1, 0, 0]


def test_rows_that_are_held_at_different_times_share_memory() -> None:
    busy = [[1.0, 0.0], [0.5, 0.9], [0.0, 0.8]]
    memory = [[80.0, 0.0], [10.0, 10.0], [0.0, 80.0]]
    assert pack_groups(groups(busy, memory=memory), 2, 8, 100).tolist() == [1, 0, 1]


def test_large_groups_choose_first() -> None:
    """Of 4 arrays a core, one group takes 3: were it to come last, by its work, no core would have room for it."""
    core = pack_groups(groups([[0.9], [0.8], [0.1]], arrays=[1, 1, 3]), 2, 4, AMPLE)
    assert validate_packing(groups([[0.9], [0.8], [0.1]], arrays=[1, 1, 3]), core, 2, 4) == []
    core = pack_groups(groups([[0.9], [0.8], [0.7], [0.1]], arrays=[2, 2, 2, 2]), 2, 4, AMPLE)
    assert np.bincount(core).tolist() == [2, 2]


def test_if_order_of_work_finds_no_room_order_of_size_does() -> None:
    """Two small groups with most work take a core each, which leaves 7 of 8 arrays: room for 6 pairs, not for 7."""
    found = groups([[1.0]] * 2 + [[0.1]] * 7, arrays=[1] * 2 + [2] * 7)
    core = pack_groups(found, 2, 8, AMPLE)
    assert validate_packing(found, core, 2, 8) == []


def test_a_group_that_fits_no_core_is_named() -> None:
    with pytest.raises(NoRoomError, match="group 1 fits no core") as caught:
        pack_groups(groups([[1.0], [0.5]], arrays=[1, 9]), 2, 8, AMPLE)
    assert caught.value.group == 1
    with pytest.raises(NoRoomError):
        pack_groups(groups([[1.0]] * 3, arrays=[5] * 3), 2, 8, AMPLE)


def test_no_groups_need_no_cores() -> None:
    empty, nothing = np.zeros(0, np.int64), np.zeros((0, 4), np.int64)
    assert pack_groups(Groups(nothing, nothing, empty, empty, empty), 2, 8, AMPLE).tolist() == []


def test_the_validator_sees_cores_that_are_overfull_or_do_not_exist() -> None:
    found = groups([[1.0]] * 3, arrays=[5, 4, 1])
    assert validate_packing(found, np.array([0, 1, 0]), 2, 8) == []
    assert validate_packing(found, np.array([0, 0, 1]), 2, 8) == ["core 0 holds 9 arrays of 8"]
    assert validate_packing(found, np.array([0, 2, 1]), 2, 8) == ["group 1 is on core 2 of 2"]
    assert validate_packing(found, np.array([-1, 1, 1]), 2, 8) == ["group 0 is on core -1 of 2"]
