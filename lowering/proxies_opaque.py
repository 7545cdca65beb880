"""Modules of dialects that nobody here knows: their ops are counted, and have to stay as they are. Needs no numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import ModuleOp, TensorType, UnregisteredOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ..analysis.proxies import Level, Proxies, Survey

KNOWN_DIALECTS = frozenset(("onnx", "spat", "pim"))


def is_opaque(module: ModuleOp) -> bool:
    """Whether no op of the module is of a dialect with proxies."""
    return not any(op.name.partition(".")[0] in KNOWN_DIALECTS for op in module.walk())


def is_idle_network(module: ModuleOp) -> bool:
    """Whether all that the module holds are functions that give back tensors of known shape which they are given.

    To passes on networks that is one without layers; of other passes it may be anything.
    """
    functions = list(module.body.ops)
    return bool(functions) and all(isinstance(op, FuncOp) and _gives_back_tensors(op) for op in functions)


def _gives_back_tensors(function: FuncOp) -> bool:
    if len(function.body.blocks) != 1:
        return False
    block = function.body.block
    last = block.last_op
    if not isinstance(last, ReturnOp) or last is not block.first_op or not last.operands:
        return False
    types = [value.type for value in (*block.args, *last.operands)]
    return all(isinstance(type, TensorType) and type.has_static_shape() for type in types)


def opaque_survey(module: ModuleOp) -> Survey:
    """What is known of a module that :func:`is_opaque`."""
    ops = list(module.walk())
    opaque = [op for op in ops if not isinstance(op, ModuleOp | FuncOp | ReturnOp)]
    functions = [f"function {op.sym_name.data} {op.function_type}" for op in ops if isinstance(op, FuncOp)]
    record = Proxies(
        level=Level.OPAQUE if opaque else Level.EMPTY,
        interface="; ".join(functions),
        opaque_ops=len(opaque),
        opaque_digest=opaque_digest(opaque, module),
        ir_ops=len(ops),
        ir_values=sum(len(op.results) + sum(len(b.args) for r in op.regions for b in r.blocks) for op in ops),
    )
    return Survey(record, {"opaque_ops": opaque_names(opaque)})


def opaque_digest(ops: Sequence[Operation], module: ModuleOp) -> str:
    """The content of ops that the guard does not know: names, attributes, types, what they read, where they branch to,
    and what functions give back of it.

    Values and blocks have numbers in the order of their definitions. Ops that the guard knows may come and go: of
    theirs, only the results that these ops read have a number.
    """
    state = hashlib.blake2b(digest_size=16)
    opaque = set(ops)
    values, blocks = _numbers(module, opaque) if ops else ({}, {})
    returns = [op for op in module.walk() if isinstance(op, ReturnOp)] if ops else []
    for op in (*ops, *returns):
        operands = [values.get(operand) for operand in op.operands]
        successors = [blocks[block] for block in op.successors]
        attributes = sorted((key, str(value)) for key, value in {**op.properties, **op.attributes}.items())
        types = [str(result.type) for result in op.results]
        regions = [[[str(one) for one in block.arg_types] for block in region.blocks] for region in op.regions]
        state.update(repr((_name(op), operands, successors, attributes, types, regions)).encode())
    return state.hexdigest()


def _numbers(module: ModuleOp, opaque: AbstractSet[Operation]) -> tuple[dict[SSAValue, int], dict[Block, int]]:
    """Of the values that opaque ops define or read, and of blocks."""
    values: dict[SSAValue, int] = {}
    blocks: dict[Block, int] = {}
    for op in module.walk():
        for result in op.results:
            if op in opaque or any(use.operation in opaque for use in result.uses):
                values[result] = len(values)
        for region in op.regions:
            for block in region.blocks:
                blocks[block] = len(blocks)
                if op in opaque or isinstance(op, FuncOp):
                    values.update((argument, len(values) + place) for place, argument in enumerate(block.args))
    return values, blocks


def opaque_names(ops: Iterable[Operation]) -> dict[str, int]:
    """How many ops there are of each name."""
    found: dict[str, int] = {}
    for op in ops:
        name = f"<{_name(op)}>"
        found[name] = found.get(name, 0) + 1
    return found


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
