"""What operands and results of the `pim` dialect are."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects.builtin import (
    I64,
    IntegerAttr,
    ShapedType,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue

from ..shaped_types import F32Shape

Integer: TypeAlias = IntegerAttr[I64]


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor or buffer."""
    type = value.type
    assert isinstance(type, ShapedType)
    return type.get_shape()


def is_tensor(value: SSAValue) -> bool:
    """Whether a value is a tensor; otherwise it is a buffer."""
    type: Attribute = value.type
    return isinstance(type, TensorType)


VALUES = F32Shape((3,), buffers=True)
"""Distributed tensors, or the buffers of their rows."""


BUFFER_OF_ROWS = F32Shape((3,), tensors=False, buffers=True)
TILE_BUFFER = F32Shape((2,), tensors=False, buffers=True)
