"""Ops of dialects that the guard does not know: counted, and held to stay what and where they are."""

from __future__ import annotations

import pytest
from guard_programs import edit_pass, guarded, parsed
from tilec.passes.guard import GuardError
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnregisteredOp, i64

FOREIGN = """
func.func @main(%a: i32) -> i32 {
  %0 = "theirs.make"(%a) {rate = 1 : i64} : (i32) -> i32
  func.return %0 : i32
}
"""


def test_foreign_ops_are_counted_and_may_not_change() -> None:
    def touch(module: ModuleOp) -> None:
        for op in module.walk():
            if "rate" in op.attributes:
                op.attributes["rate"] = IntegerAttr(2, i64)

    guarded(edit_pass(lambda module: None), parsed(FOREIGN))
    with pytest.raises(GuardError, match="changed: content of these ops"):
        guarded(edit_pass(touch), parsed(FOREIGN))


OPAQUE_EDITS = {
    "operands": (
        """func.func @main(%a: f32, %b: f32) -> f32 {
          %0 = "theirs.subtract"(%a, %b) : (f32, f32) -> f32
          func.return %0 : f32
        }""",
        lambda op: op.name == "func.return" or setattr(op, "operands", [*op.operands][::-1]),
    ),
    "what a function gives back": (
        """func.func @main(%a: f32, %b: f32) -> f32 {
          "theirs.note"(%a) : (f32) -> ()
          func.return %a : f32
        }""",
        lambda op: op.name != "func.return" or op.operands.__setitem__(0, op.parent.args[1]),
    ),
    "an argument instead of another": (
        """func.func @main(%a: f32, %b: f32) {
          "theirs.store"(%a) : (f32) -> ()
          func.return
        }""",
        lambda op: not op.operands or op.operands.__setitem__(0, op.parent.args[1]),
    ),
    "what known ops give": (
        """func.func @main(%x: tensor<1x2xf32>) {
          %r = onnx.Relu(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
          %s = onnx.Sigmoid(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
          "theirs.subtract"(%r, %s) : (tensor<1x2xf32>, tensor<1x2xf32>) -> ()
          func.return
        }""",
        lambda op: len(op.operands) != 2 or setattr(op, "operands", [*op.operands][::-1]),
    ),
    "successors": (
        """func.func @main(%a: i1) {
          "theirs.branch"(%a) [^bb1, ^bb2] : (i1) -> ()
        ^bb1:
          "theirs.end"() : () -> ()
        ^bb2:
          "theirs.end"() : () -> ()
        }""",
        lambda op: not op.successors or setattr(op, "successors", [*op.successors][::-1]),
    ),
}
"""Foreign modules, and what a pass does to each of their ops."""


@pytest.mark.parametrize("name", OPAQUE_EDITS)
def test_foreign_ops_may_not_read_or_branch_otherwise(name: str) -> None:
    text, edit = OPAQUE_EDITS[name]

    def touch(module: ModuleOp) -> None:
        for op in [*module.walk()]:
            if op.parent is not None and op.name not in ("builtin.module", "func.func"):
                edit(op)

    guarded(edit_pass(lambda module: None), parsed(text))
    with pytest.raises(GuardError, match="changed: content of these ops"):
        guarded(edit_pass(touch), parsed(text))


OPAQUE_PLACES = {
    "into a loop": """func.func @main() {
        "theirs.work"() : () -> ()
        "theirs.loop"() ({ ^bb0: }) : () -> ()
        func.return
      }""",
    "into another region": """"theirs.if"() ({ "theirs.work"() : () -> () }, { ^bb0: }) : () -> ()""",
    "into another branch": """func.func @main(%a: i1) {
        "theirs.branch"(%a) [^bb1, ^bb2] : (i1) -> ()
      ^bb1:
        "theirs.work"() : () -> ()
        func.return
      ^bb2:
        func.return
      }""",
    "into another function": """func.func @cold() {
        "theirs.work"() : () -> ()
        func.return
      }
      func.func @hot() {
        func.return
      }""",
    "into another module": """builtin.module { builtin.module { "theirs.work"() : () -> () } builtin.module { } }""",
    "into a program": """func.func @main() {
        "theirs.work"() : () -> ()
        pim.program { ^bb0: }
        func.return
      }""",
}
"""Where an op of a foreign module may not go: the last block that does not have it."""


@pytest.mark.parametrize("name", OPAQUE_PLACES)
def test_foreign_ops_may_not_go_elsewhere(name: str) -> None:
    """As often as they run, and beside what."""

    def move(module: ModuleOp) -> None:
        (work,) = [op for op in module.walk() if isinstance(op, UnregisteredOp) and op.op_name.data == "theirs.work"]
        blocks = [block for op in module.walk() for region in op.regions for block in region.blocks]
        target = [block for block in blocks if work.parent is not block][-1]
        work.detach()
        if target.first_op is None:
            target.add_op(work)
        else:
            target.insert_op_before(work, target.first_op)

    guarded(edit_pass(lambda module: None), parsed(OPAQUE_PLACES[name]))
    with pytest.raises(GuardError, match="changed: content of these ops"):
        guarded(edit_pass(move), parsed(OPAQUE_PLACES[name]))


def test_what_a_foreign_module_says_of_the_machine_stays() -> None:
    text = 'builtin.module attributes {tile.machine = "tiny4"} { "theirs.work"() : () -> () }'

    def other(module: ModuleOp) -> None:
        module.attributes["tile.machine"] = StringAttr("reference144")

    with pytest.raises(GuardError, match="changed: machine and precision"):
        guarded(edit_pass(other), parsed(text))
    with pytest.raises(GuardError, match="not comparable: machine and precision"):
        guarded(edit_pass(lambda module: module.attributes.clear()), parsed(text))


def test_known_ops_before_foreign_ones_may_be_rewritten() -> None:
    """The sums of x and itself are one: what the foreign op reads has another producer, at the same place."""
    text = """
    func.func @main(%x: tensor<1x2xf32>) {
      %i = onnx.Identity(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
      %r = onnx.Relu(%i) : (tensor<1x2xf32>) -> tensor<1x2xf32>
      "theirs.note"(%r, %x) : (tensor<1x2xf32>, tensor<1x2xf32>) -> ()
      func.return
    }"""

    def skip(module: ModuleOp) -> None:
        for op in [*module.walk()]:
            if op.name == "onnx.Identity":
                op.results[0].replace_all_uses_with(op.operands[0])
                op.detach()
                op.erase()

    guarded(edit_pass(skip), parsed(text))
