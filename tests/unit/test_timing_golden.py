"""The clock gives what the real simulator printed, on every golden program, however it executes them."""

from __future__ import annotations

import dataclasses

import pytest
from tilec.simulators.timing import FIRST_COME, SIMULATOR, Quirks, TimingResult, simulate

from tests.golden import GoldenCase, golden_case, golden_names

NAMES = golden_names()


def compare(case: GoldenCase, result: TimingResult, printed: bool = True) -> None:
    """With the values that were printed, or with those under first-come-first-served order."""
    expected = case.printed if printed else case.expected
    if result.looped:
        assert result.rounds == by_core(expected["rounds"])
        assert float(f"{result.output_count:.3}") == expected["output_count"]
        assert float(f"{result.throughput_per_s:.3}") == pytest.approx(expected["throughput"], rel=1e-9)
    else:
        assert result.core_finish_ns == by_core(expected["core_finish_ns"])
        assert result.latency_ns == expected["latency_ns"]
        fetched = {core.core: core.fetch_end_ns for core in result.cores if core.fetch_end_ns is not None}
        assert fetched == by_core(expected["fetch_end_ns"])
        assert result.finished == expected["finishes"]
        assert result.unfinished == by_core(expected.get("unfinished", {}))
    assert result.energy_pj == pytest.approx(expected["energy_pj"], rel=1e-9)


def by_core(table: dict[str, object]) -> dict[int, object]:
    return {int(core): value for core, value in table.items()}


@pytest.mark.parametrize("name", NAMES)
def test_it_prints_what_the_simulator_printed(name: str) -> None:
    case = golden_case(name)
    compare(case, simulate(case.program, case.machine, case.options()))


@pytest.mark.parametrize("name", NAMES)
def test_first_come_first_served_it_prints_no_artefacts(name: str) -> None:
    case = golden_case(name)
    compare(case, simulate(case.program, case.machine, case.options(quirks=FIRST_COME)), printed=False)


@pytest.mark.parametrize("quirks", [SIMULATOR, FIRST_COME], ids=["heap", "first-come"])
@pytest.mark.parametrize("name", NAMES)
def test_folding_changes_nothing(name: str, quirks: Quirks) -> None:
    case = golden_case(name)
    folded = simulate(case.program, case.machine, case.options(quirks=quirks))
    whole = simulate(case.program, case.machine, case.options(quirks=quirks, folds=False))
    assert without_sums(whole) == without_sums(folded)
    assert whole.energy.total_pj == pytest.approx(folded.energy.total_pj, rel=1e-12)


def without_sums(result: TimingResult) -> TimingResult:
    """But for sums of real numbers, whose order differs, and for the count of what was executed singly."""
    energy = dataclasses.replace(result.energy, **dict.fromkeys(dataclasses.asdict(result.energy), 0.0))
    return dataclasses.replace(result, energy=energy, elements=0)


@pytest.mark.parametrize("name", NAMES)
def test_times_of_every_core_add_up_to_the_makespan(name: str) -> None:
    case = golden_case(name)
    result = simulate(case.program, case.machine, case.options())
    for core in result.cores:
        assert sum(core.spent_ns.values()) == pytest.approx(result.makespan_ns, abs=1e-6)
        assert min(core.spent_ns.values()) >= 0
    assert sum(result.spent_ns.values()) == pytest.approx(result.makespan_ns * len(result.cores), abs=1e-5)


@pytest.mark.parametrize("quirks", [SIMULATOR, FIRST_COME], ids=["heap", "first-come"])
def test_the_machine_code_gives_the_same(quirks: Quirks) -> None:
    for name in NAMES:
        case = golden_case(name)
        compiled = simulate(case.program, case.machine, case.options(quirks=quirks, compiles=True))
        assert compiled == simulate(case.program, case.machine, case.options(quirks=quirks, compiles=False)), name
