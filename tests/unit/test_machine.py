"""The machine model: reading architecture files, what is wrong with bad ones, and the simulator's own times."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilec.analysis.machine import START_CYCLES, Machine, Precision
from tilec.analysis.machine_file import preset_names
from tilec.codegen.isa import BY_MNEMONIC, SCALAR_OPS, VECTOR_OPS, Op
from tilec.support.diagnostics import TileError

CASES = Path(__file__).parent.parent / "data" / "pimsim"
SERIAL_CASES = sorted(path.name for path in CASES.iterdir() if not path.name.startswith("pair_"))


def serial_cycles(program: dict[str, Any], machine: Machine) -> int:
    """The time of a one-core program as the sum of its instructions' costs; plain and slow on purpose."""
    groups = program["config"]["array_group_map"].get("core0", [])
    total, input_bits, output_bits = START_CYCLES, 0, 0
    for line in program["core0"]:
        op = BY_MNEMONIC[line["op"]].op
        at = Precision(line.get("mbiw", 8), input_bits, output_bits)
        if op is Op.SETBW:
            input_bits, output_bits = line["ibiw"], line["obiw"]
            total += 1
        elif op in SCALAR_OPS:
            total += 1
        elif op is Op.MVMUL:
            total += int(machine.mvm_cycles(groups[line.get("group", 0)], at))
        elif op in VECTOR_OPS:
            total += int(machine.vector_cycles(op, line["len"], at))
        elif op is Op.LD:
            total += int(machine.load_cycles(0, line["size"]))
        elif op is Op.ST:
            total += int(machine.store_cycles(0, line["size"]))
        elif op is Op.LMV:
            total += int(machine.copy_cycles(line["len"]))
        else:
            assert op is Op.LLDI
            total += int(machine.fill_cycles(line["len"]))
    return total


@pytest.mark.parametrize("case", SERIAL_CASES)
def test_costs_add_up_to_the_simulators_latency(case: str) -> None:
    folder = CASES / case
    machine = Machine.load(folder / "machine.json", strict=False)
    program = json.loads((folder / "program.json").read_text())
    expected = json.loads((folder / "expected.json").read_text())
    assert serial_cycles(program, machine) * machine.period_ns == expected["latency_ns"]


@pytest.mark.parametrize(("case", "size"), [("pair_1", 1), ("pair_33", 33)])
def test_a_message_costs_what_the_simulator_charges(case: str, size: int) -> None:
    machine = Machine.load(CASES / case / "machine.json", strict=False)
    expected = json.loads((CASES / case / "expected.json").read_text())
    together = int(machine.recv_cycles(0, 1, size) + machine.flight_ns(0, 1, 1))
    start = START_CYCLES + 1  # setbw
    assert expected["core_finish_ns"] == {
        "0": start + int(machine.send_cycles(0, 1, size)),
        "1": start + together,
    }


def test_reference_machine_is_what_its_documentation_says() -> None:
    machine = Machine.load("reference144")
    assert (machine.core_count, machine.arrays_per_core, machine.array_rows, machine.array_cols) == (144, 64, 128, 128)
    assert (machine.local_memory_bytes, machine.layout, machine.rob_size) == (262144, (12, 12), 1)
    assert machine.latency_ns.shape == (145, 145)
    assert machine.latency_ns[0, 143] == 2 + 2 * 22
    assert machine.latency_ns[7, 144] == 15
    assert machine.hops[0, 143] == 22
    assert int(machine.mvm_cycles(1)) == 320 + 1305 + 60 + 3
    assert machine.digest() == "adce9dc18d1c37b2e87eff89a49e35f868fdc471087fe2f96e0c1721cf50d544"


def test_costs_take_arrays() -> None:
    machine = Machine.load("reference144")
    lengths = np.array([1, 32, 33, 640])
    ops = np.array([Op.VVADD, Op.VRELU, Op.VVMUL, Op.VAVG])
    one_by_one = [int(machine.vector_cycles(op, length)) for op, length in zip(ops, lengths, strict=True)]
    assert machine.vector_cycles(ops, lengths).tolist() == one_by_one
    assert machine.recv_cycles(np.array([0, 1]), np.array([1, 0]), 64).shape == (2,)
    assert machine.load_cycles(np.arange(144), 32).shape == (144,)


