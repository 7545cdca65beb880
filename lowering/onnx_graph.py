"""Builds a module of the `onnx` dialect from the nodes of a model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from onnx import NodeProto, TypeProto, ValueInfoProto
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects.location import located
from ..dialects.onnx import ConstantOp, OnnxOp
from ..dialects.onnx_base import shape_of, tensor_type
from ..dialects.tile import Array, dtype_of, element_type_of
from ..support.diagnostics import TileError, TileErrors
from .constant_folding import fold
from .onnx_model import DTYPES, OnnxModel, check_size, node_label
from .onnx_node import Node, Unsupported, schema_problems
from .onnx_operators import RULES
from .onnx_outputs import declaration_problems

NAME = "onnx.name"

MAX_SHAPE_ELEMENTS = 1024
"""Constants up to this size that follow from constants are computed on import: shape arithmetic is made of them."""


def build_module(model: OnnxModel, dims: Mapping[str, int]) -> ModuleOp:
    """The network as `@main`. Raises TileErrors with everything that is not supported."""
    errors = [error for node in model.nodes for error in _unsupported(model, node)]
    if errors:
        raise TileErrors(errors)
    return _Builder(model).build(input_types(model, dims), dims)


def _unsupported(model: OnnxModel, node: NodeProto) -> list[TileError]:
    """What is wrong or not supported about a node, as far as it can be told without shapes."""
    domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
    opset = model.opsets.get(node.domain, "not imported") if domain else model.opset
    rule = None if domain else RULES.get(node.op_type)
    where = _where(model, node)
    if domain:
        problems = ["the operator is not supported"]
    else:
        problems = schema_problems(node, model.opset)
        if not problems:
            attributes = Node(node, where, model.opset, {})
            problems = rule.unsupported(attributes) if rule else ["the operator is not supported"]
    return [
        TileError(where, f"{domain}{node.op_type} (opset {opset}): {problem}", "see docs/operators.md")
        for problem in problems
    ]


def _where(model: OnnxModel, node: NodeProto) -> str:
    return f"{model.where}: node {node_label(node)!r}"


# Inputs


def input_types(model: OnnxModel, dims: Mapping[str, int]) -> dict[str, TensorType[Attribute]]:
    """The types of the network's inputs, with symbolic dimensions bound by ``dims``."""
    errors: list[TileError] = []
    types: dict[str, TensorType[Attribute]] = {}
    symbols: dict[str, str] = {}
    for value in model.graph.input:
        if value.name in model.constants:
            continue
        if value.name in types:
            errors.append(TileError(model.where, f"input {value.name!r} is listed twice", "list each input once"))
            continue
        try:
            if (type := _input_type(model.where, value, dims, symbols)) is not None:
                types[value.name] = type
        except TileError as error:
            errors.append(error)
    for symbol, where in symbols.items():
        if symbol not in dims:
            errors.append(
                TileError(model.where, f"dimension {symbol} of {where} is not bound", f"add --dim {symbol}=VALUE")
            )
    for name, extent in dims.items():
        if name not in symbols:
            known = f"it has {', '.join(symbols)}" if symbols else "it has none"
            errors.append(TileError(f"--dim {name}={extent}", "the model has no such dimension", known))
    if errors:
        raise TileErrors(errors)
    return types


def _input_type(
    where: str, value: ValueInfoProto, dims: Mapping[str, int], symbols: dict[str, str]
) -> TensorType[Attribute] | None:
    """The type of an input; None if a dimension is not bound. ``symbols`` collects symbols and their first input."""
    what = f"input {value.name!r}"
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise TileError(
            where,
            f"{what} is a {(kind or 'value without a type').removesuffix('_type')}, not a tensor",
            "give tensors only",
        )
    tensor: TypeProto.Tensor = value.type.tensor_type
    dtype = DTYPES.get(tensor.elem_type)
    element_type = None if dtype is None else element_type_of(dtype)
    if dtype is None or element_type is None:
        raise TileError(
            where, f"{what} has elements of the unsupported type number {tensor.elem_type}", "convert it to float"
        )
    if not tensor.HasField("shape"):
        raise TileError(where, f"{what} has no shape", "export the model with the shapes of its inputs")
    names = [
        None if dimension.HasField("dim_value") else dimension.dim_param or f"{value.name}.{index}"
        for index, dimension in enumerate(tensor.shape.dim)
    ]
    for symbol in names:
        if symbol is not None:
            symbols.setdefault(symbol, what)
    if any(symbol is not None and symbol not in dims for symbol in names):
        return None
    shape = [
        dimension.dim_value if symbol is None else dims[symbol]
        for symbol, dimension in zip(names, tensor.shape.dim, strict=True)
    ]
    for index, extent in enumerate(shape):
        if extent <= 0:
            raise TileError(where, f"dimension {index} of {what} is {extent}", "give a positive size")
    check_size(where, what, tuple(shape), dtype)
    return TensorType(element_type, shape)


# Nodes


