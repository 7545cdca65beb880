"""The trace of a run: slices that do not overlap, whose durations are the busy times, in the Trace Event format."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_disk import file_size_limit
from programs import package, program
from tilec.analysis.machine import Machine
from tilec.codegen.manifest import Origin
from tilec.codegen.package import read_package_program, write_package
from tilec.simulators.timing.recording import record
from tilec.tools.tile_run import main as tile_run
from tilec.tools.trace_slices import (
    LOCAL_MEMORY,
    MATRIX,
    NETWORK,
    SCALAR,
    SERVICE,
    TRANSFER,
    VECTOR,
    Slices,
    message_flows,
    trace_slices,
)

from tests.unit.test_recording import RECV, SEND, random_recording
from tests.unit.test_timing import ADD, MACHINE, MVM, SETBW, machine, registers, stream

NO_LABELS = np.zeros(10_000, np.int64)


def listed(slices: Slices, thread: int) -> list[tuple[int, int, float, float, int, float]]:
    """Core, label, begin and end in ns, instructions and busy ns of one kind of thread."""
    columns = (slices.core, slices.label, slices.begin_ps / 1000, slices.end_ps / 1000)
    rows = zip(*(column.tolist() for column in (*columns, slices.instructions, slices.busy_ps / 1000)), strict=True)
    return [row for row, own in zip(rows, slices.thread.tolist(), strict=True) if own == thread]


SHORT = {"op": "lldi", "rd": 9, "len": 64}
TWO_SUMS = [SETBW, ADD, ADD, SHORT]


def test_neighbours_are_joined_where_no_gap_is() -> None:
    """A sum of 64 takes its unit 78 ns, and the next one begins 2 ns later: see `tests/unit/test_recording.py`."""
    recording = record(stream(TWO_SUMS), MACHINE)
    apart = trace_slices(recording, NO_LABELS, 1999)
    assert listed(apart, VECTOR) == [(0, 0, 4, 82, 1, 78), (0, 0, 84, 162, 1, 78)]
    joined = trace_slices(recording, NO_LABELS, 2000)
    assert listed(joined, VECTOR) == [(0, 0, 4, 162, 2, 156)]
    # The front end executes a row of scalar instructions without a gap, a cycle each.
    scalars = [{"op": "sldi", "rd": 1, "imm": 5}] * 4
    recording = record(stream([SETBW, *scalars, ADD]), MACHINE)
    assert listed(trace_slices(recording, NO_LABELS), SCALAR) == [(0, 0, 2, 7, 5, 5)]


def test_labels_are_not_joined() -> None:
    recording = record(stream(TWO_SUMS), MACHINE)
    slices = trace_slices(recording, np.array([0, 0, 1, 2]), 10**9)
    assert [row[:4] for row in listed(slices, VECTOR)] == [(0, 0, 4, 82), (0, 1, 84, 162)]
    assert [row[:4] for row in listed(slices, LOCAL_MEMORY)] == [(0, 0, 4, 82), (0, 1, 84, 162), (0, 2, 164, 194)]


def test_array_groups_that_work_at_the_same_time_have_threads_of_their_own() -> None:
    products = [{**MVM, "group": group, "rd": rd} for group, rd in ((0, 1), (1, 2), (0, 3))]
    far = registers(*(10_000 * number for number in range(1, 6)))
    recording = record(stream([SETBW, *far, *products]), machine(rob_size=8))
    slices = trace_slices(recording, NO_LABELS)
    first, second, third = sorted(listed(slices, MATRIX) + listed(slices, MATRIX + 1), key=lambda row: row[2])
    assert first[3] > second[2], "the second group does not begin while the first one works"
    assert first in listed(slices, MATRIX)
    assert second in listed(slices, MATRIX + 1)
    assert third in listed(slices, MATRIX), "the first group has ended, so that one more thread is enough"


@pytest.mark.parametrize("gap_ps", [0, 3000, 10**12])
@pytest.mark.parametrize("seed", range(40))
def test_slices_of_a_thread_do_not_overlap_and_sum_up_to_the_busy_times(seed: int, gap_ps: int) -> None:
    recording, plain, _ = random_recording(seed)
    label = np.arange(len(recording.run.stream.op)) // 3
    slices = trace_slices(recording, label, gap_ps)
    same = (np.diff(slices.core) == 0) & (np.diff(slices.thread) == 0)
    assert (slices.begin_ps[1:][same] >= slices.end_ps[:-1][same]).all()
    assert (slices.end_ps > slices.begin_ps).all()
    assert (slices.busy_ps <= slices.end_ps - slices.begin_ps).all()
    if not gap_ps:
        assert (slices.busy_ps == slices.end_ps - slices.begin_ps).all()
    names = {VECTOR: "vector", TRANSFER: "transfer", NETWORK: "switch", LOCAL_MEMORY: "local_memory", MATRIX: "groups"}
    for number, core in enumerate(plain.cores):
        mine = slices.core == number
        for thread, name in names.items():
            of_unit = (slices.thread >= MATRIX) if thread == MATRIX else slices.thread == thread
            assert slices.busy_ps[mine & of_unit].sum() == round(core.busy_ns[name] * 1000)
    assert slices.busy_ps[slices.thread == SERVICE].sum() == round(plain.global_memory_busy_ns * 1000)


def test_flows_lead_from_send_to_recv() -> None:
    recording = record(stream([SETBW, ADD, {**SEND, "core": 1}], [SETBW, {**RECV, "core": 0}]), MACHINE)
    flows = message_flows(recording, np.array([0, 0, 7, 0, 9]), 10)
    assert flows.core.tolist() == [[0, 1]]
    assert flows.at_ps.tolist() == [[84_000, 120_000]]
    assert flows.label.tolist() == [7]
    assert len(message_flows(recording, NO_LABELS, 0).label) == 0


# The file


def events_of(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.name.lower().endswith(".gz") else path.read_bytes()
    content = json.loads(data, parse_float=Decimal)
    assert content["displayTimeUnit"] == "ns"
    return content["traceEvents"]


def names_of(events: list[dict[str, Any]]) -> tuple[dict[int, str], dict[tuple[int, int], str]]:
    processes = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
    return processes, threads


def test_a_trace_of_a_package(compiled_network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.json"
    assert tile_run([str(compiled_network), "--timing", "--json", "--trace", str(trace), "--trace-flows", "3"]) == 0
    timing = json.loads(capsys.readouterr().out)
    assert tile_run([str(compiled_network), "--timing", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == timing, "a trace changes nothing about the result"
    events = events_of(trace)
    processes, threads = names_of(events)
    slices = [one for one in events if one["ph"] == "X"]
    busy: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    until: dict[tuple[int, int], Decimal] = defaultdict(Decimal)
    for one in slices:
        thread = one["pid"], one["tid"]
        assert one["ts"] >= until[thread], "slices of a thread overlap, or are not in order"
        until[thread] = one["ts"] + one["dur"]
        busy[processes[one["pid"]], threads[thread]] += one["dur"]
    for core in timing["cores"]:
        for unit, name in (("groups", "matrix"), ("vector",) * 2, ("transfer",) * 2, ("switch", "network")):
            assert 1000 * busy[f"core {core['core']}", name] == Decimal(core["busy_ns"][unit])
    assert max(until.values()) * 1000 <= Decimal(timing["makespan_ns"])
    assert {(one["name"], one["cat"]) for one in slices} == {
        ("conv1", "Conv"), ("relu1", "Relu"), ("conv2", "Conv"), ("add", "Add"), ("pool", "MaxPool"),
        ("(no node)", "node"),
    }  # fmt: skip
    (program, _) = read_package_program(compiled_network)
    counted = sum(one["args"]["instructions"] for one in slices if threads[one["pid"], one["tid"]] == "matrix")
    assert counted == (program.columns.op == 8).sum()


def test_arrows_begin_and_end_within_slices_of_the_transfer_units(compiled_network: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    assert tile_run([str(compiled_network), "--timing", "-q", "--trace", str(trace), "--trace-flows", "5"]) == 0
    events = events_of(trace)
    ends: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for one in events:
        if one["ph"] in ("s", "f"):
            ends[one["id"]].append(one)
            assert any(
                other["ph"] == "X" and (other["pid"], other["tid"]) == (one["pid"], one["tid"])
                and other["ts"] <= one["ts"] < other["ts"] + other["dur"]
                for other in events
            )  # fmt: skip
    assert len(ends) == 5
    for start, finish in ends.values():
        assert (start["ph"], finish["ph"]) == ("s", "f")
        assert start["ts"] < finish["ts"]
        assert start["pid"] != finish["pid"]


def test_a_compressed_trace_is_the_same_and_has_the_same_bytes_each_time(
    compiled_network: Path, tmp_path: Path
) -> None:
    for name in ("one.json", "one.json.gz", "two.JSON.GZ"):
        assert tile_run([str(compiled_network), "--timing", "-q", "--trace", str(tmp_path / name)]) == 0
    first, packed, again = (tmp_path / name for name in ("one.json", "one.json.gz", "two.JSON.GZ"))
    assert gzip.decompress(packed.read_bytes()) == first.read_bytes()
    assert packed.read_bytes() == again.read_bytes()


def test_joined_slices_say_how_much_of_them_is_work(compiled_network: Path, tmp_path: Path) -> None:
    for name, gap in (("exact", "0"), ("joined", "20")):
        arguments = ["--timing", "-q", "--trace", str(tmp_path / name), "--trace-gap", gap]
        assert tile_run([str(compiled_network), *arguments]) == 0
    exact, joined = ([one for one in events_of(tmp_path / name) if one["ph"] == "X"] for name in ("exact", "joined"))
    assert len(joined) < len(exact)
    assert not any("busy_us" in one["args"] for one in exact)
    assert sum(one["args"].get("busy_us", one["dur"]) for one in joined) == sum(one["dur"] for one in exact)


def test_a_stream_without_layers_has_opcodes(compiled_network: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    arguments = [str(compiled_network / "program.json.gz"), "--timing", "--machine", "reference144", "-q"]
    assert tile_run([*arguments, "--trace", str(trace)]) == 0
    names = {one["name"] for one in events_of(trace) if one["ph"] == "X"}
    assert {"mvmul", "vvadd", "send", "recv", "sldi"} <= names


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_run_that_is_cut_has_nothing_after_its_end(compiled_network: Path, tmp_path: Path, share: float) -> None:
    package, _ = read_package_program(compiled_network)
    whole_ms = record(package, Machine.load("reference144")).result.makespan_ns * 1e-6
    traces = tmp_path / "whole.json", tmp_path / "cut.json"
    assert tile_run([str(compiled_network), "--timing", "-q", "--trace", str(traces[0])]) == 0
    arguments = ["--sim-time", str(share * whole_ms), "--trace", str(traces[1])]
    assert tile_run([str(compiled_network), "--timing", "-q", *arguments]) == 1
    whole, cut = ([one for one in events_of(trace) if "ts" in one] for trace in traces)
    end_us = Decimal(share * whole_ms * 1000)
    assert 0 < len(cut) < len(whole)
    assert all(one["ts"] + one.get("dur", 0) <= end_us + Decimal("0.001") for one in cut)


def test_a_run_that_does_not_finish_has_a_trace_up_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stuck = package(program("recv r1, size=64, core=1", "vvadd r1, r1, r1, len=64"))
    write_package(dataclasses.replace(stuck, machine=Origin("tiny4", MACHINE.digest())), tmp_path / "stuck.tilepkg")
    trace = tmp_path / "trace.json"
    assert tile_run([str(tmp_path / "stuck.tilepkg"), "--timing", "--trace", str(trace)]) == 1
    assert "core 0: blocked at core 0, instruction 1 (recv)" in capsys.readouterr().out
    (waits,) = (one for one in events_of(trace) if one["ph"] == "X" and (one["pid"], one["tid"]) == (1, TRANSFER))
    # Core 1 has written its sum at 82, left it at 83, and its last write takes until 115.
    assert (waits["ts"], waits["dur"]) == (Decimal("0.004"), Decimal("0.111"))


def test_times_below_a_nanosecond_are_exact(tmp_path: Path) -> None:
    recording = record(stream(TWO_SUMS), machine(period=0.25))
    from tilec.tools.trace_file import Label, write_trace

    slices, flows = trace_slices(recording, NO_LABELS), message_flows(recording, NO_LABELS, 0)
    write_trace(tmp_path / "trace", False, slices, flows, [Label('"x"\n', "Conv")], [3], {})
    events = [one for one in events_of(tmp_path / "trace") if one["ph"] == "X"]
    assert [int(one["ts"] * 10**6) for one in events] == slices.begin_ps.tolist()
    assert [int(one["dur"] * 10**6) for one in events] == (slices.end_ps - slices.begin_ps).tolist()
    assert any(one["dur"] % Decimal("0.001") for one in events)
    assert {one["name"] for one in events} == {'"x"\n'}
    processes, _ = names_of(events_of(tmp_path / "trace"))
    assert set(processes.values()) == {"core 3"}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--trace", "t"], "error: --trace: is only used with --timing; add --timing"),
        (["--timing", "--trace-gap", "3"], "error: --trace-gap: is only used with --trace; add --trace FILE.json"),
        (["--timing", "--trace-flows", "3"], "error: --trace-flows: is only used with --trace; add --trace FILE.json"),
        (["--timing", "--trace", "t", "--mode", "throughput"], "error: --trace: is of one run of every core"),
        (["--timing", "--trace", "t", "--trace-gap", "-1"], "must be from 0 to 1e15, not -1"),
        (["--timing", "--trace", "t", "--trace-flows", "x"], "must be a whole number from 0 on"),
        (["--timing", "--trace", "{}/manifest.json"], "would replace the package; name another file"),
        (["--timing", "--trace", "{}"], "is a directory; name a file"),
        (["--timing", "--trace", "{}/no/trace.json"], "there is no directory"),
    ],
)
def test_errors(compiled_network: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str) -> None:
    before = sorted(compiled_network.rglob("*"))
    assert tile_run([str(compiled_network), *(one.format(compiled_network) for one in arguments)]) == 1
    printed = capsys.readouterr()
    assert error in printed.err
    assert "Traceback" not in printed.err
    assert not printed.out
    assert sorted(compiled_network.rglob("*")) == before


def test_a_full_disk_leaves_no_file(compiled_network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trace.json").write_text("old")
    with file_size_limit(10_000):
        assert tile_run([str(compiled_network), "--timing", "-q", "--trace", str(tmp_path / "trace.json")]) == 1
    assert f"error: {tmp_path / 'trace.json'}: cannot be written" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["trace.json"]
    assert (tmp_path / "trace.json").read_text() == "old"
