"""Patterns of `onnx-simplify`: what is known, what does nothing, and what only renames dimensions."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..dialects import onnx
from ..dialects.onnx_base import int64s, shape_of
from ..lowering.constant_folding import fold
from .onnx_rewrite import forward, substitute


class FoldConstants(RewritePattern):
    """An op on constants is a constant; so is the shape of anything."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        arrays = fold(op)
        if arrays is None:
            return
        constants = [onnx.ConstantOp.from_array(array) for array in arrays]
        for constant in constants:
            constant.location = op.location
        rewriter.replace(op, constants, [constant.output for constant in constants])


class RemoveIdentities(RewritePattern):
    """Ops that give back their first operand."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        if op.operands and len(op.results) == 1 and op.results[0].type == op.operands[0].type and _does_nothing(op):
            forward(rewriter, op, op.operands[0])


def _does_nothing(op: onnx.OnnxOp) -> bool:
    """Whether ``op`` keeps its first operand, given that the result has the same type."""
    match op:
        case onnx.IdentityOp() | onnx.DropoutOp() | onnx.CastOp() | onnx.ExpandOp() | onnx.TileOp():
            return True
        case onnx.GlobalMaxPoolOp() | onnx.GlobalAveragePoolOp():
            return True
        case onnx.PoolOp():
            return set(op.kernel_shape.get_values()) == {1}
        case onnx.ReshapeOp() | onnx.FlattenOp() | onnx.SqueezeOp() | onnx.SplitOp():
            return True
        case onnx.ConcatOp() | onnx.SumOp() | onnx.MeanOp() | onnx.MaxOp() | onnx.MinOp():
            return len(op.operands) == 1
        case onnx.ClipOp():
            return op.minimum is None and op.maximum is None
        case onnx.PadOp():
            return not any(op.pads.get_values())
        case onnx.SliceOp():
            return op.steps is None or min(op.steps.get_values(), default=1) > 0
        case onnx.TransposeOp():
            return list(op.permutation()) == sorted(op.permutation())
        case onnx.MulOp() | onnx.DivOp() | onnx.PowOp():
            return _is_all(op.operands[1], 1)
        case onnx.AddOp() | onnx.SubOp():
            return _is_all(op.operands[1], 0)
        case _:
            return False


def _is_all(value: SSAValue, number: int) -> bool:
    array = onnx.constant_of(value)
    return array is not None and bool(np.all(array == number))


class RenameToReshape(RewritePattern):
    """Flatten, Squeeze, Unsqueeze, and a transpose that moves no two long axes past each other, are a Reshape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.FlattenOp | onnx.SqueezeOp | onnx.UnsqueezeOp | onnx.TransposeOp, rewriter: PatternRewriter
    ) -> None:
        if isinstance(op, onnx.TransposeOp):
            shape = shape_of(op.data)
            long = [axis for axis in op.permutation() if shape[axis] != 1]
            if long != sorted(long):
                return
        substitute(rewriter, op, [onnx.ReshapeOp.to(op.operands[0], shape_of(op.results[0]))])


class MergeReshapes(RewritePattern):
    """A reshape of a reshape is one reshape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ReshapeOp, rewriter: PatternRewriter) -> None:
        first = op.data.owner
        if isinstance(first, onnx.ReshapeOp):
            substitute(rewriter, op, [onnx.ReshapeOp.to(first.data, shape_of(op.reshaped))], first)


class MergeTransposes(RewritePattern):
    """A transpose of a transpose is one transpose."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TransposeOp, rewriter: PatternRewriter) -> None:
        first = op.data.owner
        if isinstance(first, onnx.TransposeOp):
            perm = int64s([first.permutation()[axis] for axis in op.permutation()])
            substitute(rewriter, op, [onnx.TransposeOp.of([first.data], {"perm": perm})], first)


SHAPE_PATTERNS = (FoldConstants(), RemoveIdentities(), RenameToReshape(), MergeReshapes(), MergeTransposes())
