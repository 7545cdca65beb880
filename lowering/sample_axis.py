"""Which axis counts the samples of a network, and making a network of one sample one of several.

The samples' axis is the leading one, or there is none: a value *carries* samples if it depends on an input of the
network, and then its axis 0 has extent 1 in the network of one sample and N in that of N. An op may stay if each sample
of its results follows from the same sample of its operands, as in the network of one sample; for every op there is a
rule that says when this holds. Values that depend on no input are the same for all samples and stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ..dialects import onnx
from ..dialects.onnx_base import OnnxOp, Tensor, normal_axes, normal_axis, shape_of, tensor_type
from ..dialects.onnx_elementwise import ELEMENTWISE_OPS
from ..support.diagnostics import TileError, TileErrors
from .onnx_to_spat.context import refuse
from .onnx_to_spat.convert import io_name, network_function
from .onnx_work import is_computation
from .samples import SAMPLES

Carriers: TypeAlias = AbstractSet[SSAValue]
Rule: TypeAlias = Callable[[Any, Carriers], str]
"""From an op that reads samples, and the values that carry them, to why it does not keep them apart; empty if it does.

What all ops have in common, that the results have the axis, is checked beside the rules."""

REMEDY = "compile it for one sample"


def spread_samples(module: ModuleOp, samples: int) -> None:
    """Turns the network of one sample into that of ``samples``: extent N on axis 0 of all that carries samples.

    Raises TileErrors that name every input, node and output for which that is not the same network for each sample.
    """
    main = network_function(module)
    carrying = _carrying_ops(main)
    for argument in main.body.block.args:
        Rewriter.replace_value_with_new_type(argument, _spread(argument, samples))
    for op in carrying:
        expected = [_spread(result, samples) for result in op.results]
        if isinstance(op, onnx.ReshapeOp | onnx.ExpandOp):  # what they result in is no consequence of what they read
            Rewriter.replace_value_with_new_type(op.results[0], expected[0])
        assert list(op.infer()) == expected, f"{op.name} does not keep axis 0, and its rule does not notice"
        for result, type in zip(list(op.results), expected, strict=True):
            Rewriter.replace_value_with_new_type(result, type)
    main.update_function_type()
    module.attributes[SAMPLES] = IntegerAttr(samples, i64)


def _spread(value: SSAValue, samples: int) -> Tensor:
    type = tensor_type(value)
    return TensorType(type.get_element_type(), (samples, *type.get_shape()[1:]))


def _carrying_ops(main: FuncOp) -> list[OnnxOp]:
    """The ops that carry samples, in order. Raises TileErrors."""
    errors: list[TileError] = []
    for index, argument in enumerate(main.body.block.args):
        if shape_of(argument)[:1] != (1,):
            where = f"input '{io_name(main, 'arg_attrs', index)}'"
            what = f"its type is {argument.type}, whose leading axis does not hold one sample"
            errors.append(TileError(where, what, "give the model a batch of 1, by --dim if that is symbolic"))
    carriers: set[SSAValue] = set(main.body.block.args)
    doubtful: set[SSAValue] = set()
    """Results of ops at fault: what reads them is not judged."""
    found: list[OnnxOp] = []
    for op in main.body.block.ops:
        if isinstance(op, ReturnOp):
            for index, value in enumerate(op.operands):
                if value not in carriers | doubtful:
                    where = f"output '{io_name(main, 'res_attrs', index)}'"
                    errors.append(TileError(where, "it does not depend on the samples", "remove it from the model"))
        elif not doubtful.isdisjoint(op.operands):
            doubtful.update(op.results)
        elif fault := _fault(op, carriers):
            errors.append(refuse(op, fault, REMEDY))
            doubtful.update(op.results)
        elif not carriers.isdisjoint(op.operands):
            assert isinstance(op, OnnxOp)
            carriers.update(op.results)
            found.append(op)
    if errors:
        raise TileErrors(errors)
    return found


def _fault(op: Operation, carriers: Carriers) -> str:
    if not isinstance(op, OnnxOp):
        return "what it does with several samples is not known"
    if carriers.isdisjoint(op.operands):
        # Whoever counts what is computed has to know how often.
        return "it computes from constants alone, run onnx-simplify before" if is_computation(op) else ""
    rule = RULES.get(type(op))
    if rule is None:
        return "what it does with several samples is not known"
    if fault := rule(op, carriers):
        return fault
    for result in op.results:
        if shape_of(result)[:1] != (1,):
            return f"its result of type {result.type} has no leading axis of one sample"
    return ""


# Rules


def _always(op: OnnxOp, carriers: Carriers) -> str:
    return ""


def _aligned(op: OnnxOp, carriers: Carriers) -> str:
    """Broadcasting aligns the last axes: axis 0 is the result's only for operands of its rank."""
    rank = len(shape_of(op.results[0]))
    for operand in op.operands:
        if operand in carriers and len(shape_of(operand)) < rank:
            return f"axis 0 of its operand of type {operand.type}, the samples', becomes another of {rank}"
    return ""


