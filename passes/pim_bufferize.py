"""`pim-bufferize`: tensors to buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, changes_meaning, no_longer_known, with_added_copies
from ..analysis.proxies import Level
from ..analysis.yardsticks import needed_copies
from ..lowering.bufferization import bufferize
from .statistics import record_statistic


@dataclass(frozen=True)
class PimBufferizePass(ModulePass):
    """Gives tensors buffers in local memory, in place wherever that is legal.

    A distributed tensor becomes a `pim.rows` that all its users share; a tile becomes a `pim.alloc`, or the row of the
    result that it ends up in. Tiles of instructions that run in turns shrink to the columns of one turn. A copy is
    added only where an instruction would overwrite what is read later; the statistic `copies added` counts these.
    """

    name = "pim-bufferize"
    contract: ClassVar[Contract] = Contract(
        {
            **{
                name: changes_meaning(needed_copies(name, needed), "a copy only saves what would be overwritten")
                for name, needed in (
                    ("local_copies", "overwritten"),
                    ("local_copy_bytes", "overwritten_bytes"),
                    ("buffer_bytes", "overwritten_bytes"),
                )
            },
            **{
                name: changes_meaning(with_added_copies(name), "the same, and the copies that were added")
                for name in (
                    "instructions",
                    "instructions_max",
                    "work_cycles",
                    "busy_cycles_max",
                    "span_cycles",
                    "makespan_cycles",
                )
            },
            "recomputed": no_longer_known("what a buffer holds depends on the order of writes"),
        },
        levels=((Level.TENSORS, Level.BUFFERS),),
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record_statistic("copies added", bufferize(op))
