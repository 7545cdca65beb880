"""How long the clock itself takes: so much an instruction, however long what it simulates takes."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from tilec.analysis.machine import Machine
from tilec.codegen.json_reader import JsonProgram, parse_program_json
from tilec.simulators.timing import TimingOptions, simulate

REFERENCE = Machine.load("reference144")
CORES = 24
ROUNDS = 200


def pipeline(rounds: int) -> JsonProgram:
    """Rows pass from core to core; each computes a product, a vector operation and a copy for every one of them."""
    lists: dict[str, list[dict[str, Any]]] = {}
    for core in range(CORES):
        one: list[dict[str, Any]] = [
            *([{"op": "recv", "rd": 1, "core": core - 1, "size": 128}] if core else []),
            {"op": "sldi", "rd": 2, "imm": 4096},
            {"op": "mvmul", "rd": 2, "rs1": 1, "mbiw": 8, "group": 0},
            {"op": "vrelu", "rd": 3, "rs1": 2, "len": 128},
            {"op": "lmv", "rd": 4, "rs1": 3, "len": 128, "size": 128},
            *([{"op": "send", "rd": 4, "rs1": 4, "core": core + 1, "size": 128}] if core + 1 < CORES else []),
        ]
        lists[f"core{core}"] = [{"op": "setbw", "ibiw": 8, "obiw": 8}, *(line for _ in range(rounds) for line in one)]
    groups = {f"core{core}": [1] for core in range(CORES)}
    content = {"config": {"core_cnt": CORES, "array_group_map": groups}, **lists}
    return parse_program_json(json.dumps(content).encode(), "pipeline")


def machine(rob_size: int = 1, xbar_latency: float | None = None) -> Machine:
    chip = REFERENCE.architecture.chip_config
    matrix = chip.core_config.matrix_config
    if xbar_latency is not None:
        matrix = dataclasses.replace(matrix, xbar_latency=xbar_latency)
    core = dataclasses.replace(chip.core_config, rob_size=rob_size, matrix_config=matrix)
    chip = dataclasses.replace(chip, core_config=core)
    return dataclasses.replace(REFERENCE, architecture=dataclasses.replace(REFERENCE.architecture, chip_config=chip))


Action = Callable[[], object]


def seconds(action: Action) -> float:
    """Processor time of one run."""
    start = time.process_time()
    action()
    return time.process_time() - start


def least_seconds(action: Action) -> float:
    """Of a few runs, after a first one that makes the machine code."""
    action()
    return min(seconds(action) for _ in range(5))


def times_as_long(action: Action, other: Action, bound: float) -> float:
    """The least time of one by the least time of the other. They take turns, so that a busy machine slows down both;
    and as long as the quotient is not below the bound, up to forty, until each has met a quiet moment."""
    action(), other()
    least = other_least = math.inf
    for turn in range(40):
        least, other_least = min(least, seconds(action)), min(other_least, seconds(other))
        if turn >= 5 and least < bound * other_least:
            break
    return least / other_least


@pytest.mark.parametrize("rob_size", [1, 16])
def test_an_instruction_takes_microseconds(rob_size: int) -> None:
    """Measured: less than one. Interpreted, it would be fifty times as much, so that five tell the two apart."""
    program, on = pipeline(ROUNDS), machine(rob_size)
    assert least_seconds(lambda: simulate(program, on)) < 5e-6 * len(program.op)


@pytest.mark.parametrize("rob_size", [1, 16])
def test_four_times_as_many_instructions_take_four_times_as_long(rob_size: int) -> None:
    """Up to five times, since the system gives memory for long columns anew in every run. Sixteen if the time were
    quadratic, or eight if a third of that of the short program were."""
    on = machine(rob_size)
    short, long = pipeline(ROUNDS), pipeline(4 * ROUNDS)
    assert times_as_long(lambda: simulate(long, on), lambda: simulate(short, on), 8) < 8


@pytest.mark.parametrize("compiles", [True, False])
def test_simulated_time_costs_nothing(compiles: bool) -> None:
    """With products of nearly a millisecond the clock ticks four hundred times as often."""
    program, options = pipeline(ROUNDS if compiles else 10), TimingOptions(compiles=compiles)
    short, long = machine(), machine(xbar_latency=100_000.0)
    assert simulate(program, long, options).latency_ns > 300 * simulate(program, short, options).latency_ns
    assert times_as_long(lambda: simulate(program, long, options), lambda: simulate(program, short, options), 2) < 2
