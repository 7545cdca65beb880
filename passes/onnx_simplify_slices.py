"""Patterns of `onnx-simplify`: channels that nobody reads are not computed, so that they take no weights."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..dialects import onnx
from ..dialects.location import copy_location
from ..dialects.onnx_base import BinaryOp, UnaryOp, int64s, normal_axis, shape_of
from .onnx_rewrite import constant_like, layer_parameters, substitute

_CHANNELS = 1


class SplitToSlice(RewritePattern):
    """A Split of which one piece is read is a Slice."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SplitOp, rewriter: PatternRewriter) -> None:
        read = _read_pieces(op)
        if len(read) != 1 or len(op.pieces) == 1:
            return
        (index,) = read
        extents = op.split.get_values()
        first = sum(extents[:index])
        part = _slice(op.input, normal_axis(op.axis.value.data, len(shape_of(op.input))), first, extents[index])
        copy_location(op, part)
        rewriter.replace(op, part, [part.output if i == index else None for i in range(len(extents))])


class SliceOneOperand(RewritePattern):
    """A Slice of a Concat that takes something of one operand only is a Slice of that operand."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SliceOp, rewriter: PatternRewriter) -> None:
        concat = op.data.owner
        if not isinstance(concat, onnx.ConcatOp):
            return
        axis = normal_axis(concat.axis.value.data, len(shape_of(op.data)))
        kept = _kept(op, axis)
        if not kept:
            return
        first = 0
        for operand in concat.inputs:
            extent = shape_of(operand)[axis]
            if first <= min(kept) and max(kept) < first + extent:
                substitute(rewriter, op, [_slice(operand, axis, kept.start - first, len(kept), kept.step)], concat)
                return
            first += extent


class NarrowLayer(RewritePattern):
    """A layer computes the channels that are read, if a Slice or a Split is all that reads them.

    Only activations may stand between.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SliceOp | onnx.SplitOp, rewriter: PatternRewriter) -> None:
        found = _layer_before(op.operands[0])
        channels = _read_channels(op)
        if found is None or channels is None or not 0 < len(channels) < shape_of(op.operands[0])[_CHANNELS]:
            return
        layer, activations = found
        weights, bias = layer_parameters(layer)
        x, w, *b = layer.operands
        assert weights is not None
        new: list[onnx.OnnxOp] = [constant_like(weights.take(channels, 0 if isinstance(layer, onnx.ConvOp) else 1), w)]
        operands = [x, new[0].results[0]]
        if bias is not None:
            new.append(constant_like(bias[channels], b[0]))
            operands.append(new[-1].results[0])
        new.append(_named_like(layer, type(layer).of(operands, layer.properties)))
        for activation in activations:
            again = type(activation).of([new[-1].results[0], *activation.operands[1:]], activation.properties)
            new.append(_named_like(activation, again))
        if isinstance(op, onnx.SliceOp):
            rewriter.replace(op, new)
            return
        read = _read_pieces(op)
        extents = [op.split.get_values()[index] for index in read]
        properties = {"axis": op.axis, "split": int64s(extents)}
        split = copy_location(op, onnx.SplitOp.of([new[-1].results[0]], properties, len(extents)))
        pieces = dict(zip(read, split.pieces, strict=True))
        rewriter.replace(op, [*new, split], [pieces.get(index) for index in range(len(op.pieces))])


