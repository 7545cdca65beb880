"""Dealing cores for latency: within the budget, never worse than the start, near the optimum of tiny cases."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.latency_allocation import allocate_for_latency, estimated_latency, validate_choices
from tilec.analysis.replication import Choice, Layer, Spread


@st.composite
def layers(draw: st.DrawFn, most: int = 4) -> list[Layer]:
    found: list[Layer] = []
    for index in range(draw(st.integers(1, most))):
        cycles = sorted(draw(st.sets(st.integers(10, 500), min_size=1, max_size=3)), reverse=True)
        spreads = tuple(Spread(parts, value, 4) for parts, value in enumerate(cycles, draw(st.integers(1, 2))))
        found.append(Layer(f"layer{index}", draw(st.integers(1, 12)), 8, spreads))
    return found


def tails(which: list[Layer]) -> list[int]:
    return [1 + index % 3 for index in range(len(which))]


def used(choices: list[Choice], which: list[Layer]) -> int:
    return sum(layer.cores(choice) for layer, choice in zip(which, choices, strict=True))


@settings(max_examples=200, deadline=None)
@given(layers(), st.integers(1, 16))
def test_stays_within_the_cores_and_never_loses(which: list[Layer], cores: int) -> None:
    start = [Choice(1, 0) for _ in which]
    choices = allocate_for_latency(which, tails(which), cores)
    if choices is None:
        assert used(start, which) > cores
        return
    assert validate_choices(which, choices, cores) == []
    assert estimated_latency(which, tails(which), choices) <= estimated_latency(which, tails(which), start)


@settings(max_examples=60, deadline=None)
@given(layers(most=2), st.integers(2, 8))
def test_is_near_the_optimum_of_tiny_cases(which: list[Layer], cores: int) -> None:
    choices = allocate_for_latency(which, tails(which), cores)
    if choices is None:
        return
    options = [
        [Choice(replicas, spread) for replicas in range(1, layer.rows + 1) for spread in range(len(layer.spreads))]
        for layer in which
    ]
    best = min(
        estimated_latency(which, tails(which), list(chosen))
        for chosen in itertools.product(*options)
        if used(list(chosen), which) <= cores
    )
    assert estimated_latency(which, tails(which), choices) <= 1.25 * best


def test_spreads_where_rows_are_slow_and_replicates_where_work_is_long() -> None:
    slow_rows = Layer("slow", 1, 8, (Spread(1, 900, 8), Spread(2, 450, 4)))
    long_work = Layer("long", 100, 8, (Spread(1, 50, 8), Spread(2, 49, 4)))
    choices = allocate_for_latency([slow_rows, long_work], [1, 1], 6)
    assert choices is not None
    assert choices[0] == Choice(1, 1)
    assert choices[1] == Choice(4, 0)


def test_the_validator_sees_too_many_cores_replicas_and_spreads() -> None:
    layer = Layer("layer", 2, 8, (Spread(2, 10, 4),))
    assert validate_choices([layer], [Choice(2, 0)], 3) == ["4 cores are dealt of 3"]
    assert validate_choices([layer], [Choice(3, 0)], 9) == ["layer has 3 replicas for 2 rows"]
    assert validate_choices([layer], [Choice(1, 1)], 9) == ["layer has spread 1 of 1"]


def test_gives_up_when_there_are_fewer_cores_than_parts() -> None:
    assert allocate_for_latency([Layer("wide", 1, 8, (Spread(3, 10, 2),))], [1], 2) is None


def test_more_cores_are_never_worse() -> None:
    which = [Layer(f"layer{k}", 8, 8, (Spread(1, 100 + k, 8), Spread(2, 60, 4))) for k in range(3)]
    latencies = []
    for cores in range(3, 24):
        choices = allocate_for_latency(which, tails(which), cores)
        assert choices is not None
        latencies.append(estimated_latency(which, tails(which), choices))
    assert latencies[-1] < latencies[0]
    assert latencies == pytest.approx(sorted(latencies, reverse=True), rel=0.05)
