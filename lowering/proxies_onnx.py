"""The proxies of a network before it is lowered: counted in elements and passes, since no machine is known yet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import AnyFloat
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ..analysis.proxies import UNNAMED, counts, tensor_text
from ..dialects import onnx
from ..dialects.location import node_name
from ..dialects.onnx_base import OnnxOp, channels_of, shape_of
from ..dialects.tile import dtype_of
from .constants_alike import Constants

RENAMES = (
    onnx.ConstantOp,
    onnx.ConstantOfShapeOp,
    onnx.ShapeOp,
    onnx.SizeOp,
    onnx.ReshapeOp,
    onnx.FlattenOp,
    onnx.SqueezeOp,
    onnx.UnsqueezeOp,
    onnx.IdentityOp,
    onnx.DropoutOp,
    onnx.CastOp,
)
"""Ops that compute nothing when data flows: they name or know it."""

PASSES_OF = {
    "onnx.Abs": 2,
    "onnx.BatchNormalization": 2,
    "onnx.HardSigmoid": 6,
    "onnx.HardSwish": 7,
    "onnx.LogSoftmax": 49,
    "onnx.PRelu": 2,
    "onnx.Softmax": 48,
}
"""Vector operations that an element takes, of ops that take more than one. Exponentials are series: at most so many."""

LRN_PASSES = 48
"""Of a local response normalization, at most, beside one for each channel of its window: its root is a series."""

MINIMUM_PASSES = 3
"""Of a minimum of two, since the instruction set has none."""


def onnx_proxies(ops: Sequence[OnnxOp], constants: Constants) -> tuple[dict[str, object], dict[str, dict[str, int]]]:
    """The fields that an ONNX network has, and by field what each node adds to it."""
    depth: dict[SSAValue, int] = {}
    """Of what depends on the inputs, the steps up to it."""
    known: dict[object, int] = {}
    numbers: dict[SSAValue, object] = {}
    parts: dict[str, dict[str, int]] = {
        name: {} for name in ("macs", "element_passes", "layer_elements", "lanes_of_node", "recomputed")
    }
    instances = steps = constant_elements = layer_reads = pass_depths = 0
    needless = _needless(ops)
    for op in ops:
        if isinstance(op, onnx.ConstantOp):
            numbers[op.output] = id(constants.first(op.value.data))
            continue
        key = (op.name, tuple(numbers.get(o, o) for o in op.operands), frozenset(op.properties.items()))
        repeated = key in known
        number = known.setdefault(key, len(known))
        numbers.update((result, (number, index)) for index, result in enumerate(op.results))
        label = node_name(op) or UNNAMED
        if is_computation(op):
            _add(parts["recomputed"], label, int(repeated))
            rows = min(map(_rows, _read_results(op)))
            if not repeated and op not in needless:
                instances += _instances(op, rows)
            if label != UNNAMED:
                parts["lanes_of_node"][label] = max(rows, parts["lanes_of_node"].get(label, 0))
            _add(parts["macs"], label, _macs(op))
            _add(parts["element_passes"], label, _element_passes(op))
            if _macs(op):
                layer_reads += sum(math.prod(shape_of(one)) for one in op.operands if onnx.constant_of(one) is None)
            if is_layer(op):
                _add(parts["layer_elements"], label, math.prod(shape_of(op.results[0])))
        if not _is_constant(op, depth):
            constant_elements += _constant_elements(op, depth)
            before = max((depth.get(operand, 0) for operand in op.operands), default=0)
            taken = _steps(op)
            depth.update(dict.fromkeys(op.results, before + taken))
            steps = max(steps, before + taken)
            elements = sum(math.prod(shape_of(result)) for result in _read_results(op))
            pass_depths += elements * (taken * before + taken * (taken + 1) // 2)  # as of so many ops of one step each
    return {
        "compute_instances": instances,
        "step_count": steps,
        "constant_elements": constant_elements,
        "layer_reads": layer_reads,
        "pass_depths": pass_depths,
        "macs": sum(parts["macs"].values()),
        "element_passes": sum(parts["element_passes"].values()),
        "element_passes_of_node": counts(parts["element_passes"]),
        "layer_elements": counts(parts["layer_elements"]),
        "lanes_of_node": counts(parts["lanes_of_node"]),
        "recomputed": sum(parts["recomputed"].values()),
    }, parts


def _needless(ops: Sequence[OnnxOp]) -> set[Operation]:
    """Ops from which nothing comes to an output: whoever drops them takes no work from anybody."""
    found: set[Operation] = set()
    for op in reversed(ops):
        if all(use.operation in found for result in op.results for use in result.uses):
            found.add(op)
    return found


def _is_constant(op: OnnxOp, dependent: Mapping[SSAValue, int]) -> bool:
    """Whether nothing of what the op reads depends on the inputs, of which ``dependent`` has all that ops compute."""
    return not any(_depends(operand, dependent) for operand in op.operands)


def _depends(value: SSAValue, dependent: Mapping[SSAValue, int]) -> bool:
    return value in dependent or isinstance(value, BlockArgument)


def _constant_elements(op: OnnxOp, dependent: Mapping[SSAValue, int]) -> int:
    """Elements of the constants that the op reads, but the weights of a layer: for each channel at least one."""
    channels = channels_of(op.results[0])
    read = [
        operand
        for index, operand in enumerate(op.operands)
        if not _depends(operand, dependent) and not (index == 1 and is_layer(op)) and _is_of_floats(operand)
    ]
    return sum([max(channels, math.prod(shape_of(operand))) for operand in read], channels * _factors(op))


def _factors(op: OnnxOp) -> int:
    """Constants that the op multiplies by, but does not read."""
    if isinstance(op, onnx.GemmOp):
        return (op.alpha.value.data != 1) + (op.beta.value.data != 1)
    return int(isinstance(op, onnx.MeanOp | onnx.NegOp))


def _is_of_floats(value: SSAValue) -> bool:
    """Others are shapes and positions, which nothing is computed with."""
    return isinstance(_element(value), AnyFloat)


def is_computation(op: OnnxOp) -> bool:
    """Whether data goes through the op at run time: it is no name, and not all it reads is constant."""
    return not isinstance(op, RENAMES) and any(onnx.constant_of(operand) is None for operand in op.operands)


def is_layer(op: OnnxOp) -> bool:
    """Whether the op multiplies by constant weights that arrays hold. A convolution channel by channel is no such."""
    match op:
        case onnx.ConvOp():
            group = op.group.value.data
            return onnx.constant_of(op.w) is not None and not (group == shape_of(op.x)[1] == shape_of(op.w)[0] > 1)
        case onnx.GemmOp() | onnx.MatMulOp():
            return onnx.constant_of(op.b) is not None
        case _:
            return False


def interface_of_onnx(main: FuncOp) -> list[str]:
    """Names, element types and shapes of the inputs and outputs of a network."""
    from .onnx_to_spat.convert import io_name

    last = main.body.blocks.first.last_op if main.body.blocks.first is not None else None
    if last is None or main.sym_name.data != "main":
        return [f"function {main.sym_name.data} {main.function_type}"]
    tensors = [("input", "arg_attrs", list(main.args)), ("output", "res_attrs", list(last.operands))]
    return [
        tensor_text(kind, io_name(main, attributes, index), _dtype(value), _shape(value))
        for kind, attributes, values in tensors
        for index, value in enumerate(values)
    ]


def _dtype(value: SSAValue) -> str:
    """The name of the element type; of what is no tensor of numbers, its type's."""
    element = _element(value)
    dtype = None if element is None else dtype_of(element)
    return str(value.type) if dtype is None else dtype.name


