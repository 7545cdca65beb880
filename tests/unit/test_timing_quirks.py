"""Each quirk on and off: a small program on which it shows, and both times, worked out by hand.

The machine, unless said otherwise, is `tiny4`, on which reading n bytes of local memory takes 20 * ceil(n / 64) ns and
writing them 30, a vector of n elements 4 * ceil(n / 32), and a matrix product 1305; a core's first instruction is
issued at 2 ns, a scalar instruction takes 1, any other two more than its unit, and `mvmul` three.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tilec.analysis.architecture import SimConfig
from tilec.analysis.machine import Machine
from tilec.codegen.json_reader import JsonProgram, parse_program_json
from tilec.simulators.timing import Quirks, TimingOptions, TimingResult, simulate

TINY = Machine.load("tiny4")
DOCUMENT = Path(__file__).parents[2] / "docs" / "timing.md"
Line = dict[str, Any]

SETBW: Line = {"op": "setbw", "ibiw": 8, "obiw": 8}
MVM: Line = {"op": "mvmul", "rd": 4, "rs1": 5, "mbiw": 8, "group": 0}
ADD: Line = {"op": "vvadd", "rd": 1, "rs1": 2, "rs2": 3, "len": 64}
"""40 + 8 + 30 in its unit."""
FILL: Line = {"op": "lldi", "rd": 9, "len": 64, "size": 64}
"""30."""
READ: Line = {"op": "vvadd", "rd": 7, "rs1": 6, "rs2": 6, "len": 64}
"""What may have to wait for FILL, if r6 is an address that it writes."""


@dataclass(frozen=True)
class Case:
    """What is measured on every core that finishes, with the quirk and without it."""

    lists: list[list[Line]]
    on: list[float | None]
    off: list[float | None]
    machine: Machine = TINY
    limit_ns: float | None = None


def machine(**core: Any) -> Machine:
    """`tiny4` with other facts of its cores."""
    chip = TINY.architecture.chip_config
    changed = dataclasses.replace(chip, core_config=dataclasses.replace(chip.core_config, **core))
    return dataclasses.replace(TINY, architecture=dataclasses.replace(TINY.architecture, chip_config=changed))


def with_latency(added: float | None) -> Machine:
    """`tiny4` with so much more latency a flit, or with none at all."""
    latency = TINY.network.latency_ns * 0 if added is None else TINY.network.latency_ns + added
    return dataclasses.replace(TINY, network=dataclasses.replace(TINY.network, latency_ns=latency))


def registers(**values: int) -> list[Line]:
    return [{"op": "sldi", "rd": int(name[1:]), "imm": value} for name, value in values.items()]


def stream(lists: list[list[Line]]) -> JsonProgram:
    counts = {f"core{core}": [1, 1] for core in range(len(lists))}
    content: dict[str, Any] = {"config": {"core_cnt": len(lists), "array_group_map": counts}}
    return parse_program_json(json.dumps(content | {f"core{n}": part for n, part in enumerate(lists)}).encode(), "s")


def run(case: Case, quirks: Quirks) -> TimingResult:
    return simulate(stream(case.lists), case.machine, TimingOptions(sim_time_ns=case.limit_ns, quirks=quirks))


UNEVEN = dataclasses.replace(TINY.architecture.chip_config.core_config.matrix_config, adc_count=3)
SEND, RECEIVE = ({"op": op, "rd": 1, "rs1": 1, "core": core, "size": 64} for op, core in (("send", 1), ("recv", 0)))
EMPTY_SEND, EMPTY_RECEIVE = {**SEND, "size": 0}, {**RECEIVE, "size": 0}
SEVERAL = machine(rob_size=4)
ADDRESSES = {"r1": 20000, "r2": 30000, "r3": 40000, "r7": 9000, "r9": 936}

CASES: dict[str, Case] = {
    # 2 + 1 + 320 + 1305 + 60 + 3; read once, 128 bytes take 40.
    "eightfold_array_read": Case([[SETBW, MVM]], [1691], [1411]),
    # 128 columns by 3 converters: 42 passes of 20, or 43; one bit of the input takes 22 + 41 * 20, or 20 more, of 8.
    "conversions_round_down": Case(
        [[SETBW, MVM]],
        [2 + 1 + 320 + (9 + 8 * 842) + 60 + 3],
        [2 + 1 + 320 + (9 + 8 * 862) + 60 + 3],
        machine(matrix_config=UNEVEN),
    ),
    # Cycles of 2 ns: 5 of them, and 40 + 8 + 30, or twice the 8.
    "vector_time_in_ns": Case([[SETBW, ADD]], [5 * 2 + 78], [5 * 2 + 86], machine(period=2)),
    # 2 * 200 + 80, and to write 640 bytes 300, or one 30.
    "full_length_results": Case([[SETBW, {**ADD, "op": "vvdmul", "len": 640}]], [3 + 780 + 2], [3 + 510 + 2]),
    # The request 15, 8 beats of 40, to write 120; the reply is 8 flits of 15.
    "free_load_reply": Case(
        [[{"op": "ld", "rd": 1, "rs1": 2, "size": 256}, FILL]], [2 + 455 + 2 + 32], [2 + 575 + 2 + 32]
    ),
    # A flit takes 4.75 ns, and the data has two. Request, answer, and 20 to read; then the data, and 30 to write.
    "whole_nanosecond_flights": Case(
        [[SETBW, SEND], [RECEIVE]],
        [3 + 4 + 4 + 20 + 2, 31 + 9 + 30 + 2],
        [33 + 2, 32.5 + 9.5 + 30 + 2],
        with_latency(0.75),
    ),
    # Nothing takes time but the switch, if it holds the request before the data; and ends of no time are seen late.
    "request_holds_switch": Case(
        [[SETBW, EMPTY_SEND], [EMPTY_RECEIVE]], [3 + 3, 3 + 1 + 3], [3 + 3, 3 + 3], with_latency(None)
    ),
    # No time in the unit, and a cycle more for it, twice.
    "late_short_steps": Case([[{**ADD, "len": 0}, SETBW, {**ADD, "len": 0}]], [2 + 3 + 1 + 3], [2 + 2 + 1 + 2]),
    # Both ask for memory in one cycle: the vector's 40 are before the product's 320, or after. They leave together.
    "younger_unit_first": Case(
        [[SETBW, *registers(r1=1000, r2=2000, r3=3000, r4=4000, r5=5000), MVM, ADD]],
        [8 + 1688 + 40],
        [8 + 1688],
        SEVERAL,
    ),
    # After 8 scalar instructions READ starts at once and waits for memory, or waits for FILL to be done: 2 more.
    "closed_ranges": Case(
        [[SETBW, *registers(**ADDRESSES, r6=937, r5=0), FILL, READ]], [10 + 112], [10 + 110], SEVERAL
    ),
    "wrong_ranges": Case([[SETBW, *registers(**ADDRESSES, r6=990, r5=0), FILL, READ]], [10 + 110], [10 + 112], SEVERAL),
    # The value, not the selection, has the bit for rs1: it is at 936 then.
    "misread_offsets": Case(
        [[SETBW, *registers(**ADDRESSES, r6=936 - 1026, r5=0), FILL, {**READ, "offset": {"offset_value": 1026}}]],
        [10 + 112],
        [10 + 110],
        SEVERAL,
    ),
    # ADD reads 40, FILL writes 30, ADD writes 30; or FILL after ADD.
    "unseen_write_after_write": Case(
        [[SETBW, *registers(**{**ADDRESSES, "r1": 936}, r6=0, r5=0), ADD, FILL]], [10 + 102], [10 + 112], SEVERAL
    ),
    # The second FILL waits 31 for the first. Meanwhile r6 becomes its address once, or moves on from there every cycle.
    "scalars_repeat": Case(
        [
            [
                SETBW,
                *registers(**ADDRESSES, r6=49990, r8=50000),
                FILL,
                {**FILL, "rd": 8},
                {"op": "saddi", "rd": 6, "rs1": 6, "imm": 10},
                READ,
            ]
        ],
        [10 + 141],
        [10 + 143],
        SEVERAL,
    ),
    # ADD takes 8 without widths, and one more for its last step of no time.
    "unfinished_scalar_end": Case([[ADD, SETBW]], [None], [2 + 8 + 3 + 1]),
    "last_instant_lost": Case([[SETBW, ADD]], [None], [3 + 78 + 2], limit_ns=3 + 78 + 2),
    # What pimsim-nn prints for it; cores in step lose cycles where its heap has the clock before the end of a wait.
    "heap_order": Case([[SETBW, ADD, FILL, ADD]] * 4, [195, 198, 196, 197], [3 + 80 + 32 + 80] * 4, limit_ns=10_000),
}


@pytest.mark.parametrize("name", CASES)
def test_a_quirk_on_and_off(name: str) -> None:
    case = CASES[name]
    assert [core.finish_ns for core in run(case, Quirks()).cores] == case.on
    off = dataclasses.replace(Quirks(), **{name: False})
    assert [core.finish_ns for core in run(case, off).cores] == case.off


def test_energy_is_taken_once_an_instruction_without_the_quirk() -> None:
    """A milliwatt for a cycle is a picojoule. Two of the five write registers, and execute in the scalar unit."""
    lines = [SETBW, *registers(r1=5, r2=6), ADD, FILL]
    off = Quirks(energy_per_evaluation=False)
    for power, times in (("inst_decode", 5), ("reg_file_read", 5), ("reg_file_write", 2), ("scalar", 2)):
        case = Case([lines], [], [], machine(**{f"{power}_dynamic_power": 1.0}))
        assert run(case, off).energy.front_end_pj == times, power
    decoding = Case([lines], [], [], machine(inst_decode_dynamic_power=1.0))
    assert run(decoding, Quirks()).energy.front_end_pj > 5


def test_what_is_in_decode_at_the_end_takes_energy() -> None:
    """WAIT is never over. The scalar instruction is in decode from 3 ns on, and executes at 4, ... 49,999, or at 4."""
    never = {"op": "wait", "event_register": 0, "wait_value": 1}
    lines = [never, ADD, {"op": "saddi", "rd": 5, "rs1": 5, "imm": 7}, FILL]
    case = Case([lines], [], [], machine(scalar_dynamic_power=1.0), limit_ns=50_000)
    assert run(case, Quirks()).energy.front_end_pj == 50_000 - 4
    assert run(case, Quirks(scalars_repeat=False)).energy.front_end_pj == 1
    assert run(case, Quirks(energy_per_evaluation=False)).energy.front_end_pj == 0
    short = dataclasses.replace(case.machine.architecture, sim_config=SimConfig(sim_time=0.02))
    until = dataclasses.replace(case, machine=dataclasses.replace(case.machine, architecture=short), limit_ns=None)
    assert run(until, Quirks()).energy.front_end_pj == 20_000 - 4


def test_every_quirk_is_tested_and_documented() -> None:
    names = {field.name for field in dataclasses.fields(Quirks)}
    assert set(CASES) | {"energy_per_evaluation"} == names
    rows = re.findall(r"^\| `(\w+)` \| \S", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert [row for row in rows if row in names] == [field.name for field in dataclasses.fields(Quirks)]
