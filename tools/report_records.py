"""What is known of one build, from a package or from a file about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.proxies import Proxies
from ..analysis.stages import INPUT, PACKAGE, stage_names
from ..support.diagnostics import TileError, system_reason
from ..support.files import is_device
from ..support.json_values import Kind, RepeatedKeyError, decode_json, entry, require

if TYPE_CHECKING:
    from ..analysis.machine import Machine
    from ..codegen.package import Package
    from ..simulators.timing import TimingResult

MEASURED = {
    "wall_seconds": "compiler wall time in s",
    "cpu_seconds": "compiler CPU time in s",
    "peak_rss_bytes": "compiler peak RSS in bytes",
}
"""What a report may hold beside proxies. It is the compiler's, not the program's, and not the same twice."""

BUILD_FORMAT = "tile-build-report 1"
PROXIES_FORMAT = "tile-proxies 1"
_REMEDY = "give a package, or what --build-report or --guard-report wrote"


@dataclass(frozen=True)
class Records:
    """Records by the name of the stage that they describe, in order, and what else is known."""

    proxies: dict[str, Proxies]
    facts: dict[str, float] = field(default_factory=dict[str, float])
    digest: str | None = None
    """Of the package, if the build made one."""
    package: Package | None = None
    machine: Machine | None = None
    timing: TimingResult | None = None
    faults: list[str] = field(default_factory=list[str])
    """What a guard's report says of passes that were rejected."""

    def without(self, stages: Collection[str]) -> Records:
        """The same without some stages."""
        return replace(self, proxies={name: one for name, one in self.proxies.items() if name not in stages})

    def with_facts_of(self, other: Records, path: Path) -> Records:
        """The same with what a build report measured. A TileError if it is about another package."""
        if self.digest is not None and other.digest != self.digest:
            raise TileError(str(path), "is about another package", "give the report of the build that made this one")
        return replace(self, facts=other.facts)


def read_records(path: Path, machine: str | None = None, clock: bool = False, needs_machine: bool = False) -> Records:
    """What a file or package tells. Raises a TileError if that is nothing, or is damaged.

    Of a package the proxies of its streams are taken from the streams, with the latency if ``clock``. If its machine is
    not at hand, cycles stay unknown, or that is an error if ``needs_machine``.
    """
    if path.is_dir() or path.suffix == ".tilepkg":
        return _of_package(path, machine, clock, needs_machine)
    records = _of_file(path)
    if not records.proxies:
        raise TileError(str(path), "holds no proxies", _REMEDY)
    return records


def read_build_report(path: Path) -> Records:
    """What `--build-report` wrote, even if the guard did not look at anything."""
    records = _of_file(path)
    if records.digest is None:
        raise TileError(str(path), "is not a build report", "give what --build-report of tile-compile wrote")
    return records


def report_bytes(path: Path, remedy: str) -> bytes:
    """The content of a file that reports on something. A TileError with this remedy if it cannot be read."""
    if is_device(path):
        raise TileError(str(path), "is a device, which may have no end", remedy)
    try:
        return path.read_bytes()
    except OSError as error:
        raise TileError(str(path), f"cannot be read: {system_reason(error)}", remedy) from None


def report_json(path: Path, remedy: str) -> Any:
    """The value that such a file holds. A TileError if it says something twice, a ValueError if it is no JSON."""
    data = report_bytes(path, remedy)
    try:
        return decode_json(data)
    except RepeatedKeyError as error:
        raise TileError(str(path), str(error), "leave the one that is meant") from error


def _of_file(path: Path) -> Records:
    try:
        content = report_json(path, _REMEDY)
    except ValueError as error:
        raise TileError(str(path), "is neither a package nor JSON", _REMEDY) from error
    try:
        return _of_content(content)
    except ValueError as error:
        raise TileError(str(path), f"holds no proxies: {error}", _REMEDY) from error