class SliceOperands(RewritePattern):
    """A Slice of channels of a sum, or of another elementwise function, is the sum of Slices of its operands.

    Where this narrows a layer, and leaves one Slice at most: there is no more to copy than before.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SliceOp, rewriter: PatternRewriter) -> None:
        source, kept = op.data.owner, _kept(op, _CHANNELS)
        if kept is None or not isinstance(source, UnaryOp | BinaryOp) or len(shape_of(op.data)) <= _CHANNELS:
            return
        slices, layers = _slices_left(op.data)
        if slices > 1 or not layers or not 0 < len(kept) < shape_of(op.data)[_CHANNELS]:
            return
        parts: list[onnx.OnnxOp] = []
        operands: list[SSAValue] = []
        for operand in source.operands:
            axis = _channel_axis(operand, shape_of(op.data))
            if axis is not None:
                constant = onnx.constant_of(operand)
                part = (
                    copy_location(op, _slice(operand, axis, kept.start, len(kept), kept.step))
                    if constant is None
                    else constant_like(constant.take(kept, axis), operand)
                )
                parts.append(part)
                operand = part.results[0]
            operands.append(operand)
        rewriter.replace(op, [*parts, _named_like(source, type(source).of(operands, source.properties))])


def _slices_left(value: SSAValue) -> tuple[int, int]:
    """Of a Slice of the channels of a tensor: Slices that are left if it takes place as early as it can, and layers
    that it narrows. From two Slices on, not all are counted."""
    slices = layers = 0
    pending = [value]
    while pending and slices <= 1:
        value = pending.pop()
        owner = value.owner if value.has_one_use() else None
        match owner:
            case onnx.ConvOp() | onnx.GemmOp() if _is_narrowable(owner):
                layers += 1
            case UnaryOp() | BinaryOp():
                sliced = [one for one in owner.operands if _channel_axis(one, shape_of(value)) is not None]
                pending += [one for one in sliced if onnx.constant_of(one) is None]
            case _:
                slices += 1
    return slices, layers


def _is_narrowable(layer: onnx.ConvOp | onnx.GemmOp) -> bool:
    """Whether a layer may compute some of its channels only."""
    if isinstance(layer, onnx.ConvOp) and layer.group.value.data != 1:
        return False
    weights, bias = layer_parameters(layer)
    return weights is not None and (len(layer.operands) == 2 or bias is not None)


def _channel_axis(value: SSAValue, shape: Sequence[int]) -> int | None:
    """The axis of a tensor along which it has the channels of ``shape``, to which it is broadcast; None if it has one
    value for all channels."""
    own = shape_of(value)
    axis = _CHANNELS - (len(shape) - len(own))
    return axis if axis >= 0 and own[axis] > 1 else None


def _named_like(op: onnx.OnnxOp, narrow: onnx.OnnxOp) -> onnx.OnnxOp:
    """What computes some channels of an op, with its name and that of its result."""
    narrow.results[0].name_hint = op.results[0].name_hint
    return copy_location(op, narrow)


def _layer_before(value: SSAValue) -> tuple[onnx.ConvOp | onnx.GemmOp, list[UnaryOp]] | None:
    """The layer that gives a tensor which has one reader, and the activations between, first one first."""
    activations: list[UnaryOp] = []
    while value.has_one_use():
        match value.owner:
            case onnx.ConvOp() | onnx.GemmOp() as layer:
                return (layer, activations) if _is_narrowable(layer) else None
            case UnaryOp() as activation if all(onnx.constant_of(one) is not None for one in activation.operands[1:]):
                activations.insert(0, activation)
                value = activation.operands[0]
            case _:
                return None
    return None


def _read_channels(op: onnx.SliceOp | onnx.SplitOp) -> list[int] | None:
    """The channels that an op passes on, in order; None if it cuts along other axes."""
    shape = shape_of(op.operands[0])
    if len(shape) <= _CHANNELS:
        return None
    if isinstance(op, onnx.SliceOp):
        kept = _kept(op, _CHANNELS)
        return None if kept is None else list(kept)
    if normal_axis(op.axis.value.data, len(shape)) != _CHANNELS:
        return None
    extents = op.split.get_values()
    read = _read_pieces(op)
    return [channel for i in read for channel in range(sum(extents[:i]), sum(extents[: i + 1]))]


def _read_pieces(op: onnx.SplitOp) -> Sequence[int]:
    return [index for index, piece in enumerate(op.pieces) if piece.first_use is not None]


def _kept(op: onnx.SliceOp, axis: int) -> range | None:
    """The positions along an axis that a Slice takes; None if it cuts along another one, or backwards."""
    shape = shape_of(op.data)
    kept = [range(extent)[part] for part, extent in zip(op.slices(), shape, strict=True)]
    if any(taken != range(extent) for i, (taken, extent) in enumerate(zip(kept, shape, strict=True)) if i != axis):
        return None
    return kept[axis] if kept[axis].step > 0 else None


def _slice(value: SSAValue, axis: int, start: int, count: int, step: int = 1) -> onnx.SliceOp:
    end = start + (count - 1) * step + 1
    properties = {"starts": int64s([start]), "ends": int64s([end]), "axes": int64s([axis]), "steps": int64s([step])}
    return onnx.SliceOp.of([value], properties)


SLICE_PATTERNS = (SplitToSlice(), SliceOneOperand(), NarrowLayer(), SliceOperands())
