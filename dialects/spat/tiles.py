"""Tiles, and what the ops on them share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import Float32Type, TensorType
from xdsl.utils.exceptions import VerifyException

from ..interned import tensor_type

F32Tensor: TypeAlias = TensorType[Float32Type]

tile_type = tensor_type
"""The type of a tile (or of any other f32 tensor) of this shape."""


def require(condition: bool, message: str) -> None:
    """Raises a VerifyException unless the condition holds."""
    if not condition:
        raise VerifyException(message)


def dims(shape: Sequence[int]) -> str:
    """A shape in a message: ``56x64``."""
    return "x".join(map(str, shape))