class _Builder:
    """Walks the nodes once; a constant becomes an op where it is first an operand."""

    def __init__(self, model: OnnxModel) -> None:
        self.model = model
        self.block = Block()
        self.values: dict[str, SSAValue] = {}
        self.constants = dict(model.constants)
        self.unknown: set[str] = set()
        """Values that follow from a node with an error: no further errors about them."""
        self.errors: list[TileError] = []

    def build(self, inputs: Mapping[str, TensorType[Attribute]], dims: Mapping[str, int]) -> ModuleOp:
        for name, type in inputs.items():
            argument = self.block.insert_arg(type, len(self.block.args))
            self.values[name] = _hinted(argument, name)
        used = {name for node in self.model.nodes for name in node.input} | {o.name for o in self.model.graph.output}
        for proto in self.model.nodes:
            try:
                if self.unknown.isdisjoint(proto.input):
                    self._add(proto, used)
                    continue
            except (Unsupported, VerifyException) as error:
                problem = f"{proto.op_type} (opset {self.model.opset}): {error}"
                self.errors.append(TileError(_where(self.model, proto), problem, "see docs/operators.md"))
            except TileError as error:
                self.errors.append(error)
            self.unknown.update(proto.output)
        if not self.errors:
            self._check_outputs(dims)
        if self.errors:
            raise TileErrors(self.errors)
        return self._module(inputs)

    def _check_outputs(self, dims: Mapping[str, int]) -> None:
        """Refuses outputs that are not what the model says that they are, as far as it says something."""
        for value in self.model.graph.output:
            for problem in declaration_problems(value, tensor_type(self._value(value.name)), dims):
                what = f"output {value.name!r} is declared {problem}"
                self.errors.append(
                    TileError(self.model.where, what, "correct that declaration, or remove it from the model")
                )

    def _add(self, proto: NodeProto, used: set[str]) -> None:
        node = Node(proto, _where(self.model, proto), self.model.opset, self.constants)
        rule = RULES[proto.op_type]
        names = node.inputs[: rule.operands]
        if not all(names):
            raise Unsupported("leaves out an input between others")

        # While a node may still be folded, its constants get no op in the network.
        foldable = all(name in self.constants for name in names)
        ops = rule.translate(node, [*map(self._detached if foldable else self._value, names)])
        self._check(node, ops, used)
        arrays = self._folded(ops)
        if arrays is not None or foldable:
            # What is not inserted must not count as a reader of what it reads.
            for op in reversed(ops):
                op.erase()
        if arrays is not None:
            self.constants.update(zip(proto.output, arrays, strict=False))
            return
        if foldable:
            ops = rule.translate(node, [*map(self._value, names)])
        for op in ops:
            self.block.add_op(located(op, node_label(proto)))
        self.values.update(
            (name, _hinted(result, name)) for name, result in zip(proto.output, ops[-1].results, strict=False)
        )

    def _check(self, node: Node, ops: Sequence[OnnxOp], used: set[str]) -> None:
        """Refuses results that nobody computes or could hold."""
        for index, name in enumerate(node.proto.output[len(ops[-1].results) :], len(ops[-1].results)):
            if name in used:
                raise Unsupported(f"output {index} is used, only the first is supported")
        for op in ops:
            for result in op.results:
                dtype = dtype_of(tensor_type(result).get_element_type())
                assert dtype is not None
                check_size(node.where, "its result", shape_of(result), dtype)

    def _folded(self, ops: Sequence[OnnxOp]) -> Sequence[Array] | None:
        """The results of a node that belongs to shape arithmetic, else None."""
        if len(ops) != 1:
            return None
        if isinstance(ops[0], ConstantOp):
            return [ops[0].value.array]
        small = sum(math.prod(shape_of(result)) for result in ops[0].results) <= MAX_SHAPE_ELEMENTS
        return fold(ops[0]) if small else None

    def _detached(self, name: str) -> SSAValue:
        return ConstantOp.from_array(self.constants[name]).output

    def _value(self, name: str) -> SSAValue:
        if name not in self.values:
            op = located(ConstantOp.from_array(self.constants[name]), name)
            self.block.add_op(op)
            self.values[name] = _hinted(op.output, name)
        return self.values[name]

    def _module(self, inputs: Mapping[str, TensorType[Attribute]]) -> ModuleOp:
        outputs = [self._value(output.name) for output in self.model.graph.output]
        self.block.add_op(ReturnOp(*outputs))
        network = FuncOp(
            "main",
            FunctionType.from_lists(list(inputs.values()), [value.type for value in outputs]),
            Region(self.block),
            arg_attrs=_named(list(inputs)),
            res_attrs=_named([output.name for output in self.model.graph.output]),
        )
        return ModuleOp([network])


def _named(names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({NAME: StringAttr(name)}) for name in names])


def _hinted(value: SSAValue, name: str) -> SSAValue:
    """Lets ``value`` print as its ONNX name, as far as MLIR can spell it."""
    hint = re.sub(r"[^A-Za-z0-9_$.-]", "_", name)
    # A number alone, or a trailing one, belongs to the printer.
    if re.fullmatch(r"[A-Za-z_].*?(?<!_\d)", hint) and SSAValue.is_valid_name(hint):
        value.name_hint = hint
    return value
