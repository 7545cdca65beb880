"""`convert-spat-to-pim`: tensors on cores, instructions of the ISA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, decided_here, may_trade, no_longer_known
from ..analysis.proxies import Level
from ..lowering.spat_to_pim.convert import convert_to_pim


@dataclass(frozen=True)
class ConvertSpatToPimPass(ModulePass):
    """Selects the instructions of every batch, numbers the array groups of every core, and turns channels into
    transfers and the deferred communication of inputs into loads.

    Views become accesses of the instructions that read them. Needs a scheduled module whose communication is realized.
    """

    name = "convert-spat-to-pim"
    contract: ClassVar[Contract] = Contract(
        {
            "row_bytes_of_core": may_trade("rows of inputs are loaded ahead of the lanes that read them"),
            "scheduled_cycles": no_longer_known("all that was planned has become instructions, and is in their cycles"),
            **dict.fromkeys(("partial_sums", "added_again"), no_longer_known("instructions do not say what they add")),
            "buffer_bytes": decided_here("tensors of a lane have no tiles before"),
        },
        levels=((Level.SCHEDULED, Level.TENSORS),),
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_to_pim(op)
