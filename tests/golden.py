"""The golden programs: small streams with the times and energies that the real simulator printed for them."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tilec.analysis.machine import Machine
from tilec.codegen.json_reader import JsonProgram, parse_program_json
from tilec.simulators.timing import TimingOptions

ARCHIVE = Path(__file__).parent / "data" / "pimsim_golden.json.xz"


@dataclass(frozen=True)
class GoldenCase:
    """One program, its machine, what was printed, and what is expected: where the former is an artefact, another."""

    name: str
    program: JsonProgram
    machine: Machine
    expected: dict[str, Any]
    printed: dict[str, Any]

    def options(self, **changes: Any) -> TimingOptions:
        """The run that was measured."""
        looped, limit = self.expected["sim_mode"] == 0, self.expected["sim_time_ms"] * 1e6
        return TimingOptions(looped=looped, sim_time_ns=limit, **changes)


@cache
def _archive() -> dict[str, Any]:
    return json.loads(lzma.decompress(ARCHIVE.read_bytes()))


def golden_names() -> list[str]:
    """All cases."""
    return list(_archive())


@cache
def golden_case(name: str) -> GoldenCase:
    """One case."""
    content = _archive()[name]
    expected = content["expected"] | content["expected"].get("stable_order", {})
    program = parse_program_json(json.dumps(content["program"]).encode(), name)
    machine = Machine.from_json(content["machine"], content["network"], name, strict=False)
    return GoldenCase(name, program, machine, expected, content["expected"])


def machine_content(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The content of a case's machine file and of its network file."""
    return _archive()[name]["machine"], _archive()[name]["network"]
