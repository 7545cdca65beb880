"""Reading `program.json`: this project's own and foreign ones, and what is wrong with bad ones."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from programs import program, programs
from tilec.analysis.machine import Machine, Precision
from tilec.codegen.columns import Program, Target
from tilec.codegen.json_reader import parse_program_json, read_program_json
from tilec.codegen.json_stream import program_json
from tilec.simulators.timing.stream import stream_of
from tilec.support.diagnostics import TileError

TARGET = Target.of(Machine.load("tiny4"), Precision())
BODY = """
setbw ibiw=8, obiw=16
sldi r1, imm=-5
mvmul r1, r2, mbiw=8, group=0, relu=1
vvadd r1, r2, r3, len=7
lmv r1, r2, len=9
lldi r3, len=4, imm=2
ld r1, r2, size=8
st r2, r1, size=8
vvmax r1, r2, r3, len=7, offset=-64, select=6
send r1, size=8, core=0, offset=2147483647, select=2
"""


def content(*lines: object, **config: Any) -> bytes:
    full = {"core_cnt": 1, "array_group_map": {"core0": [1, 2]}} | config
    return json.dumps({"config": full, "core0": list(lines)}).encode()


def test_a_program_survives_the_way_through_json() -> None:
    original = program(BODY, groups=[[1, 2]])
    text = b"".join(program_json(original))
    for data in (text, gzip.compress(text), zlib.compress(text)):
        read = parse_program_json(data, "p").to_program(original.target)
        assert read.columns.equals(original.columns)
        assert read.groups[: len(original.groups)] == original.groups


@given(programs(with_nodes=False))
def test_the_clock_sees_the_same_in_columns_and_in_json(made: Program) -> None:
    """Of instructions that make sense, whatever their operands are."""
    try:
        expected = stream_of(made)
    except TileError:
        return
    found = stream_of(parse_program_json(b"".join(program_json(made)), "p"))
    for name in ("op", "length", "size", "offset", "offset_select", "core_start"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_fields_are_read_as_the_simulator_reads_them() -> None:
    data = content({"op": "sldi", "imm": 2**31 + 5, "len": 3.9, "comment": "x"}, {"op": "vvadd", "relu": True})
    read = parse_program_json(data, "p")
    assert read.fields["imm"].tolist() == [5 - 2**31, 0]
    assert read.fields["len"].tolist() == [3, 0]


def test_cores_may_be_missing_and_those_beyond_the_count_are_ignored() -> None:
    config = {"core_cnt": 3, "array_group_map": {}}
    line = [{"op": "sldi"}]
    data = json.dumps({"config": config, "core0": line, "core2": line, "core3": ["junk"], "note": 1}).encode()
    read = parse_program_json(data, "p")
    assert read.core_ids == (0, 2)
    assert read.core_start.tolist() == [0, 1, 2]
    assert read.to_program(TARGET).core_count == 3


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"op": "jump"}, 'core 0, instruction 0 has no known op but "jump"'),
        ({"op": "nop"}, "is nop, which hangs"),
        ({}, "has no known op but missing"),
        (7, "is 7, not an object"),
        ({"op": "sldi", "imm": "5"}, 'imm is "5", not a number'),
        ({"op": "sldi", "imm": None}, "imm is missing, not a number"),
        ({"op": "sldi", "rd": 32}, "rd is 32, not a register from 0 to 31"),
        ({"op": "vvadd", "offset": 0}, "offset is 0, not an object"),
        ({"op": "vvadd", "offset": {"offset_value": []}}, "offset_value is "),
        ({"op": "sldi", "imm": 1e300}, "imm is 1e"),
    ],
)
def test_bad_instructions(line: object, what: str) -> None:
    with pytest.raises(TileError) as caught:
        parse_program_json(content(line), "p")
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is neither JSON nor compressed JSON"),
        (b"{", "is not valid JSON"),
        (gzip.compress(b"[]", mtime=0), "the file is [], not an object"),
        (b"{}", "config is missing, not an object"),
        (content(core_cnt=-1), "config.core_cnt is -1"),
        (content(core_cnt=True), "config.core_cnt is true"),
        (content(array_group_map=None), "config.array_group_map is missing"),
        (content(array_group_map={"core0": [-1]}), "config.array_group_map.core0[0] is -1"),
        (b'{"config": {"core_cnt": 1, "array_group_map": {}}, "core0": 3}', "core0 is 3, not a list"),
    ],
)
def test_bad_files(data: bytes, what: str) -> None:
    with pytest.raises(TileError) as caught:
        parse_program_json(data, "p")
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"op": "sld"}, "sld"),
        ({"op": "vvadd", "len": 1, "offset": {"offset_value": 2}}, "an offset that its operands do not take"),
        ({"op": "mvmul", "mbiw": 8, "offset": {"offset_value": 2, "offset_select": 1}}, "an offset that its operands"),
        ({"op": "vmv", "len": 1, "offset": {"offset_select": 2}}, "an offset that its operands do not take"),
        ({"op": "lmv", "len": 1, "size": 2}, "different len and size"),
        ({"op": "vvadd", "len": 0}, "len"),
    ],
)
def test_what_a_program_cannot_express(line: object, what: str) -> None:
    with pytest.raises(TileError, match=what):
        parse_program_json(content(line), "p").to_program(TARGET)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TileError, match="cannot be read"):
        read_program_json(tmp_path / "none.json")
