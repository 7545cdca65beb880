"""Code generation behind the guard, and the record of a build that goes into its package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from ..analysis.proxies import Proxies, Survey
from ..lowering.target import target_of
from ..passes.guard import Examined, Guard
from ..passes.guard_mode import Mode
from .contract import NAME, code_generation_contract
from .package import Package
from .package_proxies import package_proxies

FORMAT = "tile-proxies 1"
PROXIES_FILE = "proxies.json"
"""The file of a package's `report/` that holds the record."""

INPUT = "input"
PACKAGE = "package"
"""The names of what no pass has made yet, and of what code generation makes, among the stages of a build."""


def guard_package(
    guard: Guard, module: ModuleOp, package: Package, seconds: float, local_bytes: Sequence[int] | None = None
) -> Package:
    """Judges the package that was made of the module, and returns it with the proxies of every stage in its report.

    ``seconds`` is what code generation took; ``local_bytes`` what the stream check found. Raises a GuardError if the
    package breaks the contract of code generation.
    """
    target = target_of(module)

    def look() -> Survey:
        bits = target.precision.weight_bits
        return Survey(package_proxies(package, target.machine, weight_bits=bits, local_bytes=local_bytes))

    guard.examine_result(NAME, lambda: code_generation_contract(module), module, look, seconds)
    stages = stage_records(guard.examined)
    if not stages:
        return package
    content = {"format": FORMAT, "stages": {name: record.to_json() for name, record in stages.items()}}
    text = json.dumps(content, indent=1) + "\n"
    return replace(package, reports={**package.reports, PROXIES_FILE: text.encode()})


def stage_records(examined: Iterable[Examined]) -> dict[str, Proxies]:
    """The record of the program before the first pass and after each one that the guard has looked at."""
    found: dict[str, Proxies] = {}
    name = stage_names()
    for one in examined:
        if one.before is None or one.after is None:
            continue
        if not found:
            found[INPUT] = one.before.proxies
        undone = one.fault and one.mode is Mode.ROLLBACK
        found[name(one.name)] = one.before.proxies if undone else one.after.proxies
    return found


def stage_names() -> Callable[[str], str]:
    """Names for the stages of one build: a pass that runs again is numbered, and code generation makes the package."""
    times: dict[str, int] = {}

    def name_of(one: str) -> str:
        times[one] = times.get(one, 0) + 1
        name = PACKAGE if one == NAME else one
        return name if times[one] == 1 else f"{name} #{times[one]}"

    return name_of


def read_stages(content: Mapping[str, object]) -> dict[str, Proxies]:
    """The records of a file with this format. Anything else is an AttributeError, KeyError, TypeError or ValueError."""
    stages = cast("Mapping[str, Mapping[str, Any]]", content["stages"])
    return {name: Proxies.from_json(record) for name, record in stages.items()}
