"""Names of nodes as locations."""

from __future__ import annotations

from tilec.dialects.location import copy_location, fuse_locations, located, name_location, node_name, place_of
from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, IntAttr, NoneAttr, StringAttr, UnknownLoc
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation


def op_at(*names: str) -> Operation:
    return fuse_locations(TestOp(), *(located(TestOp(), name) for name in names))


def test_name() -> None:
    assert node_name(TestOp()) == ""
    assert node_name(located(TestOp(), "conv")) == "conv"
    assert node_name(located(TestOp(), "")) == ""
    assert node_name(copy_location(op_at("conv"), TestOp())) == "conv"
    line = FileLineColLoc(StringAttr("f.mlir"), IntAttr(1), IntAttr(2))
    op = TestOp()
    op.location = CallSiteLoc(name_location("callee"), line)
    assert node_name(op) == "callee"
    op.location = line
    assert node_name(op) == ""


def test_fused_names() -> None:
    assert node_name(op_at("conv", "norm", "conv")) == "conv+norm"
    assert node_name(fuse_locations(TestOp(), op_at("conv", "norm"), op_at("norm", "relu"))) == "conv+norm+relu"


def test_fused_locations_are_as_small_as_they_can_be() -> None:
    assert op_at().location == UnknownLoc()
    assert op_at("conv").location == name_location("conv")
    assert op_at("conv", "conv").location == name_location("conv")
    assert op_at("a", "b").location == FusedLoc((name_location("a"), name_location("b")), NoneAttr())
    assert fuse_locations(TestOp(), TestOp(), op_at("a"), TestOp()).location == name_location("a")


def test_the_place_of_an_op_is_never_empty() -> None:
    assert place_of(op_at("conv")) == "node 'conv'"
    read = TestOp()
    read.location = FileLineColLoc(StringAttr("model.mlir"), IntAttr(3), IntAttr(5))
    assert place_of(read) == "model.mlir:3:5"
    assert place_of(TestOp()) == "op 'test.op'"
