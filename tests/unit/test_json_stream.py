"""The stream that the pimsim-nn simulator reads."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from programs import TARGET, programs
from tilec.codegen import json_stream, row_text
from tilec.codegen.columns import Columns, Program
from tilec.codegen.isa import ISA, Op
from tilec.codegen.json_stream import write_program_json


def written(program: Program) -> bytes:
    file = io.BytesIO()
    write_program_json(program, file)
    return file.getvalue()


def one_by_one(program: Program) -> dict[str, Any]:
    """The stream, made the plain way."""
    content: dict[str, Any] = {
        "config": {
            "core_cnt": program.core_count,
            "array_group_map": {f"core{core}": list(counts) for core, counts in enumerate(program.groups) if counts},
        }
    }
    for core in range(program.core_count):
        columns = program.core(core)
        rows = []
        for row in range(len(columns)):
            info = ISA[Op(int(columns.op[row]))]
            values: dict[str, Any] = {
                key: int(getattr(columns, field.column)[row]) for field in info.fields for key in field.json_keys
            }
            if select := int(columns.select[row]):
                values["offset"] = {"offset_value": int(columns.c[row]), "offset_select": select}
            rows.append({"op": info.mnemonic} | values)
        if rows:
            content[f"core{core}"] = rows
    return content


@pytest.fixture(params=["numpy", "machine code"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is written by numpy, or by machine code."""
    monkeypatch.setattr(row_text, "WORTH_COMPILING", 0 if request.param == "machine code" else 1 << 30)


@pytest.mark.usefixtures("either_way")
def test_the_text_is_what_the_columns_say() -> None:
    @given(programs())
    def check(program: Program) -> None:
        assert json.loads(gzip.decompress(written(program))) == one_by_one(program)

    check()


@pytest.mark.usefixtures("either_way")
def test_chunks_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK_ROWS", 3)
    cores = [Columns.of(Op.SLDI, rd=1, a=np.arange(count)) for count in (0, 1, 2, 3, 4, 6, 7)]
    program = Program.from_cores(TARGET, cores, [[]] * len(cores))
    assert json.loads(gzip.decompress(written(program))) == one_by_one(program)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("value", [0, 9, 10, 9999, 10000, 10001, 99999999, 100000000, 2147483647])
def test_numbers_of_every_length(value: int) -> None:
    numbers = np.array([value, -value, 0, 1, -2147483648, value])
    program = Program.from_cores(TARGET, [Columns.of(Op.SLDI, rd=31, a=numbers)], [[]])
    rows = json.loads(gzip.decompress(written(program)))["core0"]
    assert [row["imm"] for row in rows] == numbers.tolist()


def test_the_simulators_field_names() -> None:
    cores = [
        Columns.concat(
            [
                Columns.of(Op.SETBW, a=8, b=16),
                Columns.of(Op.MVMUL, rd=1, rs1=2, a=8, b=3, c=1),
                Columns.of(Op.SEND, rs1=4, a=64, b=1),
                Columns.of(Op.LLDI, rd=5, a=7, b=-1),
                Columns.of(Op.LMV, rd=5, rs1=6, a=9),
                Columns.of(Op.SYNC, a=2, b=1),
                Columns.of(Op.WAIT, a=2, b=3),
            ]
        )
    ]
    rows = json.loads(gzip.decompress(written(Program.from_cores(TARGET, cores, [[1] * 4]))))["core0"]
    assert rows == [
        {"op": "setbw", "ibiw": 8, "obiw": 16},
        {"op": "mvmul", "rd": 1, "rs1": 2, "mbiw": 8, "group": 3, "relu": 1},
        {"op": "send", "rd": 4, "rs1": 4, "size": 64, "core": 1},
        {"op": "lldi", "rd": 5, "len": 7, "size": 7, "imm": -1},
        {"op": "lmv", "rd": 5, "rs1": 6, "len": 9, "size": 9},
        {"op": "sync", "event_register": 2, "core": 1},
        {"op": "wait", "event_register": 2, "wait_value": 3},
    ]


def test_no_time_and_no_name_in_the_gzip_header() -> None:
    data = written(Program.from_cores(TARGET, [Columns.of(Op.SLDI, a=1)], [[]]))
    assert data[:4] == b"\x1f\x8b\x08\x00"  # no optional fields
    assert data[4:8] == b"\x00" * 4  # modification time
