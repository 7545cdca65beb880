"""A whole network, ResNet-18 on 64 x 64 pixels, against what the real simulator printed for its stream.

``printed`` are the values of the unchanged simulator, ``first_come`` those of the simulator with an event queue that
is first come, first served among simultaneous events. The stream is one that an early version of tile compiled.
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
from tilec.simulators.timing import Quirks, TimingOptions, TimingResult, simulate

ARCHIVE = Path(__file__).parent.parent / "data" / "pimsim_network.json.xz"
CONTENT = json.loads(lzma.decompress(ARCHIVE.read_bytes()))
RUNS = {f"mode{run['mode']}-rob{run['rob_size']}": run for run in CONTENT["runs"]}


@cache
def program() -> JsonProgram:
    return parse_program_json(json.dumps(CONTENT["program"]).encode(), "network")


def timed(run: dict[str, Any], **quirks: bool) -> TimingResult:
    machine = Machine.load("reference144")
    chip = machine.architecture.chip_config
    core = dataclasses.replace(chip.core_config, rob_size=run["rob_size"])
    chip = dataclasses.replace(chip, core_config=core)
    machine = dataclasses.replace(machine, architecture=dataclasses.replace(machine.architecture, chip_config=chip))
    options = TimingOptions(run["mode"] == 0, run["sim_time_ms"] * 1e6, Quirks(**quirks))
    return simulate(program(), machine, options)


@pytest.mark.parametrize("name", RUNS)
def test_it_is_the_simulators_time_and_energy(name: str) -> None:
    run = RUNS[name]
    result, expected, printed = timed(run), run["first_come"], run["printed"]
    assert result.energy_pj == pytest.approx(expected["energy_pj"], rel=1e-9)
    assert result.energy_pj == pytest.approx(printed["energy_pj"], rel=1e-3)
    if result.looped:
        assert float(f"{result.output_count:.3}") == expected["output_count"]
    else:
        assert result.finished
        assert result.latency_ns == pytest.approx(expected["latency_ms"] * 1e6, abs=1e-3)
        assert result.latency_ns == pytest.approx(printed["latency_ms"] * 1e6, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_with_the_simulators_heap_it_is_what_was_printed(name: str) -> None:
    run = RUNS[name]
    result, printed = timed(run, heap_order=True), run["printed"]
    assert result.energy_pj == pytest.approx(printed["energy_pj"], rel=1e-5)
    if not result.looped:
        assert result.latency_ns == pytest.approx(printed["latency_ms"] * 1e6, rel=1e-5)
