"""`tile-report diff`: two builds of one model against each other."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..analysis.proxies import FIELDS
from ..analysis.proxy_changes import Change, Verdict
from ..support.diagnostics import TileError
from ..support.source import suggestion
from .report_arguments import ReportOptions
from .report_changes import difference, is_regression
from .report_numerics import Numerics, compare_now, read_numerics
from .report_proof import Item, Outcome, StageItem, Tolerances, proof, stage_items
from .report_records import Records, read_build_report, read_records
from .tables import text_table

EXIT_WORSE = 1
_FAILURES_SHOWN = 20


@dataclass(frozen=True)
class Difference:
    """Everything that is told of two builds."""

    items: Sequence[Item]
    stages: Sequence[StageItem]
    changes: Mapping[str, Sequence[Change]]
    """By stage: all fields of both records."""
    complete: bool

    @property
    def first_changed(self) -> str | None:
        """The first stage of which anything is not as before."""
        return next((one.stage for one in self.stages if one.changed), None)

    @property
    def failures(self) -> list[str]:
        """Why the later build is not to be taken, a reason a line."""
        told = {
            (stage, change.field): f"{stage}: {change.title} ({change})"
            for stage, changes in self.changes.items()
            for change in changes
            if is_regression(change)
        }
        absent = [Outcome.ABSENT] if self.complete else []
        found = [
            f"{item.title}: {item.before} -> {item.after} ({item.outcome.value})"
            for item in self.items
            if (item.outcome.fails or item.outcome in absent) and (item.stage, item.name) not in told
        ]
        return [*found, *told.values()]


def run_diff(options: ReportOptions) -> tuple[str, int]:
    """What is printed, and the exit code. A TileError if something cannot be read."""
    sides = [read_records(path, options.machine, options.clock, needs_machine=True) for path in options.paths]
    _note_models(options, sides)
    found = _difference(options, sides)
    failures = found.failures
    if options.json:
        return json.dumps(_json(found, failures), indent=1) + "\n", EXIT_WORSE if failures else 0
    return "".join(_text(found, failures, options.all)), EXIT_WORSE if failures else 0


def _note_models(options: ReportOptions, sides: Sequence[Records]) -> None:
    """Says on stderr that two packages are not of one file: what differs may be the models' own."""
    models = [side.package.model for side in sides if side.package is not None]
    if len({model.sha256 for model in models}) > 1:
        told = " and ".join(
            f"{path} of '{model.name}' (sha256 {model.sha256[:16]}…)"
            for path, model in zip(options.paths, models, strict=True)
        )
        sys.stderr.write(f"note: these are packages of two different models, {told}\n")


def _difference(options: ReportOptions, sides: Sequence[Records]) -> Difference:
    if options.builds is not None:
        pairs = zip(sides, options.builds, strict=True)
        sides = [side.with_facts_of(read_build_report(path), path) for side, path in pairs]
    before, after = _without(sides, options.without)
    numerics: tuple[Numerics | None, Numerics | None] = (None, None)
    if options.check:
        numerics = compare_now(before, after, options.paths, options.seed, options.tolerance, options.model)
    elif options.checks is not None:
        first, second = options.checks
        numerics = read_numerics(first, before.digest), read_numerics(second, after.digest)
    tolerances = Tolerances(options.max_slowdown, options.max_growth)
    return Difference(
        proof(before, after, tolerances, numerics),
        stage_items(before, after),
        difference(before, after),
        options.complete,
    )


def _without(sides: Sequence[Records], names: Sequence[str]) -> list[Records]:
    """The records without stages that only one side has. A TileError for a name that is not of that kind."""
    stages = [list(side.proxies) for side in sides]
    for name in names:
        if all(name not in known for known in stages):
            known = sorted({*stages[0], *stages[1]})
            raise TileError("--without", f"neither side has a stage '{name}'", suggestion(name, known))
        if all(name in known for known in stages):
            raise TileError("--without", f"both sides have the stage '{name}'", "compare it")
    return [side.without(names) for side in sides]


def _text(found: Difference, failures: Sequence[str], everything: bool) -> Iterator[str]:
    rows: list[list[str]] = []
    group = ""
    for item in found.items:
        if item.group != group:
            group = item.group
            rows.append([group, "", "", "", "", ""])
        rows.append([f"- {item.title}", item.before, item.after, item.outcome.value, item.stage, item.note])
    yield text_table(rows, ["item", "before", "after", "verdict", "stage", "note"], (0, 3, 4, 5))
    yield "\n"
    yield _stage_table(found)
    if found.first_changed is not None:
        yield f"first changed: {found.first_changed}\n"
    if everything:
        yield from _details(found)
    yield "\n"
    absent = [item.title for item in found.items if item.outcome is Outcome.ABSENT]
    if absent:
        yield f"not recorded: {', '.join(absent)}\n"
    if not failures:
        yield "nothing is worse\n"
        return
    yield from (f"worse: {reason}\n" for reason in failures[:_FAILURES_SHOWN])
    more = f", {len(failures) - _FAILURES_SHOWN} more with --all or --json" if len(failures) > _FAILURES_SHOWN else ""
    yield f"{len(failures)} worse{more}\n"


def _details(found: Difference) -> Iterator[str]:
    """Every field of every stage."""
    for stage, changes in found.changes.items():
        yield f"\n== {stage}\n"
        for change in changes:
            mark = "WORSE" if is_regression(change) else change.verdict.value
            yield f"  {mark:7}  {change}\n"


def _stage_table(found: Difference) -> str:
    """IR ops and values at each stage, and the stages that are not as before."""
    rows: list[list[str]] = []
    for one in found.stages:
        sides = (one.before, one.after)
        numbers = [
            [None if side is None else getattr(side, name) for side in sides] for name in ("ir_ops", "ir_values")
        ]
        texts = ["" if number is None else str(number) for pair in numbers for number in pair]
        rows.append([one.stage, *texts, _summary(one, found.changes[one.stage])])
    headers = ["stage", "IR ops before", "after", "IR values before", "after", "proxies there"]
    return text_table(rows, headers, (0, 5))


def _summary(one: StageItem, changes: Sequence[Change]) -> str:
    if one.before is None or one.after is None:
        return "only after" if one.before is None else "only before"
    worse = sum(map(is_regression, changes))
    better = sum(change.verdict is Verdict.BETTER for change in changes)
    parts = [f"{number} {word}" for number, word in ((worse, "worse"), (better, "better")) if number]
    return ", ".join(parts) or ("changed" if one.changed else "equal")


def _json(found: Difference, failures: Sequence[str]) -> dict[str, object]:
    return {
        "items": [_item_json(item) for item in found.items],
        "stages": {
            one.stage: {
                "ir_ops": [None if side is None else side.ir_ops for side in (one.before, one.after)],
                "ir_values": [None if side is None else side.ir_values for side in (one.before, one.after)],
                "changed": list(one.changed),
                "changes": [
                    {
                        "field": change.field,
                        "title": FIELDS[change.field].title,
                        "verdict": change.verdict.value,
                        "regression": is_regression(change),
                        "text": str(change),
                    }
                    for change in found.changes[one.stage]
                    if change.verdict is not Verdict.EQUAL
                ],
            }
            for one in found.stages
        },
        "first_changed": found.first_changed,
        "failures": list(failures),
    }


def _item_json(item: Item) -> dict[str, object]:
    before, after = item.values
    return {
        "group": item.group,
        "item": item.name,
        "title": item.title,
        "before": before,
        "after": after,
        "verdict": item.outcome.value.lower(),
        "fails": item.outcome.fails,
        "stage": item.stage,
        "note": item.note,
    }
