"""The stream validator: each rule has a program that breaks it and nothing else."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import GLOBAL_BYTES, TARGET, load, program, programs, store
from tilec.codegen import stream_check
from tilec.codegen.assembly import parse_assembly
from tilec.codegen.columns import Columns, Program, Target
from tilec.codegen.isa import REGISTER_COUNT, SCALAR_OPS, Op
from tilec.codegen.memory_image import WeightTable
from tilec.codegen.register_use import REGISTER_READS, stale_reads
from tilec.codegen.registers import final_values
from tilec.codegen.rendezvous import rendezvous
from tilec.codegen.stream_check import StreamCheck, check_stream, require_valid_stream
from tilec.support.diagnostics import TileError


def faults(made: Program, weights: WeightTable | None = None) -> list[str]:
    return [str(fault) for fault in check_stream(made, weights, GLOBAL_BYTES)]


SEND = "sldi r1, imm=0\nsend r1, size={size}, core={core}"
RECV = "sldi r2, imm=64\nrecv r2, size={size}, core={core}"


def send(core: int, size: int = 8) -> str:
    return SEND.format(core=core, size=size)


def recv(core: int, size: int = 8) -> str:
    return RECV.format(core=core, size=size)


def lines(*parts: str) -> str:
    return "\n".join(parts)


def test_a_good_program_has_no_faults() -> None:
    made = program(
        lines(load(8), "mvmul r0, r30, mbiw=8, group=1, relu=0", send(1), recv(2)),
        lines(recv(0), send(2)),
        lines(recv(1), send(0), store(8, 64)),
        groups=[[1, 2]],
    )
    assert faults(made) == []
    require_valid_stream(made)


def test_what_a_register_holds_at_the_end_it_may_hold_at_the_start() -> None:
    assert faults(program("lmv r0, r1, len=4\nsldi r1, imm=8\nlmv r0, r1, len=4\nsldi r1, imm=0")) == []
    assert faults(program("lmv r0, r1, len=4\nsldi r2, imm=8\nlmv r0, r2, len=4")) == []


def raw(text: str) -> Program:
    header = ".target cores=2 array_rows=8 array_cols=4 arrays_per_core=4 local_memory_bytes=256\n.core 0 groups=[1]\n"
    return parse_assembly(header + text)


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (raw("setbw ibiw=8, obiw=8"), "core 0: has 1 instruction; the simulator needs at least 2"),
        (raw("sldi r1, imm=1\nlldi r1, len=1, imm=0"), "core 0, instruction 0: the first instruction is not setbw"),
        (raw("setbw ibiw=8, obiw=8\nsldi r1, imm=1"), "core 0, instruction 1: a core that ends in a scalar"),
        (
            program("lmv r0, r1, len=4\nsldi r1, imm=8\nlmv r0, r1, len=4"),
            "core 0, instruction 1: reads a register that is 0 in the first round only",
        ),
        (
            program("", "ld r0, r4, size=4\nsldi r5, imm=8\nld r0, r4, size=4"),
            "core 1, instruction 1: reads a register that is 0 in the first round only",
        ),
        (
            program("saddi r1, r1, imm=8\nlmv r0, r1, len=4"),
            "core 0, instruction 1: reads a register that is 0 in the first round only",
        ),
        (
            program("mvmul r0, r1, mbiw=8, group=1, relu=0", groups=[[1]]),
            "core 0, instruction 1: group 1 does not exist",
        ),
        (program("", groups=[[2, 3]]), "core 0: its groups take 5 arrays, but a core has 4"),
        (program(send(0), ""), "core 0, instruction 2: a core cannot communicate with itself"),
        (program(send(7), ""), "core 0, instruction 2: core 7 has no instructions"),
        (program("sync event=0, core=3"), "core 0, instruction 1: core 3 has no instructions"),
        (program(send(1), ""), "core 0, instruction 2: core 0 sends 1 messages to core 1, which receives 0"),
        (
            program(lines(send(1), send(1)), recv(0)),
            "core 0, instruction 4: core 0 sends 2 messages to core 1, which rec",
        ),
        (program("", recv(0)), "core 1, instruction 2: core 0 sends 0 messages to core 1, which receives 1"),
        (
            program(lines(send(1), send(1, 4)), lines(recv(0), recv(0, 5))),
            "core 0, instruction 4: sends 4 bytes, but core 1, instruction 4 (recv) expects 5",
        ),
        (
            program(lines(send(1), recv(1)), lines(send(0), recv(0))),
            "core 0, instruction 2: deadlock: waits for core 1",
        ),
        (program("wait event=3, value=1"), "core 0, instruction 1: deadlock: waits for event 3 for ever"),
        (
            program("sldi r1, imm=250\nvrelu r0, r1, len=8"),
            "core 0, instruction 2: reads local memory at bytes 250 to 258, beyond its 256 bytes",
        ),
        (
            program("sldi r1, imm=-1\nvrelu r1, r0, len=8"),
            "core 0, instruction 2: writes local memory at bytes -1 to 7, beyond its 256 bytes",
        ),
        (
            program("vrelu r0, r0, len=8, offset=249, select=2"),
            "core 0, instruction 1: reads local memory at bytes 249 to 257, beyond its 256 bytes",
        ),
        (
            program("sldi r1, imm=7\nlldi r1, len=1, imm=0, offset=-8, select=1"),
            "core 0, instruction 2: writes local memory at bytes -1 to 0",
        ),
        (
            program("sldi r1, imm=252\nvvadd r0, r2, r1, len=8"),
            "core 0, instruction 2: reads local memory at bytes 252 to 260",
        ),
        (
            program("sldi r1, imm=100\nvmv r0, r2, r1, len=4"),
            "core 0, instruction 2: reads local memory at bytes 0 to 301",
        ),
        (program("sldi r1, imm=-2\nvmv r0, r2, r1, len=4"), "core 0, instruction 2: reads local memory"),
        (
            program("sldi r1, imm=250\nmvmul r1, r0, mbiw=8, group=0, relu=0", groups=[[2]]),
            "core 0, instruction 2: writes local memory at bytes 250 to 258",
        ),
        (
            program("sldi r5, imm=250\nld r0, r4, size=8"),
            "core 0, instruction 2: reads global memory at bytes 250 to 258, beyond its 256 bytes",
        ),
        (
            program("sldi r4, imm=1\nst r4, r0, size=8"),
            "core 0, instruction 2: writes global memory at bytes 4294967296 to 4294967304",
        ),
    ],
)
def test_each_rule(made: Program, fault: str) -> None:
    found = faults(made)
    assert found
    assert re.match(re.escape(fault), found[0]), found


def test_fields_come_first() -> None:
    columns = Columns.concat([Columns.of(Op.SETBW, a=8, b=8), Columns.of(99), Columns.of(Op.VRELU, a=0)])
    made = Program.from_cores(TARGET, [columns], [[]])
    assert faults(made) == [
        "core 0, instruction 1: opcode 99 does not exist",
        "core 0, instruction 2: vrelu: len is 0, not from 1 to 2147483647",
    ]


def test_whole_elements() -> None:
    target = Target(8, 4, 4, 256, element_bytes=2)
    assert faults(made_wide(target, 2)) == []
    found = faults(made_wide(target, 3))
    assert found == ["core 0, instruction 2: writes local memory at bytes 3 to 19, not at whole elements"]


def test_offsets_count_elements_in_vector_instructions_and_bytes_in_transfers() -> None:
    target = Target(8, 4, 4, 256, element_bytes=2)
    settings = " ".join(f"{name}={value}" for name, value in vars(target).items())
    for instruction, start in (
        ("vrelu r0, r0, len=8, offset=125, select=1", 250),
        ("lmv r0, r0, len=16, offset=250, select=1", 250),
    ):
        text = f".target cores=1 {settings}\n.core 0 groups=[]\nsetbw ibiw=16, obiw=16\n{instruction}\n"
        (fault,) = faults(parse_assembly(text))
        assert f"writes local memory at bytes {start} to {start + 16}" in fault


def test_an_offset_for_nothing() -> None:
    for columns, reason in (
        (Columns.of(Op.VMV, a=1, c=1, select=1), "vmv: select is 1, but the offset can be added only to 0"),
        (Columns.of(Op.LD, a=1, c=1, select=3), "ld: select is 3, but the offset can be added only to 1"),
        (Columns.of(Op.VRELU, a=1, c=1), "vrelu has no operand c, but 1 stands there"),
    ):
        made = Program.from_cores(TARGET, [Columns.concat([Columns.of(Op.SETBW, a=8, b=8), columns])], [[]])
        assert faults(made) == [f"core 0, instruction 1: {reason}"]


def made_wide(target: Target, address: int) -> Program:
    body = f"sldi r1, imm={address}\nvrelu r1, r0, len=8\nlldi r0, len=2, imm=0"
    settings = " ".join(f"{name}={value}" for name, value in vars(target).items())
    return parse_assembly(f".target cores=1 {settings}\n.core 0 groups=[]\nsetbw ibiw=16, obiw=16\n{body}\n")


def test_a_narrow_matrix_reads_only_its_rows() -> None:
    made = program("sldi r1, imm=252\nmvmul r0, r1, mbiw=8, group=0, relu=0", groups=[[1]])
    assert "reads local memory at bytes 252 to 260" in faults(made)[0]
    weights = WeightTable.from_groups([[np.zeros((4, 4), np.float32)]])
    assert faults(made, weights) == []


def test_node_names_are_shown() -> None:
    header = '.target cores=1 array_rows=8 array_cols=4 arrays_per_core=4 local_memory_bytes=256\n.node 0 "conv"\n'
    made = parse_assembly(header + ".core 0 groups=[]\nsetbw ibiw=8, obiw=8\nlldi r0, len=300, imm=0 @0\n")
    assert faults(made) == [
        "core 0, instruction 1: writes local memory at bytes 0 to 300, beyond its 256 bytes (node conv)"
    ]
    with pytest.raises(TileError, match=r"error: a.tilepkg: core 0, instruction 1"):
        require_valid_stream(made, where="a.tilepkg")


@given(programs())
def test_any_program_is_judged_without_an_exception(made: Program) -> None:
    check_stream(made, None, GLOBAL_BYTES)


def test_syncs_and_waits() -> None:
    passing = program("sync event=2, core=1\nsync event=2, core=1", "wait event=2, value=2\nwait event=2, value=0")
    assert faults(passing) == []
    early = program("sync event=2, core=1\nwait event=0, value=1", "wait event=2, value=1\nsync event=0, core=0")
    assert faults(early) == []


def naive_finishes(orders: list[list[tuple[str, int]]]) -> bool:
    """Whether all cores finish, found by trying every pair again and again."""
    heads = [0] * len(orders)
    moved = True
    while moved:
        moved = False
        for sender, order in enumerate(orders):
            if heads[sender] == len(order) or order[heads[sender]][0] != "send":
                continue
            receiver = order[heads[sender]][1]
            there = orders[receiver]
            if heads[receiver] < len(there) and there[heads[receiver]] == ("recv", sender):
                heads[sender] += 1
                heads[receiver] += 1
                moved = True
    return all(head == len(order) for head, order in zip(heads, orders, strict=True))


@given(st.integers(2, 4), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8), st.randoms())
def test_deadlocks_are_those_of_a_naive_execution(
    count: int, messages: list[tuple[int, int]], shuffler: random.Random
) -> None:
    orders: list[list[tuple[str, int]]] = [[] for _ in range(count)]
    for sender, receiver in messages:
        if sender != receiver and max(sender, receiver) < count:
            orders[sender].append(("send", receiver))
            orders[receiver].append(("recv", sender))
    for order in orders:
        if shuffler.random() < 0.4:
            shuffler.shuffle(order)
    made = program(
        *(lines(*(send(core) if kind == "send" else recv(core) for kind, core in order)) for order in orders)
    )
    found = rendezvous(made)
    assert (not found.blocked) == naive_finishes(orders)
    if not found.blocked:
        assert len(found.first) == sum(len(order) for order in orders) // 2
        assert_in_program_order(made, found.first, found.second)


def assert_in_program_order(made: Program, first: list[int], second: list[int]) -> None:
    """Every core meets its messages in its own order."""
    cores = made.core_of_rows()
    last = [-1] * made.core_count
    for pair in zip(first, second, strict=True):
        for row in pair:
            assert row > last[cores[row]]
            last[cores[row]] = row


@given(programs())
def test_cores_are_judged_alike_together_and_alone(made: Program) -> None:
    """How many of them are looked at together does not matter."""
    found: list[object] = []
    for rows in (1, 7, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stream_check, "_ROWS_AT_ONCE", rows)
            check = StreamCheck(made, limit=1000)
            found.append((check.run(), check.local_bytes))
    assert found[0] == found[1] == found[2]


@given(programs())
def test_stale_reads_are_those_of_a_second_round(made: Program) -> None:
    """An instruction before which nothing writes a register finds there what the core leaves, unless that is 0."""
    stale: list[int] = []
    for core in range(made.core_count):
        columns, start = made.core(core), int(made.core_start[core])
        left = [0] * REGISTER_COUNT
        for register, value in enumerate(final_values(columns).tolist()):
            left[register] = value
        written: set[int] = set()
        for row in range(len(columns)):
            op = Op(int(columns.op[row]))
            read = [
                min(int(getattr(columns, name)[row]) + more, REGISTER_COUNT - 1) for name, more in REGISTER_READS[op]
            ]
            if any(left[register] and register not in written for register in read):
                stale.append(start + row)
            if op in SCALAR_OPS:
                written.add(int(columns.rd[row]))
    assert stale_reads(made).tolist() == stale
