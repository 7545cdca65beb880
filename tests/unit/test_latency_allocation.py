"""Dealing arrays for latency: what is dealt fits, and options and replicas are those of an exhaustive search."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tilec.analysis import latency_allocation
from tilec.analysis.latency_allocation import (
    BUSY,
    FILL,
    SHARPNESS,
    InfeasibleError,
    allocate_for_latency,
    validate_choices,
)
from tilec.analysis.replicas import Choice, Layer, Option, fits


def option(parts: int = 1, part_arrays: int = 1, row: int = 100, work: int | None = None, latency: int = 100) -> Option:
    return Option(parts, part_arrays, row, row * parts if work is None else work, latency)


@st.composite
def layers(draw: st.DrawFn, most: int = 5, most_arrays: int = 4) -> list[Layer]:
    found: list[Layer] = []
    for index in range(draw(st.integers(1, most))):
        options = tuple(
            Option(
                draw(st.integers(1, 4)),
                draw(st.integers(1, most_arrays)),
                draw(st.integers(1, 500)),
                draw(st.integers(1, 2000)),
                draw(st.integers(1, 5000)),
            )
            for _ in range(draw(st.integers(1, 3)))
        )
        found.append(Layer(f"layer{index}", draw(st.integers(1, 12)), options))
    return found


def sizes_of(which: Sequence[Layer], choices: Sequence[Choice]) -> list[int]:
    """The arrays of every part of every replica."""
    chosen = [(layer.options[choice.option], choice.replicas) for layer, choice in zip(which, choices, strict=True)]
    return [one.part_arrays for one, replicas in chosen for _ in range(replicas * one.parts)]


def arrays_of(which: Sequence[Layer], choices: Sequence[Choice]) -> int:
    return sum(sizes_of(which, choices))


def single(which: Sequence[Layer]) -> Iterator[list[Choice]]:
    """Every way to give each layer one replica."""
    for options in itertools.product(*(range(len(layer.options)) for layer in which)):
        yield [Choice(1, one) for one in options]


def can_be_packed(sizes: list[int], cores: int, arrays_per_core: int) -> bool:
    """Whether there is any packing at all: every way is tried, up to which of equally full cores is which."""

    @cache
    def rest(index: int, free: tuple[int, ...]) -> bool:
        if index == len(ordered):
            return True
        size = ordered[index]
        return any(
            rest(index + 1, tuple(sorted((*free[:core], free[core] - size, *free[core + 1 :]))))
            for core in range(cores)
            if free[core] >= size
        )

    ordered = sorted(sizes, reverse=True)
    return rest(0, (arrays_per_core,) * cores)


def best_fit(sizes: list[int], cores: int, arrays_per_core: int) -> bool:
    """Best fit by decreasing size, one part at a time."""
    free = [arrays_per_core] * cores
    for size in sorted(sizes, reverse=True):
        room = [(left, core) for core, left in enumerate(free) if left >= size]
        if not room:
            return False
        free[min(room)[1]] -= size
    return True


@settings(max_examples=300, deadline=None)
@given(layers(), st.integers(1, 16), st.integers(1, 8))
def test_what_is_dealt_fits_or_is_refused(which: list[Layer], cores: int, arrays_per_core: int) -> None:
    try:
        choices = allocate_for_latency(which, cores, arrays_per_core)
    except InfeasibleError as error:
        needed = error.arrays_needed
    else:
        assert validate_choices(which, choices, cores, arrays_per_core) == []
        assert best_fit(sizes_of(which, choices), cores, arrays_per_core)
        return
    assert needed == min(arrays_of(which, choices) for choices in single(which))
    least = [choices for choices in single(which) if arrays_of(which, choices) == needed]
    assert not all(fits(which, choices, cores, arrays_per_core) for choices in least)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3)), max_size=4), st.integers(1, 4), st.integers(5, 9))
def test_fits_is_best_fit_and_so_a_packing(parts: list[tuple[int, int]], cores: int, arrays_per_core: int) -> None:
    which = [Layer(f"layer{size}", 9, (option(1, size),)) for size, _ in parts]
    choices = [Choice(count, 0) for _, count in parts]
    sizes = sizes_of(which, choices)
    found = fits(which, choices, cores, arrays_per_core)
    assert found == best_fit(sizes, cores, arrays_per_core)
    possible = can_be_packed(sizes, cores, arrays_per_core)
    assert possible or not found
    # Best fit decreasing takes 11/9 of the cores of the best packing, and 2/3 of one, at most.
    if possible:
        assert fits(which, choices, cores + -(-cores // 4) + 1, arrays_per_core)


def test_fits_may_miss_a_packing() -> None:
    """6 + 3 + 3 and 4 + 4 + 4 fill two cores of 12; by size, 4 goes beside 6."""
    which = [Layer(f"layer{size}", 9, (option(1, size),)) for size in (6, 3, 4)]
    choices = [Choice(1, 0), Choice(2, 0), Choice(3, 0)]
    assert can_be_packed(sizes_of(which, choices), 2, 12)
    assert not fits(which, choices, 2, 12)
    assert fits(which, choices, 3, 12)


def separate_cost(which: Sequence[Layer], choices: Sequence[Choice], cores: int) -> float:
    """The time of a sample that the choice of options goes by."""
    chosen = [(layer, layer.options[choice.option]) for layer, choice in zip(which, choices, strict=True)]
    return sum(layer.rows * one.work_cycles / (BUSY * cores) + one.latency_cycles for layer, one in chosen)


@settings(max_examples=200, deadline=None)
@given(layers(most=4), st.integers(2, 12))
def test_no_other_options_take_less_time_and_no_more_arrays(which: list[Layer], cores: int) -> None:
    """Exhaustively: what a price on arrays finds is the optimum for the arrays that it takes, as long as layers do not
    crowd on cores that others leave."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latency_allocation, "MOST_OF_CORE", (1.0,))
        try:
            choices = [Choice(1, choice.option) for choice in allocate_for_latency(which, cores, 4)]
        except InfeasibleError:
            return
    least = min(
        separate_cost(which, other, cores)
        for other in single(which)
        if arrays_of(which, other) <= arrays_of(which, choices)
    )
    assert separate_cost(which, choices, cores) == pytest.approx(least)


