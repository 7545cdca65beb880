"""The lowering of a whole module: one function per ONNX op, in a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...analysis.machine import Machine, Precision
from ...dialects import onnx
from ...dialects.location import copy_location, node_name, place_of
from ...dialects.onnx_base import shape_of, tensor_type
from ...dialects.spat import InputOp, OutputOp, tile_type
from ...support.diagnostics import TileError, TileErrors
from . import elementwise as ew
from .context import LayerDemand, LayerMapping, LoweringContext, refuse
from .feature import Feature, Segment, segment_of
from .normalization import local_response, softmax
from .pooling import average_pool, global_pool, max_pool, window_counts
from .product import Kernel
from .weighted import convolve, convolve_depthwise

MOST_ROWS = 1_000_000
"""Rows of the inputs and of the results of all layers together: the schedule is a table of them."""

MOST_WINDOWS = 100_000_000
"""Windows of one layer, images times positions: some layers have a constant for each."""

Allocate = Callable[[Sequence[LayerDemand]], Sequence[LayerMapping]]
Lower = Callable[[LoweringContext, Any], Feature | list[Feature]]


def convert_module(module: ModuleOp, machine: Machine, precision: Precision, allocate: Allocate) -> None:
    """Replaces the body of `@main` by compute batches.

    A first sweep finds what each layer with weights demands; ``allocate`` deals replicas and parts; a second sweep
    emits the program. Raises TileErrors that list every node that cannot be lowered.
    """
    main = main_function(module)
    _check_rows(main)
    first = _sweep(main, LoweringContext(machine, precision))
    context = _sweep(main, LoweringContext(machine, precision, allocate(first.demands)))
    body = Block([*context.ops, ReturnOp()])
    for op in main.body.detach_block(0).ops:
        op.properties = {}  # Its weights need not stay until the collector finds the cycles of the ops.
    main.body.add_block(body)
    main.properties["function_type"] = FunctionType.from_lists([], [])
    main.properties.pop("arg_attrs", None)
    main.properties.pop("res_attrs", None)


def _check_rows(main: FuncOp) -> None:
    """Refuses a network of more rows or windows than can be handled, before anything is made for each of them."""
    found: list[tuple[int, str, SSAValue]] = [
        (_rows(argument), f"input '{io_name(main, 'arg_attrs', index)}'", argument)
        for index, argument in enumerate(main.body.block.args)
    ]
    for op in main.body.block.ops:
        if op.name in LOWERINGS and op.name not in WITHOUT_BATCHES:
            found.append((_rows(op.results[0]), place_of(op), op.results[0]))
    if (total := sum(rows for rows, _, _ in found)) > MOST_ROWS:
        most, name, _ = max(found, key=lambda one: one[0])
        raise TileError(
            name,
            f"it has {most} rows (images times their height), all layers together {total}; "
            f"at most {MOST_ROWS} can be scheduled",
            "make the image less high or the samples fewer",
        )
    for rows, name, value in found:
        if (windows := rows * math.prod(shape_of(value)[3:])) > MOST_WINDOWS:
            raise TileError(
                name, f"it has {windows} positions, at most {MOST_WINDOWS} are supported", "make the image smaller"
            )


def _rows(value: SSAValue) -> int:
    """The rows of a tensor [N, C, H, W] or [N, C]."""
    shape = shape_of(value)
    return shape[0] * shape[2] if len(shape) == 4 else math.prod(shape[:1])


def main_function(module: ModuleOp) -> FuncOp:
    """The function `@main`, which holds the network."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise TileError("module", "no function @main holds a network", "import one from an .onnx file")


def _sweep(main: FuncOp, context: LoweringContext) -> LoweringContext:
    errors: list[TileError] = []
    if not main.body.block.args:
        raise TileError("function @main", "it has no inputs, so that its outputs are constants", "give it its inputs")
    for index, argument in enumerate(main.body.block.args):
        context.features[argument] = _input(context, argument, io_name(main, "arg_attrs", index))
    for op in main.body.block.ops:
        if isinstance(op, ReturnOp):
            if errors:
                raise TileErrors(errors)
            if not op.arguments:
                raise TileError("function @main", "it has no outputs", "return what the network computes")
            for index, value in enumerate(op.arguments):
                _output(context, op, value, io_name(main, "res_attrs", index))
        else:
            try:
                _lower(context, op)
            except TileError as error:
                errors.append(error)
            except _MissingOperandError:
                pass  # the error that caused it is already in the list
    return context


