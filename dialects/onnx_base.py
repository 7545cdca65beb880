"""What the ops of the `onnx` dialect share: their text form, shape inference and its check.

Every op has one function, :meth:`OnnxOp.infer`, that states what its operands have to look like and which result types
follow from them. The verifier compares these with the types in the IR; the importer and the rewrites create ops with
them (:meth:`OnnxOp.of`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .location import node_name

Shape: TypeAlias = tuple[int, ...]
Tensor: TypeAlias = TensorType[Attribute]
Int64: TypeAlias = IntegerAttr[I64]
Int64s: TypeAlias = DenseArrayBase[I64]
Float: TypeAlias = FloatAttr[Float32Type]


def int64(value: int) -> Int64:
    return IntegerAttr(value, i64)


def int64s(values: Sequence[int]) -> Int64s:
    return DenseArrayBase.from_list(i64, values)


def float32(value: float) -> Float:
    return FloatAttr(value, f32)


def tensor_type(value: SSAValue) -> Tensor:
    """The type of a tensor value."""
    type = value.type
    assert isinstance(type, TensorType)
    return type  # pyright: ignore[reportUnknownVariableType]


def shape_of(value: SSAValue) -> Shape:
    return tensor_type(value).get_shape()


def channels_of(value: SSAValue) -> int:
    """How many channels a tensor has, along axis 1; of fewer axes, its elements."""
    shape = shape_of(value)
    return shape[1] if len(shape) > 1 else math.prod(shape)


def element_type_of(value: SSAValue) -> Attribute:
    return tensor_type(value).get_element_type()


class OnnxOp(IRDLOperation, ABC):
    """An operator of the ONNX standard: pure, on tensors of static shape.

    All ops but constants print alike: `onnx.Name(operands) {attributes} : (types) -> types`.
    """

    traits = traits_def(Pure())

    @abstractmethod
    def infer(self) -> tuple[Tensor, ...]:
        """The result types that follow from operands and attributes, or that the given result types have to be.

        Raises a VerifyException that says what does not fit.
        """

    @classmethod
    def of(
        cls, operands: Sequence[SSAValue], properties: Mapping[str, Attribute] | None = None, results: int = 1
    ) -> Self:
        """An op whose result types are inferred. Raises a VerifyException if the operands do not fit."""
        properties = properties or {}
        placeholder = TensorType(i64, ())
        probe = cls.create(operands=operands, result_types=[placeholder] * results, properties=properties)
        try:
            probe._verify_numbers()
            types = probe.infer()
        finally:
            probe.erase()
        return cls.create(operands=operands, result_types=types, properties=properties)

    def verify_(self) -> None:
        try:
            self._verify_static()
            types = self.infer()
            if len(types) != len(self.results):
                raise VerifyException(f"has {len(self.results)} results, expected {len(types)}")
            for result, type in zip(self.results, types, strict=True):
                if type != result.type:
                    raise VerifyException(f"result type is {result.type}, expected {type}")
        except VerifyException as error:
            node = node_name(self)
            raise VerifyException(f"{self.name}{f' at node {node!r}' if node else ''}: {error}") from error

    def _verify_static(self) -> None:
        for value in (*self.operands, *self.results):
            if any(extent < 0 for extent in shape_of(value)):
                raise VerifyException(f"{value.type} has a dynamic dimension; bind it on import with --dim NAME=N")
        for name in self.attributes:
            if "." not in name:
                raise VerifyException(f"has no attribute {name!r}")
        self._verify_numbers()

    def _verify_numbers(self) -> None:
        for name, attribute in self.properties.items():
            if isinstance(attribute, FloatAttr) and not self.allows_number(number := attribute.value.data):
                raise VerifyException(f"attribute {name} is {number}, a finite number is expected")

    def allows_number(self, number: float) -> bool:
        """Whether this may be one of the attributes."""
        return math.isfinite(number)

    # Text

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        properties = {
            name: self.properties[name]
            for name, definition in self.get_irdl_definition().properties.items()
            if name in self.properties and self.properties[name] != definition.default_value
        }
        printer.print_op_attributes({**properties, **self.attributes})
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_dictionary_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_function_type()
        names = cls.get_irdl_definition().properties
        return cls.create(
            operands=parser.resolve_operands(operands, type.inputs.data, start),
            result_types=type.outputs.data,
            properties={name: attributes.pop(name) for name in names if name in attributes},
            attributes=attributes,
        )


class SameTypeOp(OnnxOp, ABC):
    """One tensor in, one of the same type out."""

    x = operand_def(Tensor)
    y = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        return (tensor_type(self.x),)


class UnaryOp(SameTypeOp, ABC):
    """Each element of the result is a function of that element of the tensor alone."""


class BinaryOp(OnnxOp, ABC):
    """Two tensors, broadcast against each other."""

    a = operand_def(Tensor)
    b = operand_def(Tensor)
    c = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        return (TensorType(same_element_type(self.a, self.b), broadcast(self.a, self.b)),)


# Checks that the shape functions are built of


def require(condition: bool, message: str) -> None:
    """Raises a VerifyException with ``message`` unless ``condition`` holds."""
    if not condition:
        raise VerifyException(message)


def same_element_type(*values: SSAValue) -> Attribute:
    """The element type that all ``values`` have."""
    first = element_type_of(values[0])
    for value in values[1:]:
        if element_type_of(value) != first:  # types take long to print
            raise VerifyException(f"operands of {values[0].type} and {value.type} mix element types")
    return first


def broadcast(*values: SSAValue) -> Shape:
    """The common shape of ``values`` under the rule of numpy."""
    return broadcast_shapes(*(shape_of(value) for value in values))


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape of tensors of the given shapes under the rule of numpy."""
    rank = max(map(len, shapes))
    result: list[int] = []
    for extents in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        different = {extent for extent in extents if extent != 1}
        require(len(different) <= 1, f"shapes {' and '.join(map(shape_text, shapes))} do not broadcast")
        result.append(different.pop() if different else 1)
    return tuple(result)


