"""When instructions execute: small programs that one can follow by hand, and random ones against the oracle.

On `tiny4` a cycle is 1 ns. Local memory moves 64 bytes a beat, 20 ns to read and 30 to write; global memory 32 bytes,
40 ns to read. A flit of 32 bytes takes 4 ns from core 0 to core 1 or 2, and 15 to global memory. The vector unit takes
4 ns for 32 elements. The first instruction is issued at 3 ns, behind a `setbw` at 4; the next one 2 ns after the one
before has ended in its unit, and one later for each scalar instruction between.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from tilec.simulators.timing import FIRST_COME, TimingOptions, TimingResult, simulate
from tilec.simulators.timing.elements import Kind, kinds_of
from tilec.simulators.timing.recording import Intervals, Recording, record

from tests.timing_oracle import Chip
from tests.unit.test_timing import ADD, FILL, MACHINE, SETBW, machine, registers, stream
from tests.unit.test_timing_random import LIMIT_NS, as_program, random_lists, random_machine

SEND = {"op": "send", "rd": 1, "rs1": 1, "size": 64}
RECV = {"op": "recv", "rd": 1, "size": 64}
LOAD = {"op": "ld", "rd": 1, "rs1": 1, "size": 32}
SCALAR = {"op": "sldi", "rd": 9, "imm": 0}


def listed(found: Intervals) -> list[tuple[int, float, float]]:
    """Instruction, begin and end in ns, in order of the instructions."""
    columns = (found.row.tolist(), (found.begin_ps / 1000).tolist(), (found.end_ps / 1000).tolist())
    return sorted(zip(*columns, strict=True))


def test_one_instruction_in_flight() -> None:
    found = record(stream([SETBW, ADD, SCALAR, FILL]), MACHINE)
    # Two operands of 64 bytes, two beats of the unit, and the result; at the end one write.
    assert listed(found.units) == [(1, 4, 4 + 40 + 8 + 30), (3, 85, 85 + 30)]
    assert listed(found.local_memory) == [(1, 4, 44), (1, 52, 82), (3, 85, 115)]
    assert listed(found.scalars) == [(0, 2, 3), (2, 83, 84)]
    assert found.result.latency_ns == 116


def test_units_that_work_at_the_same_time_share_their_memory() -> None:
    far = registers(*(1000 * number for number in range(1, 10)))
    found = record(stream([SETBW, *far, ADD, FILL]), machine(rob_size=8))
    # The write of the sum waits until the other unit has written.
    assert listed(found.local_memory) == [(10, 13, 53), (10, 83, 113), (11, 53, 83)]
    assert listed(found.units) == [(10, 13, 113), (11, 14, 83)]
    assert [begin for _, begin, _ in listed(found.scalars)] == list(range(2, 12))


def test_a_message() -> None:
    found = record(stream([SETBW, ADD, {**SEND, "core": 1}], [SETBW, {**RECV, "core": 0}]), MACHINE)
    # The request flies from 84 to 88, and holds its switch for a nanosecond more. The receiver, which has waited since
    # 4, answers until 92. The sender reads until 112, and the data has arrived at 120.
    assert listed(found.network) == [(2, 84, 89), (2, 112, 120), (4, 88, 92)]
    assert listed(found.units) == [(1, 4, 82), (2, 84, 112), (4, 4, 150)]
    assert listed(found.local_memory)[2:] == [(2, 92, 112), (4, 120, 150)]


def test_a_message_waits_for_the_one_before_to_leave_the_switch() -> None:
    sends = [{**SEND, "core": 1}, {**SEND, "core": 2}]
    found = record(stream([SETBW, *sends], [SETBW, {**RECV, "core": 0}], [SETBW, {**RECV, "core": 0}]), MACHINE)
    # The second `send` begins at 34, while the first one's data flies until 40.
    assert listed(found.units)[:2] == [(1, 4, 32), (2, 34, 68)]
    assert listed(found.network)[:4] == [(1, 4, 9), (1, 32, 40), (2, 40, 45), (2, 68, 76)]


def test_global_memory_serves_one_after_the_other() -> None:
    found = record(stream([SETBW, LOAD], [SETBW, LOAD]), MACHINE, TimingOptions(quirks=FIRST_COME))
    assert listed(found.global_memory) == [(1, 19, 59), (3, 59, 99)]
    assert listed(found.network) == [(1, 4, 59), (3, 4, 99)]
    assert listed(found.units) == [(1, 4, 89), (3, 4, 129)]


def test_what_waits_for_ever_lasts_to_the_end() -> None:
    found = record(stream([SETBW, {**RECV, "core": 1}], [SETBW, ADD]), MACHINE)
    assert listed(found.units) == [(1, 4, 83), (3, 4, 82)]
    assert not found.result.finished


def random_recording(seed: int) -> tuple[Recording, TimingResult, Chip]:
    """A random program on a random machine, what the clock says of it, and the same for the oracle to run."""
    rng = random.Random(seed)
    cores = rng.randint(1, 5)
    groups = [[rng.randint(1, 4) for _ in range(rng.randint(0, 3))] for _ in range(cores)]
    on, lists = random_machine(rng, cores), random_lists(rng, cores, groups)
    options = TimingOptions(sim_time_ns=LIMIT_NS, quirks=FIRST_COME)
    made = as_program(lists, groups)
    return record(made, on, options), simulate(made, on, options), Chip(on, lists, groups)


def of_core(recording: Recording, found: Intervals, core: int) -> list[tuple[int, int]]:
    mine = recording.run.stream.core_of_rows()[found.row] == core
    return sorted(zip(found.begin_ps[mine].tolist(), found.end_ps[mine].tolist(), strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_times_are_those_of_the_oracle(seed: int) -> None:
    recording, _, chip = random_recording(seed)
    chip.run(LIMIT_NS * 1000)
    if not recording.result.finished:  # the oracle knows only what has ended; most do finish, see below
        return
    stream, units = recording.run.stream, recording.units
    kind = kinds_of(stream)[units.row]
    transfers = units.of((kind != Kind.MATRIX) & (kind != Kind.VECTOR))
    for number, core in enumerate(chip.cores):
        assert of_core(recording, units.of(kind == Kind.VECTOR), number) == core.units["vector"].history
        assert of_core(recording, transfers, number) == core.units["transfer"].history
        for group in range(len(core.groups)):
            products = units.of((kind == Kind.MATRIX) & (stream.group[units.row] == group))
            assert of_core(recording, products, number) == core.units[group].history
        busy = sum(end - begin for begin, end in core.memory.history)
        assert sum(end - begin for begin, end in of_core(recording, recording.local_memory, number)) == busy
        assert of_core(recording, recording.network, number) == sorted(core.flights)
    assert sorted((recording.global_memory.end_ps - recording.global_memory.begin_ps).tolist()) == sorted(
        end - begin for begin, end in chip.memory.history
    )


@pytest.mark.parametrize("seed", range(60))
def test_recording_changes_nothing_and_sums_up_to_the_busy_times(seed: int) -> None:
    recording, plain, _ = random_recording(seed)
    run = recording.run
    assert recording.result.cores == plain.cores
    units = recording.units
    kind, core_of = kinds_of(run.stream)[units.row], run.stream.core_of_rows()
    names = np.select([kind == Kind.MATRIX, kind == Kind.VECTOR], [0, 1], 2)
    for number, core in enumerate(plain.cores):
        for place, name in enumerate(("groups", "vector", "transfer")):
            mine = units.of((names == place) & (core_of[units.row] == number))
            assert (mine.end_ps - mine.begin_ps).sum() == round(core.busy_ns[name] * 1000)
        for found, name in ((recording.local_memory, "local_memory"), (recording.network, "switch")):
            mine = found.of(core_of[found.row] == number)
            assert (mine.end_ps - mine.begin_ps).sum() == round(core.busy_ns[name] * 1000)


def test_most_random_programs_finish() -> None:
    assert sum(random_recording(seed)[1].finished for seed in range(60)) > 50
