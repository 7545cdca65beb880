"""Whole networks against what the real simulator printed for their streams: `tests/data/pimsim_networks`.

Beside them stands a stream that an early version of tile compiled, ResNet-18 on 64 x 64 pixels, with two figures each:
``printed`` by the unchanged simulator, and ``first_come`` by one with an event queue that is first come, first served
among simultaneous events.
"""

from __future__ import annotations

import dataclasses
import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tilec.analysis.machine import Machine
from tilec.codegen.json_reader import JsonProgram, parse_program_json
from tilec.simulators.timing import FIRST_COME, SIMULATOR, Quirks, TimingOptions, TimingResult, simulate

DATA = Path(__file__).parent.parent / "data"
NETWORKS = DATA / "pimsim_networks"
FIGURES = json.loads((NETWORKS / "figures.json").read_text())
EARLY = json.loads(lzma.decompress((DATA / "pimsim_network.json.xz").read_bytes()))
MODES = {0: "throughput", 1: "latency"}
RUNS = {
    f"{name}-{MODES[run['mode']]}-rob{run['rob_size']}": (name, run) for name, runs in FIGURES.items() for run in runs
}
EARLY_RUNS = {f"{MODES[run['mode']]}-rob{run['rob_size']}": run for run in EARLY["runs"]}


@cache
def program(name: str) -> JsonProgram:
    if name == "early":
        return parse_program_json(json.dumps(EARLY["program"]).encode(), name)
    return parse_program_json(lzma.decompress((NETWORKS / f"{name}.json.xz").read_bytes()), name)


def timed(name: str, run: dict[str, Any], quirks: Quirks = SIMULATOR, sim_time: bool = True) -> TimingResult:
    machine = Machine.load("reference144")
    chip = machine.architecture.chip_config
    core = dataclasses.replace(chip.core_config, rob_size=run["rob_size"])
    chip = dataclasses.replace(chip, core_config=core)
    machine = dataclasses.replace(machine, architecture=dataclasses.replace(machine.architecture, chip_config=chip))
    limit = run["sim_time_ms"] * 1e6 if sim_time else None
    return simulate(program(name), machine, TimingOptions(run["mode"] == 0, limit, quirks))


@pytest.mark.parametrize("name", RUNS)
def test_it_is_what_the_simulator_printed(name: str) -> None:
    """To one part in a hundred thousand, at the same simulated time, and nearly always to the nanosecond."""
    network, run = RUNS[name]
    result = timed(network, run)
    assert len(result.cores) == run["cores"]
    assert result.energy_pj == pytest.approx(run["energy_pj"], rel=1e-5)
    if result.looped:
        assert sum(result.rounds.values()) == pytest.approx(run["rounds"], rel=1e-4)
        assert result.sustained_rounds == run["fewest_rounds"]
    else:
        assert result.finished
        assert result.latency_ns == pytest.approx(run["latency_ns"], rel=1e-5)
        fetched = sum(core.fetch_end_ns or 0 for core in result.cores)
        assert fetched == pytest.approx(run["fetch_ends_ns"], rel=1e-5)


@pytest.mark.parametrize("name", [name for name, (_, run) in RUNS.items() if run["mode"] == 1])
def test_the_simulated_time_matters_little(name: str) -> None:
    """Without it, it is what the machine file says, and the order of simultaneous events another one."""
    network, run = RUNS[name]
    assert timed(network, run, sim_time=False).latency_ns == pytest.approx(run["latency_ns"], rel=1e-4)


@pytest.mark.parametrize("name", [name for name, (_, run) in RUNS.items() if run["mode"] == 1])
def test_first_come_first_served_differs_little(name: str) -> None:
    network, run = RUNS[name]
    assert timed(network, run, FIRST_COME).latency_ns == pytest.approx(run["latency_ns"], rel=4e-3)


@pytest.mark.parametrize("name", EARLY_RUNS)
def test_both_orders_on_an_early_stream(name: str) -> None:
    run = EARLY_RUNS[name]
    for quirks, which, tolerance in ((SIMULATOR, "printed", 1e-5), (FIRST_COME, "first_come", 1e-9)):
        result, expected = timed("early", run, quirks), run[which]
        assert result.energy_pj == pytest.approx(expected["energy_pj"], rel=tolerance)
        if result.looped:
            assert float(f"{result.output_count:.3}") == expected["output_count"]
        else:
            assert result.finished
            assert result.latency_ns == pytest.approx(expected["latency_ms"] * 1e6, rel=tolerance, abs=1e-3)
