"""The constants that vector instructions of a batch read from local memory, where each core loads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from ..dialects import pim, spat
from ..dialects.spat import shape_of
from .batch_facts import AnyBatch
from .body_costs import BodyCost
from .op_kinds import is_of


class LoadedConstant(NamedTuple):
    """A constant in local memory."""

    identity: int
    """Of its content."""
    columns: int
    """0 for a stack of tiles."""
    elements: int
    stored: int
    """Elements in global memory: what comes is repeated until it is whole."""


def loaded_constants(op: AnyBatch, operands: Sequence[Sequence[SSAValue]], cost: BodyCost) -> list[LoadedConstant]:
    """What each core of a batch with such `split_operands`, a body of which costs so much, loads for vector
    instructions."""
    if is_of(type(op), (spat.BatchOp,)):
        _, weights = operands
        found: list[LoadedConstant] = []
        for index, columns, size in cost.constants:
            if index is None:
                found.append(LoadedConstant(id(op), columns, size, size // columns))
            else:
                stored = min(size, math.prod(shape_of(weights[index])))
                found.append(LoadedConstant(_identity(weights[index]), columns, size, stored))
        return found + [LoadedConstant(_identity(weights[index]), 0, size, size) for index, size in cost.stacks]
    loaded: list[LoadedConstant] = []
    inputs, constants, *_ = operands
    for value in (*constants, *inputs):
        owner = value.owner
        source = owner.source if type(owner) is pim.ConstantRowsOp else value
        maker = source.owner
        if type(maker) is pim.ConstantOp:
            shape, stored = shape_of(source), math.prod(maker.value.shape)
            size, columns = math.prod(shape), 0 if len(shape) == 3 else shape[0]
            loaded.append(LoadedConstant(_identity(source), columns, size, min(size, stored)))
    return loaded


def _identity(value: SSAValue) -> int:
    owner = value.owner
    return id(owner.value.data) if type(owner) is spat.ConstantOp or type(owner) is pim.ConstantOp else 0
