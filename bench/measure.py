"""Measures one network: compiles it as a user would, and times the package by the clock.

Everything in `Program` is the same in every run; what is in `Usage` is not.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .process import Usage, run, tool
from .simulator import simulated_latency_ms

MACHINE = Path(__file__).parents[1] / "analysis" / "machines" / "reference144.json"
GRAPH, FINISHED = "spat graph", "package"
WORKING = ("matrix", "vector", "local_move", "send", "receive", "global_memory", "scalar")
"""Of what the clock says that a core spends its time on: what is not waiting."""
MORE_ARRAYS = 16
"""With so many more in each core, a layer has all replicas and parts that its rows and cores have a use for."""
FEW, MANY = 4, 8
"""Samples in flight of the two programs whose difference is the interval: what they take to fill and to empty is the
same."""


@dataclass(frozen=True)
class Program:
    """A compiled network."""

    latency_ms: float
    """Of one sample, by the clock."""
    path_ms: float
    """The longest path through the replicas' lanes, before any of them share a core; transfers take no time."""
    core_ms: float
    """What the busiest core does: the cycles of its instructions, each executing alone."""
    memory_ms: float
    """How long global memory serves."""
    order_ms: float
    """The longest path through the finished streams, messages included: what the order of the schedule allows."""
    best_bound_ms: float
    """The bound of the best mapping known: that of a chip with `MORE_ARRAYS` times as many arrays in each core."""
    interval_ms: float
    """Between samples in flight: what each takes from `FEW` to `MANY`, compiled for so many, by the clock."""
    interval_bound_ms: float
    """What the busiest core of the program for `MANY` does for one of them when it does not wait."""
    spent: Mapping[str, float]
    """The share of all cores' time by what it is spent on, in the clock's words."""
    instructions: int
    scalar_instructions: int
    matrix_products: int
    messages: int
    message_bytes: int
    cores_used: int
    arrays_used: int
    peak_local_bytes: int
    ir_ops: int
    """The most that the IR had after a pass."""
    sha256: str
    simulator_ms: float | None = None
    """The latency by pimsim-nn, if that was asked for."""

    @property
    def bound_ms(self) -> float:
        """No order of work makes one sample take less time with these parts and replicas on these cores."""
        return max(self.path_ms, self.core_ms, self.memory_ms)

    @property
    def bound_by(self) -> str:
        """What the bound comes from."""
        bounds = {"path": self.path_ms, "core": self.core_ms, "memory": self.memory_ms}
        return max(bounds, key=bounds.__getitem__)

    @property
    def scalar_per_useful(self) -> float:
        """Scalar instructions for each other one."""
        return self.scalar_instructions / (self.instructions - self.scalar_instructions)


