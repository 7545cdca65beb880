"""The order of the operands of a sum, a product or a maximum makes no difference to the memory of a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from guard_programs import harm_of, module_at
from ir_edits import body_ops, issues
from one_batch import one_batch
from tilec.analysis.proxies import Proxies
from tilec.dialects import pim, spat
from tilec.dialects.registry import make_context
from tilec.lowering.body_content import body_content
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.proxies import proxies
from tilec.lowering.spat_to_pim.selection import Empty, Selection
from tilec.lowering.spat_to_pim.selector import select
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.parser import Parser

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits_cnn.onnx"

COMMUTATIVE = (spat.VAddOp, spat.VMulOp, spat.VMaxOp)


def selected(body: str) -> Selection:
    module = Parser(make_context(), one_batch(body + "\nspat.yield %z : tensor<4x2xf32>")).parse_module()
    module.verify()
    (batch,) = [op for op in module.walk() if isinstance(op, spat.ComputeBatchOp)]
    return select(body_content(batch))


def tiles(selection: Selection) -> int:
    """How many tensors there are to write into."""
    return sum(isinstance(step, Empty) for step in selection.steps)


TILE = "tensor<4x2xf32>"
OF_TWO = f"{TILE}, {TILE} -> {TILE}"


@pytest.mark.parametrize("kind", ["vadd", "vmul", "vmax"])
@pytest.mark.parametrize("operands", ["%a, %row", "%row, %a"])
def test_the_result_takes_the_place_of_what_nothing_else_reads(kind: str, operands: str) -> None:
    found = selected(f"%a = spat.relu %row : {TILE}\n%z = spat.{kind} {operands} : {OF_TWO}")
    assert tiles(found) == 1


@pytest.mark.parametrize("operands", ["%a, %b", "%b, %a"])
def test_what_is_read_again_keeps_its_place(operands: str) -> None:
    """`a` is read by the second sum, `b` by the first one alone, whose result takes its place."""
    made = f"%a = spat.relu %row : {TILE}\n%b = spat.tanh %row : {TILE}"
    found = selected(f"{made}\n%s = spat.vadd {operands} : {OF_TWO}\n%z = spat.vadd %s, %a : {OF_TWO}")
    assert tiles(found) == 2


@pytest.mark.parametrize("first", ["%a, %b", "%b, %a"])
@pytest.mark.parametrize("second", ["%s, %c", "%c, %s"])
def test_all_is_added_up_in_one_place(first: str, second: str) -> None:
    """Nothing else reads any of the operands: what is yielded is where the sum began, and no temporary."""
    found = selected(
        f"%a = spat.relu %row : {TILE}\n%b = spat.tanh %row : {TILE}\n%s = spat.vadd {first} : {OF_TWO}\n"
        f"%c = spat.sigmoid %row : {TILE}\n%z = spat.vadd {second} : {OF_TWO}"
    )
    sums = [issue for issue in found.issues if issue.instruction == "vvadd"]
    assert [issue.dest for issue in sums] == [found.issues[0].result, sums[0].result]
    assert (tiles(found), found.scratch_elements) == (3, 4 * 2)


def test_a_difference_takes_the_place_of_its_left_operand_alone() -> None:
    found = selected(f"%a = spat.relu %row : {TILE}\n%z = spat.vsub %row, %a : {OF_TWO}")
    assert tiles(found) == 2


# Whole programs


def swap_tiles(module: ModuleOp) -> None:
    """All sums, products and maxima of two tiles have their operands in the other order."""
    found = [op for op in body_ops(module, *COMMUTATIVE) if op.operands[0].type == op.operands[1].type]
    assert found
    for op in found:
        op.operands = [op.operands[1], op.operands[0]]


def swap_sources(module: ModuleOp) -> None:
    found = issues(module, "vvadd", "vvmul", "vvmax")
    assert found
    for op in found:
        left, right = op.split_operands[0]
        op.operands = [right, left, op.operands[-1]]
        op.properties["accesses"] = ArrayAttr(reversed(op.accesses.data))


def sums_in_new_tiles(module: ModuleOp) -> None:
    """What could be added in place gets a tile of its own."""
    found = [op for op in issues(module, "vvadd") if op.operands[-1] in op.split_operands[0]]
    assert found
    for op in found:
        assert op.parent is not None
        tile = pim.EmptyOp(*pim.shape_of(op.operands[-1]))
        op.parent.insert_op_before(tile, op)
        op.operands = [*list(op.operands)[:-1], tile.result]


@pytest.mark.parametrize("level", ["graph", "scheduled", "tensors", "buffers"])
def test_swapped_operands_are_no_harm(level: str) -> None:
    assert not harm_of(swap_tiles if level in ("graph", "scheduled") else swap_sources, module_at(level))


def test_a_new_tile_is_harm() -> None:
    assert harm_of(sums_in_new_tiles, module_at("tensors")) == {"buffer_bytes"}


def planned(swap: Callable[[ModuleOp], None] | None, after: str) -> Proxies:
    """An example's proxies with addresses, its operands swapped after this pass, or not."""
    passes = build_pipeline("tile-default")
    last = [one.name for one in passes].index(after) + 1
    module = import_onnx(EXAMPLE.read_bytes())
    PassManager(passes[:last]).run(make_context(), module)
    if swap is not None:
        swap(module)
    PassManager(passes[last:]).run(make_context(), module)
    return proxies(module)


@pytest.mark.parametrize(
    ("swap", "after"),
    [
        (swap_tiles, "spat-merge-trivial"),
        (swap_tiles, "spat-realize-communication"),
        (swap_sources, "convert-spat-to-pim"),
    ],
)
def test_swapped_operands_take_no_more_memory(swap: Callable[[ModuleOp], None], after: str) -> None:
    swapped, found = planned(swap, after), planned(None, after)
    assert swapped.core_bytes_max == found.core_bytes_max
    assert swapped.physical_core_bytes == found.physical_core_bytes
    assert swapped.makespan_cycles == found.makespan_cycles
