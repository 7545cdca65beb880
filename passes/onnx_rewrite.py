"""Helpers of the rewrite patterns on the `onnx` dialect."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ..dialects.location import fuse_locations
from ..dialects.onnx import ConstantOp, ConvOp, GemmOp, constant_of
from ..dialects.onnx_base import shape_of
from ..dialects.tile import Array


def substitute(rewriter: PatternRewriter, op: Operation, new: Sequence[Operation], *absorbed: Operation) -> None:
    """Replaces ``op`` by ``new``, whose last op gives the results.

    New ops without a location of their own come from ``op`` and what it ``absorbed``.
    """
    for replacement in new:
        if isinstance(replacement.location, UnknownLoc):
            fuse_locations(replacement, *absorbed, op)
    rewriter.replace(op, new)


def forward(rewriter: PatternRewriter, op: Operation, value: SSAValue) -> None:
    """Replaces the one result of ``op`` by ``value``."""
    rewriter.replace(op, (), (value,))


def constant_like(array: Array, source: SSAValue) -> ConstantOp:
    """A constant with the numbers of ``array``; it takes element type, name and location of the constant ``source``."""
    assert isinstance(source.owner, ConstantOp)
    constant = ConstantOp.from_array(np.asarray(array, source.owner.value.dtype))
    constant.location = source.owner.location
    constant.output.name_hint = source.name_hint
    return constant


def float_constant(value: SSAValue) -> Array | None:
    """The numbers of a floating point constant, else None."""
    array = constant_of(value)
    return array if array is not None and array.dtype.kind == "f" else None


def per_channel(array: Array, value: SSAValue) -> Array | None:
    """The elements of ``array``, one for each channel (axis 1) of ``value``; None if they vary along another axis."""
    shape = shape_of(value)
    if array.ndim > len(shape) or len(shape) < 2:
        return None
    aligned = array.reshape((1,) * (len(shape) - array.ndim) + array.shape)
    if any(extent != 1 for axis, extent in enumerate(aligned.shape) if axis != 1):
        return None
    if aligned.shape[1] not in (1, shape[1]):
        return None
    return np.broadcast_to(aligned.reshape(-1), (shape[1],))


def along_channels(vector: Array, value: SSAValue) -> Array:
    """``vector``, shaped so that it broadcasts along axis 1 of ``value``: [C, 1, 1] for an image."""
    return vector.reshape(-1, *[1] * (len(shape_of(value)) - 2))


def layer_parameters(layer: ConvOp | GemmOp) -> tuple[Array | None, Array | None]:
    """Constant weights and bias of a layer in normal form, None for what is not so."""
    if isinstance(layer, GemmOp) and not is_normal(layer):
        return None, None
    bias = layer.b if isinstance(layer, ConvOp) else layer.c
    weights = layer.w if isinstance(layer, ConvOp) else layer.b
    return float_constant(weights), None if bias is None else float_constant(bias)


def is_normal(op: GemmOp) -> bool:
    """Whether ``op`` is a plain product by constant weights, plus a constant bias vector or nothing."""
    plain = op.alpha.value.data == op.beta.value.data == 1 and not op.trans_a.value.data and not op.trans_b.value.data
    biased = op.c is None or (constant_of(op.c) is not None and shape_of(op.c) == shape_of(op.y)[1:])
    return plain and biased and constant_of(op.b) is not None