def _element(value: SSAValue) -> Attribute | None:
    return getattr(value.type, "element_type", None)


def _shape(value: SSAValue) -> tuple[int, ...]:
    shape = getattr(value.type, "get_shape", None)
    return () if shape is None else tuple(shape())


def _rows(value: SSAValue) -> int:
    """Rows of the result: what a lane computes one of. The image tensors' are those of all images."""
    shape = shape_of(value)
    return shape[0] * shape[2] if len(shape) == 4 else shape[0] if shape else 1


def _macs(op: OnnxOp) -> int:
    match op:
        case onnx.ConvOp():
            return math.prod(shape_of(op.y)) * math.prod(shape_of(op.w)[1:])
        case onnx.GemmOp():
            return math.prod(shape_of(op.y)) * shape_of(op.a)[0 if op.trans_a.value.data else 1]
        case onnx.MatMulOp():
            return math.prod(shape_of(op.results[0])) * shape_of(op.a)[-1]
        case onnx.SliceOp() if _skips_channels(op):
            # The vector unit reads what lies side by side: it is a product with a matrix of ones and zeros.
            return math.prod(shape_of(op.results[0])) * shape_of(op.operands[0])[1]
        case _:
            return 0


def _skips_channels(op: onnx.SliceOp) -> bool:
    """Whether the op takes some of the channels, but not side by side."""
    shape = shape_of(op.output)
    return len(shape) > 1 and shape[1] > 1 and op.slices()[1].step not in (None, 1)


