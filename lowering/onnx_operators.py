"""How the operators of the standard, in all their versions, become ops of the `onnx` dialect.

One rule for each operator. Most are a line: operands stay operands, attributes stay attributes, and the inputs that the
dialect wants as attributes are read from constants. The standard turned some attributes into inputs over time, under
the same names (:attr:`Rule.constants`), so such a line covers all versions. What does not fit a line has a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue

from ..dialects import onnx as ops
from ..dialects.onnx_base import (
    broadcast_shapes,
    element_type_of,
    float32,
    int64,
    int64s,
    normal_axes,
    require,
    shape_of,
)
from ..dialects.tile import ArrayAttr
from ..dialects.tile import element_type_of as element_type_of_dtype
from .onnx_model import DTYPES, read_tensor
from .onnx_node import Node, Unsupported

Build: TypeAlias = Callable[[Node, Sequence[SSAValue]], Sequence[ops.OnnxOp]]


@dataclass(frozen=True)
class Rule:
    """How one operator is imported."""

    op: type[ops.OnnxOp]
    operands: int | None = None
    """How many of the inputs are tensors that the op computes with; None for all."""
    constants: tuple[str, ...] = ()
    """The attributes that the inputs after the operands become."""
    ignored: Mapping[str, Sequence[Any] | None] = field(default_factory=dict[str, Sequence[Any] | None])
    """Attributes without a meaning for inference, with the values that are accepted; None for all values."""
    attributes: tuple[str, ...] = ()
    """Attributes that ``build`` reads, beyond those of the op."""
    build: Build | None = None

    def unsupported(self, node: Node) -> list[str]:
        """What about the attributes and outputs of ``node`` is not supported."""
        problems: list[str] = []
        properties = self.op.get_irdl_definition().properties
        for name in node.attribute_names:
            if name in self.ignored:
                accepted = self.ignored[name]
                value = node.attribute(name)
                if accepted is not None and value not in accepted:
                    problems.append(f"attribute {name} = {value} is not supported")
            elif name not in properties and name not in self.attributes:
                problems.append(f"attribute {name} is not supported")
        return problems

    def translate(self, node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
        """The ops that compute what the node computes, in order; the results of the last are the node's outputs."""
        if self.build is not None:
            return self.build(node, operands)
        return [self.op.of(operands, self._properties(node))]

    def _properties(self, node: Node) -> dict[str, Attribute]:
        """The attributes of the op, from the node's attributes and constant inputs."""
        definitions = self.op.get_irdl_definition().properties
        properties: dict[str, Attribute] = {}
        for name, definition in definitions.items():
            value: Any = node.attribute(name)
            if self.operands is not None and name in self.constants:
                array = node.constant(self.operands + self.constants.index(name), name)
                value = value if array is None else array.reshape(-1).tolist()
            if value is None:
                continue
            bases = definition.constr.get_bases() or set()
            properties[name] = _property(name, value, bases)
        return properties


def _property(name: str, value: Any, bases: set[type[Attribute]]) -> Attribute:
    """An ONNX attribute as the property that the op declares."""
    if DenseArrayBase in bases:
        return int64s([_integer(name, element) for element in value])
    value = _only(name, value)
    if IntegerAttr in bases:
        return int64(_integer(name, value))
    if FloatAttr in bases:
        return float32(float(value))
    assert StringAttr in bases, f"no rule for attribute {name}"
    return StringAttr(value.decode(errors="replace"))


def _only(name: str, value: Any) -> Any:
    """``value``, or its only element if it is a list (an array of one element stands for a scalar)."""
    if isinstance(value, bytes) or not isinstance(value, Sequence):
        return value
    elements: Sequence[Any] = value  # pyright: ignore[reportUnknownVariableType]
    require(len(elements) == 1, f"{name} has {len(elements)} elements, expected 1")
    return elements[0]


def _integer(name: str, value: Any) -> int:
    require(isinstance(value, int), f"{name} is not an integer")
    return value


# Operators that need more than a line


