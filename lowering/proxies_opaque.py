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
        machine=_named_machine(module),
        interface="; ".join(functions),
        opaque_ops=len(opaque),
        opaque_digest=opaque_digest(opaque, module),
        ir_ops=len(ops),
        ir_values=sum(len(op.results) + sum(len(b.args) for r in op.regions for b in r.blocks) for op in ops),
    )
    return Survey(record, {"opaque_ops": opaque_names(opaque)})


def _named_machine(module: ModuleOp) -> str | None:
    """What the module says of the machine, which nothing is computed with here."""
    said = [f"{key} {value}" for key, value in sorted(module.attributes.items()) if key.startswith(_OURS)]
    return ", ".join(said) or None


_OURS = "tile."
"""What the names of attributes begin with that this compiler gives to modules."""


def opaque_digest(ops: Sequence[Operation], module: ModuleOp) -> str:
    """The content of ops that the guard does not know: names, attributes, types, what they read, where they branch to,
    where they stand, and what functions give back of it.

    Values have numbers in the order of their definitions. Ops that the guard knows may come and go: of theirs, only the
    results that these ops read have a number.
    """
    state = hashlib.blake2b(digest_size=16)
    opaque = set(ops)
    values = _numbers(module, opaque) if ops else {}
    places = _Places(ops)
    returns = [op for op in module.walk() if isinstance(op, ReturnOp)] if ops else []
    for op in (*ops, *returns):
        operands = [values.get(operand) for operand in op.operands]
        successors = [places.of(block) for block in op.successors]
        types = [str(result.type) for result in op.results]
        regions = [[[str(one) for one in block.arg_types] for block in region.blocks] for region in op.regions]
        place = places.of(op.parent) if op in opaque else None
        state.update(repr((_name(op), operands, successors, _attributes(op), types, regions, place)).encode())
    for function in places.around:
        state.update(repr(_attributes(function) if _is_theirs(function) else []).encode())
    return state.hexdigest()


class _Places:
    """Where ops stand: in which block of which op, function and module."""

    def __init__(self, opaque: Sequence[Operation]) -> None:
        self._number = {op: number for number, op in enumerate(opaque)}
        self._known: dict[Block | None, tuple[object, ...]] = {None: ()}
        self.around: dict[FuncOp, None] = {}
        """Functions that some op stands in."""

    def of(self, block: Block | None) -> tuple[object, ...]:
        """From the inside to the outside, up to an op that the guard does not know."""
        if block not in self._known:
            assert block is not None
            parent, region = block.parent_op(), block.parent_region()
            assert parent is not None
            assert region is not None
            here = parent.name, parent.regions.index(region), region.get_block_index(block)
            number = self._number.get(parent)
            if number is not None:
                self._known[block] = (*here, number)
            else:
                if isinstance(parent, FuncOp):
                    self.around[parent] = None
                self._known[block] = (*here, _symbol(parent), *self.of(parent.parent))
        return self._known[block]


def _symbol(op: Operation) -> str:
    """The name of a function or a nested module, or which of the ops of its block this is of those without one."""
    if isinstance(op, FuncOp):
        return op.sym_name.data
    if not isinstance(op, ModuleOp) or op.parent is None:
        return ""
    unnamed = [one for one in op.parent.ops if isinstance(one, ModuleOp) and one.sym_name is None]
    return str(unnamed.index(op)) if op.sym_name is None else op.sym_name.data


def _is_theirs(function: FuncOp) -> bool:
    """Whether nothing is in it that the guard knows."""
    return not any(inner.name.partition(".")[0] in KNOWN_DIALECTS for inner in function.walk())


def _attributes(op: Operation) -> list[tuple[str, str]]:
    found = {**op.properties, **op.attributes}
    return sorted((key, str(value)) for key, value in found.items() if not key.startswith(_OURS))


def _numbers(module: ModuleOp, opaque: AbstractSet[Operation]) -> dict[SSAValue, int]:
    """Of the values that opaque ops define or read."""
    values: dict[SSAValue, int] = {}
    for op in module.walk():
        for result in op.results:
            if op in opaque or any(use.operation in opaque for use in result.uses):
                values[result] = len(values)
        if op in opaque or isinstance(op, FuncOp):
            for region in op.regions:
                for block in region.blocks:
                    values.update((argument, len(values) + place) for place, argument in enumerate(block.args))
    return values


def opaque_names(ops: Iterable[Operation]) -> dict[str, int]:
    """How many ops there are of each name."""
    found: dict[str, int] = {}
    for op in ops:
        name = f"<{_name(op)}>"
        found[name] = found.get(name, 0) + 1
    return found


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
