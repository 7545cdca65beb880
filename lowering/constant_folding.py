"""Computes the results of `onnx` ops whose operands are constants."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ..dialects import onnx
from ..dialects.onnx_base import shape_of, tensor_type
from ..dialects.tile import Array, dtype_of

MAX_FOLDED_BYTES = 2**31
"""Results above this size stay computed: a shape in a hostile file must not fill the memory."""


def fold(op: onnx.OnnxOp) -> Sequence[Array] | None:
    """The results of ``op`` if they are known at compile time, else None."""
    if isinstance(op, onnx.ConstantOp):
        return None
    if not isinstance(op, onnx.ShapeOp | onnx.SizeOp) and not all(
        isinstance(operand.owner, onnx.ConstantOp) for operand in op.operands
    ):
        return None
    if sum(map(_bytes, op.results)) > MAX_FOLDED_BYTES:
        return None
    from ..simulators.onnx_kernels import evaluate

    # A shape is known whatever the operand holds.
    known = [] if isinstance(op, onnx.ShapeOp | onnx.SizeOp) else [onnx.constant_of(value) for value in op.operands]
    return evaluate(op, [array for array in known if array is not None])


def _bytes(value: SSAValue) -> int:
    dtype = dtype_of(tensor_type(value).get_element_type())
    return math.prod(shape_of(value)) * (dtype.itemsize if dtype else 1)
