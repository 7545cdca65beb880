"""Patterns of `onnx-simplify`: arithmetic with constants moves into the weights before it."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..dialects import onnx
from ..dialects.onnx_base import channels_of, shape_of, tensor_type
from ..dialects.tile import dtype_of
from .onnx_rewrite import (
    along_channels,
    constant_like,
    float_constant,
    is_normal,
    layer_parameters,
    per_channel,
    substitute,
)


class ChainVariadic(RewritePattern):
    """Sum is a chain of Add; Mean is one and a Mul."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SumOp | onnx.MeanOp, rewriter: PatternRewriter) -> None:
        if len(op.data) < 2:
            return
        value, *others = op.data
        new: list[onnx.OnnxOp] = []
        for other in others:
            new.append(onnx.AddOp.of([value, other]))
            value = new[-1].results[0]
        if isinstance(op, onnx.MeanOp):
            factor = onnx.ConstantOp.from_array(np.array(1 / len(op.data), dtype_of(tensor_type(value).element_type)))
            new += [factor, onnx.MulOp.of([value, factor.output])]
        substitute(rewriter, op, new)


class ConstantOperandSecond(RewritePattern):
    """Add and Mul have their constant as second operand."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.AddOp | onnx.MulOp, rewriter: PatternRewriter) -> None:
        if onnx.constant_of(op.a) is not None and onnx.constant_of(op.b) is None:
            substitute(rewriter, op, [type(op).of([op.b, op.a])])


class SubtractAndDivideByConstant(RewritePattern):
    """x - c is x + (-c), and x / c is x * (1 / c)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SubOp | onnx.DivOp, rewriter: PatternRewriter) -> None:
        array = float_constant(op.b)
        if array is None:
            return
        subtracts = isinstance(op, onnx.SubOp)
        constant = constant_like(-array if subtracts else 1 / array, op.b)
        new = onnx.AddOp if subtracts else onnx.MulOp
        substitute(rewriter, op, [constant, new.of([op.a, constant.output])])


class NegateByMul(RewritePattern):
    """-x is x * -1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.NegOp, rewriter: PatternRewriter) -> None:
        dtype = dtype_of(tensor_type(op.x).element_type)
        if dtype is not None and dtype.kind == "f":
            factor = onnx.ConstantOp.from_array(np.array(-1, dtype))
            substitute(rewriter, op, [factor, onnx.MulOp.of([op.x, factor.output])])


class LowerBatchNormalization(RewritePattern):
    """A normalization with constant statistics is one Mul and one Add with constants of shape [C, 1, 1]."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.BatchNormalizationOp, rewriter: PatternRewriter) -> None:
        arrays = [onnx.constant_of(value) for value in (op.scale, op.b, op.mean, op.var)]
        scale, shift, mean, var = arrays
        if scale is None or shift is None or mean is None or var is None:
            return
        # In double precision: what is left of the statistics is two roundings.
        factor = scale.astype(np.float64) / np.sqrt(var.astype(np.float64) + op.epsilon.value.data)
        offset = shift - mean * factor
        factors = constant_like(along_channels(factor, op.x), op.scale)
        offsets = constant_like(along_channels(offset, op.x), op.b)
        product = onnx.MulOp.of([op.x, factors.output])
        substitute(rewriter, op, [factors, product, offsets, onnx.AddOp.of([product.c, offsets.output])])


