"""Passes that do what the tests of `tile-opt` need done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from tilec.passes.function_pass import FunctionPass
from tilec.passes.op_error import OpError
from tilec.passes.statistics import record_statistic
from tilec.support.diagnostics import TileError, TileErrors
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException


class Speed(Enum):
    SLOW = "slow"
    FAST = "fast"


@dataclass(frozen=True)
class Tile:
    """Nested options."""

    rows: int
    columns: int = 64


@dataclass(frozen=True)
class TestNothingPass(ModulePass):
    """Changes nothing.

    It has an option of every type.
    """

    name = "test-nothing"

    count: int = 1
    """How often nothing is changed."""
    ratio: float = 0.5
    text: str = ""
    flag: bool = False
    sizes: tuple[int, ...] = ()
    level: Literal["low", "high"] = "low"
    speed: Speed = Speed.SLOW
    limit: int | None = None
    tile: Tile = Tile(1)

    def __post_init__(self) -> None:
        if self.count < 0:
            raise TileError("count", f"count is {self.count}", "give a positive count")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class TestNeedyPass(ModulePass):
    """Has an option that must be given."""

    name = "test-needy"

    machine_name: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["machine"] = StringAttr(self.machine_name)


@dataclass(frozen=True)
class TestMarkPass(ModulePass):
    """Marks the module, and counts the ops."""

    name = "test-mark"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["marked"] = UnitAttr()
        record_statistic("modules marked")
        for _ in op.body.walk():
            record_statistic("ops seen")


@dataclass(frozen=True)
class TestMarkFunctionsPass(FunctionPass):
    """Marks each function."""

    name = "test-mark-functions"

    def apply_to_function(self, ctx: Context, function: FuncOp) -> None:
        function.attributes["marked"] = UnitAttr()


@dataclass(frozen=True)
class TestRejectPass(ModulePass):
    """Reports an error for every op with the attribute `test.error`."""

    name = "test-reject"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        errors = [OpError(one, "is not wanted here") for one in op.walk() if "test.error" in one.attributes]
        if errors:
            raise TileErrors(errors)


@dataclass(frozen=True)
class TestGiveUpPass(ModulePass):
    """Fails as xDSL's own passes do."""

    name = "test-give-up"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("cannot do this")


@dataclass(frozen=True)
class TestCrashPass(ModulePass):
    """Has a bug."""

    name = "test-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("lost")


@dataclass(frozen=True)
class TestBreakPass(ModulePass):
    """Moves the first op of each function's body to the end: uses come before definitions."""

    name = "test-break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [one for one in op.walk() if isinstance(one, FuncOp)]:
            block = function.body.block
            first, last = block.first_op, block.last_op
            assert first is not None
            assert last is not None
            first.detach()
            block.insert_op_before(first, last)
