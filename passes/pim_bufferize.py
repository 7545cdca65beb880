"""`pim-bufferize`: tensors to buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..lowering.bufferization import bufferize
from .statistics import record_statistic


@dataclass(frozen=True)
class PimBufferizePass(ModulePass):
    """Gives tensors buffers in local memory, in place wherever that is legal.

    A distributed tensor becomes a `pim.rows` that everything shares; a tile becomes a `pim.alloc`, or the row of the
    result that it grows into. Tiles of instructions that run in turns shrink to one column. A copy is added only where
    an instruction would overwrite what is read later; the statistic `copies added` counts them.
    """

    name = "pim-bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record_statistic("copies added", bufferize(op))