def _constant(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
    (name,) = node.attribute_names or ("value",)
    value = node.attribute(name)
    match name:
        case "value":
            array = read_tensor(node.where, "attribute value", value)
        case "value_float" | "value_floats":
            array = np.array(value, np.float32)
        case "value_int" | "value_ints":
            array = np.array(value, np.int64)
        case _:
            raise Unsupported(f"attribute {name} is not supported")
    return [ops.ConstantOp.from_array(array)]


def _constant_of_shape(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
    shape = node.ints(0, "shape")
    require(shape is not None and min(shape, default=0) >= 0, f"shape {shape} is negative")
    tensor = node.attribute("value")
    value = np.zeros(1, np.float32) if tensor is None else read_tensor(node.where, "attribute value", tensor)
    type = TensorType(ArrayAttr.get(value).element_type, shape or ())
    op = ops.ConstantOfShapeOp.create(result_types=[type], properties={"value": ArrayAttr.get(value)})
    op.infer()
    return [op]


def _cast(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
    dtype = DTYPES.get(node.attribute("to"))
    type = None if dtype is None else element_type_of_dtype(dtype)
    if type is None:
        raise Unsupported(f"attribute to = {node.attribute('to')} is not supported")
    return [ops.CastOp.of(operands, {"to": type})]


def _reshape(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
    target = node.ints(1, "shape")
    require(target is not None, "has no shape")
    source, keeps_zeros = shape_of(operands[0]), bool(node.attribute("allowzero", 0))
    shape = list(target or ())
    for i, extent in enumerate(shape):
        if extent == 0 and not keeps_zeros:
            require(i < len(source), f"shape {target} copies dimension {i} of a tensor of rank {len(source)}")
            shape[i] = source[i]
    require(min(shape, default=0) >= -1 and shape.count(-1) <= 1, f"shape {target} is no shape")
    if -1 in shape:
        known, count = -math.prod(shape), math.prod(source)
        require(known > 0 and count % known == 0, f"shape {target} does not divide {count} elements")
        shape[shape.index(-1)] = count // known
    op = ops.ReshapeOp.to(operands[0], tuple(shape))
    op.infer()
    return [op]


def _expand(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
    target = tuple(node.ints(1, "shape") or ())
    require(min(target, default=0) >= 0, f"shape {target} is negative")
    shape = broadcast_shapes(shape_of(operands[0]), target)
    op = ops.ExpandOp.create(operands=operands[:1], result_types=[TensorType(element_type_of(operands[0]), shape)])
    op.infer()
    return [op]


def _split(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
    pieces, axis = len(node.proto.output), node.attribute("axis", 0)
    split = node.ints(1, "split")
    if split is None:
        (axis,) = normal_axes((axis,), len(shape_of(operands[0])))
        extent = shape_of(operands[0])[axis]
        size = -(-extent // pieces)
        split = [min(size, max(extent - i * size, 0)) for i in range(pieces)]
    require(len(split) == pieces, f"split has {len(split)} values, the node {pieces} outputs")
    return [ops.SplitOp.of(operands, {"axis": int64(axis), "split": int64s(split)}, pieces)]


def _pad(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
    rank = len(shape_of(operands[0]))
    pads, axes = node.ints(1, "pads"), node.ints(3, "axes")
    require(pads is not None, "has no pads")
    given = normal_axes(range(rank) if axes is None else axes, rank)
    require(pads is not None and len(pads) == 2 * len(given), f"pads {pads} are not two for each axis")
    full = [0] * (2 * rank)
    for i, axis in enumerate(given):
        assert pads is not None
        full[axis], full[rank + axis] = pads[i], pads[len(given) + i]
    fill = node.constant(2, "value")
    value = node.attribute("value", 0.0) if fill is None else float(fill.reshape(-1)[0])
    mode = node.attribute("mode", b"constant").decode(errors="replace")
    properties = {"pads": int64s(full), "mode": StringAttr(mode), "value": float32(value)}
    return [ops.PadOp.of(operands, properties)]


def _softmax(op: type[ops.SoftmaxOp | ops.LogSoftmaxOp]) -> Build:
    """Before opset 13, the axes from `axis` on were one. That needs a reshape if two of them are longer than 1."""

    def build(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
        (x,) = operands
        if node.opset >= 13:
            return [op.of([x], {"axis": int64(node.attribute("axis", -1))})]
        shape = shape_of(x)
        (axis,) = normal_axes((node.attribute("axis", 1),), len(shape))
        long = [i for i in range(axis, len(shape)) if shape[i] != 1]
        if len(long) <= 1:
            return [op.of([x], {"axis": int64(long[0] if long else axis)})]
        rows = ops.ReshapeOp.to(x, (math.prod(shape[:axis]), math.prod(shape[axis:])))
        softmax = op.of(rows.results, {"axis": int64(1)})
        return [rows, softmax, ops.ReshapeOp.to(softmax.y, shape)]

    return build


def _dropout(node: Node, operands: Sequence[SSAValue]) -> Sequence[ops.OnnxOp]:
    training = node.constant(2, "training_mode")
    if training is not None and training.any():
        raise Unsupported("training_mode = 1 is not supported")
    return [ops.DropoutOp.of(operands)]


def _reduction(op: type[ops.ReduceOp]) -> Rule:
    return Rule(op, operands=1, constants=("axes",), ignored={"noop_with_empty_axes": (0,)})


RULES: dict[str, Rule] = {
    "Abs": Rule(ops.AbsOp),
    "Add": Rule(ops.AddOp),
    "AveragePool": Rule(ops.AveragePoolOp),
    "BatchNormalization": Rule(
        ops.BatchNormalizationOp, ignored={"momentum": None, "spatial": (1,), "training_mode": (0,)}
    ),
    "Cast": Rule(ops.CastOp, ignored={"saturate": None, "round_mode": None}, build=_cast),
    "Ceil": Rule(ops.CeilOp),
    "Clip": Rule(ops.ClipOp, operands=1, constants=("min", "max")),
    "Concat": Rule(ops.ConcatOp),
    "Constant": Rule(
        ops.ConstantOp, attributes=("value_float", "value_floats", "value_int", "value_ints"), build=_constant
    ),
    "ConstantOfShape": Rule(ops.ConstantOfShapeOp, operands=0, build=_constant_of_shape),
    "Conv": Rule(ops.ConvOp),
    "Div": Rule(ops.DivOp),
    "Dropout": Rule(ops.DropoutOp, operands=1, ignored={"ratio": None, "seed": None}, build=_dropout),
    "Elu": Rule(ops.EluOp),
    "Equal": Rule(ops.EqualOp),
    "Erf": Rule(ops.ErfOp),
    "Exp": Rule(ops.ExpOp),
    "Expand": Rule(ops.ExpandOp, operands=1, build=_expand),
    "Flatten": Rule(ops.FlattenOp),
    "Floor": Rule(ops.FloorOp),
    "Gather": Rule(ops.GatherOp),
    "Gemm": Rule(ops.GemmOp),
    "GlobalAveragePool": Rule(ops.GlobalAveragePoolOp),
    "GlobalMaxPool": Rule(ops.GlobalMaxPoolOp),
    "Greater": Rule(ops.GreaterOp),
    "HardSigmoid": Rule(ops.HardSigmoidOp),
    "HardSwish": Rule(ops.HardSwishOp),
    "Identity": Rule(ops.IdentityOp),
    "LRN": Rule(ops.LRNOp),
    "LeakyRelu": Rule(ops.LeakyReluOp),
    "Less": Rule(ops.LessOp),
    "Log": Rule(ops.LogOp),
    "LogSoftmax": Rule(ops.LogSoftmaxOp, build=_softmax(ops.LogSoftmaxOp)),
    "MatMul": Rule(ops.MatMulOp),
    "Max": Rule(ops.MaxOp),
    "MaxPool": Rule(ops.MaxPoolOp, ignored={"storage_order": None}),
    "Mean": Rule(ops.MeanOp),
    "Min": Rule(ops.MinOp),
    "Mod": Rule(ops.ModOp),
    "Mul": Rule(ops.MulOp),
    "Neg": Rule(ops.NegOp),
    "Not": Rule(ops.NotOp),
    "PRelu": Rule(ops.PReluOp),
    "Pad": Rule(ops.PadOp, operands=1, build=_pad),
    "Pow": Rule(ops.PowOp),
    "Reciprocal": Rule(ops.ReciprocalOp),
    "ReduceMax": _reduction(ops.ReduceMaxOp),
    "ReduceMean": _reduction(ops.ReduceMeanOp),
    "ReduceMin": _reduction(ops.ReduceMinOp),
    "ReduceProd": _reduction(ops.ReduceProdOp),
    "ReduceSum": _reduction(ops.ReduceSumOp),
    "Relu": Rule(ops.ReluOp),
    "Reshape": Rule(ops.ReshapeOp, operands=1, attributes=("allowzero",), build=_reshape),
    "Shape": Rule(ops.ShapeOp),
    "Sigmoid": Rule(ops.SigmoidOp),
    "Size": Rule(ops.SizeOp),
    "Slice": Rule(ops.SliceOp, operands=1, constants=("starts", "ends", "axes", "steps")),
    "Softmax": Rule(ops.SoftmaxOp, build=_softmax(ops.SoftmaxOp)),
    "Softplus": Rule(ops.SoftplusOp),
    "Split": Rule(ops.SplitOp, operands=1, attributes=("num_outputs",), build=_split),
    "Sqrt": Rule(ops.SqrtOp),
    "Squeeze": Rule(ops.SqueezeOp, operands=1, constants=("axes",)),
    "Sub": Rule(ops.SubOp),
    "Sum": Rule(ops.SumOp),
    "Tanh": Rule(ops.TanhOp),
    "Tile": Rule(ops.TileOp, operands=1, constants=("repeats",)),
    "Transpose": Rule(ops.TransposeOp),
    "Unsqueeze": Rule(ops.UnsqueezeOp, operands=1, constants=("axes",)),
    "Where": Rule(ops.WhereOp),
}
"""The operators that the importer translates."""
