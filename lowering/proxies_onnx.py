"""The proxies of a network before it is lowered: counted in elements and passes, since no machine is known yet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import AnyFloat
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ..analysis.proxies import UNNAMED, counts, tensor_text
from ..dialects import onnx
from ..dialects.location import node_name
from ..dialects.onnx_base import OnnxOp, channels_of, shape_of
from ..dialects.tile import dtype_of
from .constants_alike import Constants
from .onnx_work import KeptRows, OpWork, is_computation, is_layer, op_work

NO_WORK = OpWork(0, 0, 0)
"""Of what only names data, or knows it."""


def onnx_proxies(
    ops: Sequence[OnnxOp], functions: Sequence[FuncOp], constants: Constants
) -> tuple[dict[str, object], dict[str, dict[str, int]]]:
    """The fields that an ONNX network has, of the ops in ``functions``, and by field what each node adds to it."""
    depth: dict[SSAValue, int] = {}
    """Of what depends on the inputs, the steps up to it."""
    work_depth: dict[SSAValue, int] = {}
    """The work up to it."""
    known: dict[object, int] = {}
    numbers: dict[SSAValue, object] = {}
    parts: dict[str, dict[str, int]] = {
        name: {} for name in ("macs", "element_passes", "layer_elements", "lanes_of_node", "recomputed")
    }
    instances = steps = constant_elements = layer_reads = layer_rows = pass_depths = work_depths = 0
    kept_rows = KeptRows()
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
        work = NO_WORK
        if is_computation(op):
            work = kept_rows.work(op, op_work(op))
            _add(parts["recomputed"], label, int(repeated))
            if not repeated and op not in needless:
                instances += work.instances
            if label != UNNAMED:
                parts["lanes_of_node"][label] = max(work.rows, parts["lanes_of_node"].get(label, 0))
            _add(parts["macs"], label, work.macs)
            _add(parts["element_passes"], label, work.element_passes)
            if work.macs:
                layer_reads += sum(math.prod(shape_of(one)) for one in op.operands if onnx.constant_of(one) is None)
            if is_layer(op):
                _add(parts["layer_elements"], label, math.prod(shape_of(op.results[0])))
                layer_rows += work.rows
        else:
            kept_rows.work(op, work)
        if not _is_constant(op, depth):
            constant_elements += _constant_elements(op, work.factors, depth)
            before = max((depth.get(operand, 0) for operand in op.operands), default=0)
            work_before = max((work_depth.get(operand, 0) for operand in op.operands), default=0)
            depth.update(dict.fromkeys(op.results, before + work.steps))
            work_depth.update(dict.fromkeys(op.results, work_before + work.work))
            steps = max(steps, before + work.steps)
            pass_depths += work.results * work.step_depths(before)
            work_depths += work.results * work.work_depths(work_before)
    return {
        "compute_instances": instances,
        "step_count": steps,
        "constant_elements": constant_elements,
        "layer_reads": layer_reads,
        "layer_rows": layer_rows,
        "pass_depths": pass_depths,
        "work_depths": work_depths,
        "work_of_output": counts(
            (name, work_depth.get(value, 0)) for kind, name, value in _ends(functions) if kind == "output"
        ),
        "macs": sum(parts["macs"].values()),
        "element_passes": sum(parts["element_passes"].values()),
        "element_passes_of_node": counts(parts["element_passes"]),
        "layer_elements": counts(parts["layer_elements"]),
        "lanes_of_node": counts(parts["lanes_of_node"]),
        "recomputed": sum(parts["recomputed"].values()),
    }, parts


def _needless(ops: Sequence[OnnxOp]) -> set[Operation]:
    """Ops from which nothing comes to an output, or nothing but what they read: whoever drops them takes no work from
    anybody."""
    dead: set[Operation] = set()
    for op in reversed(ops):
        if all(use.operation in dead for result in op.results for use in result.uses):
            dead.add(op)
    return dead.union(filter(_is_again, ops))


def _is_again(op: OnnxOp) -> bool:
    """Whether the op is a Relu of what is none below zero already."""
    source = op.operands[0] if isinstance(op, onnx.ReluOp) else None
    while source is not None and isinstance(source.owner, onnx.IdentityOp):
        source = source.owner.operands[0]
    return source is not None and isinstance(source.owner, onnx.ReluOp)


def _is_constant(op: OnnxOp, dependent: Mapping[SSAValue, int]) -> bool:
    """Whether nothing of what the op reads depends on the inputs, of which ``dependent`` has all that ops compute."""
    return not any(_depends(operand, dependent) for operand in op.operands)


def _depends(value: SSAValue, dependent: Mapping[SSAValue, int]) -> bool:
    return value in dependent or isinstance(value, BlockArgument)


def _constant_elements(op: OnnxOp, factors: int, dependent: Mapping[SSAValue, int]) -> int:
    """Elements of the constants that the op reads, but the weights of a layer, and of its ``factors``: for each channel
    at least one."""
    channels = channels_of(op.results[0])
    read = [
        operand
        for index, operand in enumerate(op.operands)
        if not _depends(operand, dependent) and not (index == 1 and is_layer(op)) and _is_of_floats(operand)
    ]
    return sum([max(channels, math.prod(shape_of(operand))) for operand in read], channels * factors)


def _is_of_floats(value: SSAValue) -> bool:
    """Others are shapes and positions, which nothing is computed with."""
    return isinstance(_element(value), AnyFloat)


def interface_of_onnx(function: FuncOp) -> list[str]:
    """Names, element types and shapes of the inputs and outputs of a network."""
    if not _is_network(function):
        return [f"function {function.sym_name.data} {function.function_type}"]
    return [tensor_text(kind, name, _dtype(value), _shape(value)) for kind, name, value in _ends([function])]


def _is_network(function: FuncOp) -> bool:
    block = function.body.blocks.first
    return block is not None and block.last_op is not None and function.sym_name.data == "main"


def _ends(functions: Sequence[FuncOp]) -> Iterator[tuple[str, str, SSAValue]]:
    """Inputs and outputs of networks: which of both, the name, the value."""
    from .onnx_to_spat.convert import io_name

    for main in filter(_is_network, functions):
        last = None if main.body.blocks.first is None else main.body.blocks.first.last_op
        assert last is not None
        tensors = [("input", "arg_attrs", list(main.args)), ("output", "res_attrs", list(last.operands))]
        for kind, attributes, values in tensors:
            for index, value in enumerate(values):
                yield kind, io_name(main, attributes, index), value


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


def _add(table: dict[str, int], label: str, number: int) -> None:
    if number:
        table[label] = table.get(label, 0) + number
