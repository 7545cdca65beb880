"""What operands and results of the `pim` dialect are: tensors before bufferization, buffers after it."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ..shaped_types import F32Shape


def is_tensor(value: SSAValue) -> bool:
    """Whether a value is a tensor; otherwise it is a buffer."""
    type: Attribute = value.type
    return isinstance(type, TensorType)


VALUES = F32Shape((3,), buffers=True)
"""Distributed tensors, or the buffers of their rows."""

BUFFER_OF_ROWS = F32Shape((3,), tensors=False, buffers=True)
TILE_BUFFER = F32Shape((2,), tensors=False, buffers=True)
