"""The verifier: what it finds, and what its errors say."""

from __future__ import annotations

import pytest
from tilec.dialects.registry import make_context
from tilec.passes.dominance import dominance_errors, immediate_dominators
from tilec.passes.op_error import OpError, concise_diagnostics
from tilec.passes.verifier import MAX_ERRORS, verify_module
from tilec.support.diagnostics import TileErrors
from tilec.tools.opt_input import Chunk, parse_chunk
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException


def parse(text: str) -> ModuleOp:
    return parse_chunk(Chunk("x.mlir", text), make_context(allow_unregistered=True))


def errors(text: str) -> list[str]:
    try:
        verify_module(parse(text))
    except TileErrors as found:
        return [str(one) for one in found.errors]
    return []


def graph(edges: dict[int, list[int]]) -> Region:
    """A region of which block i jumps to the blocks ``edges[i]``."""
    blocks = [Block() for _ in edges]
    for index, successors in edges.items():
        blocks[index].add_op(test.TestTermOp(successors=[blocks[one] for one in successors]))
    return Region(blocks)


def dominators(edges: dict[int, list[int]]) -> dict[int, int]:
    region = graph(edges)
    number = {block: index for index, block in enumerate(region.blocks)}
    return {number[block]: number[dominator] for block, dominator in immediate_dominators(region).items()}


class TestDominators:
    def test_diamond(self) -> None:
        assert dominators({0: [1, 2], 1: [3], 2: [3], 3: []}) == {0: 0, 1: 0, 2: 0, 3: 0}

    def test_loop(self) -> None:
        assert dominators({0: [1], 1: [2, 3], 2: [1], 3: []}) == {0: 0, 1: 0, 2: 1, 3: 1}

    def test_irreducible(self) -> None:
        assert dominators({0: [1, 2], 1: [2], 2: [1, 3], 3: []}) == {0: 0, 1: 0, 2: 0, 3: 2}

    def test_unreachable(self) -> None:
        assert dominators({0: [2], 1: [2], 2: []}) == {0: 0, 2: 0}


class TestDominance:
    @pytest.mark.parametrize(
        "text",
        [
            '%0 = "a.b"() : () -> i32\n"a.b"(%0) : (i32) -> ()',
            # A value of an outer region.
            '%0 = "a.b"() : () -> i32\n"a.b"() ({ "a.b"(%0) : (i32) -> ()\n"test.termop"() : () -> () }) : () -> ()',
            # Blocks in an order that is not that of dominance.
            """func.func @f() {
                 cf.br ^b
               ^c:
                 "a.b"(%0) : (i32) -> ()
                 func.return
               ^b:
                 %0 = "a.b"() : () -> i32
                 cf.br ^c
               }""",
            # A loop.
            """func.func @f(%n: i1) {
                 %0 = "a.b"() : () -> i32
                 cf.br ^b(%0 : i32)
               ^b(%1: i32):
                 %2 = "a.b"(%1) : (i32) -> i32
                 cf.cond_br %n, ^b(%2 : i32), ^c
               ^c:
                 "a.b"(%2) : (i32) -> ()
                 func.return
               }""",
            # Nobody jumps to ^b.
            """func.func @f() {
                 func.return
               ^b:
                 "a.b"(%0) : (i32) -> ()
                 %0 = "a.b"() : () -> i32
                 func.return
               }""",
        ],
    )
    def test_accepted(self, text: str) -> None:
        assert errors(text) == []

    @pytest.mark.parametrize(
        ("text", "where", "reason"),
        [
            (
                '"a.b"(%0) : (i32) -> ()\n%0 = "a.b"() : () -> i32',
                "x.mlir:1:1",
                "it is defined later in the block, at x.mlir:2:1",
            ),
            ('%0 = "a.b"(%0) : (i32) -> i32', "x.mlir:1:1", "it is the op's own result"),
            (
                '%0 = "a.b"() ({\n"a.b"(%0) : (i32) -> ()\n"test.termop"() : () -> () }) : () -> i32',
                "x.mlir:2:1",
                "it is a result of the op around the use, at x.mlir:1:1",
            ),
            (
                """func.func @f(%c: i1) {
                     cf.cond_br %c, ^a, ^b
                   ^a:
                     %0 = "a.b"() : () -> i32
                     cf.br ^b
                   ^b:
                     "a.b"(%0) : (i32) -> ()
                     func.return
                   }""",
                "x.mlir:7:22",
                "it is defined in a block that does not come before this one on every path, at x.mlir:4:22",
            ),
        ],
    )
    def test_refused(self, text: str, where: str, reason: str) -> None:
        (found,) = errors(text)
        assert found == f"error: {where}: 'a.b' op operand #0 does not dominate this use: {reason}"

    def test_sibling_regions(self) -> None:
        """The parser has scopes of its own, so this takes a pass that moves a use."""
        inner = test.TestOp(result_types=[i32])
        use = test.TestOp(operands=[inner.results[0]])
        regions = [Region(Block([inner, test.TestTermOp()])), Region(Block([use, test.TestTermOp()]))]
        (found,) = dominance_errors(ModuleOp([test.TestOp(regions=regions)]))
        assert "it is defined in a region that does not enclose the use" in str(found)

    def test_isolated_from_above(self) -> None:
        outer = test.TestOp(result_types=[i32])
        use = test.TestOp(operands=[outer.results[0]])
        function = FuncOp("f", ((), ()), Region(Block([use, test.TestTermOp()])))
        (found,) = dominance_errors(ModuleOp([outer, function]))
        assert "it is defined outside 'func.func', which is isolated from above" in str(found)

    def test_detached_definition(self) -> None:
        use = test.TestOp(operands=[test.TestOp(result_types=[i32]).results[0]])
        (found,) = dominance_errors(ModuleOp([use]))
        assert "its definition is not part of the module" in str(found)

    def test_values_of_a_left_block_are_out_of_sight(self) -> None:
        found = errors(
            """func.func @f(%c: i1) {
                 cf.cond_br %c, ^a, ^b
               ^a:
                 %0 = "a.b"() : () -> i32
                 func.return
               ^b:
                 "a.b"(%0) : (i32) -> ()
                 func.return
               }"""
        )
        assert len(found) == 1


