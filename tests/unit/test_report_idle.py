"""Why cores are idle: every nanosecond of every core is work or has a reason."""

from __future__ import annotations

import json
import random
from pathlib import Path

import onnx
import pytest
from guard_programs import network
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import load, program
from tilec.analysis.machine import Machine
from tilec.simulators.timing import SPENDINGS, TimingResult, simulate
from tilec.tools.report_idle import IDLE_REASONS, WORKING, CoreIdle, idle_json, idle_text
from tilec.tools.tile_compile import main as tile_compile
from tilec.tools.tile_report import main as tile_report

MACHINE = Machine.load("tiny4")


def timed(*cores: str) -> TimingResult:
    return simulate(program(*cores), MACHINE)


def idle(result: TimingResult) -> list[CoreIdle]:
    return [CoreIdle.of(core) for core in result.cores]


def test_all_time_of_the_clock_is_work_or_has_a_reason() -> None:
    uses = [use for uses in WORKING.values() for use in uses]
    assert sorted([*uses, *IDLE_REASONS]) == sorted(SPENDINGS)


LONG = "vvadd r1, r1, r1, len=200\n" * 9


def test_input_that_comes_late() -> None:
    sender, receiver = idle(timed(f"{LONG}send r1, size=8, core=1", "recv r1, size=8, core=0"))
    assert sender.idle["receive_wait"] == sender.idle["send_wait"] == 0
    assert receiver.idle["receive_wait"] > 8 * MACHINE.vector_cycles(9, 200)
    assert receiver.waits_for == {0: receiver.idle["receive_wait"]}


def test_a_receiver_that_comes_late() -> None:
    sender, receiver = idle(timed("send r1, size=8, core=1", f"{LONG}recv r1, size=8, core=0"))
    assert receiver.idle["receive_wait"] == 0
    assert sender.waits_for == {1: sender.idle["send_wait"]}
    assert sender.idle["send_wait"] > 8 * MACHINE.vector_cycles(9, 200)


def test_no_work_left() -> None:
    short, long = idle(timed("", LONG))
    assert long.idle_ns == 0
    assert short.idle == {**dict.fromkeys(IDLE_REASONS, 0), "finished": short.idle_ns}
    assert short.idle_ns > 8 * MACHINE.vector_cycles(9, 200)


def test_a_queue_at_global_memory() -> None:
    cores = idle(timed(load(200), load(200)))
    assert sorted(core.idle["global_queue"] > 0 for core in cores) == [False, True]


def test_events() -> None:
    waiting, _ = idle(timed("wait event=1, value=1", f"{LONG}sync event=1, core=0"))
    assert waiting.idle["event"] > 8 * MACHINE.vector_cycles(9, 200)


def test_several_partners_stand_with_the_longest_wait_first() -> None:
    receiver = idle(
        timed(
            "vvadd r1, r1, r1, len=200\nsend r1, size=8, core=2",
            f"{LONG}send r1, size=8, core=2",
            "recv r1, size=8, core=0\nrecv r1, size=8, core=1",
        )
    )[2]
    assert list(receiver.waits_for) == [1, 0]
    assert sum(receiver.waits_for.values()) == receiver.idle["receive_wait"]


def test_a_core_that_waits_for_ever_is_named() -> None:
    result = timed("", "recv r1, size=8, core=0")
    assert "core 1 waits for ever: core 1, instruction 1 (recv)" in idle_text(result, 0, False)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6))
def test_work_and_idle_time_are_the_whole_time(seed: int) -> None:
    random_numbers = random.Random(seed)
    lines: list[list[str]] = [[] for _ in range(4)]
    for _ in range(20):
        core, other = random_numbers.sample(range(4), 2)
        size = random_numbers.randint(1, 20)
        match random_numbers.randrange(3):
            case 0:
                lines[core].append(f"vvadd r1, r1, r1, len={8 * size}")
            case 1:
                lines[core].append(f"ld r1, r2, size={8 * size}")
            case _:
                lines[core].append(f"send r1, size={size}, core={other}")
                lines[other].append(f"recv r1, size={size}, core={core}")
    result = timed(*map("\n".join, lines))
    for core in idle(result):
        assert sum(core.working.values()) + core.idle_ns == pytest.approx(result.makespan_ns)
        waits = core.idle["receive_wait"] + core.idle["send_wait"]
        assert sum(core.waits_for.values()) == pytest.approx(waits)


def test_text_and_json() -> None:
    result = timed(f"{LONG}send r1, size=8, core=1", "recv r1, size=8, core=0", "")
    text = idle_text(result, 1, False)
    assert text.startswith(f"latency {result.latency_ns:g} ns; 3 cores, ")
    assert "; 1 more without instructions\n" in text
    content = json.loads(idle_json(result, 1))
    assert content["cores"][1]["waits_for_ns"] == {"0": content["cores"][1]["reasons_ns"]["receive_wait"]}
    (row,) = [line for line in text.splitlines() if line.startswith("waits for data from another core")]
    whole = 3 * result.makespan_ns
    assert row.split()[-6] == f"{100 * content['cores'][1]['reasons_ns']['receive_wait'] / whole:.1f}"
    assert "and " not in text.splitlines()[-1]


def test_only_the_idlest_cores_are_shown_unless_all_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(network(), tmp_path / "net.onnx")
    assert tile_compile([str(tmp_path / "net.onnx"), "-q", "-o", str(tmp_path / "out")]) == 0
    texts: list[list[str]] = []
    for more in ([], ["--all"]):
        assert tile_report(["show", str(tmp_path / "out"), "--idle", *more]) == 0
        texts.append(capsys.readouterr().out.splitlines())
    assert texts[0][-1] == f"and {len(texts[1]) - len(texts[0]) + 1} more cores: --all"
    assert tile_report(["show", str(tmp_path / "out"), "--idle", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["cores"]) + content["unused_cores"] == 144