def _first_alone(op: OnnxOp, carriers: Carriers) -> str:
    """Weights and the like are the same for all samples."""
    for index, operand in enumerate(op.operands[1:], 1):
        if operand in carriers:
            return f"operand {index}, of type {operand.type}, differs from sample to sample"
    return ""


def _prelu(op: onnx.PReluOp, carriers: Carriers) -> str:
    return _aligned(op, carriers) if op.x in carriers else "only its slope differs from sample to sample"


def _along_another_axis(op: onnx.AxisOp | onnx.ConcatOp | onnx.SplitOp, carriers: Carriers) -> str:
    axis = normal_axis(op.axis.value.data, len(shape_of(op.operands[0])))
    return "" if axis else "it works along axis 0, the samples'"


def _concat(op: onnx.ConcatOp, carriers: Carriers) -> str:
    for operand in op.inputs:
        if operand not in carriers:
            return f"its operand of type {operand.type} is the same for all samples, and there is one of it"
    return _along_another_axis(op, carriers)


def _gemm(op: onnx.GemmOp, carriers: Carriers) -> str:
    if op.a not in carriers or op.b in carriers:
        return "of its two factors the second differs from sample to sample"
    if op.trans_a.value.data:
        return "its first factor is transposed, so that axis 0, the samples', is added up"
    rank = 2 if op.c is None else len(shape_of(op.c))
    return "" if op.c not in carriers or rank == 2 else f"axis 0 of its summand of rank {rank} is no row of the result"


def _matmul(op: onnx.MatMulOp, carriers: Carriers) -> str:
    """The last two axes multiply; on those before them a broadcast."""
    rank = max(len(shape_of(op.a)), len(shape_of(op.b)))
    if op.b in carriers and rank < 3:
        return "axis 0 of its second factor, the samples', is added up"
    for operand in op.operands:
        if operand in carriers and (len(shape_of(operand)) < rank or rank < 2):
            return f"axis 0 of its operand of type {operand.type}, the samples', becomes another of {rank}"
    return ""


def _reduce(op: onnx.ReduceOp, carriers: Carriers) -> str:
    return "it reduces over axis 0, the samples'" if 0 in op.reduced_axes() else ""


def _flatten(op: onnx.FlattenOp, carriers: Carriers) -> str:
    axis, rank = op.axis.value.data, len(shape_of(op.x))
    return "" if axis % (rank or 1) or axis == rank > 0 else "it makes one row of all samples"


def _squeeze(op: onnx.SqueezeOp, carriers: Carriers) -> str:
    axes = None if op.axes is None else normal_axes(op.axes.get_values(), len(shape_of(op.data)))
    return "it drops axis 0, the samples'" if axes is None or 0 in axes else ""


