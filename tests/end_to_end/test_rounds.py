"""Streams that run again and again, on machines that execute in order and on others: every round computes the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from compilation import assert_computes, compile_model, random_inputs
from tilec.analysis.machine import Machine
from tilec.codegen.columns import Columns, Program
from tilec.codegen.isa import REGISTER_COUNT, Op
from tilec.codegen.package import Package
from tilec.codegen.registers import final_values, register_values
from tilec.simulators.timing.quirks import SIMULATOR
from tilec.simulators.timing.ranges import NO_RANGE, NO_REGISTER, ranges_of
from tilec.simulators.timing.stream import stream_of

ROOT = Path(__file__).parents[2]
MODEL = onnx.load(ROOT / "examples" / "digits_cnn.onnx")
MACHINES = [("tiny4", 1), ("tiny4", 2), ("tiny4", 8), ("tiny4", 16), ("reference144", 1), ("reference144", 8)]
"""Presets, and what their reorder buffers are to hold."""


@pytest.fixture(scope="module", params=MACHINES, ids=str)
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Package, Machine]:
    preset, rob_size = request.param
    facts: dict[str, Any] = json.loads((ROOT / "analysis" / "machines" / f"{preset}.json").read_text())
    facts["chip_config"]["core_config"]["rob_size"] = rob_size
    path = tmp_path_factory.mktemp("machine") / "machine.json"
    path.write_text(json.dumps(facts))
    return compile_model(MODEL, f'"{path}"'), Machine.load(str(path))


def next_round(program: Program) -> Program:
    """The same streams on registers as they leave them; the values are loaded in front."""
    cores = [
        Columns.concat([Columns.of(Op.SLDI, rd=np.arange(REGISTER_COUNT), a=final_values(core)), core])
        for core in (program.core(number) for number in range(program.core_count))
    ]
    return Program.from_cores(program.target, cores, program.groups)


def test_the_second_round_computes_the_same(compiled: tuple[Package, Machine]) -> None:
    """From memory that holds nothing: what the first round leaves there is not read either."""
    package, _ = compiled
    second = replace(package, program=next_round(package.program))
    for seed, of_round in enumerate((package, second)):
        assert_computes(of_round, MODEL, random_inputs(MODEL, seed))


def test_registers_hold_the_same_in_every_round(compiled: tuple[Package, Machine]) -> None:
    program = compiled[0].program
    second = next_round(program)
    used = 0
    for number in range(program.core_count):
        core, later = program.core(number), register_values(second.core(number))
        first = register_values(core)
        np.testing.assert_array_equal(final_values(core), final_values(second.core(number)))
        for name in ("rd", "rs1", "rs2"):
            holds = (getattr(core, name) > 0) & (core.op != Op.SLDI)
            np.testing.assert_array_equal(
                getattr(first, name)[holds], getattr(later, name)[REGISTER_COUNT:][holds], err_msg=f"{number} {name}"
            )
            used += int(holds.sum())
    assert used


def test_a_reorder_buffer_sees_the_offsets_that_are_selected(compiled: tuple[Package, Machine]) -> None:
    package, machine = compiled
    stream = stream_of(package.program)
    seen, meant = (ranges_of(stream, machine, replace(SIMULATOR, misread_offsets=misread)) for misread in (True, False))
    parts = list(zip((seen.read1, seen.read2, seen.write), (meant.read1, meant.read2, meant.write), strict=True))
    same = all(
        np.array_equal(found.offset[found.length != NO_RANGE], true.offset[found.length != NO_RANGE])
        for found, true in parts
    )
    assert same == (machine.rob_size > 1), "an order of instructions needs no addresses"
    if machine.rob_size > 1:
        loads = stream.op == Op.LD
        assert (seen.write.register[loads] == NO_REGISTER).all()
        local = np.concatenate(
            [register_values(package.program.core(core)).rd for core in range(package.program.core_count)]
        )
        assert not local[package.program.columns.op == Op.LD].any(), "what the simulator does not see is 0"
