"""Everything that a change of the compiler has to show before it is taken: item by item, before and after.

The items are those of the project's rule that a faster or smaller compiler may not make slower programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import cast

from ..analysis.proxies import COUNTS, FIELDS, Counts, Proxies, shown
from ..analysis.proxy_changes import Verdict
from .report_changes import difference
from .report_numerics import Numerics
from .report_records import MEASURED, Records

FIELDS_OF_ITEMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("compute instances and lanes", ("compute_instances", "graph_lanes", "scheduled_lanes", "width", "width_of_node")),
    ("PEFT classes and cores", ("assignment",)),
    ("schedule", ("span_cycles", "makespan_cycles", "clock_cycles", "step_count", "busy_cycles_max", "work_cycles")),
    ("instructions", ("mvm_count", "vector_count", "instructions", "instructions_max", "recomputed", "host_ops")),
    ("communication", ("sends", "send_bytes", "receives", "receive_bytes", "byte_hops")),
    (
        "runtime copies",
        (
            *("local_copies", "local_copy_bytes", "host_to_device_copies", "host_to_device_bytes"),
            *("device_to_host_copies", "device_to_host_bytes"),
        ),
    ),
    ("memory", ("host_bytes", "weight_elements", "logical_core_bytes", "physical_core_bytes", "core_bytes_max")),
)
"""By group; each from the last stage that knows it."""

_TOTALS = ("logical_core_bytes", "physical_core_bytes")
"""Tables that are judged by their sum; the fullest core is an item of its own."""


class Outcome(Enum):
    """What becomes of an item."""

    EQUAL = "equal"
    BETTER = "better"
    WORSE = "WORSE"
    CHANGED = "changed"
    """It is another, and what comes of that is judged by other items."""
    WITHIN = "within tolerance"
    UNKNOWN = "UNKNOWN"
    """Only one side knows it: no permission."""
    ABSENT = "not recorded"
    """Neither does."""

    @property
    def fails(self) -> bool:
        """Whether the change is not to be taken."""
        return self in (Outcome.WORSE, Outcome.UNKNOWN)


@dataclass(frozen=True)
class Item:
    """One thing before and after."""

    group: str
    name: str
    title: str
    before: str
    after: str
    outcome: Outcome
    values: tuple[object, object]
    """Both as JSON values; None for what is not recorded."""
    stage: str = ""
    """Whose program it is about."""
    note: str = ""


@dataclass(frozen=True)
class Tolerances:
    """How much more the compiler may take, in percent."""

    seconds: float
    memory: float


def proof(
    before: Records, after: Records, tolerances: Tolerances, numerics: tuple[Numerics | None, Numerics | None]
) -> list[Item]:
    """All items, in the order of the rule."""
    found = [_measured(name, before, after, tolerances) for name in MEASURED]
    changes = difference(before, after)
    verdicts = {(stage, change.field): change.verdict for stage, some in changes.items() for change in some}
    for group, names in FIELDS_OF_ITEMS:
        found += [_item(group, name, before, after, verdicts) for name in names]
    return [*found, _numerics(*numerics)]


def _measured(name: str, before: Records, after: Records, tolerances: Tolerances) -> Item:
    old, new = before.facts.get(name), after.facts.get(name)
    outcome, note = Outcome.ABSENT, ""
    if old is not None and new is not None:
        percent = tolerances.memory if name == "peak_rss_bytes" else tolerances.seconds
        change = 100 * (new / old - 1) if old else 0.0
        note = f"{change:+.1f} %"
        outcome = Outcome.WITHIN if new <= old * (1 + percent / 100) else Outcome.WORSE
        if new <= old:
            outcome = Outcome.EQUAL if new == old else Outcome.BETTER
    elif (old, new) != (None, None):
        outcome = Outcome.UNKNOWN
    return Item("compiler", name, MEASURED[name], _measure(old), _measure(new), outcome, (old, new), note=note)


def _measure(value: float | None) -> str:
    if value is None:
        return "not recorded"
    return f"{value:.2f}" if value < 1000 else str(round(value))


def _item(group: str, name: str, before: Records, after: Records, verdicts: Mapping[tuple[str, str], Verdict]) -> Item:
    """The field at the last stage where it is known. Both sides have to know it at the same one.

    ``verdicts``: by stage and field.
    """
    old_stage, new_stage = _last_stage(before, name), _last_stage(after, name)
    old = None if old_stage is None else getattr(before.proxies[old_stage], name)
    new = None if new_stage is None else getattr(after.proxies[new_stage], name)
    note = ""
    if old is None and new is None:
        outcome = Outcome.ABSENT
    elif old_stage != new_stage:
        outcome = Outcome.UNKNOWN
        note = f"known of {old_stage or 'no stage'} before, of {new_stage or 'no stage'} after"
    else:
        assert old_stage is not None
        outcome = _outcome(name, old, new, verdicts[old_stage, name])
        bounds = [side.proxies[old_stage].lower_bounds for side in (before, after)]
        note = "at least" if any(name in bound for bound in bounds) else ""
    values = _plain(name, old), _plain(name, new)
    return Item(group, name, _title(name), _show(name, old), _show(name, new), outcome, values, new_stage or "", note)


def _last_stage(records: Records, name: str) -> str | None:
    return next((stage for stage, one in reversed(records.proxies.items()) if getattr(one, name) is not None), None)


def _outcome(name: str, old: object, new: object, verdict: Verdict) -> Outcome:
    if name in _TOTALS:
        old, new = _total(old), _total(new)
        return Outcome.EQUAL if old == new else Outcome.BETTER if new < old else Outcome.WORSE
    if name == "assignment":
        return Outcome.EQUAL if old == new else Outcome.CHANGED
    return {
        Verdict.EQUAL: Outcome.EQUAL,
        Verdict.BETTER: Outcome.BETTER,
        Verdict.WORSE: Outcome.WORSE,
        Verdict.SHOWN: Outcome.CHANGED,
    }.get(verdict, Outcome.UNKNOWN)


def _total(table: object) -> int:
    return sum(number for _, number in cast("Counts", table))


def _plain(name: str, value: object) -> object:
    return value if value is None or name not in COUNTS else dict(cast("Counts", value))


def _title(name: str) -> str:
    return f"{FIELDS[name].title}, all together" if name in _TOTALS else FIELDS[name].title


def _show(name: str, value: object) -> str:
    if value is not None and name in _TOTALS:
        return str(_total(value))
    return "not recorded" if value is None else shown(value)


def _numerics(before: Numerics | None, after: Numerics | None) -> Item:
    if before is None and after is None:
        outcome = Outcome.ABSENT
    elif before is None or after is None:
        outcome = Outcome.UNKNOWN
    elif not after.passed:
        outcome = Outcome.WORSE
    else:
        outcome = Outcome.EQUAL if before.passed else Outcome.BETTER
    old, new = ("not recorded" if side is None else str(side) for side in (before, after))
    values = (None if before is None else asdict(before), None if after is None else asdict(after))
    against = "" if after is None else f"against {after.against}"
    return Item("numerical validation", "numerics", "greatest error", old, new, outcome, values, note=against)


@dataclass(frozen=True)
class StageItem:
    """The IR of one stage."""

    stage: str
    before: Proxies | None
    after: Proxies | None
    changed: tuple[str, ...]
    """Fields that are not equal."""


def stage_items(before: Records, after: Records) -> list[StageItem]:
    """All stages of either side, and what is not equal there."""
    found: list[StageItem] = []
    for name in {**before.proxies, **after.proxies}:
        old, new = before.proxies.get(name), after.proxies.get(name)
        changed: tuple[str, ...] = ("level",)
        if old is not None and new is not None:
            changed = tuple(one for one in FIELDS if getattr(old, one) != getattr(new, one))
        found.append(StageItem(name, old, new, changed))
    return found
