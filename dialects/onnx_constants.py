"""`onnx` ops that are known at compile time: constants, and what shapes say."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike

from . import tile
from .onnx_base import (
    Int64,
    OnnxOp,
    Shape,
    Tensor,
    int64,
    require,
    shape_of,
)


@irdl_op_definition
class ConstantOp(OnnxOp):
    """A constant tensor.

    ```mlir
    %c = onnx.Constant #tile.array<f32[3] [1.0, 2.0, 3.0]>
    ```
    """

    name = "onnx.Constant"

    value = prop_def(tile.ArrayAttr)
    output = result_def(Tensor)

    traits = traits_def(ConstantLike())

    @staticmethod
    def from_array(array: tile.Array | tile.ArrayAttr) -> ConstantOp:
        value = tile.ArrayAttr.get(array)
        return ConstantOp.create(result_types=[value.tensor_type], properties={"value": value})

    def infer(self) -> tuple[Tensor]:
        return (self.value.tensor_type,)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes: dict[str, Attribute] = {}
        start = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, tile.ArrayAttr):
            parser.raise_error("#tile.array expected", start, parser.pos)
        attributes = parser.parse_optional_dictionary_attr_dict()
        op = cls.from_array(value)
        op.attributes = attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)


def constant_of(value: SSAValue | None) -> tile.Array | None:
    """The numbers of a value that an `onnx.Constant` defines, else None."""
    if value is None or not isinstance(value.owner, ConstantOp):
        return None
    return value.owner.value.array


@irdl_op_definition
class ConstantOfShapeOp(OnnxOp):
    """A tensor of the result type's shape, full of the one element of `value`.

    ```mlir
    %y = onnx.ConstantOfShape() {value = #tile.array<f32[1] [0.02]>} : () -> tensor<64x3x7x7xf32>
    ```
    """

    name = "onnx.ConstantOfShape"

    value = prop_def(tile.ArrayAttr)
    output = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        require(self.value.size == 1, f"value has {self.value.size} elements, expected 1")
        return (TensorType(self.value.element_type, shape_of(self.output)),)


@irdl_op_definition
class ShapeOp(OnnxOp):
    """The shape of a tensor, from axis `start` to before axis `end`.

    ```mlir
    %s = onnx.Shape(%x) : (tensor<1x64x56x56xf32>) -> tensor<4xi64>
    ```
    """

    name = "onnx.Shape"

    data = operand_def(Tensor)
    start = prop_def(Int64, default_value=int64(0))
    end = opt_prop_def(Int64)
    shape = result_def(Tensor)

    def extents(self) -> Shape:
        """The elements of the result."""
        return shape_of(self.data)[slice(self.start.value.data, self.end.value.data if self.end else None)]

    def infer(self) -> tuple[Tensor]:
        return (TensorType(i64, (len(self.extents()),)),)


@irdl_op_definition
class SizeOp(OnnxOp):
    """The number of elements of a tensor.

    ```mlir
    %s = onnx.Size(%x) : (tensor<1x64x56x56xf32>) -> tensor<i64>
    ```
    """

    name = "onnx.Size"

    data = operand_def(Tensor)
    size = result_def(Tensor)

    def infer(self) -> tuple[Tensor]:
        return (TensorType(i64, ()),)


CONSTANT_OPS = (
    ConstantOfShapeOp,
    ConstantOp,
    ShapeOp,
    SizeOp,
)
