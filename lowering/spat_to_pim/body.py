"""The body of a batch as instructions on tensors: the IR of what instruction selection (`selector.py`) decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import spat
from ...dialects.interned import tensor_type
from ...dialects.location import copy_location
from ...dialects.pim import EmptyOp, IssueOp, YieldOp
from ...dialects.tile import ArrayAttr
from ..body_content import body_content
from .selection import Empty, Issue, Selection
from .selector import select


@dataclass
class LoweredBody:
    """What a `pim.core_batch` needs: its block, and its operands and their windows by kind."""

    block: Block
    inputs: list[SSAValue]
    windows: list[Attribute]
    constants: list[tuple[SSAValue, int]]
    """Each with the columns that it is repeated to."""
    matrices: list[SSAValue]

    @property
    def issues(self) -> list[IssueOp]:
        return [op for op in self.block.ops if isinstance(op, IssueOp)]


def lower_body(batch: spat.BatchOp) -> LoweredBody:
    """The instructions of a batch. Reads the batch only."""
    selection = select(body_content(batch))
    source, weights = list(batch.block.ops), list(batch.weights)
    constants = [
        (_ones(batch, held.channels) if held.argument is None else weights[held.argument], held.columns)
        for held in selection.constants
    ]
    return LoweredBody(
        _block(batch, selection, source),
        [*batch.inputs, *(weights[pick.argument] for pick in selection.picks)],
        [*batch.windows, *(_picked_rows(source[pick.source]) for pick in selection.picks)],
        constants,
        [weights[matrix.argument] for matrix in selection.matrices],
    )


def _block(batch: spat.BatchOp, selection: Selection, source: list[Operation]) -> Block:
    further = [held.value for held in (*selection.picks, *selection.constants, *selection.matrices)]
    block = Block(
        arg_types=[
            *(argument.type for argument in batch.input_arguments),
            *(tensor_type(*selection.shapes[value]) for value in further),
        ]
    )
    values: dict[int, SSAValue] = dict(zip((*range(len(batch.windows)), *further), block.args, strict=True))
    ops: list[Operation] = []
    for step in selection.steps:
        match step:
            case Empty():
                op = EmptyOp(*selection.shapes[step.result])
                values[step.result] = op.result
            case Issue():
                op = _issue(step, values.__getitem__)
                assert op.result is not None
                values[step.result] = op.result
            case _:
                op = YieldOp(*(values[value] for value in step.values))
        ops.append(copy_location(source[step.source], op))
    block.add_ops(ops)
    return block


def _issue(issue: Issue, value: Callable[[int], SSAValue]) -> IssueOp:
    return IssueOp(
        issue.instruction,
        issue.length,
        issue.repeat,
        [(value(read), access) for read, access in issue.reads],
        value(issue.dest),
        issue.access,
        matrix=None if issue.matrix is None else value(issue.matrix),
        matrix_row=issue.matrix_row,
        immediate=issue.immediate,
        chained=issue.chained,
        turns=issue.turns,
    )


def _picked_rows(op: Operation) -> ArrayAttr:
    """The row of the stack that each lane reads, `i64[lanes, 1]`."""
    assert isinstance(op, spat.PickOp)
    return ArrayAttr.get(op.table.array.astype(np.int64)[:, None])


def _ones(batch: spat.BatchOp, length: int) -> SSAValue:
    return copy_location(batch, spat.ConstantOp(ArrayAttr.get(np.ones((1, length), np.float32)))).result