def _of_content(content: Any) -> Records:
    require(content, Kind.TABLE, "the whole")
    facts = {name: float(entry(content, name, Kind.NUMBER)) for name in MEASURED if name in content}
    if content.get("format") == BUILD_FORMAT:
        return Records(_stages(content), facts, entry(content, "package", Kind.TEXT))
    if content.get("format") == PROXIES_FORMAT:
        return Records(_stages(content))
    if "passes" in content:
        passes = entry(content, "passes", Kind.LIST)
        return Records(_of_passes(passes), facts, faults=_faults(passes))
    return Records(_table(content))


def _of_passes(passes: list[Any]) -> dict[str, Proxies]:
    """A guard's report: what the program was after each pass, where that was looked at."""
    found: dict[str, Proxies] = {}
    stage: Callable[[str], str] = stage_names()
    for one in passes:
        require(one, Kind.TABLE, "one of 'passes'")
        name, mode, verdict = (entry(one, key, Kind.TEXT) for key in ("pass", "mode", "verdict"))
        if one.get("before") is None or one.get("after") is None:
            continue
        if not found:
            found[INPUT] = _record(f"before pass '{name}'", one["before"])
        undone = mode == "rollback" and verdict == "rejected"
        found[stage(name)] = _record(f"after pass '{name}'", one["before" if undone else "after"])
    return found


def _faults(passes: list[Any]) -> list[str]:
    """What the guard has rejected, and what it did about it."""
    done = {"rollback": "undone", "report": "reported only"}
    return [
        f"pass {entry(one, 'pass', Kind.TEXT)!r} is rejected ({done.get(one['mode'], 'an error')}): "
        f"{entry(one, 'fault', Kind.TEXT)}"
        for one in passes
        if one["verdict"] == "rejected"
    ]


def _stages(content: Mapping[str, Any]) -> dict[str, Proxies]:
    return _table(entry(content, "stages", Kind.TABLE))


def _table(content: Mapping[str, Any]) -> dict[str, Proxies]:
    return {name: _record(f"stage '{name}'", record) for name, record in content.items()}


def _record(what: str, content: Any) -> Proxies:
    try:
        return Proxies.from_json(content)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def _of_package(path: Path, name: str | None, clock: bool, needs_machine: bool) -> Records:
    from ..codegen.guarded import PROXIES_FILE
    from ..codegen.package import package_digest, read_package
    from ..codegen.package_proxies import package_proxies
    from ..codegen.stream_check import require_valid_stream

    package = read_package(path, with_reports=True)
    require_valid_stream(package.program, package.weights, package.memory.size_bytes, str(path))
    machine = _machine(path, package, name, needs_machine)
    stages: dict[str, Proxies] = {}
    if PROXIES_FILE in package.reports:
        try:
            stages = _stages(require(decode_json(package.reports[PROXIES_FILE]), Kind.TABLE, "the whole"))
        except ValueError as error:
            raise TileError(f"{path}/report/{PROXIES_FILE}", f"holds no proxies: {error}", "compile again") from error
    record = package_proxies(package, machine)
    timing = None
    if clock and machine is not None:
        from ..simulators.timing import simulate

        timing = simulate(package.program, machine)
        if timing.finished:
            record = replace(record, clock_cycles=round(timing.latency_ns / machine.period_ns))
    return Records({**stages, PACKAGE: record}, {}, package_digest(path), package, machine, timing)


def _machine(path: Path, package: Package, name: str | None, needs_machine: bool) -> Machine | None:
    """The package's machine: the one that is named, or the preset of the name that the package has recorded."""
    from ..analysis.machine import Machine

    try:
        found = Machine.load(name or package.machine.name)
    except TileError:
        if name is not None:
            raise
        found = None
    if found is not None and found.digest() == package.machine.sha256:
        return found
    if name is not None:
        raise TileError(str(path), f"was not compiled for machine '{name}'", "give its own machine")
    if needs_machine:
        what = f"its machine '{package.machine.name}' is not a preset, so that no cycles are known"
        raise TileError(str(path), what, "add --machine FILE.json")
    return None
