"""`spat-merge-graph`: one batch where lanes correspond one to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, changes_meaning, fused_lanes, may_trade
from ..dialects.spat import ComputeBatchOp
from ..lowering.batch_fusion import can_fuse, fuse
from .statistics import record_statistic


@dataclass(frozen=True)
class SpatMergeGraphPass(ModulePass):
    """Fuses a batch into its only consumer if lane i of the consumer needs just what lane i of the producer yields.

    Sums of parts, biases, activations and residual additions so move to the core where their operands are formed. Two
    batches with weights are never fused, and a batch that reads several rows of its operand keeps its own lanes.
    """

    name = "spat-merge-graph"
    contract: ClassVar[Contract] = Contract(
        {
            **dict.fromkeys(
                ("compute_instances", "graph_lanes"),
                changes_meaning(fused_lanes, "a lane of a fused batch stands for one of each batch in it"),
            ),
            "span_cycles": may_trade(
                "a lane that adds the products of other parts to its own waits for them before it starts, which saves "
                "the adding batch cores and its rows a message each. It costs latency: to be limited to operands that "
                "are there anyway"
            ),
        }
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for batch in [inner for inner in op.walk() if isinstance(inner, ComputeBatchOp)]:
            current: ComputeBatchOp | None = batch
            while current is not None:
                current = _fuse_first(current)


def _fuse_first(consumer: ComputeBatchOp) -> ComputeBatchOp | None:
    """Fuses the first operand's producer that can be; None if there is none."""
    for index, value in enumerate(consumer.inputs):
        producer = value.owner
        if isinstance(producer, ComputeBatchOp) and can_fuse(producer, consumer, index):
            record_statistic("batches fused")
            return fuse(producer, consumer, index)
    return None