class _MissingOperandError(Exception):
    """An operand's own lowering failed."""


def _lower(context: LoweringContext, op: Operation) -> None:
    if isinstance(op, onnx.ConstantOp):
        with np.errstate(over="ignore"):  # what is too large is infinite
            context.constants[op.output] = np.asarray(op.value.array, np.float32)
        return
    lower = LOWERINGS.get(op.name)
    if lower is None:
        raise refuse(op, "no lowering to the spat dialect exists for this op", _remedy(context, op))
    if any(operand not in context.features and operand not in context.constants for operand in op.operands):
        raise _MissingOperandError
    lowered = lower(context, op)
    features = lowered if isinstance(lowered, list) else [lowered]
    for result, feature in zip(op.results, features, strict=True):
        assert feature.shape == shape_of(result), f"{op.name}: {feature.shape} is not {result.type}"
        context.features[result] = feature


def _remedy(context: LoweringContext, op: Operation) -> str:
    """What may help against an op without a lowering."""
    if op.name in SIMPLIFIED or all(operand in context.constants for operand in op.operands):
        return "run onnx-simplify first"
    if op.name in SOMETIMES_SIMPLIFIED:
        return "run onnx-simplify first; what it leaves, see docs/operators.md, is not supported"
    return "see docs/operators.md"


def _input(context: LoweringContext, argument: SSAValue, name: str) -> Feature:
    shape = shape_of(argument)
    if len(shape) not in (2, 4) or min(shape) < 1:
        raise TileError(f"input '{name}'", f"its type is {argument.type}", "inputs of rank 2 and 4 are supported")
    images, channels, height, columns = (*shape, 1, 1)[:4]
    op = InputOp(name, shape, tile_type(images * height, columns, channels), _element(argument))
    context.ops.append(op)
    return Feature.of([segment_of(op.result)], images, height, columns, len(shape))


def _output(context: LoweringContext, source: Operation, value: SSAValue, name: str) -> None:
    feature = context.features.get(value)
    if feature is None:
        raise TileError(f"output '{name}'", "it does not depend on any input", "remove it from the model")
    if any(isinstance(segment.value.owner, InputOp) for segment in feature.segments):
        # Only what a core computes can be stored, and not in two places: copy.
        feature = ew.map_feature(context, source, feature, lambda _, x: x, apart=True)
    images = None if feature.shape[:1] == (feature.images,) else feature.images
    channels, values = [s.channels for s in feature.segments], [s.value for s in feature.segments]
    op = OutputOp(name, feature.shape, channels, values, images, _element(value))
    context.ops.append(copy_location(source, op))


def _element(value: SSAValue) -> Attribute | None:
    """The element type of a network's input or output, unless it is f32, in which the chip computes."""
    element = tensor_type(value).get_element_type()
    return None if element == f32 else element


def io_name(main: FuncOp, kind: str, index: int) -> str:
    """The ONNX name of an argument (`arg_attrs`) or a result (`res_attrs`) of the network."""
    attributes: Any = main.properties.get(kind)
    name = attributes.data[index].data.get("onnx.name") if attributes is not None else None
    return name.data if isinstance(name, StringAttr) else f"{'input' if kind == 'arg_attrs' else 'output'}{index}"


# Layers with weights


def _weights(context: LoweringContext, op: Operation, value: SSAValue, what: str) -> NDArray[np.float32]:
    """A constant for a matrix product, whose zeros an infinity or NaN beside them would turn into NaN."""
    weights = _constant(context, op, value, what)
    if context.mappings is None and (count := not_finite(weights)):
        owner = value.owner
        name = f" '{node_name(owner)}'" if isinstance(owner, Operation) and node_name(owner) else ""
        first = weights[~np.isfinite(weights)][0]
        raise refuse(
            op,
            f"{count} of the {weights.size} elements of its {what}{name} are no finite f32, the first is {first}",
            "train or export the model again",
        )
    return weights


