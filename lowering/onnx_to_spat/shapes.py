"""Ops that only rename channels: these cost nothing."""

from __future__ import annotations

import math

import numpy as np

from ...dialects import onnx
from ...dialects.onnx_base import shape_of
from .context import LoweringContext, refuse
from .feature import Feature, Segment
from .operands import feature_of


def lower_reshape(context: LoweringContext, op: onnx.ReshapeOp) -> Feature:
    feature = feature_of(context, op, op.data)
    shape = shape_of(op.reshaped)
    reshaped = feature.reshaped(shape)
    if feature.is_vector and len(shape) == 4 and shape[0] == feature.images and shape[2:] != (1, 1):
        raise refuse(
            op,
            f"a reshape of channels to positions, {list(feature.shape)} to {list(shape)}",
            "flatten images, and leave vectors flat",
        )
    return reshaped


def lower_transpose(context: LoweringContext, op: onnx.TransposeOp) -> Feature:
    feature = feature_of(context, op, op.data)
    rank = len(feature.shape)
    perm = tuple(op.perm.get_values()) if op.perm is not None else tuple(reversed(range(rank)))
    shape = shape_of(op.transposed)
    moved = [axis for axis in range(rank) if perm[axis] != axis and feature.shape[axis] > 1]
    if not moved or [axis for axis in perm if feature.shape[axis] > 1] == sorted(
        axis for axis in perm if feature.shape[axis] > 1
    ):
        return feature.reshaped(shape)
    axes = feature.channel_axes()
    if axes is None or not set(moved) <= set(axes) or not {perm[axis] for axis in axes} == set(axes):
        raise refuse(op, f"a transpose {list(perm)} of {list(feature.shape)}", "only channels can be permuted")
    extents = [feature.shape[axis] for axis in axes]
    order = np.arange(feature.channels).reshape(extents).transpose([perm[axis] - axes.start for axis in axes])
    new_index = np.empty(feature.channels, np.int32)
    new_index[order.reshape(-1)] = np.arange(feature.channels, dtype=np.int32)
    return feature.permuted_channels(new_index, shape)


def lower_concat(context: LoweringContext, op: onnx.ConcatOp) -> Feature:
    features = [feature_of(context, op, operand) for operand in op.inputs]
    shapes = [list(feature.shape) for feature in features]
    axis = op.axis.value.data % len(shapes[0])
    first = features[0]
    # What is row-major in (images, anything) can be joined along its second axis, or along any behind axes of one.
    if any(math.prod(feature.shape[:axis]) != feature.images for feature in features):
        raise refuse(op, f"a concatenation along axis {axis} of {shapes}", "only channels (axis 1) can be concatenated")
    if any(feature.extents[2:] != first.extents[2:] for feature in features):
        images = [list(feature.extents) for feature in features]
        what = f"a concatenation of {shapes}, which are {images} in another shape"
        raise refuse(op, what, "pool them to the same height and width before")
    segments: list[Segment] = []
    offset = 0
    for feature in features:
        segments += [Segment(s.value, s.channels + np.int32(offset)) for s in feature.segments]
        offset += feature.channels
    shape = shape_of(op.concatenated)
    return Feature(tuple(segments), first.images, first.height, first.columns, shape)
