"""Mutants of the compiler: for each pass ten things and more that a programmer could get wrong, and who notices."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from mutation_programs import PROGRAMS
from mutation_run import CODE_GENERATION, Caught, Mutant, differences, examine, right_build, survey_after
from mutation_table import MUTANTS, STAGES, expected_table, figures
from tilec.passes.pipeline import build_pipeline

GUARD = Path(__file__).parents[2] / "docs" / "guard.md"
LEAST = 10
"""Mutants of each pass, at least."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.id for mutant in MUTANTS])
def test_mutant(mutant: Mutant) -> None:
    found = examine(mutant)
    assert found.caught is mutant.caught, (
        f"say so beside the mutant, and {GUARD.name} what `make mutants` prints: {found}"
    )
    assert set(mutant.fields) <= set(found.guard), "the guard names what is worse"
    match found.caught:
        case Caught.GUARD:
            assert bool(found.costs) == mutant.costs
            assert mutant.costs or mutant.why
        case Caught.NEITHER:
            assert mutant.why
            assert bool(found.costs) == mutant.costs
            assert found.recorded or not found.costs, "what passes the guard and costs something, the records tell"
        case Caught.BOTH | Caught.NUMERICS | Caught.VERIFIER:
            pass


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_right_compiler_is_accepted(program: str) -> None:
    """What mutants are compared with: no pass is rejected, and the outputs are right."""
    passes = build_pipeline("tile-default")
    assert all(not survey_after(program, one.name).fault for one in passes)
    assert not differences(right_build(program).package, program)


def test_every_pass_has_its_mutants() -> None:
    names = [one.name for one in build_pipeline("tile-default")]
    assert [stage.name for stage in STAGES] == [*names, CODE_GENERATION]
    assert all(len(stage.mutants) >= LEAST for stage in STAGES)
    assert all(sum(one.caught is Caught.GUARD for one in stage.mutants) >= LEAST // 2 for stage in STAGES)
    assert max(Counter(mutant.id for mutant in MUTANTS).values()) == 1


def test_the_documented_figures() -> None:
    text = " ".join(GUARD.read_text(encoding="utf-8").split())
    assert " ".join(expected_table().split()) in text, f"write into {GUARD.name}:\n{expected_table()}"
    assert figures() in text, f"write into {GUARD.name}: {figures()}"
