"""The clock against an independent one that steps every core at every edge, on random programs and machines."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from tilec.analysis.machine import Machine
from tilec.codegen.json_reader import JsonProgram, parse_program_json
from tilec.simulators.timing import FIRST_COME, TimingOptions, simulate

from tests.golden import machine_content
from tests.timing_oracle import SCALARS, Chip

LIMIT_NS = 60_000
VECTOR_OPS = "vvadd vvsub vvmax vvmul vvsll vvsra vvdmul vrelu vmv vavg vtanh vsigm vrsu vrsl".split()


def random_machine(rng: random.Random, cores: int) -> Machine:
    content, _ = copy.deepcopy(machine_content("random_28"))
    chip = content["chip_config"]
    core = chip["core_config"]
    whole = rng.random() < 0.7
    chip["core_cnt"] = cores
    core["rob_size"] = rng.choice([1, 1, 2, 3, 4, 8, 16])
    core["period"] = rng.choice([1, 1, 1, 2, 0.5, 3])
    core["vector_width"], core["vector_latency_cycle"] = rng.choice([1, 16, 33]), rng.randint(0, 6)
    for memory in (core["local_memory_config"], chip["global_memory_config"]):
        memory["period"] = 1 if whole else rng.choice([0.75, 1.3, 2.5])
        memory["data_width"] = rng.choice([16, 32, 48])
        memory["read_latency_cycle"], memory["write_latency_cycle"] = rng.randint(1, 12), rng.randint(0, 12)
    core["matrix_config"]["period"] = 1 if whole else 0.78125
    instant = rng.random() < 0.25
    if instant:
        core["rob_size"], core["matrix_config"]["dac_count"] = 8, 1024
        for memory in (core["local_memory_config"], chip["global_memory_config"]):
            memory["read_latency_cycle"], memory["write_latency_cycle"] = rng.randint(0, 1), rng.randint(0, 1)
    ends = [*map(str, range(cores)), "-10"]
    times = [0] if instant else [0, 1, 2, 3, 7] if whole else [0.4, 1.7, 2.2, 5]
    latency = {source: {target: rng.choice(times) for target in ends if target != source} for source in ends}
    return Machine.from_json(content, {"latency": latency, "energy": latency}, strict=False)


def random_lists(rng: random.Random, cores: int, groups: list[list[int]]) -> list[list[dict[str, Any]]]:
    """Lists that end in an instruction that can finish; messages are mostly in an order that works."""
    lists: list[list[dict[str, Any]]] = [
        [{"op": "setbw", "ibiw": 8, "obiw": rng.choice([8, 16])}] for _ in range(cores)
    ]
    for _ in range(rng.randint(5, 40) * cores):
        core = rng.randrange(cores)
        line = random_line(rng, groups[core])
        lists[core].append(line)
        if rng.random() < 0.12 and cores > 1:
            other = rng.choice([number for number in range(cores) if number != core])
            size = rng.randint(1, 200)
            lists[core].append({"op": "send", **register_fields(rng), "core": other, "size": size})
            lists[other].append({"op": "recv", **register_fields(rng), "core": core, "size": size})
        if rng.random() < 0.04 and cores > 1:
            other = rng.choice([number for number in range(cores) if number != core])
            lists[core].append({"op": "sync", "core": other, "event_register": 3})
            lists[other].append({"op": "wait", "event_register": 3, "wait_value": 1})
    for lines in lists:
        lines.append({"op": "lldi", "rd": 1, "len": 1})
    return lists


def random_line(rng: random.Random, groups: list[int]) -> dict[str, Any]:
    fields = register_fields(rng)
    kind = rng.random()
    if kind < 0.35:
        op = rng.choice(["sldi"] * 6 + ["sadd", "ssub", "saddi", "smuli", "smul"])
        return {"op": op, **fields, "imm": rng.randint(-100, 3000)}
    if kind < 0.5 and groups:
        return {"op": "mvmul", **fields, "mbiw": 8, "group": rng.randrange(len(groups))}
    if kind < 0.75:
        return {"op": rng.choice(VECTOR_OPS), **fields, "len": rng.randint(1, 200)}
    if kind < 0.8:
        return {"op": "setbw", "ibiw": rng.choice([8, 16]), "obiw": rng.choice([8, 16])}
    size = rng.randint(1, 300)
    return {"op": rng.choice(["lmv", "lmv", "lldi", "ld", "st"]), **fields, "len": size, "size": size}


def register_fields(rng: random.Random) -> dict[str, int]:
    return {name: rng.randrange(8) for name in ("rd", "rs1", "rs2")}


def as_program(lists: list[list[dict[str, Any]]], groups: list[list[int]]) -> JsonProgram:
    counts = {f"core{core}": numbers for core, numbers in enumerate(groups)}
    content: dict[str, Any] = {"config": {"core_cnt": len(lists), "array_group_map": counts}}
    content |= {f"core{core}": lines for core, lines in enumerate(lists)}
    return parse_program_json(json.dumps(content).encode(), "random")


@pytest.mark.parametrize("seed", range(150))
def test_finish_times_are_those_of_the_oracle(seed: int) -> None:
    rng = random.Random(seed)
    cores = rng.randint(1, 5)
    groups = [[rng.randint(1, 4) for _ in range(rng.randint(0, 3))] for _ in range(cores)]
    machine = random_machine(rng, cores)
    lists = random_lists(rng, cores, groups)
    options = TimingOptions(sim_time_ns=LIMIT_NS, quirks=FIRST_COME)
    result = simulate(as_program(lists, groups), machine, options)
    expected = Chip(machine, lists, groups).run(LIMIT_NS * 1000)
    found = [core.finish_ns for core in result.cores]
    assert found == [None if time is None else time / 1000 for time in expected]
    assert simulate(as_program(lists, groups), machine, options) == result
    for core in result.cores:
        assert sum(core.spent_ns.values()) == pytest.approx(result.makespan_ns, abs=1e-6)
        assert min(core.spent_ns.values()) >= 0
        for wait, by_partner in core.waits_ns.items():
            assert sum(by_partner.values()) == pytest.approx(core.spent_ns[wait], abs=1e-6)
        assert all(0 <= time <= result.makespan_ns * max(1, len(groups[0]) * 4) for time in core.busy_ns.values())


def test_the_random_programs_cover_the_instruction_set() -> None:
    ops: set[str] = set()
    for seed in range(30):
        rng = random.Random(seed)
        ops |= {line["op"] for lines in random_lists(rng, 3, [[1], [2], []]) for line in lines}
    assert ops == SCALARS | set(VECTOR_OPS) | {"mvmul", "ld", "st", "lldi", "lmv", "send", "recv", "sync", "wait"}