def not_finite(array: NDArray[np.float32]) -> int:
    """How many elements of an array are infinite or NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):  # which takes half as long as to look at each
            return 0
    return int(array.size - np.count_nonzero(np.isfinite(array)))


def _conv(context: LoweringContext, op: onnx.ConvOp) -> Feature:
    feature = _spatial(context, op, op.x)
    weights = _weights(context, op, op.w, "weights")
    bias = _constant(context, op, op.b, "bias") if op.b is not None else None
    kernel = _kernel(op, op.window(), op.y)
    # Rows of the input that several lanes read would be loaded by each of their cores, through one port: copy them.
    if kernel.size[0] > kernel.stride[0]:
        feature = _passed_on(context, op, feature)
    group = op.group.value.data
    if group == 1:
        return convolve(context, op, feature, weights, bias, kernel)
    if group == feature.channels == weights.shape[0]:
        return convolve_depthwise(context, op, feature, weights, bias, kernel)
    dense = np.zeros((weights.shape[0], feature.channels, *weights.shape[2:]), np.float32)
    outputs, inputs = weights.shape[0] // group, feature.channels // group
    for g in range(group):
        block = slice(g * outputs, (g + 1) * outputs)
        dense[block, g * inputs : (g + 1) * inputs] = weights[block]
    return convolve(context, op, feature, dense, bias, kernel)


def _passed_on(context: LoweringContext, op: Operation, feature: Feature) -> Feature:
    """The feature with copies of the network's inputs in their places: one of each, whoever needs it."""
    segments: list[Segment] = []
    for segment in feature.segments:
        if isinstance(segment.value.owner, InputOp):
            one = Feature((segment,), feature.images, feature.height, feature.columns, feature.shape)
            (segment,) = ew.map_feature(context, op, one, lambda _, x: x).segments
        segments.append(segment)
    return replace(feature, segments=tuple(segments))


def _gemm(context: LoweringContext, op: onnx.GemmOp) -> Feature:
    feature = context.features.get(op.a)
    weights = _weights(context, op, op.b, "matrix")
    bias = _constant(context, op, op.c, "bias") if op.c is not None else None
    if feature is None or len(feature.shape) != 2 or feature.shape[0] != feature.images:
        raise refuse(op, f"a left operand of type {op.a.type}", "one row per image is supported")
    # The product with a flattened image is a convolution whose kernel is the image.
    outputs = weights.shape[1]
    dense = weights.T.reshape(outputs, feature.channels, feature.height, feature.columns)
    if bias is not None:
        if bias.size not in (1, outputs):
            raise refuse(op, f"a bias of shape {list(bias.shape)}", f"one value or {outputs} are supported")
        bias = np.broadcast_to(bias.reshape(-1), (outputs,))
    kernel = Kernel((feature.height, feature.columns), stride=(feature.height, feature.columns))
    return convolve(context, op, feature, dense, bias, kernel).reshaped(shape_of(op.y))


# Pools


def _max_pool(context: LoweringContext, op: onnx.MaxPoolOp) -> Feature:
    return max_pool(context, op, _spatial(context, op, op.x), _kernel(op, op.window(), op.y))


def _average_pool(context: LoweringContext, op: onnx.AveragePoolOp) -> Feature:
    feature = _spatial(context, op, op.x)
    window = op.window()
    kernel = _kernel(op, window, op.y)
    if kernel.size == (feature.height, feature.columns) and not any(window.pads):
        return global_pool(context, op, feature, "add")
    pads_end = (window.pads_end[0], window.pads_end[1])
    counts = window_counts(feature, kernel, pads_end, bool(op.count_include_pad.value.data))
    return average_pool(context, op, feature, kernel, counts)


def _global_pool(kind: str) -> Lower:
    def lower(context: LoweringContext, op: onnx.GlobalAveragePoolOp | onnx.GlobalMaxPoolOp) -> Feature:
        return global_pool(context, op, _spatial(context, op, op.x), kind)

    return lower


# Element by element


