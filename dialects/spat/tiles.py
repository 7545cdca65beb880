"""Tiles, and what the ops on them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import I64, Float32Type, IntegerAttr, ShapedType, TensorType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ..interned import tensor_type

F32Tensor: TypeAlias = TensorType[Float32Type]
Integer: TypeAlias = IntegerAttr[I64]

tile_type = tensor_type
"""The type of a tile (or of any other f32 tensor) of this shape."""


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    type = value.type
    assert isinstance(type, ShapedType)
    return type.get_shape()


def require(condition: bool, message: str) -> None:
    """Raises a VerifyException unless the condition holds."""
    if not condition:
        raise VerifyException(message)


def dims(shape: Sequence[int]) -> str:
    """A shape in words: ``56x64``."""
    return "x".join(map(str, shape))