def normal_axis(axis: int, rank: int, name: str = "axis") -> int:
    """``axis`` counted from the front."""
    require(-rank <= axis < rank, f"{name} {axis} is outside a tensor of rank {rank}")
    return axis % rank


def normal_axes(axes: Sequence[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """``axes`` counted from the front."""
    normal = tuple(normal_axis(axis, rank, name) for axis in axes)
    require(len(set(normal)) == len(normal), f"{name} {list(axes)} name one axis twice")
    return normal


def require_shape(value: SSAValue, shape: Shape, name: str) -> None:
    require(shape_of(value) == shape, f"{name} has shape {shape_text(shape_of(value))}, expected {shape_text(shape)}")


def shape_text(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"


# Windows


class Window(NamedTuple):
    """The geometry of a convolution or a pool: how a window moves over the spatial dimensions of its input."""

    kernel: Shape
    strides: Shape
    dilations: Shape
    pads_begin: Shape
    pads_end: Shape

    @property
    def extents(self) -> Shape:
        """The extent of the dilated kernel."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    @property
    def pads(self) -> Shape:
        """The pads in the order of the ONNX attribute: all begins, then all ends."""
        return self.pads_begin + self.pads_end

    def positions(self, spatial: Shape, ceil: bool = False) -> Shape:
        """The number of window positions over an input of the ``spatial`` shape."""
        counts: list[int] = []
        for i, size in enumerate(spatial):
            begin, stride = self.pads_begin[i], self.strides[i]
            room = size + begin + self.pads_end[i] - self.extents[i]
            require(room >= 0, f"window of {self.extents[i]} does not fit into {size} plus pads in dimension {i + 2}")
            count = (-(-room // stride) if ceil else room // stride) + 1
            # A window that would start behind the input sees nothing but padding.
            if ceil and (count - 1) * stride >= size + begin:
                count -= 1
            counts.append(count)
        return tuple(counts)


def window_of(op: Operation, kernel: Shape, spatial: Shape) -> Window:
    """The window that the attributes of ``op`` describe, with every default and `auto_pad` filled in."""
    rank = len(spatial)

    def attribute(name: str, default: Shape) -> Shape:
        value = op.properties.get(name)
        if value is None:
            return default
        assert isinstance(value, DenseArrayBase)
        values: Shape = value.get_values()  # pyright: ignore
        require(len(values) == len(default), f"{name} has {len(values)} values, expected {len(default)}")
        return values

    require(rank > 0, "x has no spatial dimensions")
    require(len(kernel) == rank, f"kernel_shape has {len(kernel)} values, x has {rank} spatial dimensions")
    strides = attribute("strides", (1,) * rank)
    dilations = attribute("dilations", (1,) * rank)
    pads = attribute("pads", (0,) * 2 * rank)
    for name, values in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
        require(min(values) > 0, f"{name} {list(values)} is not positive")
    require(min(pads) >= 0, f"pads {list(pads)} is negative")
    window = Window(kernel, strides, dilations, pads[:rank], pads[rank:])
    mode = _auto_pad(op)
    if mode == "NOTSET":
        return window
    require("pads" not in op.properties, f"has both pads and auto_pad = {mode!r}")
    if mode == "VALID":
        return window
    total = [
        max((-(-size // stride) - 1) * stride + extent - size, 0)
        for size, stride, extent in zip(spatial, strides, window.extents, strict=True)
    ]
    small, large = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
    begin, end = (small, large) if mode == "SAME_UPPER" else (large, small)
    return Window(kernel, strides, dilations, begin, end)


def _auto_pad(op: Operation) -> str:
    value = op.properties.get("auto_pad")
    mode = value.data if isinstance(value, StringAttr) else "NOTSET"
    require(mode in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"), f"unknown auto_pad {mode!r}")
    return mode
