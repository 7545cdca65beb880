"""What the change of a program's proxies amounts to: field by field, is it better, worse, or not to be judged?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeGuard, cast

from .proxies import COUNTS, FIELDS, Better, Counts, Proxies, shown


class Verdict(Enum):
    """What the change of one field amounts to."""

    EQUAL = "equal"
    BETTER = "better"
    WORSE = "worse"
    CHANGED = "changed"
    UNKNOWN = "unknown"
    SHOWN = "shown"

    @property
    def is_harm(self) -> bool:
        """Uncertainty is not permission: what cannot be compared is no better than what is worse."""
        return self in (Verdict.WORSE, Verdict.CHANGED, Verdict.UNKNOWN)


@dataclass(frozen=True)
class Change:
    """One field before and after."""

    field: str
    before: object
    after: object
    verdict: Verdict
    reason: str = ""

    @property
    def title(self) -> str:
        return FIELDS[self.field].title

    def __str__(self) -> str:
        note = f" ({self.reason})" if self.reason else ""
        return f"{self.field} {shown_pair(self.before, self.after, FIELDS[self.field].better)}{note}"


def compared_fields(before: Proxies, after: Proxies) -> list[str]:
    """The fields that are known of one of the records at least; not which of them are lower bounds."""
    return [
        name
        for name in FIELDS
        if name != "lower_bounds" and (getattr(before, name), getattr(after, name)) != (None, None)
    ]


def compare(before: Proxies, after: Proxies) -> list[Change]:
    """All fields of two records, judged as if nothing may get worse."""
    pairs = {name: (getattr(before, name), getattr(after, name)) for name in compared_fields(before, after)}
    return [Change(name, *pair, judge(name, *pair)) for name, pair in pairs.items()]


def judge(name: str, before: object, after: object) -> Verdict:
    """What the change of one field amounts to."""
    better = FIELDS[name].better
    if better is Better.SHOWN:
        return Verdict.EQUAL if before == after else Verdict.SHOWN
    if before == after:
        return Verdict.EQUAL
    if before is None or after is None:
        return Verdict.UNKNOWN
    if better is Better.SAME:
        return Verdict.CHANGED
    if name in COUNTS:
        return _judge_counts(dict(cast("Counts", before)), dict(cast("Counts", after)), better)
    assert isinstance(before, int)
    assert isinstance(after, int)
    return Verdict.BETTER if (after < before) == (better is Better.LESS) else Verdict.WORSE


def _judge_counts(before: Mapping[str, int], after: Mapping[str, int], better: Better) -> Verdict:
    """Name by name. Where more is better, a name that vanishes is no harm (its work is judged by other fields)."""
    if better is Better.LESS:
        pairs = [(before.get(name, 0), after.get(name, 0)) for name in {**before, **after}]
        harm = any(new > old for old, new in pairs)
    else:
        pairs = [(old, after[name]) for name, old in before.items() if name in after]
        harm = any(new < old for old, new in pairs)
    if harm:
        return Verdict.WORSE
    return Verdict.EQUAL if all(old == new for old, new in pairs) else Verdict.BETTER


def _is_table(value: object) -> TypeGuard[Counts]:
    return isinstance(value, tuple)


def shown_pair(before: object, after: object, better: Better = Better.SAME) -> str:
    """Both values; of tables only the name that got worse by most, or, if none did, that differs most."""
    if _is_table(before) and _is_table(after):
        old, new = dict(before), dict(after)
        if harm := harm_by_name(old, new, better):
            name = max(harm, key=lambda one: (harm[one], one))
            return f"of '{name}' {old.get(name, 0)} -> {new.get(name, 0)}"
    return f"{shown(before)} -> {shown(after)}"


def harm_by_name(before: Mapping[str, int], after: Mapping[str, int], better: Better) -> dict[str, int]:
    """By how much each name got worse, of those that did; if none did, by how much each differs."""
    change = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after}}
    if better is Better.MORE:
        worse = {name: -more for name, more in change.items() if more < 0 and name in after}
    else:
        worse = {name: more for name, more in change.items() if more > 0 and better is Better.LESS}
    return worse or {name: abs(more) for name, more in change.items() if more}
