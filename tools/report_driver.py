"""What `tile-report` does with its options."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from ..analysis.proxies import Change, Proxies, Verdict, compare
from .report_arguments import ReportOptions
from .report_records import FACTS, Records, read_records

EXIT_WORSE = 1


def run_report(options: ReportOptions) -> int:
    """The exit code. A TileError if a file cannot be read."""
    records = [read_records(path, options.machine) for path in options.paths]
    if options.command == "show":
        sys.stdout.write(_shown(records[0], options))
        return 0
    before, after = records
    differences = difference(before, after)
    if options.json:
        sys.stdout.write(json.dumps(_json(differences), indent=1) + "\n")
    else:
        sys.stdout.write("".join(_lines(differences, before, after, options.all)))
    return EXIT_WORSE if any(is_regression(change) for changes in differences.values() for change in changes) else 0


def difference(before: Records, after: Records) -> dict[str, list[Change]]:
    """All changes by the name of the record. What only one side has is not comparable, and so no better than worse."""
    found: dict[str, list[Change]] = {}
    for name in {**before.proxies, **after.proxies}:
        old, new = before.proxies.get(name), after.proxies.get(name)
        if old is None or new is None:
            present = "only before" if new is None else "only after"
            found[name] = [Change("level", _level(old), _level(new), Verdict.UNKNOWN, present)]
        else:
            found[name] = compare(old, new)
    return found


def is_regression(change: Change) -> bool:
    """Whether a change between two builds is for the worse. Another assignment is judged by what comes of it."""
    return change.verdict.is_harm and change.field != "assignment"


def _level(record: Proxies | None) -> object:
    return None if record is None else record.level


def _shown(records: Records, options: ReportOptions) -> str:
    if options.json:
        return json.dumps({name: record.to_json() for name, record in records.proxies.items()}, indent=1) + "\n"
    parts = [f"== {name}\n{record.text()}" for name, record in records.proxies.items()]
    parts += [f"{value:>24}  {FACTS[name]}\n" for name, value in records.facts.items()]
    return "\n".join(parts)


def _lines(differences: dict[str, list[Change]], before: Records, after: Records, everything: bool) -> Iterator[str]:
    regressions = 0
    for name, changes in differences.items():
        shown = [change for change in changes if everything or change.verdict is not Verdict.EQUAL]
        regressions += sum(map(is_regression, changes))
        if shown:
            yield f"== {name}\n"
        for change in shown:
            mark = "WORSE  " if is_regression(change) else f"{change.verdict.value:7}"
            yield f"  {mark}  {change}\n"
    for name in FACTS:
        if name in before.facts or name in after.facts:
            yield f"{FACTS[name]}: {before.facts.get(name, 'unknown')} -> {after.facts.get(name, 'unknown')}\n"
    yield f"{regressions} worse\n" if regressions else "nothing is worse\n"


def _json(differences: dict[str, list[Change]]) -> dict[str, object]:
    return {
        name: [
            {
                "field": change.field,
                "verdict": change.verdict.value,
                "regression": is_regression(change),
                "text": str(change),
            }
            for change in changes
            if change.verdict is not Verdict.EQUAL
        ]
        for name, changes in differences.items()
    }
