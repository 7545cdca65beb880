"""Proxies of finished streams: small programs whose numbers are counted by hand, and others counted step by step."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import columns_strategy, load, package, program, store
from tilec.analysis.machine import Machine, Precision
from tilec.analysis.proxies import Level, counts
from tilec.codegen.columns import Program
from tilec.codegen.isa import SCALAR_OPS, Op
from tilec.codegen.package import Package
from tilec.codegen.package_proxies import package_proxies, place_digest
from tilec.codegen.register_use import REGISTER_READS, needless_scalars
from tilec.codegen.stream_path import stream_path
from tilec.simulators.timing import simulate

MACHINE = Machine.load("tiny4")

SENDER = f"""{load(16)}
mvmul r30, r29, mbiw=8, group=0, relu=0
sldi r1, imm=32
vvadd r1, r30, r30, len=8
send r1, size=8, core=1"""
RECEIVER = f"""sldi r1, imm=64
recv r1, size=8, core=0
vrelu r1, r1, len=8
{store(8, 64)}"""


def pair() -> Package:
    made = program(SENDER, RECEIVER, groups=[[2], []])
    weights = {(0, 0): np.ones((8, 6), np.float32)}
    return dataclasses.replace(package(made, matrices=weights), options={})


def test_by_hand() -> None:
    found = package_proxies(pair(), MACHINE)
    assert found.level is Level.PACKAGE
    assert (found.mvm_count, found.vector_count, found.width) == (1, 2, 2)
    assert (found.sends, found.send_bytes, found.receives, found.receive_bytes) == (1, 8, 1, 8)
    assert (found.host_to_device_copies, found.host_to_device_bytes) == (1, 16)
    assert (found.device_to_host_copies, found.device_to_host_bytes) == (1, 8)
    assert (found.local_copies, found.host_bytes, found.weight_elements) == (0, 256, 48)
    # setbw, 3 + ld, mvmul, sldi, vvadd, send, lldi; setbw, sldi, recv, vrelu, 3 + st, lldi
    assert (found.instructions, found.instructions_max) == (19, 10)
    assert dict(found.instruction_kinds or ()) == {
        "setbw": 2, "sldi": 8, "ld": 1, "mvmul": 1, "vvadd": 1, "send": 1, "lldi": 2, "recv": 1, "vrelu": 1, "st": 1,
    }  # fmt: skip
    # The group has 2 arrays of 4 columns; what reaches furthest is the sum, and on the other core what was received.
    assert found.logical_core_bytes == found.physical_core_bytes == (("00000", 40), ("00001", 72))
    assert found.core_bytes_max == 72
    assert found.byte_hops == 8 * MACHINE.hops[0, 1]
    assert found.machine == " 8/8/8 "


def test_cycles_by_hand() -> None:
    machine, bits = MACHINE, Precision()
    add, relu = (int(machine.vector_cycles(op, 8, bits)) for op in (Op.VVADD, Op.VRELU))
    fill = int(machine.fill_cycles(1))
    first = int(machine.load_cycles(0, 16)) + int(machine.mvm_cycles(2, bits)) + add
    send, receive = int(machine.send_cycles(0, 1, 8)), int(machine.recv_cycles(0, 1, 8))
    last = relu + int(machine.store_cycles(1, 8)) + fill
    found = package_proxies(pair(), machine)
    assert found.busy_cycles == counts({"00000": first + send + fill, "00001": receive + last})
    assert found.makespan_cycles == max(first + send + fill, first + receive + last)
    assert found.work_cycles == first + send + fill + receive + last


def test_without_a_machine_only_cycles_and_hops_are_absent() -> None:
    known, unknown = package_proxies(pair(), MACHINE).to_json(), package_proxies(pair()).to_json()
    assert known.keys() - unknown.keys() == {
        "busy_cycles", "busy_cycles_max", "work_cycles", "makespan_cycles", "order", "byte_hops",
    }  # fmt: skip


def test_streams_that_change_their_widths_have_no_cycles() -> None:
    made = program("setbw ibiw=16, obiw=16\nvrelu r1, r1, len=8")
    assert package_proxies(package(made), MACHINE).work_cycles is None


def test_nodes() -> None:
    made = pair()
    op = made.program.columns.op
    node = np.where(op == Op.VRELU, 1, np.where(np.isin(op, (Op.MVMUL, Op.VVADD)), 0, -1)).astype(np.int32)
    made = dataclasses.replace(made, program=dataclasses.replace(made.program, node=node, node_names=("a", "b")))
    found = package_proxies(made)
    assert found.width_of_node == (("a", 1), ("b", 1))
    assert found.product_elements == (("a", 6),)
    assert found.assignment == place_digest([("b", 1), ("a", 0)]) != place_digest([("a", 1), ("b", 0)])


def test_the_path_waits_for_messages() -> None:
    made = program(SENDER, RECEIVER, groups=[[2], []])
    cycles = np.zeros(len(made.columns), np.int64)
    send, receive, relu = (int(np.flatnonzero(made.columns.op == op)[0]) for op in (Op.SEND, Op.RECV, Op.VRELU))
    cycles[[send, receive, relu]] = 5, 7, 100
    assert stream_path(made, cycles) == 107
    cycles[send - 1] = 1000
    assert stream_path(made, cycles) == 1107
    cycles[send + 1] = 200
    assert stream_path(made, cycles) == 1205


def test_no_path_where_cores_wait_for_ever_or_for_events() -> None:
    cycles = np.ones(100, np.int64)
    made = program("recv r1, size=8, core=1", "recv r1, size=8, core=0")
    assert stream_path(made, cycles[: len(made.columns)]) is None
    made = program("sync event=1, core=1", "wait event=1, value=1")
    assert stream_path(made, cycles[: len(made.columns)]) is None


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 9)), max_size=12))
def test_the_path_is_the_clock_s_but_for_handshakes_and_the_front_end(events: list[tuple[int, int, int]]) -> None:
    """Work on one core, or a message between two. The clock lets a request fly while its receiver is busy,
    and has a receiver that comes first wait for it."""
    lines: list[list[str]] = [[] for _ in range(4)]
    for core, other, size in events:
        if core == other:
            lines[core].append(f"vvadd r1, r1, r1, len={8 * size}")
        else:
            lines[core].append(f"send r1, size={size}, core={other}")
            lines[other].append(f"recv r1, size={size}, core={core}")
    made = package(program(*map("\n".join, lines)))
    found = package_proxies(made, MACHINE)
    assert found.makespan_cycles is not None
    clock = simulate(made.program, MACHINE).latency_ns / MACHINE.period_ns
    handshakes = (found.sends or 0) * (MACHINE.flight_ns(0, 3, 1) + 2) / MACHINE.period_ns
    assert found.makespan_cycles - handshakes <= clock <= found.makespan_cycles + handshakes + 4


# Scalar instructions that could be left out


@pytest.mark.parametrize(
    ("lines", "needless"),
    [
        ("sldi r1, imm=5\nvrelu r1, r1, len=1", 0),
        ("sldi r1, imm=5\nsldi r1, imm=5\nvrelu r1, r1, len=1", 2),  # the first is not read, the second changes nothing
        ("sldi r1, imm=5\nvrelu r1, r1, len=1\nsldi r1, imm=5\nvrelu r1, r1, len=1", 1),
        ("sldi r1, imm=0\nvrelu r1, r1, len=1", 1),
        # The second round finds 5, so that the 0 has to be loaded; and 0, which the last load leaves there.
        ("sldi r1, imm=0\nvrelu r1, r1, len=1\nsldi r1, imm=5\nvrelu r1, r1, len=1", 0),
        ("vrelu r1, r1, len=1\nsldi r1, imm=5\nvrelu r1, r1, len=1\nsldi r1, imm=0", 0),
        ("sldi r1, imm=5\nsldi r2, imm=5\nvrelu r1, r1, len=1", 1),
        ("sldi r1, imm=5\nsaddi r1, r1, imm=0\nvrelu r1, r1, len=1\nsldi r1, imm=5\nvrelu r1, r1, len=1", 0),
        ("sldi r2, imm=5\nsldi r3, imm=6\nld r1, r2, size=1", 0),
        ("sldi r2, imm=5\nsldi r3, imm=6\nst r2, r1, size=1", 0),
        ("sldi r2, imm=5\nsldi r3, imm=6\nst r3, r1, size=1", 1),
    ],
)
def test_needless_scalars(lines: str, needless: int) -> None:
    assert needless_scalars(program(lines)) == needless


def one_by_one(made: Program) -> int:
    """The same, with the values that registers hold and have held."""
    found = 0
    for core in range(made.core_count):
        columns = made.core(core)
        at_end: dict[int, int | None] = {}
        early: set[int] = set()
        for row in range(len(columns)):
            op = Op(int(columns.op[row]))
            early |= {int(getattr(columns, name)[row]) + offset for name, offset in REGISTER_READS[op]} - set(at_end)
            if op in SCALAR_OPS:
                at_end[int(columns.rd[row])] = int(columns.a[row]) if op is Op.SLDI else None
        last: dict[int, tuple[int, int | None]] = {}
        unread: set[int] = set()
        for row in range(len(columns)):
            op = Op(int(columns.op[row]))
            for name, offset in REGISTER_READS[op]:
                if (register := int(getattr(columns, name)[row]) + offset) in last:
                    unread.discard(last[register][0])
            if op in SCALAR_OPS:
                register, value = int(columns.rd[row]), int(columns.a[row]) if op is Op.SLDI else None
                held = last.get(register, (-1, 0 if at_end[register] == 0 else None))[1]
                unread.add(row)
                if value is not None and value == held:
                    found += 1
                    unread.discard(row)
                if register in last and last[register][0] in unread:
                    unread.discard(last[register][0])
                    found += 1
                last[register] = (row, value)
        found += len(unread - {last[register][0] for register in early & set(last)})
    return found


@settings(deadline=None, max_examples=200)
@given(columns_strategy((Op.SLDI, Op.SADDI, Op.SADD, Op.VVADD, Op.LD, Op.ST, Op.SEND)))
def test_needless_scalars_one_by_one(columns: object) -> None:
    made = Program.from_cores(program("").target, [columns, columns], [(), ()])  # pyright: ignore
    assert needless_scalars(made) == one_by_one(made)
