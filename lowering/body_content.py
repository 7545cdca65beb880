"""The body of a batch as plain numbers: what it computes, without the identity of its values and without names.

Two bodies have equal content exactly if they are the same up to the identity of their ops and values and to the nodes
that they come from. Whatever follows from the body alone is a function of its content, and may be kept under it: there
is no way to change a body in place that does not change its content.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, ShapedType, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.block_ops import block_ops
from ..dialects.spat import BatchOp, ConstantOp
from ..dialects.tile import ArrayAttr

Shape = tuple[int, ...]


class TileOp(NamedTuple):
    """One op of a body. Values are numbered: first the block's arguments, then results in order."""

    name: str
    operands: tuple[int, ...]
    properties: tuple[tuple[str, object], ...]
    """In order of their names."""
    shapes: tuple[Shape, ...]
    """Of the results."""


class BodyContent:
    """A body. Hashed once, since it is looked up again and again."""

    __slots__ = ("_hash", "arguments", "inputs", "ops")

    def __init__(self, arguments: tuple[Shape, ...], inputs: int, ops: tuple[TileOp, ...]) -> None:
        self.arguments = arguments
        """Of the windows of the inputs, then of the weights."""
        self.inputs = inputs
        self.ops = ops
        self._hash = hash((arguments, inputs, ops))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, BodyContent)
            and self._hash == other._hash
            and self.inputs == other.inputs
            and self.arguments == other.arguments
            and self.ops == other.ops
        )

    def numbered(self) -> Iterator[tuple[TileOp, int]]:
        """The ops, each with the number of its first result."""
        number = len(self.arguments)
        for op in self.ops:
            yield op, number
            number += len(op.shapes)


def body_content(batch: BatchOp) -> BodyContent:
    """The content of a batch's body. Reads nothing else of the batch but how many inputs it has."""
    return content_of(batch.block.args, len(batch.windows), block_ops(batch.block))


def computes_the_same(one: BatchOp, other: BatchOp) -> bool:
    """Whether two batches that read the same compute the same."""
    return body_content(one) == body_content(other) and _constants(one) == _constants(other)


def _constants(batch: BatchOp) -> list[ArrayAttr]:
    return [value.owner.value for value in batch.weights if isinstance(value.owner, ConstantOp)]


def content_of(values: Sequence[SSAValue], inputs: int, body: Sequence[Operation]) -> BodyContent:
    """The content of a block of these arguments, of which the first ``inputs`` are windows, and ops.

    KeyError if it uses values from outside.
    """
    # Types and values are alive while this runs, so that their identities tell them apart.
    shapes: dict[int, Shape] = {}

    def shape(type: Attribute) -> Shape:
        found = shapes.get(id(type))
        if found is None:
            assert isinstance(type, ShapedType)
            found = shapes[id(type)] = type.get_shape()
        return found

    numbers = {id(argument): index for index, argument in enumerate(values)}
    arguments = tuple([shape(argument.type) for argument in values])
    ops: list[TileOp] = []
    for op in body:
        operands = tuple([numbers[id(operand)] for operand in op.operands])
        properties = tuple([(name, plain(op.properties[name])) for name in _in_order(tuple(op.properties))])
        found: list[Shape] = []
        for result in op.results:
            numbers[id(result)] = len(numbers)
            found.append(shape(result.type))
        ops.append(TileOp(op.name, operands, properties, tuple(found)))
    return BodyContent(arguments, inputs, tuple(ops))


@lru_cache(1 << 12)
def _in_order(names: tuple[str, ...]) -> list[str]:
    return sorted(names)


def plain(attribute: Attribute) -> object:
    """An attribute as a number or a text, if it is one; of an array the elements; else itself."""
    match attribute:
        case IntegerAttr() if attribute.type is i64 or attribute.type == i64:
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case ArrayAttr():
            # The elements and not their digest: that is computed once, and numpy's memory could be written to.
            data = attribute.array.tobytes() if attribute.has_data else attribute.digest
            return attribute.dtype.str, attribute.shape, data
        case _:
            return attribute
