"""What a pass promises about the proxies: a clause for each field, and the strictest for a field without one.

A clause is *equal*, *not worse*, *may trade* (with the reason why this is no harm), or *changes meaning* (with the
mapping that says what the field before amounts to in terms of the program after). A mapping is code: it gets both
records and gives the value to compare with, or None where it cannot say, which is a rejection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias, cast

from .proxies import COUNTS, FIELDS, Counts, Level, Proxies, counts
from .proxy_changes import Change, Verdict, compared_fields, judge

MappingFunction: TypeAlias = Callable[[Proxies, Proxies], object]
"""From the records before and after to the value of the field before, in the terms of the record after."""


class Kind(Enum):
    """The kinds of clauses."""

    EQUAL = "equal"
    NOT_WORSE = "not worse"
    MAY_TRADE = "may trade"
    CHANGES_MEANING = "changes meaning"
    DECIDED_HERE = "is decided here"
    NO_LONGER_KNOWN = "is no longer known"


@dataclass(frozen=True)
class Clause:
    """What a pass promises about one field."""

    kind: Kind
    reason: str = ""
    mapping: MappingFunction | None = None

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.reason}" if self.reason else self.kind.value


EQUAL = Clause(Kind.EQUAL)
NOT_WORSE = Clause(Kind.NOT_WORSE)


def may_trade(reason: str) -> Clause:
    """The field may get worse, for ``reason``."""
    if not reason:
        raise ValueError("a trade has a reason")
    return Clause(Kind.MAY_TRADE, reason)


def equals(mapping: MappingFunction, reason: str) -> Clause:
    """The field means something else afterwards, and has exactly the value that ``mapping`` gives."""
    return Clause(Kind.EQUAL, reason, mapping)


def changes_meaning(mapping: MappingFunction, reason: str) -> Clause:
    """The field means something else afterwards; ``mapping`` makes both comparable."""
    return Clause(Kind.CHANGES_MEANING, reason, mapping)


def decided_here(reason: str) -> Clause:
    """Nothing could be known of the field before; if something was, it may not get worse."""
    return Clause(Kind.DECIDED_HERE, reason)


def no_longer_known(reason: str) -> Clause:
    """The field has no meaning at the level afterwards; if it does have one, it may not get worse."""
    return Clause(Kind.NO_LONGER_KNOWN, reason)


@dataclass(frozen=True)
class Contract:
    """What a pass promises. The empty contract is the strictest: nothing may get worse or become unknown."""

    clauses: Mapping[str, Clause] = field(default_factory=dict[str, Clause])
    levels: tuple[tuple[Level, Level], ...] = ()
    """Changes of level that the pass may make; without one, the level stays."""
    idle_networks: bool = False
    """Whether functions that only give back their inputs are a network without layers to the pass. To others they are
    nothing, so that to leave a network as such is to empty it."""

    def __post_init__(self) -> None:
        unknown = sorted(self.clauses.keys() - FIELDS.keys())
        if unknown:
            raise ValueError(f"a contract about fields that do not exist: {', '.join(unknown)}")
        if any([type(level) for level in one] != [Level, Level] for one in self.levels):
            raise TypeError(f"levels are pairs of the level before and after, not {self.levels!r}")
        # Nobody adds to a contract what it has not promised: a pass while it runs, or to one that others have, too.
        object.__setattr__(self, "clauses", MappingProxyType(dict(self.clauses)))

    def copy(self) -> Contract:
        """The same promises, whatever becomes of this object and its clauses."""
        clauses = {name: Clause(one.kind, one.reason, one.mapping) for name, one in self.clauses.items()}
        return Contract(clauses, self.levels, self.idle_networks)

    def clause(self, name: str) -> Clause:
        return self.clauses.get(name, NOT_WORSE)

    def describe(self) -> Iterator[str]:
        """The contract in words, for documents."""
        if self.idle_networks:
            yield "functions that only give back their inputs are a network"
        for before, after in self.levels:
            yield f"lowers {before.value} to {after.value}"
        grouped: dict[str, list[str]] = {}
        for name, clause in self.clauses.items():
            grouped.setdefault(str(clause), []).append(name)
        for text, names in grouped.items():
            yield f"{', '.join(names)}: {text}"
        yield "everything else may not get worse" if self.clauses else "nothing may get worse"


STRICTEST = Contract()


def check(contract: Contract, before: Proxies, after: Proxies) -> list[Change]:
    """All fields of both records, judged by the contract."""
    return [_check_field(contract, name, before, after) for name in compared_fields(before, after)]


def _check_field(contract: Contract, name: str, before: Proxies, after: Proxies) -> Change:
    real, new = getattr(before, name), getattr(after, name)
    if name == "level" and (real, new) in contract.levels:
        return Change(name, real, new, Verdict.SHOWN, "the pass lowers")
    clause = contract.clause(name)
    old = real
    if clause.mapping is not None and (real != new or clause.kind is Kind.EQUAL):
        old = clause.mapping(before, after)
        if old is None:
            return Change(name, real, new, Verdict.UNKNOWN, clause.reason)
        _require_alike(name, old, new)
    plain = judge(name, old, new)
    match clause.kind:
        case Kind.EQUAL if old != new:
            verdict = Verdict.CHANGED
        case Kind.MAY_TRADE if old is not None and new is not None and plain.is_harm:
            verdict = Verdict.SHOWN
        case Kind.DECIDED_HERE if old is None:
            verdict = Verdict.SHOWN
        case Kind.NO_LONGER_KNOWN if new is None:
            verdict = Verdict.SHOWN
        case _:
            verdict = plain
    return Change(name, real, new, verdict, clause.reason, None if old == real else old)


def _require_alike(name: str, mapped: object, found: object) -> None:
    """A TypeError if what a mapping gives is no value of the field: nothing is worse than what is not a number."""
    alike = found is None or type(mapped) is type(found)
    if alike and name in COUNTS:
        alike = all(type(number) is int for number in dict(cast("Counts", mapped)).values())
    if not alike or isinstance(mapped, float):
        raise TypeError(f"the mapping of {name} gives {str(mapped)[:60]!r}")


# Mappings


def of(name: str) -> MappingFunction:
    """The field ``name`` of the record before."""
    return lambda before, after: getattr(before, name)


def constant(value: object) -> MappingFunction:
    return lambda before, after: value


def or_part_more(name: str, part: int) -> MappingFunction:
    """The field ``name`` of the record before, and one part in ``part`` more."""

    def mapped(before: Proxies, after: Proxies) -> int | None:
        value: int | None = getattr(before, name)
        return None if value is None else value + value // part

    return mapped


_MOST_ELEMENT_BYTES = 4


def bytes_of_joined_constants(before: Proxies, after: Proxies) -> int | None:
    """Global memory with the constants of ops that are gone: one that is joined with another one is no longer equal to
    those that others read, but has no more elements than the op that is gone has computed."""
    if before.host_bytes is None or before.element_passes is None or after.element_passes is None:
        return None
    return before.host_bytes + _MOST_ELEMENT_BYTES * max(0, before.element_passes - after.element_passes)


def times(name: str, factor: int) -> MappingFunction:
    """The field ``name`` of the record before, so many times: a number, or that of each node."""

    def mapped(before: Proxies, after: Proxies) -> object:
        value = getattr(before, name)
        if value is None or isinstance(value, int):
            return None if value is None else factor * value
        return counts((node, factor * number) for node, number in value)

    return mapped


def interface_of_samples(samples: int) -> MappingFunction:
    """Inputs and outputs whose leading extent is ``samples``, where it was 1."""

    def mapped(before: Proxies, after: Proxies) -> str | None:
        if before.interface is None:
            return None
        tensors = before.interface.split("; ")
        return "; ".join(sorted(re.sub(r" \[1(?=[,\]][^\[]*$)", f" [{samples}", one) for one in tensors))

    return mapped


def vanished_rows(before: Proxies, after: Proxies) -> object:
    """Rows of ops that are gone, where no op works on more elements than before."""
    if before.element_passes is None or after.element_passes is None:
        return None
    if before.compute_instances is None or after.compute_instances is None:
        return None
    if after.element_passes > before.element_passes or after.compute_instances > before.compute_instances:
        return before.compute_instances
    return after.compute_instances


def visible_repetition(before: Proxies, after: Proxies) -> object:
    """Ops that come out equal, where all of them together compute no more than before."""
    pairs = [(before.macs, after.macs), (before.element_passes, after.element_passes)]
    if any(old is None or new is None or new > old for old, new in pairs):
        return before.recomputed
    return after.recomputed


def repeated_by_the_network(before: Proxies, after: Proxies) -> object:
    """Repetition only where the network has some; there, other fields bound it."""
    return after.recomputed if before.recomputed else before.recomputed


def rows_of_surviving_nodes(before: Proxies, after: Proxies) -> object:
    """An op with R rows of windows equals R lanes; what only renames data has none."""
    if before.lanes_of_node is None or after.lanes_of_node is None:
        return None
    surviving = dict(after.lanes_of_node)
    return sum(rows for name, rows in before.lanes_of_node if name in surviving)


def rows_of_layers(before: Proxies, after: Proxies) -> Counts | None:
    """A layer with R rows of windows equals R lanes in each of its parts."""
    if before.lanes_of_node is None or before.layer_elements is None:
        return None
    layers = dict(before.layer_elements)
    return counts((name, rows) for name, rows in before.lanes_of_node if name in layers)


def fused_lanes(before: Proxies, after: Proxies) -> int | None:
    """A fused batch of N lanes stands for the N lanes of each batch in it; batches that nothing reads are gone.

    So there may be fewer batches of N lanes, but none of a number of lanes that there was not before.
    """
    if before.lane_histogram is None or after.lane_histogram is None:
        return None
    old, new = dict(before.lane_histogram), dict(after.lane_histogram)
    if any(number > old.get(lanes, 0) for lanes, number in new.items()):
        return before.compute_instances
    return sum(int(lanes) * number for lanes, number in new.items())


def with_added_copies(name: str) -> MappingFunction:
    """The field ``name`` with the local copies that were added; unchanged if none were."""

    def mapped(before: Proxies, after: Proxies) -> object:
        if before.local_copies is None or after.local_copies is None:
            return None
        added = after.local_copies - before.local_copies
        value = getattr(before, name)
        if added <= 0 or value is None:
            return value
        return value + added if name.startswith("instructions") else getattr(after, name)

    return mapped
