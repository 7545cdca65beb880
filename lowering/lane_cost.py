"""What one lane of a batch costs on the machine: the cycles of its instructions, and the local memory it works in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..codegen.isa import Op
from ..dialects.pim import IssueOp
from ..dialects.pim import shape_of as pim_shape_of
from ..dialects.spat import BatchOp, VMMOp, shape_of
from .spat_to_pim.body import lower_body
from .target import Target


def issue_cycles(op: IssueOp, target: Target) -> int:
    """Cycles of all instructions that one lane issues for ``op``."""
    machine, element_bytes = target.machine, target.element_bytes
    match op.opcode:
        case Op.MVMUL:
            assert op.matrix is not None
            arrays = -(-pim_shape_of(op.matrix)[1] // target.array_columns)
            cycles = machine.mvm_cycles(arrays, target.precision)
        case Op.LMV:
            cycles = machine.copy_cycles(op.size * element_bytes)
        case Op.LLDI:
            cycles = machine.fill_cycles(op.size * element_bytes)
        case opcode:
            cycles = machine.vector_cycles(opcode, op.size, target.precision)
    return op.count * int(cycles)


def lane_cycles(batch: BatchOp, target: Target) -> int:
    """Cycles of one lane, without its communication."""
    return sum(issue_cycles(op, target) for op in lower_body(batch).issues)


def batch_arrays(batch: BatchOp, target: Target) -> int:
    """Arrays that one replica of the batch takes."""
    return sum(vmm_arrays(op, target) for op in batch.vmm_ops)


def vmm_arrays(op: VMMOp, target: Target) -> int:
    return -(-shape_of(op.result)[1] // target.array_columns)


@dataclass(frozen=True)
class BatchCost:
    """What a batch takes of the core that it runs on."""

    cycles: int
    """Of one lane, without its communication."""
    arrays: int
    """Of one replica."""
    working_bytes: int
    """An estimate for the temporary tiles and rows of zeros of a replica, and its constants."""
    window_bytes: int
    """Of the windows that a lane reads, with room to receive the next rows."""


class BatchCosts:
    """The costs of batches, each computed once."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._known: dict[BatchOp, BatchCost] = {}

    def of(self, batch: BatchOp) -> BatchCost:
        if batch not in self._known:
            self._known[batch] = self._cost(batch)
        return self._known[batch]

    def _cost(self, batch: BatchOp) -> BatchCost:
        target, body = self.target, lower_body(batch)
        rows = [shape_of(out)[1:] for out in batch.outs]
        constants = [(columns, shape_of(value)[-1]) for value, columns in body.constants]
        stacks = [shape_of(value) for value in body.inputs[len(batch.inputs) :]]
        windows = [
            (min(window.rows + 2, shape_of(value)[0]), *shape_of(argument)[1:])
            for value, window, argument in zip(batch.inputs, batch.row_windows, batch.input_arguments, strict=True)
        ]
        return BatchCost(
            max(1, sum(issue_cycles(op, target) for op in body.issues)),
            batch_arrays(batch, target),
            target.element_bytes * (3 * _elements(rows) + _elements(constants) + _elements(stacks)),
            target.element_bytes * _elements(windows),
        )


def _elements(shapes: Sequence[Sequence[int]]) -> int:
    return sum(int(np.prod(shape, dtype=np.int64)) for shape in shapes)
