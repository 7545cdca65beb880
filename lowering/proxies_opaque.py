"""Modules of dialects that nobody here knows: their ops are counted, and have to stay as they are. Needs no numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from ..analysis.proxies import Level, Proxies, Survey

KNOWN_DIALECTS = frozenset(("onnx", "spat", "pim"))


def is_opaque(module: ModuleOp) -> bool:
    """Whether no op of the module is of a dialect with proxies."""
    return not any(op.name.partition(".")[0] in KNOWN_DIALECTS for op in module.walk())


def opaque_survey(module: ModuleOp) -> Survey:
    """What is known of a module that :func:`is_opaque`."""
    ops = list(module.walk())
    opaque = [op for op in ops if not isinstance(op, ModuleOp | FuncOp | ReturnOp)]
    functions = [f"function {op.sym_name.data} {op.function_type}" for op in ops if isinstance(op, FuncOp)]
    record = Proxies(
        level=Level.OPAQUE if opaque else Level.EMPTY,
        interface="; ".join(functions),
        opaque_ops=len(opaque),
        opaque_digest=opaque_digest(opaque),
        ir_ops=len(ops),
        ir_values=sum(len(op.results) + sum(len(b.args) for r in op.regions for b in r.blocks) for op in ops),
    )
    return Survey(record, {"opaque_ops": opaque_names(opaque)})


def opaque_digest(ops: Iterable[Operation]) -> str:
    """The content of ops that the guard does not know: names, attributes, types and who uses whom, in order."""
    state = hashlib.blake2b(digest_size=16)
    numbers: dict[SSAValue, int] = {}
    for op in ops:
        operands = [numbers.setdefault(operand, len(numbers)) for operand in op.operands]
        attributes = sorted((key, str(value)) for key, value in {**op.properties, **op.attributes}.items())
        types = [str(result.type) for result in op.results]
        for result in op.results:
            numbers.setdefault(result, len(numbers))
        regions = [[[str(one) for one in block.arg_types] for block in region.blocks] for region in op.regions]
        state.update(repr((_name(op), operands, attributes, types, regions)).encode())
    return state.hexdigest()


def opaque_names(ops: Iterable[Operation]) -> dict[str, int]:
    """How many ops there are of each name."""
    found: dict[str, int] = {}
    for op in ops:
        name = f"<{_name(op)}>"
        found[name] = found.get(name, 0) + 1
    return found


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