def compile_and_time(
    model: Path, scratch: Path, simulator: Path | None = None, pipeline: bool = True, repeat: int = 1
) -> tuple[Program, Usage]:
    """The program, and what `tile-compile` took: the least of ``repeat`` runs. Raises a CommandError.

    ``pipeline`` is whether to measure the interval, too, for which the network is compiled twice more.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=scratch))
    try:
        package = folder / "package"
        summary, usage = _compile(model, package)
        for _ in range(repeat - 1):
            usage = _least(usage, _compile(model, package)[1])
        program = replace(_program(package, summary), best_bound_ms=best_bound_ms(model, folder))
        if pipeline:
            interval, bound = interval_ms(model, folder)
            program = replace(program, interval_ms=interval, interval_bound_ms=bound)
        if simulator is not None:
            latency_ms = simulated_latency_ms(simulator, package, MACHINE, 2 * program.latency_ms, folder)
            program = replace(program, simulator_ms=latency_ms)
        return program, usage
    finally:
        shutil.rmtree(folder)


def best_bound_ms(model: Path, folder: Path) -> float:
    """The longest path with the replicas and parts that a chip of the same cores would have with `MORE_ARRAYS` times as
    many arrays; or all work divided by the cores, if that is more. Nothing is placed, so that all arrays are near."""
    content = json.loads(MACHINE.read_bytes())
    core = content["chip_config"]["core_config"]
    core["matrix_config"]["xbar_array_count"] *= MORE_ARRAYS
    machine, report = folder / "more_arrays.json", folder / "guard.json"
    machine.write_text(json.dumps(content))
    passes = f"onnx-simplify,convert-onnx-to-spat{{machine={machine}}},spat-merge-graph,spat-merge-trivial"
    run([tool("tile-opt"), str(model), "-p", passes, "--guard-report", str(report), "-o", "/dev/null"])
    found = json.loads(report.read_bytes())["passes"][-1]["after"]
    cycles = max(found["span_cycles"], found["work_cycles"] / content["chip_config"]["core_cnt"])
    return _ms(cycles * core["period"])


def _compile(model: Path, package: Path, samples: int = 1) -> tuple[dict[str, Any], Usage]:
    shutil.rmtree(package, ignore_errors=True)
    printed, usage = run([tool("tile-compile"), str(model), "-o", str(package), "--json", "--samples", str(samples)])
    return json.loads(printed), usage


def _least(one: Usage, other: Usage) -> Usage:
    return Usage(
        min(one.wall_s, other.wall_s),
        min(one.user_s, other.user_s),
        min(one.system_s, other.system_s),
        min(one.peak_rss_bytes, other.peak_rss_bytes),
    )


def _program(package: Path, summary: Mapping[str, Any]) -> Program:
    """The program of one sample, without an interval."""
    stages = json.loads((package / "report" / "proxies.json").read_bytes())["stages"]
    graph = [stage for stage in stages.values() if stage["level"] == GRAPH][-1]
    finished = stages[FINISHED]
    period_ns = json.loads(MACHINE.read_bytes())["chip_config"]["core_config"]["period"]
    clock = _clock(package)
    whole = clock["makespan_ns"] * len(clock["cores"])
    return Program(
        latency_ms=_ms(clock["latency_ns"]),
        path_ms=_ms(graph["span_cycles"] * period_ns),
        core_ms=_ms(finished["busy_cycles_max"] * period_ns),
        memory_ms=_ms(clock["global_memory_busy_ns"]),
        order_ms=_ms(finished["makespan_cycles"] * period_ns),
        best_bound_ms=math.nan,
        interval_ms=math.nan,
        interval_bound_ms=math.nan,
        spent={use: round(time / whole, 6) for use, time in clock["spent_ns"].items()},
        instructions=summary["instructions"],
        scalar_instructions=summary["scalar_instructions"],
        matrix_products=summary["matrix_products"],
        messages=summary["messages"],
        message_bytes=summary["message_bytes"],
        cores_used=summary["cores_used"],
        arrays_used=summary["arrays_used"],
        peak_local_bytes=finished["core_bytes_max"],
        ir_ops=max(stage["ir_ops"] or 0 for stage in stages.values() if "ir_ops" in stage),
        sha256=summary["sha256"],
    )


def interval_ms(model: Path, folder: Path) -> tuple[float, float]:
    """The time between samples in flight, and that for which the busiest core works for each. Raises a CommandError."""
    package = folder / "samples"
    clocks: list[dict[str, Any]] = []
    for samples in (FEW, MANY):
        _compile(model, package, samples)
        clocks.append(_clock(package))
    few, many = (clock["makespan_ns"] for clock in clocks)
    busiest = max(sum(core["spent_ns"][use] for use in WORKING) for core in clocks[1]["cores"])
    return _ms((many - few) / (MANY - FEW)), _ms(busiest / MANY)


def _clock(package: Path) -> dict[str, Any]:
    printed, _ = run([tool("tile-run"), str(package), "--timing", "--json"])
    return json.loads(printed)


def _ms(nanoseconds: float) -> float:
    return round(nanoseconds * 1e-6, 6)
