"""`spat-merge-graph`: one batch where lanes correspond one to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, changes_meaning, fused_lanes, may_trade, or_part_more
from ..analysis.yardsticks import of_fused_nodes
from ..dialects.spat import ComputeBatchOp
from ..lowering.batch_fusion import can_fuse, fuse
from ..lowering.fusion_delay import FusionDelay
from ..lowering.target import target_or_stand_in
from .statistics import record_statistic


@dataclass(frozen=True)
class SpatMergeGraphPass(ModulePass):
    """Fuses a batch into its only consumer if lane i of the consumer needs just what lane i of the producer yields.

    This moves sums of parts, biases, activations and residual additions to the core where their operands are formed.
    Two batches with weights are never fused, and a batch that reads several rows of its operand keeps its own lanes.
    Nothing is fused that would then wait for another operand longer than its message takes.
    """

    name = "spat-merge-graph"
    contract: ClassVar[Contract] = Contract(
        {
            **dict.fromkeys(
                ("compute_instances", "graph_lanes"),
                changes_meaning(fused_lanes, "a lane of a fused batch stands for one of each batch in it"),
            ),
            "vector_slots_of_node": changes_meaning(
                of_fused_nodes("vector_slots_of_node"), "a fused batch has no more replicas than its parts had"
            ),
            "lane_path_cycles": changes_meaning(
                or_part_more("lane_path_cycles", 8), "what is fused waits for all that the batch reads, hardly longer"
            ),
            "span_cycles": may_trade(
                "what is fused into a batch with weights runs on as few replicas as that has; in return its rows need "
                "no message, which takes longer than the work"
            ),
        }
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_or_stand_in(op)
        for block in dict.fromkeys(batch.parent for batch in op.walk() if isinstance(batch, ComputeBatchOp)):
            assert block is not None
            order: dict[Operation, int] = {inner: position for position, inner in enumerate(block.ops)}
            delay = FusionDelay(target)
            for batch in [inner for inner in block.ops if isinstance(inner, ComputeBatchOp)]:
                current = batch
                while (fused := _fuse_first(current, order, delay)) is not None:
                    current = fused
                delay.add(current)


def _fuse_first(consumer: ComputeBatchOp, order: dict[Operation, int], delay: FusionDelay) -> ComputeBatchOp | None:
    """Fuses the first operand's producer that can be; None if there is none."""
    for index, value in enumerate(consumer.split_operands[0]):
        producer = value.owner
        if isinstance(producer, ComputeBatchOp) and can_fuse(producer, consumer, index, order, delay):
            record_statistic("batches fused")
            position = order[consumer]
            fused = fuse(producer, consumer, index)
            order[fused] = position
            return fused
    return None