def _unary(function: Callable[[Any], ew.Unary]) -> Lower:
    def lower(context: LoweringContext, op: onnx.UnaryOp) -> Feature:
        return ew.map_feature(context, op, _feature(context, op, op.x), function(op))

    return lower


def _binary(function: ew.Binary, exchanged: ew.Binary | None = None) -> Lower:
    """``exchanged`` is the function with its operands exchanged, unless it commutes."""

    def lower(context: LoweringContext, op: onnx.BinaryOp) -> Feature:
        a, b = op.operands
        if a in context.constants:
            return ew.combine_constant(
                context, op, _feature(context, op, b), context.constants[a], exchanged or function
            )
        feature = context.features[a]
        if b in context.constants:
            return ew.combine_constant(context, op, feature, context.constants[b], function)
        other = context.features[b]
        if feature.is_vector and not other.is_vector:
            return ew.combine_features(context, op, other, feature, exchanged or function)
        return ew.combine_features(context, op, feature, other, function)

    return lower


def _variadic(function: ew.Binary) -> Lower:
    """Of one operand after the other, in whatever order: those of the result's shape first, constants last."""

    def lower(context: LoweringContext, op: onnx.MaxOp | onnx.MinOp) -> Feature:
        shape = shape_of(op.result)
        first, *others = sorted(op.data, key=lambda one: (one in context.constants, shape_of(one) != shape))
        found = _feature(context, op, first)
        for other in others:
            constant = context.constants.get(other)
            if constant is None:
                found = ew.combine_features(context, op, found, context.features[other], function)
            else:
                found = ew.combine_constant(context, op, found, constant, function)
        return found

    return lower


def _clip(op: onnx.ClipOp) -> ew.Unary:
    low, high = op.minimum, op.maximum
    return ew.clip(None if low is None else low.value.data, None if high is None else high.value.data)


def _prelu(context: LoweringContext, op: onnx.PReluOp) -> Feature:
    slope = _constant(context, op, op.slope, "slope")
    if (slope > 1).any():
        raise refuse(op, f"a slope of {float(slope.max()):g}", "slopes of at most 1 are supported")

    def function(builder: Any, x: SSAValue, scale: SSAValue) -> SSAValue:
        return ew.maximum(builder, x, ew.multiply(builder, x, scale))

    return ew.combine_constant(context, op, _feature(context, op, op.x), slope, function)


# Shapes: these cost nothing


def _reshape(context: LoweringContext, op: onnx.ReshapeOp) -> Feature:
    feature = _feature(context, op, op.data)
    shape = shape_of(op.reshaped)
    reshaped = feature.reshaped(shape)
    if feature.is_vector and len(shape) == 4 and shape[0] == feature.images and shape[2:] != (1, 1):
        raise refuse(
            op,
            f"a reshape of channels to positions, {list(feature.shape)} to {list(shape)}",
            "flatten images, and leave vectors flat",
        )
    return reshaped


def _transpose(context: LoweringContext, op: onnx.TransposeOp) -> Feature:
    feature = _feature(context, op, op.data)
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


def _concat(context: LoweringContext, op: onnx.ConcatOp) -> Feature:
    features = [_feature(context, op, operand) for operand in op.inputs]
    axis = op.axis.value.data % len(shape_of(op.concatenated))
    first = features[0]
    if axis != 1 or any(
        f.shape[0] != f.images or f.shape[1] != f.channels or f.extents[2:] != first.extents[2:] for f in features
    ):
        raise refuse(op, f"a concatenation along axis {axis}", "only channels (axis 1) can be concatenated")
    segments: list[Segment] = []
    offset = 0
    for feature in features:
        segments += [Segment(s.value, s.channels + np.int32(offset)) for s in feature.segments]
        offset += feature.channels
    shape = shape_of(op.concatenated)
    return Feature(tuple(segments), first.images, first.height, first.columns, shape)


# Operands


def _feature(context: LoweringContext, op: Operation, value: SSAValue) -> Feature:
    feature = context.features.get(value)
    if feature is None:
        raise refuse(op, "its operand is a constant", "run onnx-simplify first")
    return feature