def test_every_preset_loads() -> None:
    assert preset_names() == ["reference144", "tiny4"]
    assert len({Machine.load(name).digest() for name in preset_names()}) == 2


def test_written_machine_reads_back_as_the_same(tmp_path: Path) -> None:
    machine = Machine.load("reference144")
    machine.write(tmp_path / "chip.json")
    again = Machine.load(tmp_path / "chip.json")
    assert again.digest() == machine.digest()
    assert json.loads((tmp_path / "chip.json").read_text())["chip_config"]["network_config"]["layout"] == [12, 12]


def good() -> dict[str, Any]:
    """The content of a valid architecture file."""
    source = Path(__file__).parent.parent.parent / "analysis" / "machines" / "tiny4.json"
    return json.loads(source.read_text())


def put(content: dict[str, Any], path: str, value: object) -> None:
    """Sets a field by its JSON path."""
    *parents, last = path.split(".")
    for key in parents:
        content = content[key]
    content[last] = value


MATRIX = "chip_config.core_config.matrix_config"
LOCAL = "chip_config.core_config.local_memory_config"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("chip_config.core_cnt", 10**12, "is out of range"),
        ("chip_config.core_cnt", 10**400, "expected a number, found an integer of many digits"),
        ("chip_config.core_cnt", 0, "is out of range"),
        ("chip_config.core_cnt", -1, "-1 is out of range; give a value from 1 to 4096"),
        ("chip_config.core_cnt", 2.5, "expected a whole number"),
        ("chip_config.core_cnt", "4", "expected a number, found '4'"),
        ("chip_config.core_cnt", True, "expected a number"),
        ("chip_config.core_cnt", None, "expected a number"),
        ("chip_config.core_cnt", 5, "a mesh of 2 x 2 has no place for 5 cores"),
        ("chip_config.core_count", 4, "unknown field; did you mean `core_cnt`?"),
        ("chip_config.core_config.period", float("nan"), "expected a number"),
        ("chip_config.core_config.period", 0, "is out of range"),
        ("chip_config.core_config.rob_size", 0, "is out of range"),
        ("chip_config.core_config", [], "expected an object, found []"),
        ("chip_config.global_memory_switch_id", 3, "is also the number of a core"),
        (f"{MATRIX}.xbar_size", [128], "expected two whole numbers"),
        (f"{MATRIX}.xbar_size", [128, -1], "-1 is out of range"),
        (f"{MATRIX}.adc_count", 20, "20 does not divide the 128 columns"),
        (f"{MATRIX}.dac_count", 256, "256 does not divide the 128 rows"),
        (f"{MATRIX}.pipeline_mode", 1, "expected true or false"),
        (f"{MATRIX}.xbar_array_count", 0, "is 0"),
        (f"{LOCAL}.memory_size", 2**40, "more than a 32-bit register can address"),
        (f"{LOCAL}.write_latency_cycle", -3, "-3 is out of range"),
        ("sim_config.sim_mode", 2, "2 is out of range"),
        ("chip_config.network_config.net_config_file_path", "net.json", "has both a `mesh` and"),
    ],
)
def test_a_bad_field_is_named_by_its_path(path: str, value: object, message: str) -> None:
    content = good()
    put(content, path, value)
    with pytest.raises(TileError) as caught:
        Machine.from_json(content, name="chip.json")
    assert message in str(caught.value)
    assert f"chip.json: {path.rsplit('.', 1)[0]}" in str(caught.value)


