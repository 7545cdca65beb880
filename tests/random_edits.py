"""Random changes of a module in place: what a careless or hostile pass may do to ops, values and attributes."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from tilec.dialects.location import name_location
from tilec.dialects.pim import Access, AccessAttr
from tilec.dialects.tile import ArrayAttr
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, TensorType, f32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter


def edit_at_random(module: ModuleOp, draw: random.Random) -> str:
    """Changes one op of ``module``, or a value of it; says how."""
    op = draw.choice([op for op in module.walk() if op.name.partition(".")[0] in ("onnx", "spat", "pim")])
    kind = draw.choice([kind for kind, fits in EDITS.items() if fits(op)])
    kind(op, draw)
    return f"{kind.__name__} of {op.name}"


def change_property(op: Operation, draw: random.Random) -> None:
    name = draw.choice(sorted(op.properties))
    op.properties[name] = _other(op.properties[name], draw)


def exchange_properties(op: Operation, draw: random.Random) -> None:
    one, other = draw.sample(sorted(op.properties), 2)
    op.properties[one], op.properties[other] = op.properties[other], op.properties[one]


def rename_property(op: Operation, draw: random.Random) -> None:
    """Of all properties, in their order: one gets another name."""
    chosen = draw.choice(sorted(op.properties))
    op.properties = {name + "_" * (name == chosen): value for name, value in op.properties.items()}


def drop_property(op: Operation, draw: random.Random) -> None:
    del op.properties[draw.choice(sorted(op.properties))]


def add_property(op: Operation, draw: random.Random) -> None:
    op.properties["surplus"] = IntegerAttr(1, i64)


def add_attribute(op: Operation, draw: random.Random) -> None:
    op.attributes["note"] = StringAttr("x")


def change_operand(op: Operation, draw: random.Random) -> None:
    assert op.parent is not None
    values: list[SSAValue] = [*op.parent.args, *(result for other in op.parent.ops for result in other.results)]
    op.operands[draw.randrange(len(op.operands))] = draw.choice(values)


def drop_operand(op: Operation, draw: random.Random) -> None:
    index = draw.randrange(len(op.operands))
    op.operands = [operand for position, operand in enumerate(op.operands) if position != index]


def change_result_type(op: Operation, draw: random.Random) -> None:
    value = draw.choice(op.results)
    Rewriter.replace_value_with_new_type(value, _other(value.type, draw))


def write_types(op: Operation, draw: random.Random) -> None:
    """The types of results and of an argument beside them change under values that stay: xDSL does not mean it to."""
    assert op.parent is not None
    values: list[SSAValue] = list(op.results)
    if op.parent.args and (not values or draw.random() < 0.5):
        values = [draw.choice(op.parent.args)]
    for value in values:
        value._type = _other(value.type, draw)


def move_to_the_end(op: Operation, draw: random.Random) -> None:
    block = op.parent
    assert block is not None
    op.detach()
    block.add_op(op)


def move_to_the_front(op: Operation, draw: random.Random) -> None:
    block = op.parent
    assert block is not None
    op.detach()
    first = block.first_op
    if first is None:
        block.add_op(op)
    else:
        block.insert_op_before(op, first)


def repeat(op: Operation, draw: random.Random) -> None:
    assert op.parent is not None
    op.parent.insert_op_before(op.clone(), op)


def remove(op: Operation, draw: random.Random) -> None:
    op.detach()
    op.erase(safe_erase=False)


def rename(op: Operation, draw: random.Random) -> None:
    op.location = name_location(draw.choice(["conv1", "conv2", "elsewhere"]))


EDITS: dict[Callable[[Operation, random.Random], None], Callable[[Operation], bool]] = {
    change_property: lambda op: bool(op.properties),
    exchange_properties: lambda op: len(op.properties) > 1,
    rename_property: lambda op: bool(op.properties),
    drop_property: lambda op: bool(op.properties),
    add_property: lambda op: True,
    add_attribute: lambda op: True,
    change_operand: lambda op: bool(op.operands),
    drop_operand: lambda op: len(op.operands) > 1,
    change_result_type: lambda op: bool(op.results),
    write_types: lambda op: True,
    move_to_the_end: lambda op: True,
    move_to_the_front: lambda op: True,
    repeat: lambda op: True,
    remove: lambda op: True,
    rename: lambda op: True,
}


def _other(attribute: Attribute, draw: random.Random) -> Attribute:
    """Another attribute, often of the same kind."""
    numbers = (-1, 0, 1, 2, 3, 1 << 20)
    match attribute:
        case IntegerAttr() if draw.random() < 0.8:
            return IntegerAttr(attribute.value.data + draw.choice(numbers), attribute.type)
        case StringAttr() if draw.random() < 0.8:
            return StringAttr(draw.choice(["add", "max", "vvadd", "lmv", "mvmul", "vvdmul", "nonsense"]))
        case AccessAttr() if draw.random() < 0.8:
            return AccessAttr(Access(start=draw.choice(numbers), step=draw.choice(numbers)))
        case ArrayAttr() if draw.random() < 0.8 and attribute.size:
            numbers_ = attribute.array.copy().reshape(-1)
            numbers_[draw.randrange(attribute.size)] += draw.choice((1, 2))
            shape = attribute.shape if draw.random() < 0.7 else (1, *attribute.shape)
            return ArrayAttr.get(numbers_.reshape(shape))
        case TensorType() if draw.random() < 0.8:
            shape = list(attribute.get_shape())
            shape[draw.randrange(len(shape))] += draw.choice((1, 2))
            return TensorType(f32, shape)
        case _:
            return draw.choice([IntegerAttr(3, i64), StringAttr("max"), ArrayAttr.get(np.arange(3)), f32])
