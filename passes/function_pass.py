"""Passes that run on one function at a time, and so may stand in `func.func(...)` of a pipeline."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class FunctionPass(ModulePass):
    """A pass over functions: what it does to one depends on no other."""

    @abstractmethod
    def apply_to_function(self, ctx: Context, function: FuncOp) -> None: ...

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [inner for inner in op.walk() if isinstance(inner, FuncOp)]:
            self.apply_to_function(ctx, function)