def _spatial(context: LoweringContext, op: Operation, value: SSAValue) -> Feature:
    """An operand in its natural shape (images, channels, height, columns)."""
    feature = _feature(context, op, value)
    if len(feature.shape) != 4:
        raise refuse(op, f"an operand of rank {len(feature.shape)}", "two spatial dimensions are supported")
    if feature.shape != feature.extents:
        raise refuse(
            op,
            f"an operand of shape {list(feature.shape)} that was reshaped from {list(feature.extents)}",
            "reshape it back first",
        )
    return feature


def _constant(context: LoweringContext, op: Operation, value: SSAValue, what: str) -> np.ndarray[Any, Any]:
    constant = context.constants.get(value)
    if constant is None:
        raise refuse(op, f"its {what} are computed at run time", "only constant weights are supported")
    return constant


def _kernel(op: Operation, window: onnx.Window, result: SSAValue) -> Kernel:
    if len(window.kernel) != 2:
        raise refuse(op, f"a window of {len(window.kernel)} dimensions", "two spatial dimensions are supported")
    _, _, rows, columns = shape_of(result)
    # One row or column has no distance from another.
    dilations = [dilation if size > 1 else 1 for size, dilation in zip(window.kernel, window.dilations, strict=True)]
    return Kernel(
        (window.kernel[0], window.kernel[1]),
        (window.strides[0], window.strides[1]),
        (dilations[0], dilations[1]),
        window.pads_begin[0],
        window.pads_begin[1],
        (rows, columns),
    )


LOWERINGS: dict[str, Lower] = {
    "onnx.Conv": _conv,
    "onnx.Gemm": _gemm,
    "onnx.MaxPool": _max_pool,
    "onnx.AveragePool": _average_pool,
    "onnx.GlobalAveragePool": _global_pool("add"),
    "onnx.GlobalMaxPool": _global_pool("max"),
    "onnx.Relu": _unary(lambda _: ew.relu),
    "onnx.Sigmoid": _unary(lambda _: ew.sigmoid),
    "onnx.Tanh": _unary(lambda _: ew.tanh),
    "onnx.Neg": _unary(lambda _: ew.scale_by(-1.0)),
    "onnx.Abs": _unary(lambda _: ew.absolute),
    "onnx.Clip": _unary(_clip),
    "onnx.LeakyRelu": _unary(lambda op: ew.leaky_relu(op.alpha.value.data)),
    "onnx.HardSigmoid": _unary(lambda op: ew.hard_sigmoid(op.alpha.value.data, op.beta.value.data)),
    "onnx.HardSwish": _unary(lambda _: ew.hard_swish),
    "onnx.PRelu": _prelu,
    "onnx.Add": _binary(ew.add),
    "onnx.Sub": _binary(ew.subtract, ew.subtract_from),
    "onnx.Mul": _binary(ew.multiply),
    "onnx.Max": _variadic(ew.maximum),
    "onnx.Min": _variadic(ew.minimum),
    "onnx.Softmax": lambda context, op: softmax(context, op, _feature(context, op, op.x)),
    "onnx.LRN": lambda context, op: local_response(context, op, _spatial(context, op, op.x)),
    "onnx.Identity": lambda context, op: _feature(context, op, op.operands[0]),
    "onnx.Reshape": _reshape,
    "onnx.Transpose": _transpose,
    "onnx.Concat": _concat,
}
"""The lowering of each op, by name. An op that is not here is an error that names the node."""

WITHOUT_BATCHES = frozenset(("onnx.Identity", "onnx.Reshape", "onnx.Transpose", "onnx.Concat"))
"""Ops that only rename channels."""

SIMPLIFIED = frozenset(
    f"onnx.{name}" for name in ("BatchNormalization", "Dropout", "Flatten", "Mean", "Squeeze", "Sum", "Unsqueeze")
)
"""Ops of which `onnx-simplify` leaves none."""

SOMETIMES_SIMPLIFIED = frozenset(
    f"onnx.{name}" for name in ("Cast", "Div", "Expand", "MatMul", "Pad", "Pow", "ReduceMean", "Slice", "Split", "Tile")
)
"""Ops of which `onnx-simplify` leaves some: it depends on their attributes, or on what is constant."""
