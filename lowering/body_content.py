"""The body of a batch as plain numbers: what it computes, without the identity of its values and without names.

Two bodies have equal content exactly if they are the same up to the identity of their ops and values and to the nodes
that they come from. Whatever follows from the body alone is a function of its content, and may be kept under it: there
is no way to change a body in place that does not change its content.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, ShapedType, StringAttr, i64
from xdsl.ir import Attribute, Block, SSAValue

from ..dialects.spat import BatchOp
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


@dataclass(frozen=True, eq=False)
class BodyContent:
    """A body. Hashed once, since it is looked up again and again."""

    arguments: tuple[Shape, ...]
    """Of the windows of the inputs, then of the weights."""
    inputs: int
    ops: tuple[TileOp, ...]
    hash_: int

    def __hash__(self) -> int:
        return self.hash_

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, BodyContent)
            and self.hash_ == other.hash_
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
    return content_of(batch.block, len(batch.windows))


def content_of(block: Block, inputs: int) -> BodyContent:
    """The content of a block whose first ``inputs`` arguments are windows; KeyError if it uses values from outside."""
    shapes: dict[int, Shape] = {}  # by identity of the type, which the values hold

    def shape(type: Attribute) -> Shape:
        found = shapes.get(id(type))
        if found is None:
            assert isinstance(type, ShapedType)
            found = shapes[id(type)] = type.get_shape()
        return found

    numbers: dict[SSAValue, int] = {argument: index for index, argument in enumerate(block.args)}
    arguments = tuple([shape(argument.type) for argument in block.args])
    ops: list[TileOp] = []
    for op in block.ops:
        operands = tuple([numbers[operand] for operand in op.operands])
        for result in op.results:
            numbers[result] = len(numbers)
        properties = op.properties
        names = sorted(properties) if len(properties) > 1 else properties
        ops.append(
            TileOp(
                op.name,
                operands,
                tuple([(name, plain(properties[name])) for name in names]),
                tuple([shape(result.type) for result in op.results]),
            )
        )
    found = tuple(ops)
    return BodyContent(arguments, inputs, found, hash((arguments, inputs, found)))


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
