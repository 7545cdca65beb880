"""`pim-plan-memory`: an address for every buffer on every core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, changes_meaning, constant, decided_here, no_longer_known
from ..analysis.yardsticks import needed, with_room
from ..lowering.memory_planning import plan_module
from .statistics import record_statistic

SMALL_GAPS = 256
"""Bytes that gaps may take on a core that holds less than a kilobyte: a few tiles, and half of it is not even that."""


@dataclass(frozen=True)
class PimPlanMemoryPass(ModulePass):
    """Plans the local memory of every core by lifetimes, and enforces its capacity.

    Rows of a distributed tensor take the slots of a ring, which has as many as rows are ever held at once; temporary
    tiles of a batch share a frame; rings, frames and constants that never live at the same time share memory. The
    statistic `peak bytes` is the memory of the fullest core. If a core needs more than it has, the error names what
    holds the memory.
    """

    name = "pim-plan-memory"
    contract: ClassVar[Contract] = Contract(
        {
            **dict.fromkeys(
                ("logical_core_bytes", "physical_core_bytes"), decided_here("before, buffers have no addresses")
            ),
            "buffer_bytes": no_longer_known("buffers have addresses, and share them"),
            "core_bytes_max": changes_meaning(
                with_room("live_bytes_max", least=SMALL_GAPS),
                "rings, constants and places of tiles that do not live at the same time share memory, but for gaps",
            ),
            "core_bytes": changes_meaning(with_room("live_bytes"), "the same on all cores together"),
            "plan_faults": changes_meaning(constant(0), "no two things in one place, and nothing without a place"),
            "zeroed_bytes": changes_meaning(
                needed("needed_zero_bytes"), "once, around as many rows as are held at once, and one row for all others"
            ),
        }
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record_statistic("peak bytes", plan_module(op))
