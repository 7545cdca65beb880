"""What the clock says of small programs that one can follow by hand, and what it refuses."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from tilec.analysis.machine import Machine
from tilec.codegen.json_reader import JsonProgram, parse_program_json
from tilec.simulators.timing import SPENDINGS, TimingOptions, TimingResult, simulate
from tilec.support.diagnostics import TileError

from tests.timing_oracle import Chip

MACHINE = Machine.load("tiny4")
SETBW = {"op": "setbw", "ibiw": 8, "obiw": 8}
ADD = {"op": "vvadd", "rd": 1, "rs1": 2, "rs2": 3, "len": 64}
FILL = {"op": "lldi", "rd": 9, "len": 64}
MVM = {"op": "mvmul", "rd": 4, "rs1": 5, "mbiw": 8, "group": 0}


def machine(rob_size: int = 1, period: float = 1.0, **memory: Any) -> Machine:
    chip = MACHINE.architecture.chip_config
    local = dataclasses.replace(chip.core_config.local_memory_config, **memory)
    core = dataclasses.replace(chip.core_config, rob_size=rob_size, period=period, local_memory_config=local)
    chip = dataclasses.replace(chip, core_config=core)
    return dataclasses.replace(MACHINE, architecture=dataclasses.replace(MACHINE.architecture, chip_config=chip))


def stream(*lists: list[dict[str, Any]], groups: int = 2) -> JsonProgram:
    counts = {f"core{core}": [1] * groups for core in range(len(lists))}
    content: dict[str, Any] = {"config": {"core_cnt": len(lists), "array_group_map": counts}}
    return parse_program_json(json.dumps(content | {f"core{n}": part for n, part in enumerate(lists)}).encode(), "s")


def registers(*addresses: int) -> list[dict[str, Any]]:
    """r1, r2, ... at these addresses."""
    return [{"op": "sldi", "rd": number, "imm": address} for number, address in enumerate(addresses, 1)]


def time_of(*lists: list[dict[str, Any]], on: Machine = MACHINE, **options: Any) -> TimingResult:
    return simulate(stream(*lists), on, TimingOptions(**options))


# Times


def test_a_core_with_one_instruction_in_flight_takes_the_sum_of_their_costs() -> None:
    result = time_of([SETBW, MVM, ADD, FILL])
    costs = MACHINE.mvm_cycles(1) + MACHINE.vector_cycles(9, 64) + MACHINE.fill_cycles(64)
    assert result.latency_ns == 2 + 1 + int(costs)
    assert result.finished


def test_a_message_takes_both_cores_what_the_machine_says() -> None:
    send, receive = {"op": "send", "rd": 1, "rs1": 1, "size": 64}, {"op": "recv", "rd": 1, "size": 64}
    late = time_of([ADD, SETBW, ADD, {**send, "core": 1}], [{**receive, "core": 0}])
    before = time_of([ADD, SETBW, ADD]).latency_ns
    assert late.core_finish_ns[0] == before + MACHINE.send_cycles(0, 1, 64)
    assert late.core_finish_ns[1] == before + MACHINE.flight_ns(0, 1, 1) + MACHINE.recv_cycles(0, 1, 64)


def test_time_is_spent_on_waiting_for_the_partner_or_on_the_message() -> None:
    send, receive = {"op": "send", "rd": 1, "rs1": 1, "size": 64}, {"op": "recv", "rd": 1, "size": 64}
    result = time_of([SETBW, ADD, ADD, {**send, "core": 1}], [{**receive, "core": 0}, FILL])
    sender, receiver = (core.spent_ns for core in result.cores)
    assert tuple(sender) == SPENDINGS
    assert sender["send_wait"] == 0
    assert sender["vector"] == 2 * (MACHINE.vector_cycles(9, 64) - 1)
    assert sender["send"] == MACHINE.send_cycles(0, 1, 64) - 1
    assert receiver["receive_wait"] == sender["vector"] + 1 + 2
    assert receiver["receive"] == MACHINE.flight_ns(0, 1, 1) + MACHINE.recv_cycles(0, 1, 64) - 1
    assert result.cores[1].waits_ns == {"send_wait": {}, "receive_wait": {0: receiver["receive_wait"]}}
    assert result.spent_ns["finished"] > 0
    assert sum(result.spent_ns.values()) == 2 * result.makespan_ns

    result = time_of([{**send, "core": 1}], [SETBW, ADD, ADD, {**receive, "core": 0}])
    sender, receiver = (core.spent_ns for core in result.cores)
    assert sender["send_wait"] > 0
    assert receiver["receive_wait"] == 0
    assert result.cores[0].waits_ns == {"send_wait": {1: sender["send_wait"]}, "receive_wait": {}}


def test_waits_are_told_apart_by_partner() -> None:
    """Core 2 waits for core 0, which starts late, and then for core 1, which starts later by two vector operations."""
    send, receive = {"op": "send", "rd": 1, "rs1": 1, "size": 64, "core": 2}, {"op": "recv", "rd": 1, "size": 64}
    lists = [[SETBW, *[ADD] * 9, send], [SETBW, *[ADD] * 19, send], [{**receive, "core": core} for core in (0, 1)]]
    found = [core.waits_ns for core in time_of(*lists).cores]
    assert found[0] == found[1] == {"send_wait": {}, "receive_wait": {}}
    assert list(found[2]["receive_wait"]) == [0, 1]
    step = MACHINE.vector_cycles(9, 64)
    longer = [[SETBW, *[ADD] * 11, send], [SETBW, *[ADD] * 21, send], lists[2]]
    later = time_of(*longer).cores[2].waits_ns["receive_wait"]
    assert later == {0: found[2]["receive_wait"][0] + 2 * step, 1: found[2]["receive_wait"][1]}


def test_waiting_for_global_memory_is_told_from_using_it() -> None:
    load = [{"op": "ld", "rd": 1, "rs1": 2, "size": 256}]
    alone, both = time_of(load), time_of(load, load)
    queue = sum(core.spent_ns["global_queue"] for core in both.cores)
    assert alone.spent_ns["global_queue"] == 0
    assert queue == alone.global_memory_busy_ns
    assert both.spent_ns["global_memory"] == 2 * alone.spent_ns["global_memory"]
    assert both.global_memory_busy_ns == 2 * alone.global_memory_busy_ns


def test_units_work_side_by_side_if_several_instructions_may_be_in_flight() -> None:
    lines = [SETBW, *registers(1000, 3000, 5000, 20000, 30000, 40000), MVM, {**MVM, "group": 1, "rd": 6}]
    serial, parallel = time_of(lines), time_of(lines, on=machine(rob_size=4))
    assert parallel.latency_ns < serial.latency_ns
    busy = parallel.cores[0].busy_ns
    assert busy["groups"] > busy["matrix"]
    assert serial.cores[0].busy_ns["groups"] == serial.cores[0].busy_ns["matrix"]


@pytest.mark.parametrize("period", [20, 50, 100, 150, 200, 400])
@pytest.mark.parametrize("first", [8, 16, 32, 64])
def test_products_that_end_on_one_edge_leave_one_after_the_other(period: float, first: int) -> None:
    on = machine(rob_size=8, period=period, write_latency_cycle=0)
    lines = [{**SETBW, "ibiw": first}, MVM, SETBW, {**MVM, "group": 1, "rd": 7}, {**MVM, "rd": 8}, FILL]
    lines = [*registers(1000, 3000, 5000, 20000, 30000, 40000, 50000, 60000, 70000), *lines]
    result = simulate(stream(lines), on)
    (expected,) = Chip(on, [lines], [[1, 1]]).run(10**9)
    assert expected is not None
    assert result.core_finish_ns == {0: expected / 1000}


def test_a_core_that_never_finishes_says_why() -> None:
    receive = {"op": "recv", "rd": 1, "core": 0, "size": 8}
    result = time_of([ADD, SETBW], [SETBW, receive], [])
    assert result.unfinished == {0: "ends_in_scalar", 1: "blocked", 2: "empty_list"}
    assert result.cores[1].blocked_at == "core 1, instruction 1 (recv)"
    assert not result.finished
    assert result.latency_ns == 0
    assert sum(result.spent_ns.values()) == 3 * result.makespan_ns
    assert time_of([SETBW, ADD], sim_time_ns=10).unfinished == {0: "cut_off"}


@pytest.mark.parametrize("compiles", [True, False])
def test_a_switch_may_hold_many_messages(compiles: bool) -> None:
    """300 signals, which take a core three cycles each and the switch four: the last one arrives 4 * 300 ns after."""
    signals = [{"op": "sync", "core": 1, "event_register": 3}] * 300
    result = time_of(signals, [{"op": "wait", "event_register": 3, "wait_value": 300}], compiles=compiles)
    assert MACHINE.flight_ns(0, 1, 1) == 4
    assert result.cores[1].finish_ns == 2 + 4 * 300 + 3  # as pimsim-nn prints


def test_throughput_counts_rounds() -> None:
    lines = [SETBW, ADD, ADD]
    result = time_of(lines, lines + lines, looped=True, sim_time_ns=100_000)
    assert result.rounds[0] > result.rounds[1] == result.sustained_rounds > 0
    assert result.output_count == (result.rounds[0] + result.rounds[1]) / 2
    assert result.makespan_ns == 100_000
    whole = time_of(lines, lines + lines, looped=True, sim_time_ns=100_000, folds=False)
    assert whole.spent_ns == result.spent_ns
    assert whole.energy.total_pj == pytest.approx(result.energy.total_pj)


def test_to_json_is_json() -> None:
    content = json.loads(json.dumps(time_of([SETBW, ADD]).to_json()))
    assert content["latency_ns"] == content["makespan_ns"]
    assert content["cores"][0]["spent_ns"]["vector"] > 0
    assert content["energy"]["total_pj"] == content["energy_pj"]


# What is refused


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({**MVM, "group": 7}, "names a group that the core does not have"),
        ({**MVM, "mbiw": 0}, "has no weight width"),
        ({"op": "send", "core": 9, "size": 8}, "names a core that the program does not have"),
        ({"op": "wait", "event_register": 32}, "names no event from 0 to 31"),
        ({**ADD, "len": -1}, "has a negative length"),
        ({"op": "st", "size": -1}, "has a negative size"),
    ],
)
def test_what_crashes_the_simulator_is_an_error(line: dict[str, Any], what: str) -> None:
    with pytest.raises(TileError, match=what):
        time_of([SETBW, line, FILL])


def test_a_program_of_more_cores_than_the_machine_has_is_an_error() -> None:
    with pytest.raises(TileError, match="core 4: is not on the machine, which has 4 cores"):
        time_of(*[[FILL]] * 5)


def test_an_empty_list_cannot_run_in_a_loop() -> None:
    with pytest.raises(TileError, match="has no instructions"):
        time_of([], looped=True, sim_time_ns=100)
    with pytest.raises(TileError, match="give a time"):
        time_of([FILL], looped=True)
