"""What the guard holds each pass of a pipeline to: whose contract is whose, and in which mode it is applied."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.passes import ModulePass

from ..analysis.contract import STRICTEST, Contract, may_trade
from ..analysis.proxies import Level
from .guard_mode import GuardModePass, Mode
from .pass_bug import PassBug

_OPAQUE = may_trade("the pass works on dialects that the guard does not know, and its own tests vouch for it")

FOREIGN_CONTRACTS = {
    f"xdsl.transforms.{name}": Contract(
        {"opaque_ops": _OPAQUE, "opaque_digest": _OPAQUE}, levels=((Level.OPAQUE, Level.EMPTY),)
    )
    for name in (
        "canonicalize.CanonicalizePass",
        "common_subexpression_elimination.CommonSubexpressionElimination",
        "dead_code_elimination.DeadCodeElimination",
    )
}
"""Contracts of passes that come from elsewhere, by module and class: a name alone can be anybody's."""


def contract_of(one: ModulePass | type[ModulePass]) -> Contract:
    """The contract of a pass. It is the class's own: one that is inherited promises nothing about other code.

    A class may have a method `contract_with_options` beside it, for passes whose options ask for something else. Raises
    a TypeError if one of them is not what it should be, and what the method raises.
    """
    owner = one if isinstance(one, type) else type(one)
    own = vars(owner)
    if "contract_with_options" in own and not isinstance(one, type):
        with_options = own["contract_with_options"]
        if not callable(with_options):
            raise TypeError("its contract_with_options is no method")
        return _require_contract(with_options(one), "what its contract_with_options gives")
    if "contract" in own:
        return _require_contract(own["contract"], "its contract")
    foreign = FOREIGN_CONTRACTS.get(f"{owner.__module__}.{owner.__qualname__}")
    # What a class says of itself is no proof that it is the one of that name.
    known = vars(sys.modules[owner.__module__]).get(owner.__qualname__) if owner.__module__ in sys.modules else None
    return foreign if foreign is not None and known is owner else STRICTEST


def _require_contract(found: object, what: str) -> Contract:
    if not isinstance(found, Contract):
        raise TypeError(f"{what} is of type {type(found).__name__}, not a Contract")
    return found


@dataclass(frozen=True)
class Watch:
    """How one pass is watched."""

    mode: Mode
    contract: Contract


@dataclass(frozen=True)
class WatchPlan:
    """How the passes of a pipeline are watched: fixed before any of them runs, so that no pass can change it, for
    itself, for its next run, or for another one."""

    watches: tuple[Watch | None, ...]
    """By position; None for a `guard-mode`."""
    mode_at_end: Mode

    @staticmethod
    def of(passes: Sequence[ModulePass], mode: Mode) -> WatchPlan:
        """For a guard of that mode. A PassBug if there is an error in a contract that a pass will be held to."""
        modes: list[Mode | None] = []
        current, left = mode, 0  # Passes that it still holds for; 0 for all.
        for one in passes:
            if _sets_mode(one):
                modes.append(None)
                current, left = one.mode, one.passes
                continue
            modes.append(current)
            if left == 1:
                current = mode
            left = max(left - 1, 0)
        # What a class says is read before any code of a contract runs, which might change it.
        contracts: dict[int, Contract] = {}
        watched = [place for place, one in enumerate(modes) if one not in (None, Mode.OFF)]
        for place in sorted(watched, key=lambda place: _has_code(passes[place])):
            contracts[place] = _contract_before(passes[place])
        watches = [
            None if one is None else Watch(one, contracts.get(place, STRICTEST)) for place, one in enumerate(modes)
        ]
        return WatchPlan(tuple(watches), current)


def _has_code(one: ModulePass) -> bool:
    """Whether the contract is computed."""
    return "contract_with_options" in vars(type(one))


def _contract_before(one: ModulePass) -> Contract:
    """The contract of a pass, as it is now. A PassBug if there is an error in it."""
    try:
        return Contract.copy(contract_of(one))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PassBug.of(one, one.name, error) from error


def _sets_mode(one: ModulePass) -> TypeGuard[GuardModePass]:
    """Whether the pass is `guard-mode` and nothing else: a subclass may do anything."""
    return type(one) is GuardModePass
