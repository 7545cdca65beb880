"""Code generation behind the guard, and the record of a build that goes into its package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from ..analysis.proxies import Proxies, Survey
from ..analysis.stages import CODE_GENERATION, INPUT, stage_names
from ..lowering.target import target_of
from ..passes.guard import Examined, Guard
from ..passes.guard_mode import Mode
from .contract import code_generation_contract
from .emission import Emission
from .package import Package
from .package_proxies import package_proxies
from .stream_check import StreamCheck

FORMAT = "tile-proxies 1"
PROXIES_FILE = "proxies.json"
"""The file of a package's `report/` that holds the record."""


def guard_package(
    guard: Guard,
    module: ModuleOp,
    package: Package,
    seconds: float,
    check: StreamCheck | None = None,
    emission: Callable[[], Emission] | None = None,
) -> Package:
    """Judges the package that was made of the module, and returns it with the proxies of every stage in its report.

    ``seconds`` is what code generation took, ``check`` the check of the streams, if it has run, and ``emission`` gives
    :func:`.emission.emission_of` the module. Raises a GuardError if the package breaks the contract of code generation.
    """
    target = target_of(module)

    def look() -> Survey:
        bits = target.precision.weight_bits
        return Survey(package_proxies(package, target.machine, weight_bits=bits, check=check))

    guard.examine_result(CODE_GENERATION, lambda: code_generation_contract(module, emission), module, look, seconds)
    stages = stage_records(guard.examined)
    if not stages:
        return package
    return replace(package, reports={**package.reports, PROXIES_FILE: _text(stages).encode()})


def _text(stages: Mapping[str, Proxies]) -> str:
    """The record as JSON, a stage a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(record.to_json())}" for name, record in stages.items()]
    return f'{{"format": {json.dumps(FORMAT)}, "stages": {{\n' + ",\n".join(lines) + "\n}}\n"


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