def _unsqueeze(op: onnx.UnsqueezeOp, carriers: Carriers) -> str:
    axes = normal_axes(op.axes.get_values(), len(shape_of(op.expanded)))
    return "it puts another axis before the samples'" if 0 in axes else ""


def _transpose(op: onnx.TransposeOp, carriers: Carriers) -> str:
    return "" if op.permutation()[0] == 0 else "it moves axis 0, the samples'"


def _slice(op: onnx.SliceOp, carriers: Carriers) -> str:
    axes = range(len(op.starts)) if op.axes is None else op.axes.get_values()
    return "it selects along axis 0, the samples'" if 0 in normal_axes(axes, len(shape_of(op.data))) else ""


def _gather(op: onnx.GatherOp, carriers: Carriers) -> str:
    axis = normal_axis(op.axis.value.data, len(shape_of(op.data)))
    if op.data in carriers and op.indices in carriers:
        return "each sample selects from its own data"
    if op.indices in carriers and axis:
        return f"axis 0 of its indices, the samples', becomes axis {axis}"
    return "it selects along axis 0, the samples'" if op.data in carriers and axis == 0 else ""


def _pad(op: onnx.PadOp, carriers: Carriers) -> str:
    pads = op.pads.get_values()
    return "it pads axis 0, the samples'" if pads[0] or pads[len(pads) // 2] else ""


def _tile(op: onnx.TileOp, carriers: Carriers) -> str:
    return "it repeats axis 0, the samples'" if op.repeats.get_values()[0] != 1 else ""


def _extents(op: onnx.ShapeOp | onnx.SizeOp, carriers: Carriers) -> str:
    return "it tells how many samples there are, run onnx-simplify before"


RULES: Mapping[type[OnnxOp], Rule] = {
    **dict.fromkeys(ELEMENTWISE_OPS, _always),
    onnx.PReluOp: _prelu,
    **dict.fromkeys((onnx.AddOp, onnx.SubOp, onnx.MulOp, onnx.DivOp, onnx.ModOp, onnx.PowOp), _aligned),
    **dict.fromkeys((onnx.EqualOp, onnx.GreaterOp, onnx.LessOp, onnx.WhereOp), _aligned),
    **dict.fromkeys((onnx.SumOp, onnx.MeanOp, onnx.MaxOp, onnx.MinOp), _aligned),
    **dict.fromkeys((onnx.ReduceMeanOp, onnx.ReduceSumOp, onnx.ReduceProdOp), _reduce),
    **dict.fromkeys((onnx.ReduceMaxOp, onnx.ReduceMinOp), _reduce),
    **dict.fromkeys((onnx.ConvOp, onnx.BatchNormalizationOp), _first_alone),
    **dict.fromkeys((onnx.MaxPoolOp, onnx.AveragePoolOp, onnx.LRNOp), _always),
    **dict.fromkeys((onnx.GlobalAveragePoolOp, onnx.GlobalMaxPoolOp), _always),
    onnx.GemmOp: _gemm,
    onnx.MatMulOp: _matmul,
    **dict.fromkeys((onnx.SoftmaxOp, onnx.LogSoftmaxOp, onnx.SplitOp), _along_another_axis),
    onnx.ConcatOp: _concat,
    # The elements of a sample are neighbours, before and after.
    onnx.ReshapeOp: _always,
    onnx.FlattenOp: _flatten,
    onnx.SqueezeOp: _squeeze,
    onnx.UnsqueezeOp: _unsqueeze,
    onnx.TransposeOp: _transpose,
    onnx.SliceOp: _slice,
    onnx.GatherOp: _gather,
    onnx.PadOp: _pad,
    onnx.ExpandOp: _aligned,
    onnx.TileOp: _tile,
    **dict.fromkeys((onnx.ShapeOp, onnx.SizeOp), _extents),
}
"""By op, of all that have operands."""
