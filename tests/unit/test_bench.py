"""The benchmark: what it measures of small networks, and that a looped program computes what one sample needs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilec.analysis.machine import Machine
from tilec.codegen.columns import Columns, Program
from tilec.codegen.isa import REGISTER_COUNT, Op
from tilec.codegen.package import Package, read_package
from tilec.simulators.functional import FunctionalSimulator
from tilec.simulators.timing import simulate
from tilec.tools.tile_compile import main as tile_compile

ROOT = Path(__file__).parents[2]
NETWORKS = ("squeezenet1_0", "alexnet")


def bench(*arguments: str) -> str:
    """What the benchmark prints."""
    command = [sys.executable, "-m", "bench", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def measured(cache: Path) -> tuple[str, dict[str, Any]]:
    """Table and JSON of two small networks."""
    found = cache / "first.json"
    text = bench("--quick", "--networks", ",".join(NETWORKS), "--cache", str(cache), "--json", str(found))
    return text, json.loads(found.read_bytes())


def test_bounds_and_shares(measured: tuple[str, dict[str, Any]]) -> None:
    content = measured[1]
    assert list(content["networks"]) == list(NETWORKS)
    assert not content["errors"]
    for network in content["networks"].values():
        program, compiler = network["program"], network["compiler"]
        assert network["image_size"] == 64
        # No order makes a sample quicker than its critical path, its busiest core, or global memory; and the order that
        # was chosen takes time beside that of its own longest path, which does not see the queue of global memory.
        bound = max(program["path_ms"], program["core_ms"], program["memory_ms"])
        assert bound < program["order_ms"] < program["latency_ms"]
        # Samples overlap. Between two programs, the busiest core may be another.
        assert 0 < program["best_bound_ms"] <= 1.01 * max(program["path_ms"], program["core_ms"])
        assert program["interval_bound_ms"] / 2 < program["interval_ms"] < program["latency_ms"]
        assert sum(program["spent"].values()) == pytest.approx(1, abs=1e-4)
        assert 0 < program["scalar_instructions"] < program["instructions"]
        assert 0 < program["cores_used"] <= 144
        assert 0 < program["peak_local_bytes"] <= 262144
        assert 0 < compiler["user_s"] < compiler["wall_s"] * 4
        # The models alone have 5 and 244 MB of weights.
        assert 50e6 < compiler["peak_rss_bytes"] < 2e9


def test_table_and_json_agree(measured: tuple[str, dict[str, Any]]) -> None:
    text, content = measured
    for name, network in content["networks"].items():
        rows = [line.split() for line in text.splitlines() if line.startswith(f"{name} ")]
        assert len(rows) == 4
        assert rows[0][1:3] == ["64", f"{network['program']['latency_ms']:.3f}"]
        assert rows[1][1] == str(network["program"]["instructions"])
        assert rows[3][1] == f"{network['compiler']['user_s']:.2f}"


def test_same_program_every_time(measured: tuple[str, dict[str, Any]], cache: Path) -> None:
    found = cache / "second.json"
    bench("--quick", "--networks", "squeezenet1_0", "--cache", str(cache), "--json", str(found))
    again = json.loads(found.read_bytes())["networks"]["squeezenet1_0"]
    assert again["program"] == measured[1]["networks"]["squeezenet1_0"]["program"]


def test_unknown_network() -> None:
    command = [sys.executable, "-m", "bench", "--networks", "alexnet,lenet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no network is called lenet" in done.stderr


def test_references() -> None:
    """Every network of the benchmark has goals, and figures of the rival or its refusal; all of them are numbers."""
    rivals = json.loads((ROOT / "bench" / "rivals.json").read_bytes())
    goals = json.loads((ROOT / "bench" / "goals.json").read_bytes())
    assert rivals["source"]
    assert set(goals["networks"]) == set(rivals["networks"]) | set(rivals["refusals"])
    assert len(goals["networks"]) == 10
    for name, figures in rivals["networks"].items():
        assert figures["interval_ms"] < figures["latency_ms"]
        assert figures["busiest_core_ms"] < figures["latency_ms"]
        assert figures["scalar_instructions"] < figures["instructions"]
        assert goals["networks"][name]["goal_ms"] < figures["latency_ms"] / 10


def in_turns(program: Program, rounds: int) -> Program:
    """Every core's list so many times; in between, registers are 0 again, as lists take them to be."""
    reset = Columns.of(Op.SLDI, rd=np.arange(REGISTER_COUNT))
    lists = [program.core(core) for core in range(program.core_count)]
    cores = [Columns.concat([one, *[reset, one] * (rounds - 1)] if len(one) else [one]) for one in lists]
    start = np.cumsum([0, *map(len, cores)])
    return replace(program, columns=Columns.concat(cores), core_start=start, node=None)


@pytest.fixture(scope="module")
def resnet8(cache: Path) -> Package:
    """Cores of it hold several layers."""
    model = ROOT / "examples" / "mnist_resnet8.onnx"
    assert tile_compile([str(model), "-o", str(cache / "resnet8"), "-q"]) == 0
    return read_package(cache / "resnet8")


def test_looped_program_computes_every_sample(resnet8: Package) -> None:
    """What one round leaves in memory does not disturb the next one, and messages of rounds find each other."""
    image = {"input": np.random.default_rng(3).normal(size=(1, 1, 28, 28)).astype(np.float32)}
    once = FunctionalSimulator(resnet8).run(image)
    thrice = FunctionalSimulator(replace(resnet8, program=in_turns(resnet8.program, 3))).run(image)
    np.testing.assert_array_equal(once["logits"], thrice["logits"])


def test_interval_is_what_a_further_sample_takes(cache: Path) -> None:
    """Of eight in flight against four; at most what it would take if every core began again after each."""
    sys.path.insert(0, str(ROOT))
    try:
        from bench.measure import interval_ms
    finally:
        sys.path.remove(str(ROOT))
    machine = Machine.load("reference144")
    model = ROOT / "examples" / "mnist_resnet8.onnx"
    (cache / "interval").mkdir()
    interval, bound = interval_ms(model, cache / "interval")
    times: dict[int, float] = {}
    for samples in (1, 4, 8):
        assert tile_compile([str(model), "-o", str(cache / f"of{samples}"), "--samples", str(samples), "-q"]) == 0
        times[samples] = simulate(read_package(cache / f"of{samples}").program, machine).makespan_ns * 1e-6
    assert interval == pytest.approx((times[8] - times[4]) / 4, abs=1e-6)
    assert bound * 8 <= times[8]
    one = read_package(cache / "of1").program
    looped = [simulate(in_turns(one, rounds), machine).latency_ns * 1e-6 for rounds in (4, 5)]
    assert interval < looped[1] - looped[0]
