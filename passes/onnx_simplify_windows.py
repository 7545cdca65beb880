"""Patterns of `onnx-simplify`: convolutions, pools and bounds with everything spelled out."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..dialects import onnx
from ..dialects.onnx_base import float32, int64, int64s, shape_of
from .onnx_rewrite import substitute


class ExplicitWindow(RewritePattern):
    """Conv and pools give `kernel_shape`, `pads`, `strides` and `dilations`, and no `auto_pad`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConvOp | onnx.PoolOp, rewriter: PatternRewriter) -> None:
        explicit = window_properties(op.window())
        if "auto_pad" not in op.properties and explicit.items() <= op.properties.items():
            return
        op.properties.pop("auto_pad", None)
        op.properties.update(explicit)
        rewriter.notify_op_modified(op)


def window_properties(window: onnx.Window) -> dict[str, Attribute]:
    """The attributes that spell out ``window``."""
    return {
        "kernel_shape": int64s(window.kernel),
        "pads": int64s(window.pads),
        "strides": int64s(window.strides),
        "dilations": int64s(window.dilations),
    }


class FoldPad(RewritePattern):
    """Zero padding of spatial dimensions before a Conv or a pool moves into its `pads`, where that means the same.

    An average then counts the padding. For a maximum it means the same only if the input is never negative; that is
    known behind a Relu.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConvOp | onnx.PoolOp, rewriter: PatternRewriter) -> None:
        pad = op.x.owner
        if not isinstance(pad, onnx.PadOp) or pad.mode.data != "constant" or pad.value.value.data != 0:
            return
        rank, pads = len(shape_of(pad.data)), pad.pads.get_values()
        begin, end = pads[2:rank], pads[rank + 2 :]
        if min(pads) < 0 or any(pads[:2]) or any(pads[rank : rank + 2]):
            return
        window = op.window()
        properties = dict(op.properties)
        if isinstance(op, onnx.PoolOp):
            widest = [max(b, e) for b, e in zip(begin, end, strict=True)]
            room = zip(widest, window.pads_begin, window.pads_end, window.extents, strict=True)
            if op.ceil_mode.value.data or any(wide + max(b, e) >= extent for wide, b, e, extent in room):
                return
        if isinstance(op, onnx.AveragePoolOp):
            if any(window.pads) and not op.count_include_pad.value.data:
                return
            properties["count_include_pad"] = int64(1)
        if isinstance(op, onnx.MaxPoolOp) and not isinstance(pad.data.owner, onnx.ReluOp):
            return
        window = window._replace(
            pads_begin=tuple(p + q for p, q in zip(window.pads_begin, begin, strict=True)),
            pads_end=tuple(p + q for p, q in zip(window.pads_end, end, strict=True)),
        )
        properties.pop("auto_pad", None)
        properties.update(window_properties(window))
        substitute(rewriter, op, [type(op).of([pad.data, *op.operands[1:]], properties)], pad)


class MeanToGlobalPool(RewritePattern):
    """A mean over exactly the spatial dimensions is a GlobalAveragePool, and a Reshape if they are dropped."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ReduceMeanOp, rewriter: PatternRewriter) -> None:
        rank = len(shape_of(op.data))
        if rank < 3 or op.reduced_axes() != tuple(range(2, rank)):
            return
        pool = onnx.GlobalAveragePoolOp.of([op.data])
        new: list[onnx.OnnxOp] = [pool]
        if not op.keepdims.value.data:
            new.append(onnx.ReshapeOp.to(pool.y, shape_of(op.reduced)))
        substitute(rewriter, op, new)


class WholePoolToGlobalPool(RewritePattern):
    """A pool whose one window is the whole image is a global pool."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.PoolOp, rewriter: PatternRewriter) -> None:
        window, spatial = op.window(), shape_of(op.x)[2:]
        if window.kernel != spatial or any(window.pads) or set(window.dilations) != {1}:
            return
        new = onnx.GlobalMaxPoolOp if isinstance(op, onnx.MaxPoolOp) else onnx.GlobalAveragePoolOp
        substitute(rewriter, op, [new.of([op.x])])


class SimplifyClip(RewritePattern):
    """Bounds that bound nothing are dropped; max(0, x) is a Relu."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ClipOp, rewriter: PatternRewriter) -> None:
        limit = float(np.finfo(np.float32).max)
        properties = dict(op.properties)
        # Exporters write an absent bound as the largest float.
        if op.minimum is not None and op.minimum.value.data <= -limit:
            del properties["min"]
        if op.maximum is not None and op.maximum.value.data >= limit:
            del properties["max"]
        if properties == {"min": float32(0.0)}:
            substitute(rewriter, op, [onnx.ReluOp.of([op.x])])
        elif properties != op.properties:
            substitute(rewriter, op, [onnx.ClipOp.of([op.x], properties)])


class SimplifyMaximum(RewritePattern):
    """max(x, c) with one number c is a Clip, as is min(x, c)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MaxOp | onnx.MinOp, rewriter: PatternRewriter) -> None:
        if len(op.data) != 2:
            return
        for value, bound in (op.data, reversed(op.data)):
            array = onnx.constant_of(bound)
            if array is not None and array.size == 1 and array.dtype == np.float32 and value.type == op.result.type:
                name = "min" if isinstance(op, onnx.MaxOp) else "max"
                bounds = {name: float32(float(array.reshape(())))}
                substitute(rewriter, op, [onnx.ClipOp.of([value], bounds)])
                return


WINDOW_PATTERNS = (
    FoldPad(),
    ExplicitWindow(),
    MeanToGlobalPool(),
    WholePoolToGlobalPool(),
    SimplifyClip(),
    SimplifyMaximum(),
)
