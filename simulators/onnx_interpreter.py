"""Runs a module of the `onnx` dialect on real data: the reference that lowered programs are compared with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from ..dialects.location import node_name
from ..dialects.onnx import OnnxOp
from ..dialects.onnx_base import shape_of, tensor_type
from ..dialects.tile import dtype_of
from ..support.diagnostics import TileError
from .onnx_kernels import Array, evaluate

NAME = "onnx.name"


def network_of(module: ModuleOp, name: str = "main") -> FuncOp:
    """The function that holds the network."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == name:
            return op
    raise TileError("module", f"there is no function @{name}", "give a module with one network")


def input_names(network: FuncOp) -> list[str]:
    """The names of the network's inputs, in order."""
    return _names(network.arg_attrs, len(network.body.block.args), "input")


def output_names(network: FuncOp) -> list[str]:
    """The names of the network's outputs, in order."""
    return _names(network.res_attrs, len(network.function_type.outputs), "output")


def interpret(module: ModuleOp, inputs: Mapping[str, Array], function: str = "main") -> dict[str, Array]:
    """The outputs of the network on ``inputs``, by name.

    A value is dropped after its last use, so the peak is what is live at once and not the sum of all layers.
    """
    network = network_of(module, function)
    block = network.body.block
    remaining: dict[SSAValue, int] = {}
    values: dict[SSAValue, Array] = {}
    for argument, name in zip(block.args, input_names(network), strict=True):
        values[argument] = _checked(argument, name, inputs)

    for op in block.ops:
        if isinstance(op, ReturnOp):
            return {name: values[value] for name, value in zip(output_names(network), op.operands, strict=True)}
        if not isinstance(op, OnnxOp):
            raise TileError(f"op {op.name} at node {node_name(op)!r}", "is not of the onnx dialect", "lower it later")
        results = evaluate(op, [values[operand] for operand in op.operands])
        for result, array in zip(op.results, results, strict=True):
            remaining[result] = sum(1 for _ in result.uses)
            if remaining[result]:
                values[result] = array
        for operand in op.operands:
            if operand in remaining:
                remaining[operand] -= 1
                if not remaining[operand]:
                    del values[operand]
    raise TileError(f"function @{function}", "does not return", "end it with func.return")


def _checked(argument: SSAValue, name: str, inputs: Mapping[str, Array]) -> Array:
    if name not in inputs:
        raise TileError(f"input {name!r}", "is missing", f"give an array of type {argument.type}")
    array = np.asarray(inputs[name])
    if array.shape != shape_of(argument):
        raise TileError(f"input {name!r}", f"has shape {array.shape}, the network takes {argument.type}", "reshape it")
    return array.astype(dtype_of(tensor_type(argument).get_element_type()), copy=False)


def _names(attributes: ArrayAttr[DictionaryAttr] | None, count: int, kind: str) -> list[str]:
    """The `onnx.name` of each argument or result, or its kind and number."""
    names = [f"{kind}{i}" for i in range(count)]
    for i, dictionary in enumerate(attributes or ()):
        match dictionary.data.get(NAME):
            case StringAttr(data=name):
                names[i] = name
            case _:
                pass
    return names