class TestOps:
    def test_an_error_names_op_and_location_only(self) -> None:
        (found,) = errors('func.func @f() {\n  "func.return"() {big = "text"} : () -> ()\n  func.return\n}')
        assert found.startswith("error: x.mlir:2:3: 'func.return' op ")
        assert "\n" not in found
        assert "big" not in found

    def test_errors_of_inner_ops_come_alone(self) -> None:
        text = 'func.func @f() {\n  "func.return"() : () -> ()\n  "func.return"() : () -> ()\n}\n'
        assert len(errors(text)) == 1
        assert len(errors(text + text.replace("@f", "@g"))) == 2

    def test_there_is_a_limit(self) -> None:
        text = 'func.func @f() {\n  "func.return"() : () -> ()\n  "func.return"() : () -> ()\n}\n'
        assert len(errors("".join(text.replace("@f", f"@f{n}") for n in range(MAX_ERRORS + 5)))) == MAX_ERRORS

    def test_node_names_are_locations(self) -> None:
        (found,) = errors('"a.b"(%0) : (i32) -> () loc("conv1")\n%0 = "a.b"() : () -> i32')
        assert found.startswith("error: node 'conv1': 'a.b' op ")

    def test_an_empty_block_needs_a_terminator(self) -> None:
        (found,) = errors("func.func @f() {\n^a:\n}")
        assert "has an empty block, and needs at least a terminator in it" in found


def test_concise_diagnostics_leave_the_module_out() -> None:
    module = parse('"a.b"() {big = "text"} : () -> ()')
    (op,) = module.ops
    with concise_diagnostics(), pytest.raises(VerifyException) as caught:
        op.emit_error("wrong", VerifyException("wrong"))
    assert caught.value.__notes__ == ["in op 'a.b' at x.mlir:1:1"]
    with pytest.raises(VerifyException) as caught:
        op.emit_error("wrong", VerifyException("wrong"))
    assert "big" in caught.value.__notes__[0]


def test_ops_without_location_borrow_their_parents() -> None:
    function = parse("func.func @f() {\n  func.return\n}").body.block.first_op
    assert isinstance(function, FuncOp)
    inner = test.TestOp()
    function.body.block.insert_op_before(inner, function.body.block.ops.last)
    assert OpError(inner, "is new").where == "x.mlir:1:1"
    assert OpError(test.TestOp(), "is nowhere").where == "unknown location"