def _instances(op: OnnxOp, rows: int) -> int:
    """Rows that are computed apart from each other: of a pool over an image, each row of it at first."""
    is_global = isinstance(op, onnx.GlobalAveragePoolOp | onnx.GlobalMaxPoolOp)
    return _rows(op.operands[0]) if is_global else rows


def _passes(op: OnnxOp) -> int:
    """Vector operations for each element of the result."""
    match op:
        case onnx.ConvOp() if not is_layer(op) and onnx.constant_of(op.w) is not None:
            # Channel by channel, weights are factors of vectors.
            return 2 * math.prod(shape_of(op.w)[2:]) - 1 + (op.b is not None)
        case onnx.ConvOp():
            return int(op.b is not None)
        case onnx.GemmOp():
            scaled = (op.alpha.value.data != 1) + (op.beta.value.data != 1) + op.trans_a.value.data
            return int(op.c is not None) + scaled
        case onnx.MatMulOp():
            return 0
        case onnx.SumOp() | onnx.MaxOp():
            return len(op.operands) - 1
        case onnx.MinOp():
            return MINIMUM_PASSES * (len(op.operands) - 1)
        case onnx.MeanOp():
            return len(op.operands)
        case onnx.SubOp():
            # What repeats can be taken from something, but for something to be taken from it takes a negation, too.
            return 1 if op.a.type == op.c.type and onnx.constant_of(op.a) is None else 2
        case onnx.ClipOp():
            return int(op.minimum is not None) + MINIMUM_PASSES * (op.maximum is not None)
        case onnx.LeakyReluOp():
            return 2 if op.alpha.value.data <= 1 else 1 + MINIMUM_PASSES
        case onnx.LRNOp():
            return LRN_PASSES + op.size.value.data
        case _:
            return PASSES_OF.get(op.name, 1)


def _read_results(op: OnnxOp) -> Sequence[SSAValue]:
    """What is computed: a split may give pieces of different extents, and some that nobody reads."""
    return [result for result in op.results if result.first_use is not None] or op.results


def _element_passes(op: OnnxOp) -> int:
    elements = sum(math.prod(shape_of(result)) for result in _read_results(op))
    if op.name in ("onnx.GlobalAveragePool", "onnx.GlobalMaxPool") or op.name.startswith("onnx.Reduce"):
        elements = math.prod(shape_of(op.operands[0]))
    elif isinstance(op, onnx.MaxPoolOp | onnx.AveragePoolOp):
        elements *= math.prod(op.kernel_shape.get_values())
    elif isinstance(op, onnx.LRNOp):
        channels = shape_of(op.x)[1]
        elements = elements * (channels + op.size.value.data - 1) // channels
    return elements * _passes(op)


def _steps(op: OnnxOp) -> int:
    """Operations that follow one another in the op."""
    if not is_computation(op):
        return 0
    return int(_macs(op) > 0) + _passes(op)


def _add(table: dict[str, int], label: str, number: int) -> None:
    if number:
        table[label] = table.get(label, 0) + number
