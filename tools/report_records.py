"""Records of proxies from files: guard reports, tables of records, packages."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ..analysis.proxies import Proxies
from ..support.diagnostics import TileError

FACTS = {"wall_seconds": "compiler wall time in s", "peak_rss_bytes": "compiler peak RSS in bytes"}
"""What a report may hold beside proxies; shown, not judged, as it is not the program's."""


@dataclass(frozen=True)
class Records:
    """Records by the name of what they describe, in order."""

    proxies: dict[str, Proxies]
    facts: dict[str, float] = field(default_factory=dict[str, float])


def read_records(path: Path, machine: str | None = None) -> Records:
    """The records of a file or package. Raises a TileError if it holds none."""
    if path.is_dir() or path.suffix == ".tilepkg":
        return _of_package(path, machine)
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        records = _of_report(content) if "passes" in content else Records(_of_table(content))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TileError(
            str(path), f"holds no proxies: {error}", "give a package or what --guard-report wrote"
        ) from error
    if not records.proxies:
        raise TileError(str(path), "holds no proxies", "give a package or what --guard-report wrote")
    return records


def _of_report(content: dict[str, Any]) -> Records:
    found: dict[str, Proxies] = {}
    for index, one in enumerate(cast("list[dict[str, Any]]", content["passes"])):
        if index == 0 and one["before"] is not None:
            found["input"] = Proxies.from_json(one["before"])
        if one["after"] is not None:
            name = one["pass"]
            found[name if name not in found else f"{name} #{index}"] = Proxies.from_json(one["after"])
    return Records(found, {name: content[name] for name in FACTS if name in content})


def _of_table(content: dict[str, Any]) -> dict[str, Proxies]:
    return {name: Proxies.from_json(record) for name, record in content.items()}


def _of_package(path: Path, machine: str | None) -> Records:
    from ..analysis.machine import Machine
    from ..codegen.package import read_package
    from ..codegen.package_proxies import package_proxies

    package = read_package(path)
    try:
        known = Machine.load(machine or package.machine.name)
    except TileError:
        if machine is not None:
            raise
        known = None  # an architecture file that is not at hand: cycles and hops stay unknown
    if known is not None and known.digest() != package.machine.sha256:
        if machine is not None:
            raise TileError(str(path), f"was not compiled for machine '{machine}'", "give its own machine")
        known = None
    return Records({"package": package_proxies(package, known)})
