"""`spat-merge-trivial`: fold what is not worth an op of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import Contract, bytes_of_joined_constants, changes_meaning, fused_lanes
from ..dialects.spat import ComputeBatchOp
from ..lowering.trivial_folding import erase_dead, fold_body, share_batches, share_constants
from .statistics import record_statistic


@dataclass(frozen=True)
class SpatMergeTrivialPass(ModulePass):
    """Folds trivial computation into its neighbours.

    Additions of zero, products with one, and an activation right after the same activation vanish; constants that are
    added (or multiplied) one after another become one; a view of a whole tile becomes the tile. Equal constants become
    one, and so do batches without weights that have become equal; batches that nothing reads are erased.
    """

    name = "spat-merge-trivial"
    contract: ClassVar[Contract] = Contract(
        {
            **dict.fromkeys(
                ("compute_instances", "graph_lanes"),
                changes_meaning(fused_lanes, "lanes whose results nothing reads are no work"),
            ),
            "host_bytes": changes_meaning(
                bytes_of_joined_constants, "where constants of two ops become one, it may be equal to no other any more"
            ),
        }
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record_statistic("constants shared", share_constants(op))
        batches = [inner for inner in op.walk() if isinstance(inner, ComputeBatchOp)]
        record_statistic("ops folded", sum(fold_body(batch) for batch in batches))
        record_statistic("batches shared", share_batches(op))
        record_statistic("ops erased", erase_dead(op))
