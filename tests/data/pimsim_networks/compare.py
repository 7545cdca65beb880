"""Compares the clock with the real simulator on packages of today: see docs/timing.md."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from pathlib import Path

from measure import LATENCY, fetch_ends_ns, latency_ns, write_machine
from tilec.analysis.machine import Machine
from tilec.codegen.json_reader import read_program_json
from tilec.simulators.timing import TimingOptions, simulate

ROB_SIZES = (1, 2, 4, 8, 16, 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("simulator", type=Path)
    parser.add_argument("packages", type=Path, nargs="+", help="compiled for reference144")
    parser.add_argument("--rob-sizes", type=int, nargs="+", default=ROB_SIZES)
    parser.add_argument("--sim-time", type=float, default=5.0, help="in ms")
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--preload", type=Path, help="a library for the simulator, such as growing_malloc.so")
    options = parser.parse_args()
    for package in options.packages:
        for rob_size in options.rob_sizes:
            print(package.name, rob_size, difference(options, package / "program.json.gz", rob_size), flush=True)


def difference(options: argparse.Namespace, program: Path, rob_size: int) -> str:
    """What was printed, what the clock says, and by how much a core differs at most."""
    with tempfile.TemporaryDirectory() as scratch:
        mode = LATENCY - options.throughput
        Machine.load("reference144").write(Path(scratch) / "reference.json")
        (network,) = Path(scratch).glob("*network*.json")
        path = write_machine(network, Path(scratch), mode, rob_size, options.sim_time)
        environment = os.environ | ({"LD_PRELOAD": str(options.preload.resolve())} if options.preload else {})
        command = [str(options.simulator), str(program), str(path)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        timing = TimingOptions(options.throughput, options.sim_time * 1e6)
        result = simulate(read_program_json(program), Machine.load(str(path), strict=False), timing)
    if options.throughput:
        counts = re.findall(r"Core (\d+) Information\s+- rounds:\s+(\d+) samples", printed)
        rounds = {int(core): int(count) for core, count in counts}
        same = sum(count == result.rounds[core] for core, count in rounds.items())
        return (
            f"{sum(rounds.values())} rounds, clock {sum(result.rounds.values())}; {same} of {len(rounds)} cores equal"
        )
    ends = fetch_ends_ns(printed)
    apart = {core.core: abs(core.fetch_end_ns - ends[core.core]) for core in result.cores if core.fetch_end_ns}
    same, most = sum(not gap for gap in apart.values()), max(apart, key=apart.__getitem__)
    latency, energy = latency_ns(printed), float(re.findall(r"average energy:\s+(\S+) pJ", printed)[0])
    return (
        f"{latency} ns, clock {result.latency_ns:.0f} ns"
        f"; energy {result.energy_pj / energy - 1:+.1e}; {same} of {len(ends)} cores equal, "
        f"core {most} is {apart[most]} of {ends[most]} ns apart"
    )


if __name__ == "__main__":
    main()
