"""Text opened with another machine than it was made for: it runs there, or a plain error says what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compilation import assert_computes, package_of, random_inputs
from guard_programs import LEVELS, edit_pass, module_at, network
from tilec.dialects.registry import make_context
from tilec.passes.guard import Guard, GuardError
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from tilec.support.diagnostics import TileError
from tilec.tools.tile_compile import main as tile_compile
from tilec.tools.tile_opt import main as tile_opt
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64

TINY = Path(__file__).parents[2] / "analysis" / "machines" / "tiny4.json"

PLACED = ("placed", "scheduled", "tensors", "buffers")

REMEDY = "lower it for this machine, or let tile.machine name the one that it is made for"


def machine(folder: Path, cores: int = 4, arrays: int = 8, rows: int = 128) -> str:
    """The file of a machine like tiny4."""
    content = json.loads(TINY.read_text(encoding="utf-8"))
    chip = content["chip_config"]
    chip["core_cnt"], chip["network_config"]["layout"] = cores, [1, cores]
    matrix = chip["core_config"]["matrix_config"]
    matrix["xbar_array_count"], matrix["xbar_size"], matrix["dac_count"] = arrays, [rows, 128], rows
    path = folder / "small.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def opened(module: ModuleOp, path: str, pipeline: str = "cse") -> ModuleOp:
    module.attributes["tile.machine"] = StringAttr(path)
    PassManager(build_pipeline(pipeline), (Guard(), Verifier())).run(make_context(), module)
    return module


@pytest.mark.parametrize("level", PLACED)
@pytest.mark.parametrize(("cores", "has"), [(1, "core 0 only"), (2, "2 cores, 0 to 1")])
def test_a_core_that_the_machine_does_not_have(level: str, cores: int, has: str, tmp_path: Path) -> None:
    with pytest.raises(TileError) as caught:
        opened(module_at(level), machine(tmp_path, cores=cores))
    assert not isinstance(caught.value, GuardError)
    assert caught.value.what == f"it is on core 2, and machine 'small' has {has}"
    assert caught.value.remedy == REMEDY


@pytest.mark.parametrize("level", ["graph", *PLACED])
def test_a_product_of_more_rows_than_an_array_has(level: str, tmp_path: Path) -> None:
    """A product of the first convolution reads what eight neighbouring windows cover: 3 x (3 + 7) x 4 elements."""
    with pytest.raises(
        TileError, match=r"a product reads 120 rows of weights, and an array of machine 'small' has 64; "
    ):
        opened(module_at(level), machine(tmp_path, rows=64))


@pytest.mark.parametrize("level", PLACED)
def test_a_core_with_fewer_arrays_than_it_holds(level: str, tmp_path: Path) -> None:
    with pytest.raises(TileError) as caught:
        opened(module_at(level), machine(tmp_path, arrays=2))
    assert caught.value.where == "core 0"
    held = "it holds 3 arrays (of node 'conv1+relu1', node 'conv2+add'), and a core of machine 'small' has 2"
    assert caught.value.what == held


def test_a_program_that_nobody_has_verified(tmp_path: Path) -> None:
    """The pass that gives array groups their numbers looks at them itself."""
    module = module_at("scheduled")
    module.attributes["tile.machine"] = StringAttr(machine(tmp_path, arrays=2))
    with pytest.raises(TileError, match=r"core 0: it holds 3 arrays \(for conv1, conv2\) and has 2; "):
        PassManager(build_pipeline("convert-spat-to-pim")).run(make_context(), module)


@pytest.mark.parametrize("level", ["graph", *PLACED])
def test_a_replica_of_more_arrays_than_a_core_has(level: str, tmp_path: Path) -> None:
    """Weights of 32 bits take four times the arrays of those of 8."""
    module = module_at(level)
    module.attributes["tile.weight_bits"] = IntegerAttr(32, i64)
    with pytest.raises(TileError, match=r"a replica takes \d arrays, and a core of machine 'small' has 1; "):
        opened(module, machine(tmp_path, arrays=1))


@pytest.mark.parametrize("level", PLACED)
def test_a_machine_that_a_pass_exchanges(level: str, tmp_path: Path) -> None:
    """The guard says what is wrong with it in the same words."""
    path = machine(tmp_path, cores=1)

    def exchange(module: ModuleOp) -> None:
        module.attributes["tile.machine"] = StringAttr(path)

    reason = r"the proxies after it cannot be computed \(.*: it is on core 2, and machine 'small' has core 0 only\)"
    with pytest.raises(GuardError, match=reason):
        PassManager((edit_pass(exchange),), (Guard(), Verifier())).run(make_context(), module_at(level))


def test_the_tools_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, text = machine(tmp_path, cores=1), tmp_path / "x.mlir"
    text.write_text(str(module_at("placed")).replace('"tiny4"', f'"{path}"'))
    expected = f"error: {text}:4:5: it is on core 2, and machine 'small' has core 0 only; {REMEDY}\n"
    for verifies in ("--verify-each", "--no-verify-each"):
        assert tile_compile([str(text), "-o", str(tmp_path / "out"), "--pass-pipeline", "cse", verifies]) == 1
        assert capsys.readouterr().err == expected
    assert tile_opt([str(text), "-p", "spat-defer-communication", "--verify-each=false"]) == 1
    assert capsys.readouterr().err == expected


def test_replicas_for_more_cores_than_there_are_share_them(tmp_path: Path) -> None:
    """A graph may have got its replicas for a larger machine: then four of a layer run on two cores."""
    rest = "spat-merge-trivial," + LEVELS["buffers"].partition("spat-merge-graph,")[2] + ",pim-plan-memory"
    module = opened(module_at("graph"), machine(tmp_path, cores=2), "spat-merge-graph," + rest)
    assert_computes(package_of(module), network(), random_inputs(network()))