class FoldIntoLayer(RewritePattern):
    """Mul or Add by a constant for each channel moves into weights and bias of the Conv or Gemm before it.

    Only if nothing else reads what the layer computes.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MulOp | onnx.AddOp, rewriter: PatternRewriter) -> None:
        layer = op.a.owner
        if not isinstance(layer, onnx.ConvOp | onnx.GemmOp) or not op.a.has_one_use():
            return
        array = float_constant(op.b)
        if array is None or shape_of(op.c) != shape_of(op.a):
            return
        vector = per_channel(array, op.a)
        weights, bias = layer_parameters(layer)
        x, w, *b = layer.operands
        if vector is None or weights is None or (b and bias is None):
            return
        new: list[onnx.OnnxOp] = []
        if isinstance(op, onnx.MulOp):
            axis = 0 if isinstance(layer, onnx.ConvOp) else 1
            along_axis = [-1 if i == axis else 1 for i in range(weights.ndim)]
            new.append(constant_like(weights * vector.reshape(along_axis), w))
            w = new[-1].results[0]
            if bias is not None:
                new.append(constant_like(bias * vector, b[0]))
                b = [new[-1].results[0]]
        else:
            new.append(constant_like(vector if bias is None else bias + vector, b[0] if b else op.b))
            b = [new[-1].results[0]]
        new.append(type(layer).of([x, w, *b], layer.properties))
        substitute(rewriter, op, new, layer)


class MergeArithmetic(RewritePattern):
    """A chain of Mul and Add by constants is one Mul, then one Add: (x + a) * m is x * m + a * m.

    Not if a * m has more elements than a.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MulOp | onnx.AddOp, rewriter: PatternRewriter) -> None:
        first = op.a.owner
        if not isinstance(first, onnx.MulOp | onnx.AddOp) or not op.a.has_one_use():
            return
        inner, outer = float_constant(first.b), float_constant(op.b)
        if inner is None or outer is None or shape_of(first.a) != shape_of(op.c):
            return
        # The merged constant must not be larger than both: a column and a row make a matrix.
        if np.broadcast_shapes(inner.shape, outer.shape) not in (inner.shape, outer.shape):
            return
        match first, op:
            case (onnx.MulOp(), onnx.MulOp()):
                constant = constant_like(inner * outer, first.b)
                new = [constant, onnx.MulOp.of([first.a, constant.output])]
            case (onnx.AddOp(), onnx.AddOp()):
                constant = constant_like(inner + outer, first.b)
                new = [constant, onnx.AddOp.of([first.a, constant.output])]
            case (onnx.AddOp(), onnx.MulOp()):
                # A number becomes one for each channel, as it is read anyway.
                if max(inner.size, channels_of(op.c)) < np.broadcast(inner, outer).size:
                    return
                offset = constant_like(inner * outer, first.b)
                product = onnx.MulOp.of([first.a, op.b])
                new = [product, offset, onnx.AddOp.of([product.c, offset.output])]
            case _:
                return
        substitute(rewriter, op, new, first)


class NormalizeGemm(RewritePattern):
    """A Gemm multiplies by a constant [K, N] and adds a constant [N] or nothing; the rest of it stands beside it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GemmOp, rewriter: PatternRewriter) -> None:
        if is_normal(op):
            return
        alpha, beta = op.alpha.value.data, op.beta.value.data
        new: list[onnx.OnnxOp] = []

        def add(made: onnx.OnnxOp) -> SSAValue:
            new.append(made)
            return made.results[0]

        a = add(onnx.TransposeOp.of([op.a])) if op.trans_a.value.data else op.a
        weights = float_constant(op.b)
        bias = None if op.c is None else float_constant(op.c)
        vector = None if bias is None else per_channel(bias, op.y)
        if weights is not None:
            matrix = weights.T if op.trans_b.value.data else weights
            if alpha != 1:
                matrix = matrix * weights.dtype.type(alpha)
            operands = [a, add(constant_like(matrix, op.b))]
            if op.c is not None and vector is not None:
                operands.append(add(constant_like(vector * vector.dtype.type(beta), op.c)))
            product = add(onnx.GemmOp.of(operands))
        else:
            b = add(onnx.TransposeOp.of([op.b])) if op.trans_b.value.data else op.b
            product = add(onnx.MatMulOp.of([a, b]))
            if alpha != 1:
                product = add(onnx.MulOp.of([product, add(_scalar(alpha, product))]))
        if op.c is not None and (weights is None or vector is None):
            c = op.c
            if beta != 1:
                c = add(onnx.MulOp.of([c, add(_scalar(beta, product))]))
            add(onnx.AddOp.of([product, c]))
        substitute(rewriter, op, new)


def _scalar(number: float, value: SSAValue) -> onnx.ConstantOp:
    return onnx.ConstantOp.from_array(np.array(number, dtype_of(tensor_type(value).element_type)))


class MatMulToGemm(RewritePattern):
    """A matrix times a constant matrix is a Gemm."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MatMulOp, rewriter: PatternRewriter) -> None:
        weights = float_constant(op.b)
        if weights is not None and weights.ndim == 2 and len(shape_of(op.a)) == 2:
            substitute(rewriter, op, [onnx.GemmOp.of([op.a, op.b])])


ARITHMETIC_PATTERNS = (
    ChainVariadic(),
    ConstantOperandSecond(),
    SubtractAndDivideByConstant(),
    NegateByMul(),
    NormalizeGemm(),
    MatMulToGemm(),
    LowerBatchNormalization(),
    FoldIntoLayer(),
    MergeArithmetic(),
)
