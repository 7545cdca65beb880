"""What the change of a program's proxies amounts to: field by field, is it better, worse, or not to be judged?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    allowed: object = None
    """What a contract makes of the value before, if that is another value: what the one after was compared with."""

    @property
    def title(self) -> str:
        return FIELDS[self.field].title

    def __str__(self) -> str:
        note = f" ({self.reason})" if self.reason else ""
        values = shown_values(self.before, self.after, FIELDS[self.field].better, self.allowed)
        return f"{self.field} {values}{note}"


def compared_fields(before: Proxies, after: Proxies) -> list[str]:
    """The fields that are known of one of the records at least; not which of them are lower bounds."""
    return [
        name
        for name in FIELDS
        if name != "lower_bounds" and (getattr(before, name), getattr(after, name)) != (None, None)
    ]


def compare(before: Proxies, after: Proxies, at_work: Collection[str] | None = None) -> list[Change]:
    """All fields of two records of one stage, judged as if nothing may get worse. What only one of them knows, of a
    node as well, or knows exactly, is no permission.

    ``at_work``: :func:`nodes_at_work` of the last record before ``after`` that tells, if that does not.
    """
    own = nodes_at_work(after)
    at_work = at_work if own is None else own
    return [_compared(name, before, after, at_work) for name in compared_fields(before, after)]


def nodes_at_work(record: Proxies) -> frozenset[str] | None:
    """The nodes that compute something; None if the record does not count vector operations by node."""
    if record.element_passes_of_node is None:
        return None
    tables = (record.element_passes_of_node, record.product_elements, record.partial_sums, record.layer_elements)
    return frozenset(name for table in tables for name, number in table or () if number)


def _compared(name: str, before: Proxies, after: Proxies, at_work: Collection[str] | None) -> Change:
    old, new = getattr(before, name), getattr(after, name)
    verdict = judge(name, old, new)
    if verdict is Verdict.WORSE or old is None or new is None:
        return Change(name, old, new, verdict)
    better = FIELDS[name].better
    if better is Better.MORE and name in COUNTS:
        gone = {node for node, _ in old} - {node for node, _ in new}
        lost = sorted(gone if at_work is None else gone.intersection(at_work))
        if lost:
            return Change(name, old, new, Verdict.UNKNOWN, f"'{lost[0]}' is gone, and nothing tells that its work is")
    # The true value is at least that: what was exact may have become worse, or what is exact now was better.
    loose, exact = (after, before) if better is Better.LESS else (before, after)
    if better in (Better.LESS, Better.MORE) and name in loose.lower_bounds and name not in exact.lower_bounds:
        side = "after" if loose is after else "before"
        return Change(name, old, new, Verdict.UNKNOWN, f"{side}, it is at least that")
    return Change(name, old, new, verdict)


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
    """Name by name. Where more is better, a name that vanishes or is new is no harm by itself: other fields judge its
    work."""
    if better is Better.LESS:
        pairs = [(before.get(name, 0), after.get(name, 0)) for name in {**before, **after}]
        harm = any(new > old for old, new in pairs)
    else:
        pairs = [(old, after[name]) for name, old in before.items() if name in after]
        harm = any(new < old for old, new in pairs)
    if harm:
        return Verdict.WORSE
    return Verdict.SHOWN if all(old == new for old, new in pairs) else Verdict.BETTER


def _is_table(value: object) -> TypeGuard[Counts]:
    return isinstance(value, tuple)


def shown_values(before: object, after: object, better: Better = Better.SAME, allowed: object = None) -> str:
    """Both values, and what is allowed; of tables only the name that got worse by most, or, if none did, that differs
    most."""
    limit = before if allowed is None else allowed
    name = ""
    if _is_table(limit) and _is_table(after):
        if harm := harm_by_name(dict(limit), dict(after), better):
            name = max(harm, key=lambda one: (harm[one], one))
            before, after, allowed = (_of_name(table, name) for table in (before, after, allowed))
    text = f"{shown(before)} -> {shown(after)}"
    text = f"of '{name}' {text}" if name else text
    return text if allowed is None else f"{text}, allowed {shown(allowed)}"


def _of_name(table: object, name: str) -> int | None:
    return dict(table).get(name, 0) if _is_table(table) else None


def harm_by_name(before: Mapping[str, int], after: Mapping[str, int], better: Better) -> dict[str, int]:
    """By how much each name got worse, of those that did; if none did, by how much each differs."""
    change = {name: after.get(name, 0) - before.get(name, 0) for name in {**before, **after}}
    if better is Better.MORE:
        worse = {name: -more for name, more in change.items() if more < 0 and name in after}
    else:
        worse = {name: more for name, more in change.items() if more > 0 and better is Better.LESS}
    return worse or {name: abs(more) for name, more in change.items() if more}
