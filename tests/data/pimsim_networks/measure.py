"""Measures the networks of this folder with the real simulator and writes ``figures.json``. See README.md."""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MACHINE = Path(__file__).parents[3] / "analysis" / "machines" / "reference144.json"
LATENCY, THROUGHPUT = 1, 0
UNITS = {"ns": 1, "us": 1000, "ms": 1_000_000}
RUNS = [(LATENCY, rob_size, 5.0) for rob_size in (1, 2, 4, 8, 16, 32)]
RUNS += [(THROUGHPUT, rob_size, 4.0) for rob_size in (1, 4, 32)]


def main(simulator: Path, network: Path) -> None:
    figures: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(FOLDER.glob("*.json.xz")):
        name = path.name.removesuffix(".json.xz")
        with tempfile.TemporaryDirectory() as scratch:
            program = Path(scratch) / "program.json"
            program.write_bytes(lzma.decompress(path.read_bytes()))
            figures[name] = [measure(simulator, network, program, Path(scratch), *run) for run in RUNS]
        print(name, figures[name][0]["latency_ns"], flush=True)
    (FOLDER / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")


def measure(
    simulator: Path, network: Path, program: Path, scratch: Path, mode: int, rob_size: int, sim_time_ms: float
) -> dict[str, Any]:
    machine = write_machine(network, scratch, mode, rob_size, sim_time_ms)
    command = [str(simulator), str(program), str(machine)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, Any] = {"mode": mode, "rob_size": rob_size, "sim_time_ms": sim_time_ms}
    found["energy_pj"] = float(number(printed, r"average energy:\s+(\S+) pJ"))
    if mode == THROUGHPUT:
        rounds = [int(count) for count in re.findall(r"- rounds:\s+(\d+) samples", printed)]
        return found | {"cores": len(rounds), "rounds": sum(rounds), "fewest_rounds": min(rounds)}
    return found | {
        "cores": len(re.findall(r"core: \d+ finish", printed)),
        "latency_ns": latency_ns(printed),
        "fetch_ends_ns": sum(fetch_ends_ns(printed).values()),
    }


def write_machine(network: Path, scratch: Path, mode: int, rob_size: int, sim_time_ms: float) -> Path:
    machine = json.loads(MACHINE.read_text())
    machine["chip_config"]["core_config"]["rob_size"] = rob_size
    machine["chip_config"]["network_config"].pop("mesh", None)
    machine["chip_config"]["network_config"]["net_config_file_path"] = str(network.resolve())
    machine["sim_config"] = {"sim_mode": mode, "sim_time": sim_time_ms, "report_verbose_level": 1}
    path = scratch / "machine.json"
    path.write_text(json.dumps(machine))
    return path


def latency_ns(printed: str) -> int:
    return round(float(number(printed, r"latency:\s+(\S+) ms")) * 1e6)


def fetch_ends_ns(printed: str) -> dict[int, int]:
    """When each core fetched the end of its list."""
    found = re.findall(r"core :(\d+) reached time:(\d+) (\w+)", printed)
    assert len(found) == len(re.findall(r"reached time", printed))
    return {int(core): int(time) * UNITS[unit] for core, time, unit in found}


def number(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    assert found, f"the simulator printed no {pattern}"
    return found[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
