"""All mutants of the compiler, and who notices how many of each pass. `make mutants` runs them and prints the table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import mutants_convert_onnx_to_spat
import mutants_convert_spat_to_pim
import mutants_onnx_batch
import mutants_onnx_simplify
import mutants_pim_bufferize
import mutants_pim_codegen
import mutants_pim_plan_memory
import mutants_spat_defer_communication
import mutants_spat_materialize_schedule
import mutants_spat_merge_graph
import mutants_spat_merge_trivial
import mutants_spat_realize_communication
import mutants_spat_schedule_peft
from mutation_run import Caught, Mutant, examine

STAGES = (
    mutants_onnx_simplify.STAGE,
    mutants_onnx_batch.STAGE,
    mutants_convert_onnx_to_spat.STAGE,
    mutants_spat_merge_graph.STAGE,
    mutants_spat_merge_trivial.STAGE,
    mutants_spat_schedule_peft.STAGE,
    mutants_spat_materialize_schedule.STAGE,
    mutants_spat_defer_communication.STAGE,
    mutants_spat_realize_communication.STAGE,
    mutants_convert_spat_to_pim.STAGE,
    mutants_pim_bufferize.STAGE,
    mutants_pim_plan_memory.STAGE,
    mutants_pim_codegen.STAGE,
)
MUTANTS = tuple(mutant for stage in STAGES for mutant in stage.mutants)


def table(caught: Mapping[str, Iterable[Caught]]) -> str:
    """By stage, how many mutants are noticed by whom, as a table of Markdown."""
    lines = [["pass", "mutants", *(one.value for one in Caught)], ["---"] * (len(Caught) + 2)]
    total: Counter[Caught] = Counter()
    for stage, verdicts in caught.items():
        mine = Counter(verdicts)
        total += mine
        lines.append([f"`{stage}`", str(mine.total()), *(str(mine[one]) for one in Caught)])
    lines.append(["all", str(total.total()), *(str(total[one]) for one in Caught)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def expected_table() -> str:
    """The table of what is written beside the mutants, which the tests compare with what happens."""
    return table({stage.name: [mutant.caught for mutant in stage.mutants] for stage in STAGES})


def figures(mutants: Sequence[Mutant] = MUTANTS) -> str:
    """What the table amounts to, in a sentence."""
    count = Counter(mutant.caught for mutant in mutants)
    harmless = count[Caught.GUARD] + count[Caught.NEITHER]
    costly = [one for one in mutants if one.costs]
    caught = sum(one.caught is Caught.GUARD for one in costly)
    missed = sum(one.caught is Caught.NEITHER for one in costly)
    return (
        f"Of {len(mutants)} mutants, the guard catches {count[Caught.GUARD]} that the numerical check does not: of the "
        f"{harmless} that verify and compute the same, {harmless - count[Caught.GUARD]} pass. Of those {harmless}, "
        f"{caught + missed} make the package worse, of which the guard catches {caught}."
    )


def main() -> None:
    found = [(mutant, examine(mutant)) for mutant in MUTANTS]
    by_stage = {stage.name: [one.caught for mutant, one in found if mutant.stage == stage.name] for stage in STAGES}
    print(table(by_stage))
    print(figures())
    for mutant, one in found:
        if one.caught is not mutant.caught:
            print(f"{mutant.id}: {mutant.caught.value} expected, {one.caught.value} found", file=sys.stderr)
        elif one.caught is Caught.NEITHER:
            print(
                f"\nneither: {mutant.id}: {mutant.wrong}\n  {mutant.why}\n  worse: {', '.join(one.costs) or 'nothing'}"
            )


if __name__ == "__main__":
    main()
