"""Assembly text: round trips, and errors that point at their place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from programs import TARGET, load, package, program, programs, same_programs, store
from tilec.codegen.assembly import assembly_text, parse_assembly, reassemble
from tilec.codegen.columns import Columns, Program
from tilec.codegen.isa import Op
from tilec.support.diagnostics import TileError

HEADER = ".target cores=2 array_rows=8 array_cols=4 arrays_per_core=4 local_memory_bytes=64 element_bytes=1\n"


@given(programs())
def test_a_program_survives_a_round_trip(made: Program) -> None:
    text = "".join(assembly_text(made))
    again = parse_assembly(text)
    assert same_programs(made, again)
    assert "".join(assembly_text(again)) == text


def test_what_it_looks_like() -> None:
    cores = [
        Columns.concat(
            [
                Columns.of(Op.SETBW, a=8, b=8),
                Columns.of(Op.SLDI, rd=1, a=-5),
                Columns.of(Op.MVMUL, rd=1, rs1=2, a=8, b=0, c=1),
                Columns.of(Op.VVADD, rd=1, rs1=2, a=4, c=-7, select=5),
                Columns.of(Op.SEND, rs1=1, a=64, b=1, c=96, select=2),
            ]
        ),
        Columns.empty(),
    ]
    nodes = [np.array([-1, 0, 1, 1, -1], np.int32), np.empty(0, np.int32)]
    made = Program.from_cores(TARGET, cores, [[2], [1, 1]], nodes, ["a", 'b"\n'])
    assert "".join(assembly_text(made)) == (
        ".target cores=2 array_rows=8 array_cols=4 arrays_per_core=4 local_memory_bytes=256 element_bytes=1\n"
        '.node 0 "a"\n'
        '.node 1 "b\\"\\n"\n'
        ".core 0 groups=[2]\n"
        "  setbw ibiw=8, obiw=8\n"
        "  sldi r1, imm=-5 @0\n"
        "  mvmul r1, r2, mbiw=8, group=0, relu=1 @1\n"
        "  vvadd r1, r2, r0, len=4, offset=-7, select=5 @1\n"
        "  send r1, size=64, core=1, offset=96, select=2\n"
        ".core 1 groups=[1, 1]\n"
    )


def test_comments_blank_lines_and_order_do_not_matter() -> None:
    text = HEADER + "\n // nothing\n.core 1 groups=[ 1,2 ] // two groups\n\n  mvmul r1,r2, relu=0,group=1 ,mbiw=8\n\n"
    made = parse_assembly(text)
    assert made.groups == ((), (1, 2))
    assert made.core(1).equals(Columns.of(Op.MVMUL, rd=1, rs1=2, a=8, b=1))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("vvad r1, r2, r3, len=4", "5:1: unknown instruction vvad; did you mean `vvadd`?"),
        ("frobnicate", "5:1: unknown instruction frobnicate; known are setbw, sldi"),
        ("vvadd r1, r2, len=4", "5:1: vvadd takes 3 registers, not 2"),
        ("vvadd r1, r2, r3", "5:1: vvadd lacks len"),
        ("vvadd r1, r2, r3, length=4", "5:26: vvadd has no operand length; did you mean `len`?"),
        ("vvadd r1, r2, r32, len=4", "5:15: rs2 is 32, not from 0 to 31"),
        ("vvadd r1, r2, r3, len=0", "5:23: len is 0, not from 1 to 2147483647"),
        ("vvadd r1, r2, r3, len=4, len=5", "5:26: len is given twice"),
        ("vvadd r1, r2, r3, len=4, offset=8", "5:1: vvadd lacks select"),
        ("vvadd r1, r2, r3, len=4, offset=8, select=0", "5:43: select is 0, not from 1 to 7"),
        ("lmv r1, r2, len=4, offset=8, select=4", "5:37: select is 4, not from 1 to 3"),
        ("mvmul r1, r2, mbiw=8, group=0, relu=0, offset=8, select=1", "5:47: mvmul has no operand offset"),
        ("ld r1, r31, size=4", "5:8: rs1 is 31, not from 0 to 30"),
        ("sldi r1, imm=99999999999999999999999", "5:14: imm is 99999999999999999999"),
        ("sldi r1, imm=1 @0", "5:17: node 0 does not exist"),
        ("sldi r1 imm=1", "5:9: unexpected 'imm=1'"),
        ("sldi r1, imm=1.5", "5:15: unexpected '.5'"),
        ("sldi r1,", "5:9: unexpected end of line"),
        (".core 1", "5:8: unexpected end of line"),
        (".core 0 groups=[]", "5:7: core 0 stands twice"),
        (".core 2 groups=[]", "5:7: core 2 does not exist"),
        (".core 1 groups=[0]", "5:17: a group of 0 arrays"),
        ('.node 3 "x"', "5:7: node 3 stands where node 0 is expected"),
        (HEADER.strip(), "5:9: a second .target"),
    ],
)
def test_a_mistake_is_shown_with_its_place(line: str, message: str) -> None:
    text = f"{HEADER}// a comment\n.core 0 groups=[]\n\n{line}\nsldi r1, imm=1\n"
    with pytest.raises(TileError) as caught:
        parse_assembly(text, "a.s")
    assert f"error: a.s:{message}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no .target"),
        ("// only this", "no .target"),
        (".core 0 groups=[]", "core 0 does not exist"),
        (".target cores=1", "lacks array_rows, array_cols, arrays_per_core, local_memory_bytes"),
        (HEADER.replace("cores=2", "cores=0"), "cores is 0"),
        (HEADER.replace("cores=2", "cores=1000000000"), "cores is 1000000000"),
        (HEADER.replace("cores=2", "kores=2"), "unknown setting kores; did you mean `cores`?"),
        (HEADER + "sldi r1, imm=1", "before the first .core"),
        (HEADER + ".core 0 groups=[" + "9" * 5000 + "]", "unexpected '9999"),
        (HEADER + "\x00", "unexpected '\\\\x00'"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(TileError, match=message):
        parse_assembly(text)


def test_several_mistakes_are_reported_together() -> None:
    with pytest.raises(TileError) as caught:
        parse_assembly(HEADER + ".core 0 groups=[]\nfoo\nsldi r1\nbar\n")
    assert str(caught.value).count("error:") == 3


def test_an_edited_program_goes_back_into_its_package() -> None:
    made = package(program(load(4) + "\n" + store(4, 0)))
    text = "".join(assembly_text(made.program)).replace("imm=128", "imm=132")
    edited = reassemble(made, text)
    assert edited.program.columns.a.max() == 132
    assert edited.inputs is made.inputs
