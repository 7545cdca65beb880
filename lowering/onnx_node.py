"""A node of an ONNX graph, as the rules of the importer see it, and what the standard says about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx.defs
import onnx.helper
from onnx import AttributeProto, NodeProto

from ..dialects.onnx_base import require
from ..dialects.tile import Array


class Unsupported(Exception):
    """The node is valid, but the importer cannot translate it; the message says what about it."""


class Node:
    """A node of the graph, with the constants that it may read attributes from."""

    def __init__(self, proto: NodeProto, where: str, opset: int, constants: Mapping[str, Array]) -> None:
        self.proto = proto
        self.where = where
        self.opset = opset
        self.inputs = list(proto.input)
        while self.inputs and not self.inputs[-1]:
            self.inputs.pop()
        self._constants = constants
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}

    @property
    def attribute_names(self) -> tuple[str, ...]:
        return tuple(self._attributes)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as a Python value: int, float, str, tensor, or a list of those."""
        proto = self._attributes.get(name)
        return default if proto is None else onnx.helper.get_attribute_value(proto)

    def constant(self, index: int, name: str) -> Array | None:
        """Input number ``index`` as an array; None if it is left out."""
        if index >= len(self.inputs) or not self.inputs[index]:
            return None
        value = self._constants.get(self.inputs[index])
        if value is None:
            raise Unsupported(f"input {name} is computed from the network's input; it has to be a constant")
        return value

    def ints(self, index: int, name: str) -> list[int] | None:
        """Integers that are an attribute in older versions and input number ``index`` in newer ones."""
        value = self.constant(index, name)
        if value is None:
            return self.attribute(name)
        require(value.dtype.kind in "iu" and value.ndim <= 1, f"{name} is no list of integers")
        return [int(element) for element in value.reshape(-1)]


def schema_problems(proto: NodeProto, opset: int) -> list[str]:
    """What is wrong with a node according to the standard: unknown operator, attributes, number of inputs."""
    try:
        schema = onnx.defs.get_schema(proto.op_type, opset, "")
    except onnx.defs.SchemaError:
        return ["the standard has no such operator in this opset"]
    if schema.deprecated:
        return ["the operator is deprecated in this opset"]
    problems: list[str] = []
    if not schema.min_input <= len(proto.input) <= schema.max_input:
        problems.append(f"has {len(proto.input)} inputs, takes {schema.min_input} to {schema.max_input}")
    else:
        problems += _left_out(proto, schema)
    if not schema.min_output <= len(proto.output) <= schema.max_output:
        problems.append(f"has {len(proto.output)} outputs, gives {schema.min_output} to {schema.max_output}")
    for attribute in proto.attribute:
        if attribute.ref_attr_name:
            problems.append(f"attribute {attribute.name} refers to a function's attribute")
        declared = schema.attributes.get(attribute.name)
        if declared is None:
            problems.append(f"the standard knows no attribute {attribute.name}")
        elif AttributeProto.AttributeType.Name(attribute.type) != _kind(declared):
            has = AttributeProto.AttributeType.Name(attribute.type)
            problems.append(f"attribute {attribute.name} is of type {has}, expected {_kind(declared)}")
    names = {attribute.name for attribute in proto.attribute}
    for name, declared in schema.attributes.items():
        if declared.required and name not in names:
            problems.append(f"lacks the attribute {name}")
    return problems


def _left_out(proto: NodeProto, schema: onnx.defs.OpSchema) -> list[str]:
    """An empty name leaves out an input, which only optional ones can be: neither single nor variadic ones."""
    for index, name in enumerate(proto.input):
        declared = schema.inputs[min(index, len(schema.inputs) - 1)]
        if not name and declared.option != onnx.defs.OpSchema.FormalParameterOption.Optional:
            return [f"leaves out input {index} ({declared.name}), which is not optional"]
    return []


def _kind(declared: onnx.defs.OpSchema.Attribute) -> str:
    # The stubs of onnx lack what an enum has.
    kind: Any = declared.type
    return kind.name
