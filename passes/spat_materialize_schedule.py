"""`spat-materialize-schedule`: the graph form becomes the scheduled form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.contract import Contract, changes_meaning, no_longer_known, of
from ..dialects.location import copy_location, place_of
from ..dialects.spat import ComputeBatchOp, ScheduledComputeBatchOp
from ..support.diagnostics import TileError


@dataclass(frozen=True)
class SpatMaterializeSchedulePass(ModulePass):
    """Turns every `spat.compute_batch` with cores and steps into a `spat.scheduled_compute_batch`.

    What was an annotation becomes part of the op: from here on a batch cannot exist without its place and its order.
    """

    name = "spat-materialize-schedule"
    contract: ClassVar[Contract] = Contract(
        {
            "graph_lanes": no_longer_known("they are scheduled lanes now"),
            "scheduled_lanes": changes_meaning(of("graph_lanes"), "each lane of the graph form is a scheduled lane"),
        }
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for batch in [inner for inner in op.walk() if isinstance(inner, ComputeBatchOp)]:
            if not batch.is_scheduled:
                raise TileError(place_of(batch), "a batch has no cores and steps", "run spat-schedule-peft first")
            scheduled = ScheduledComputeBatchOp.create(
                operands=list(batch.operands),
                result_types=list(batch.result_types),
                properties=dict(batch.properties),
                regions=[batch.detach_region(batch.body)],
            )
            Rewriter.replace_op(batch, copy_location(batch, scheduled))
