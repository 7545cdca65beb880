"""The lowering of a whole module, op by op."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...analysis.machine import Machine, Precision
from ...dialects import onnx
from ...dialects.location import copy_location, place_of
from ...dialects.onnx_base import shape_of, tensor_type
from ...dialects.spat import InputOp, OutputOp, tile_type
from ...support.diagnostics import TileError, TileErrors
from . import elementwise as ew
from .context import LayerDemand, LayerMapping, LoweringContext, refuse, shapes_note
from .feature import Feature, Segment, segment_of
from .layers import LOWERINGS, SIMPLIFIED, SOMETIMES_SIMPLIFIED, WITHOUT_BATCHES

MOST_ROWS = 1_000_000
"""Rows of the inputs and of the results of all layers together: the schedule is a table of them."""

MOST_WINDOWS = 100_000_000
"""Windows of one layer, images times positions: some layers have a constant for each."""

Allocate = Callable[[Sequence[LayerDemand]], Sequence[LayerMapping]]


def convert_module(module: ModuleOp, machine: Machine, precision: Precision, allocate: Allocate) -> None:
    """Replaces the body of `@main` by compute batches.

    A first sweep finds what each layer with weights demands; ``allocate`` deals replicas and parts to those that are
    needed; a second sweep emits the program. Raises TileErrors that list every node that cannot be lowered.
    """
    main = network_function(module)
    _check_rows(main)
    first = _sweep(main, LoweringContext(machine, precision))
    context = _sweep(main, LoweringContext(machine, precision, _mappings(first, allocate)))
    body = Block([*_needed(context.ops), ReturnOp()])
    for op in main.body.detach_block(0).ops:
        op.properties = {}  # Its weights need not stay until the collector finds the cycles of the ops.
    main.body.add_block(body)
    main.properties["function_type"] = FunctionType.from_lists([], [])
    main.properties.pop("arg_attrs", None)
    main.properties.pop("res_attrs", None)


def _mappings(first: LoweringContext, allocate: Allocate) -> list[LayerMapping | None]:
    """What each layer gets: of one that nobody reads, nothing."""
    needed = set(_needed(first.ops))
    mappings = iter(allocate([demand for demand, layer in first.demands if layer in needed]))
    return [next(mappings) if layer in needed else None for _, layer in first.demands]


def _needed(ops: Sequence[Operation]) -> list[Operation]:
    """Without those that nobody reads: layers of which slices take nothing. Inputs stay, as what the program is given.

    What they read may be needed by nobody else, so that the last ones go first.
    """
    found: list[Operation] = []
    for op in reversed(ops):
        if isinstance(op, InputOp | OutputOp) or any(result.first_use is not None for result in op.results):
            found.append(op)
        else:
            op.erase()
    return found[::-1]


def _check_rows(main: FuncOp) -> None:
    """Refuses a network of more rows or windows than can be handled, before anything is made for each of them."""
    found: list[tuple[int, str, SSAValue]] = [
        (_rows(argument), f"input '{io_name(main, 'arg_attrs', index)}'", argument)
        for index, argument in enumerate(main.body.block.args)
    ]
    for op in main.body.block.ops:
        if op.name in LOWERINGS and op.name not in WITHOUT_BATCHES:
            found += [(_rows(result), place_of(op), result) for result in op.results]
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
    if any(op.name.startswith("pim.") for op in module.body.block.ops):
        raise TileError("module", "it is lowered to the pim dialect already", "run only the passes that remain")
    raise TileError("module", "no function @main holds a network", "import one from an .onnx file")


def network_function(module: ModuleOp) -> FuncOp:
    """The function `@main`, which holds the network: one block on tensors. A TileError if it is no such."""
    main = main_function(module)
    others = [op for op in module.body.block.ops if op is not main]
    if others:
        symbol = others[0].get_attr_or_prop("sym_name")
        first = others[0].name + (f" @{symbol.data}" if isinstance(symbol, StringAttr) else "")
        count = f"{len(others)} other ops, the first of which is" if len(others) > 1 else "another op,"
        remedy = "remove them" if len(others) > 1 else "remove it"
        raise TileError("module", f"beside the network in @main it holds {count} {first}", remedy)
    if (blocks := len(main.body.blocks)) != 1:
        remedy = "write its ops into the first" if blocks else "give it its body"
        raise TileError("function @main", f"it has {blocks} blocks, a network has 1", remedy)
    for index, argument in enumerate(main.body.block.args):
        if not isinstance(argument.type, TensorType):
            where = f"input '{io_name(main, 'arg_attrs', index)}'"
            raise TileError(where, f"its type is {argument.type}", "tensors of known rank are supported")
    return main


def _sweep(main: FuncOp, context: LoweringContext) -> LoweringContext:
    errors: list[TileError] = []
    if any(op.name.startswith("spat.") for op in main.body.block.ops):
        raise TileError(
            "function @main", "it is lowered to the spat dialect already", "run only the passes after this one"
        )
    if not main.body.block.args:
        raise TileError("function @main", "it has no inputs, so that its outputs are constants", "give it its inputs")
    for index, argument in enumerate(main.body.block.args):
        context.features[argument] = _input(context, main, index)
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
    if isinstance(op, onnx.MatMulOp) and not any(operand in context.constants for operand in op.operands):
        raise refuse(op, "both operands are computed at run time", "only constant weights are supported")
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
    if not isinstance(op, onnx.OnnxOp):
        return "remove it, or say it in the onnx dialect"
    if op.name in SIMPLIFIED or all(operand in context.constants for operand in op.operands):
        return "run onnx-simplify first"
    if op.name in SOMETIMES_SIMPLIFIED:
        return "only what onnx-simplify rewrites is supported, see docs/operators.md"
    return "see docs/operators.md"


def _input(context: LoweringContext, main: FuncOp, index: int) -> Feature:
    argument, name = main.body.block.args[index], io_name(main, "arg_attrs", index)
    shape = shape_of(argument)
    if len(shape) not in (2, 4) or min(shape) < 1:
        note = shapes_note(main)
        what = f"its type is {argument.type}" + (f" ({note})" if note else "")
        raise TileError(f"input '{name}'", what, "inputs of rank 2 and 4 are supported")
    images, channels, height, columns = (*shape, 1, 1)[:4]
    op = InputOp(name, shape, tile_type(images * height, columns, channels), _element(argument))
    context.ops.append(op)
    return Feature.of([segment_of(op.result)], images, height, columns, len(shape))


def _output(context: LoweringContext, source: Operation, value: SSAValue, name: str) -> None:
    feature = context.features.get(value)
    if feature is None:
        raise TileError(f"output '{name}'", "it does not depend on any input", "remove it from the model")
    if any(isinstance(segment.value.owner, InputOp) for segment in feature.segments):
        # Only what a core computes can be stored, and not for two outputs: copy, what comes several times once.
        firsts = {segment.value: segment for segment in reversed(feature.segments)}
        once = replace(feature, segments=tuple(firsts.values()))
        copies = ew.map_feature(context, source, once, lambda _, x: x, apart=True).segments
        copy_of = {value: copy.value for value, copy in zip(firsts, copies, strict=True)}
        segments = tuple([Segment(copy_of[segment.value], segment.channels) for segment in feature.segments])
        feature = replace(feature, segments=segments)
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