@pytest.mark.parametrize(
    "path", ["chip_config.core_cnt", f"{MATRIX}.xbar_array_count", f"{LOCAL}.memory_size", f"{MATRIX}.xbar_size"]
)
def test_a_field_that_a_compiler_needs_may_not_be_missing(path: str) -> None:
    content = good()
    parent = content
    *parents, last = path.split(".")
    for key in parents:
        parent = parent[key]
    del parent[last]
    with pytest.raises(TileError, match=f"chip.json: {path}: is missing"):
        Machine.from_json(content, name="chip.json")
    assert Machine.from_json(content, name="chip.json", strict=False).core_count in (1, 4)


def test_all_mistakes_are_reported_together() -> None:
    content = good()
    put(content, "chip_config.core_cnt", -1)
    put(content, f"{MATRIX}.adc_count", 0)
    put(content, "chip_config.core_config.vector_with", 8)
    with pytest.raises(TileError) as caught:
        Machine.from_json(content)
    assert str(caught.value).count("error:") == 3
    assert "did you mean `vector_width`?" in str(caught.value)


def test_the_field_that_the_simulator_ignores_is_accepted() -> None:
    content = good()
    put(content, f"{MATRIX}.input_buffer_latency_cycle", 7)
    assert Machine.from_json(content).digest() == Machine.load("tiny4").digest()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        ("[]", "expected an object"),
        ("[" * 100000, "nested too deeply"),
        ('{"chip_config": {"core_cnt": 1, "core_cnt": 2}}', "'core_cnt' stands more than once"),
        ('{"chip_config": {"core_cnt": ' + "9" * 5000 + "}}", "is not valid JSON"),
        ("\xff", "is not valid JSON"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "chip.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(TileError, match=message):
        Machine.load(path)


def test_unknown_machines(tmp_path: Path) -> None:
    with pytest.raises(TileError, match="presets are reference144, tiny4"):
        Machine.load("reference145")
    with pytest.raises(TileError, match="is a directory"):
        Machine.load(tmp_path)
    with pytest.raises(TileError, match="neither"):
        Machine.load("../machines/reference144")


def with_table(table: object) -> Machine:
    """A machine of two cores with the given network file's content."""
    content = copy.deepcopy(good())
    put(content, "chip_config.core_cnt", 2)
    del content["chip_config"]["network_config"]["mesh"]
    return Machine.from_json(content, table, name="chip.json")


FULL = {"0": {"1": 4, "-10": 15}, "1": {"0": 4.5, "-10": 15}, "-10": {"0": 15, "1": 15}}


def test_a_network_table_is_read() -> None:
    machine = with_table({"latency": FULL | {"7": {"0": 3}}, "energy": {}})
    assert machine.latency_ns.tolist() == [[0, 4, 15], [4.5, 0, 15], [15, 15, 0]]
    assert int(machine.flight_ns(1, 0, 32 * 3)) == 13


@pytest.mark.parametrize(
    ("latency", "message"),
    [
        ({}, r"latency.0.1: is missing \(and 5 more"),
        (FULL | {"0": {"1": -4, "-10": 15}}, "latency.0.1: -4 is out of range"),
        (FULL | {"0": {"1": "x", "-10": 15}}, "latency.0.1: expected a number"),
        (FULL | {"0": 3}, "latency.0: expected an object"),
        (FULL | {"east": {}}, "latency.east: is no core number"),
        (FULL | {"0": {"1": 1, "-10": 15, "b": 1}}, "latency.0.b: is no core number"),
    ],
)
def test_a_bad_network_table(latency: object, message: str) -> None:
    with pytest.raises(TileError, match=message):
        with_table({"latency": latency})


def test_a_missing_network_file_is_named(tmp_path: Path) -> None:
    content = good()
    del content["chip_config"]["network_config"]["mesh"]
    path = tmp_path / "chip.json"
    path.write_text(json.dumps(content))
    with pytest.raises(TileError, match="net_config_file_path: is missing"):
        Machine.load(path)
    put(content, "chip_config.network_config.net_config_file_path", "nowhere.json")
    path.write_text(json.dumps(content))
    with pytest.raises(TileError, match=r"nowhere.json: cannot be read: no such file"):
        Machine.load(path)
