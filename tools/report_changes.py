"""What has changed from one build to another, stage by stage, and which changes are for the worse."""

from __future__ import annotations

from ..analysis.proxies import FIELDS, Level, Proxies
from ..analysis.proxy_changes import Change, Verdict, compare, nodes_at_work
from .report_records import Records


def difference(before: Records, after: Records) -> dict[str, list[Change]]:
    """All changes by the name of the stage. What only one side has is not comparable, and so no better than worse."""
    found: dict[str, list[Change]] = {}
    at_work: frozenset[str] | None = None
    for name in {**before.proxies, **after.proxies}:
        old, new = before.proxies.get(name), after.proxies.get(name)
        if new is not None:
            own = nodes_at_work(new)
            at_work = at_work if own is None else own
        if old is None or new is None:
            present = "only before" if new is None else "only after"
            found[name] = [Change("level", _level(old), _level(new), Verdict.UNKNOWN, present)]
        else:
            found[name] = compare(old, new, at_work)
    return found


def is_regression(change: Change) -> bool:
    """Whether a change between two builds is for the worse. Where lanes run, and when messages go, is judged by what
    comes of it."""
    if FIELDS[change.field].by_results:
        return change.verdict is Verdict.UNKNOWN
    return change.verdict.is_harm


def _level(record: Proxies | None) -> Level | None:
    return None if record is None else record.level
