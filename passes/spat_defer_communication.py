"""`spat-defer-communication`: who needs which rows of whose result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.contract import STRICTEST, Contract
from ..analysis.message_times import row_reads
from ..dialects.location import copy_location
from ..dialects.spat import DeferredCommunicationOp, InputOp, OutputOp, ScheduledComputeBatchOp
from ..lowering.placement_tables import Ints, read_lines
from .statistics import record_statistic


@dataclass(frozen=True)
class SpatDeferCommunicationPass(ModulePass):
    """Inserts a `spat.deferred_communication` behind every tensor of which some core reads rows it does not compute.

    A core that reads a row for several layers needs it once. How rows travel is left to later passes.
    """

    name = "spat-defer-communication"
    contract: ClassVar[Contract] = STRICTEST
    """It only records what follows from the placement of lanes."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for producer in list(op.walk()):
            if isinstance(producer, InputOp):
                _defer(producer, producer.result, None)
            elif isinstance(producer, ScheduledComputeBatchOp):
                for value in producer.outs:
                    _defer(producer, value, producer.lane_cores)


def _defer(producer: Operation, value: SSAValue, home: Ints | None) -> None:
    """Writes down who needs rows of ``value``; ``home`` is the core of each row, or None if an input has them."""
    reads = row_reads(read_lines(value))
    if home is not None:
        reads = reads.where(reads.core != home[reads.row])
    needs = np.stack((reads.row, reads.core), axis=1)
    # An input whose readers only look beside its images is still to be known to them.
    if not len(needs) and (home is not None or not any(use.operation.results for use in value.uses)):
        return
    record_statistic("rows needed elsewhere", len(needs))
    deferred = copy_location(producer, DeferredCommunicationOp(value, np.ascontiguousarray(needs)))
    Rewriter.insert_op(deferred, InsertPoint.after(producer))
    # An output is stored by the core that computes it.
    value.replace_uses_with_if(
        deferred.result, lambda use: not isinstance(use.operation, OutputOp | DeferredCommunicationOp)
    )