def test_parts_that_would_fill_cores_are_small_where_others_have_much_to_do() -> None:
    """Eight cores of 16 arrays. A fully connected layer is quickest in six parts that fill one each; then the three
    replicas for 16 rows of a convolution, of 1000 cycles each, share two cores, and one of these works for 11000. In
    parts of 8 arrays, which take 50 cycles longer, each replica has a core. With two rows, nothing is to be gained."""
    dense = Layer("dense", 1, (option(6, 16, 10, latency=100), option(12, 8, 10, latency=150)))
    for rows, expected in ((16, [Choice(1, 1)]), (2, [Choice(1, 0)])):
        convolution = Layer("convolution", rows, (option(1, 2, 1000, latency=1000),))
        choices = allocate_for_latency([dense, convolution], 8, 16)
        assert choices[:1] == expected, rows
        assert validate_choices([dense, convolution], choices, 8, 16) == []


def busiest_cost(which: Sequence[Layer], choices: Sequence[Choice]) -> float:
    """What replicas are dealt by."""
    return sum(
        (-(-layer.rows // choice.replicas) * layer.options[choice.option].row_cycles) ** SHARPNESS
        for layer, choice in zip(which, choices, strict=True)
    )


@settings(max_examples=200, deadline=None)
@given(layers(most=3), st.integers(2, 10))
def test_replicas_are_near_the_optimum_of_tiny_cases(which: list[Layer], cores: int) -> None:
    """Exhaustively over replicas, for the options that are chosen and the arrays that may be filled at first."""
    try:
        choices = allocate_for_latency(which, cores, 4)
    except InfeasibleError:
        return
    budget = int(FILL[0] * cores * 4)
    assume(arrays_of(which, choices) <= budget)
    others = [
        [
            Choice(replicas, choice.option)
            for replicas in range(1, layer.rows + 1)
            if replicas == 1 or replicas * layer.options[choice.option].parts <= cores
        ]
        for layer, choice in zip(which, choices, strict=True)
    ]
    best = min(
        busiest_cost(which, list(other))
        for other in itertools.product(*others)
        if arrays_of(which, list(other)) <= budget and fits(which, list(other), cores, 4)
    )
    assert best <= busiest_cost(which, choices) <= 2 * best  # 1.8 is the worst of thousands


def test_with_plenty_of_arrays_every_row_has_its_replica() -> None:
    which = [Layer(f"layer{k}", 3 + k, (option(1, 1, 100 + k),)) for k in range(4)]
    assert allocate_for_latency(which, 100, 8) == [Choice(3 + k, 0) for k in range(4)]


def test_no_layer_gets_replicas_that_leave_the_busiest_as_busy() -> None:
    """Ten rows on 5 replicas take two turns, on 6, 7, 8 or 9 as well."""
    assert allocate_for_latency([Layer("layer", 10, (option(),))], 9, 1) == [Choice(5, 0)]
    assert allocate_for_latency([Layer("layer", 10, (option(),))], 10, 1) == [Choice(10, 0)]


def test_groups_of_one_array_fill_the_chip() -> None:
    """Larger ones leave room for packing, unless each has a core to itself."""
    small, large = (Layer("layer", 10, (option(1, arrays),)) for arrays in (1, 2))
    assert allocate_for_latency([small], 10, 1) == [Choice(10, 0)]
    assert allocate_for_latency([large], 10, 2) == [Choice(10, 0)]
    packed = allocate_for_latency([large, large], 10, 4)
    assert 10 < sum(choice.replicas for choice in packed) <= FILL[0] * 10 * 4 // 2


def test_the_last_arrays_go_to_a_large_layer_rather_than_to_small_ones() -> None:
    """Of sixteen arrays, five are left for replicas: the large layer takes three at once, the small ones one each."""
    small = [Layer(f"small{index}", 11, (option(1, 1, 2850),)) for index in range(4)]
    large, last = Layer("large", 11, (option(3, 1, 5400),)), Layer("last", 6, (option(4, 1, 6870),))
    choices = allocate_for_latency([*small, large, last], 16, 1)
    assert choices[4:] == [Choice(2, 0), Choice(1, 0)]
    assert sum(choice.replicas for choice in choices[:4]) == 6
    assert validate_choices([*small, large, last], choices, 16, 1) == []


def test_parts_of_one_replica_and_all_replicas_are_on_different_cores() -> None:
    """Three cores of many arrays: no replica in two parts beside another."""
    assert allocate_for_latency([Layer("layer", 10, (option(parts=2),))], 3, 100) == [Choice(1, 0)]


def test_parts_where_rows_are_slow_and_replicas_where_work_is_long() -> None:
    slow_rows = Layer("slow", 1, (option(1, 8, 9000, 9000, 9000), option(2, 4, 4600, 9200, 4700)))
    long_work = Layer("long", 100, (option(1, 8, 500, 500, 500), option(2, 4, 300, 600, 400)))
    choices = allocate_for_latency([slow_rows, long_work], 8, 8)
    assert choices[0] == Choice(1, 1)
    assert choices[1].option == 0
    assert choices[1].replicas >= 5


def test_where_arrays_are_short_layers_take_those_that_cost_least_time() -> None:
    """Both would rather take 8 arrays. Only one can: it is the one that would lose more."""
    patient = Layer("patient", 1, (option(1, 8, latency=100), option(1, 4, latency=200)))
    hasty = Layer("hasty", 1, (option(1, 8, latency=100), option(1, 4, latency=900)))
    assert [choice.option for choice in allocate_for_latency([patient, hasty], 2, 8)] == [1, 0]
    assert [choice.option for choice in allocate_for_latency([patient, hasty], 9, 8)] == [0, 0]


def test_options_that_cannot_be_packed_give_way_to_others() -> None:
    """Eleven parts of 6 arrays are two thirds of ten cores of 10, but only one goes on a core; of 5, two do."""
    which = [Layer(f"layer{k}", 1, (option(1, 6, latency=100), option(1, 5, latency=200))) for k in range(11)]
    choices = allocate_for_latency(which, 10, 10)
    assert validate_choices(which, choices, 10, 10) == []
    assert fits(which, choices, 10, 10)


def test_too_little_room_is_explained() -> None:
    which = [Layer("small", 2, (option(1, 2),)), Layer("large", 2, (option(3, 4), option(2, 5)))]
    with pytest.raises(InfeasibleError) as caught:
        allocate_for_latency(which, 2, 5)
    assert caught.value.needs == [("large", 10), ("small", 2)]
    assert str(caught.value) == (
        "the layers need 12 arrays, the machine has 10 (2 cores of 5); most need: large 10, small 2"
    )


def test_parts_that_do_not_go_together_are_explained() -> None:
    with pytest.raises(InfeasibleError, match="no way was found to pack the parts of layers into cores"):
        allocate_for_latency([Layer(f"layer{k}", 1, (option(1, 3),)) for k in range(3)], 2, 5)


def test_parts_larger_than_a_core_are_no_option() -> None:
    which = [Layer("layer", 1, (option(1, 9, latency=1), option(3, 3, latency=1000)))]
    assert allocate_for_latency(which, 9, 8)[0].option == 1
    with pytest.raises(InfeasibleError):
        allocate_for_latency([Layer("layer", 1, (option(1, 9),))], 9, 8)


def test_more_cores_never_make_the_busiest_busier() -> None:
    which = [Layer(f"layer{k}", 8, (option(1, 1, 100 + k),)) for k in range(3)]
    costs = [busiest_cost(which, allocate_for_latency(which, cores, 2)) for cores in range(2, 24)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_the_validator_sees_too_many_arrays_replicas_and_options() -> None:
    layer = Layer("layer", 2, (option(2, 4),))
    assert validate_choices([layer], [Choice(2, 0)], 4, 4) == []
    assert validate_choices([layer], [Choice(2, 0)], 3, 5) == ["16 arrays are dealt of 15"]
    assert validate_choices([layer], [Choice(2, 0)], 8, 3) == ["layer has parts of 4 arrays"]
    assert validate_choices([layer], [Choice(3, 0)], 9, 4) == ["layer has 3 replicas for 2 rows"]
    assert validate_choices([layer], [Choice(0, 0)], 9, 4) == ["layer has 0 replicas for 2 rows"]
    assert validate_choices([layer], [Choice(1, 1)], 9, 4) == ["layer has option 1 of 1"]


# Several samples


@settings(max_examples=200, deadline=None)
@given(layers(), st.integers(1, 12), st.integers(2, 8))
def test_what_several_samples_get_fits(which: list[Layer], cores: int, samples: int) -> None:
    def of_all(samples: int) -> list[Layer]:
        return [Layer(layer.name, samples * layer.rows, layer.options) for layer in which]

    try:
        choices = allocate_for_latency(of_all(samples), cores, 4, samples)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            allocate_for_latency(of_all(1), cores, 4)
        return
    assert validate_choices(of_all(samples), choices, cores, 4) == []
    assert fits(of_all(samples), choices, cores, 4)


def test_a_replica_that_does_half_of_what_a_core_does_is_quick_enough() -> None:
    """All work is 1600 + 20 cycles on 4 cores; the small layer's 20 are little, the large one's 400 are not."""
    which = [Layer("large", 16, (option(),)), Layer("small", 2, (option(row=10),))]
    assert allocate_for_latency(which, 4, 8) == [Choice(4, 0), Choice(2, 0)]
    assert allocate_for_latency(which, 4, 8, 2) == [Choice(4, 0), Choice(1, 0)]


def test_work_weighs_for_every_sample_unless_one_core_has_all_of_it() -> None:
    """A replica in one part takes less work than one in four; where there is no room for others, four are quicker."""
    ways = (option(1, 4, 1000, latency=1000), option(4, 1, 300, latency=400))
    full = Layer("full", 1, (option(3, 4, 1),))
    assert allocate_for_latency([Layer("layer", 8, ways), full], 4, 4, 8)[0] == Choice(1, 1)
    assert allocate_for_latency([Layer("layer", 8, ways)], 4, 8, 8)[0].option == 0


@pytest.mark.parametrize(("layers_beside", "expected"), [(8, 1), (4, 0)])
def test_parts_get_smaller_before_others_crowd(layers_beside: int, expected: int) -> None:
    """Large parts leave four of eight cores to the other layers: with eight of these, two on each; four have room."""
    busy = [Layer(f"conv{index}", 1, (option(row=1000, latency=1000),)) for index in range(layers_beside)]
    large, small = (
        option(parts=4, part_arrays=8, row=10),
        option(parts=32, part_arrays=1, row=10, work=600, latency=105),
    )
    assert allocate_for_latency([Layer("fc", 1, (large, small)), *busy], 8, 8)[0].option == expected
