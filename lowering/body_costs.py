"""What one lane of a batch issues and takes, on either side of instruction selection.

Numbers of a body are kept as long as the body is: most passes leave most bodies alone. They are taken anew as soon as
any op in it is another one or has another operand, property or type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ..analysis.proxies import UNNAMED, Counts, counts
from ..codegen.isa import VECTOR_OPS, Op
from ..dialects import pim
from ..dialects.location import node_name
from ..dialects.spat import BatchOp, ConstantOp, VAddOp, ViewOp, VMMOp, shape_of
from .lane_cost import issue_cycles
from .spat_to_pim.body import LoweredBody, lower_body
from .target import Target


@dataclass(frozen=True)
class BodyCost:
    """Of one lane."""

    products: int = 0
    vectors: int = 0
    copies: int = 0
    copy_elements: int = 0
    fills: int = 0
    cycles: int | None = None
    """Unknown without a machine."""
    product_elements: Counts = ()
    """Of results of matrix products, by node."""
    weights: int = 0
    """Elements of its array groups."""
    partial_sums: Counts = ()
    """Elements of sums of two products of slices, by node."""
    constants: tuple[tuple[int, int, int], ...] = ()
    """Constants that vector instructions read: (operand index among the weights or -1, columns, elements)."""
    recomputed: int = 0

    @property
    def instructions(self) -> int:
        return self.products + self.vectors + self.copies + self.fills


class _Kept:
    """A body's numbers and what they were taken from, all of it held, so that no identity is used twice."""

    def __init__(self, parts: list[object], target: object, cost: BodyCost) -> None:
        self.parts = parts
        self.identities = list(map(id, parts))
        self.target = target
        self.cost = cost


_kept: WeakKeyDictionary[Block, _Kept] = WeakKeyDictionary()


def machine_facts(target: Target | None) -> object:
    """What numbers depend on of the target."""
    return None if target is None else (target.machine.digest(), target.precision)


def body_cost(batch: BatchOp | pim.CoreBatchOp, target: Target | None, facts: object) -> BodyCost:
    """The numbers of a batch's body; ``facts`` are the :func:`machine_facts` of the target."""
    parts = list(_parts(batch))
    kept = _kept.get(batch.block)
    if kept is not None and kept.target == facts and kept.identities == list(map(id, parts)):
        return kept.cost
    cost = _spat_cost(batch, target, facts) if isinstance(batch, BatchOp) else _pim_cost(batch, target, facts)
    _kept[batch.block] = _Kept(parts, facts, cost)
    return cost


def _parts(batch: BatchOp | pim.CoreBatchOp) -> Iterator[object]:
    """Everything that the numbers depend on, as objects."""
    yield from batch.block.arg_types
    for op in batch.block.ops:
        yield op
        yield op.location
        yield from op.operands
        yield from op.properties.values()
        yield from (result.type for result in op.results)


def _issue_cost(issues: Iterable[pim.IssueOp], target: Target | None, facts: object) -> dict[str, int | None]:
    products = vectors = copies = copy_elements = fills = 0
    cycles = 0
    for op in issues:
        count, size, opcode = op.count, op.size, op.opcode
        match opcode:
            case Op.MVMUL:
                products += count
            case Op.LMV:
                copies += count
                copy_elements += count * size
            case Op.LLDI:
                fills += count
            case _:
                assert opcode in VECTOR_OPS
                vectors += count
        if target is not None:
            key = (facts, opcode, size, op.written_size, count)
            if key not in _cycles:
                _cycles[key] = issue_cycles(op, target)
            cycles += _cycles[key]
    return {
        "products": products,
        "vectors": vectors,
        "copies": copies,
        "copy_elements": copy_elements,
        "fills": fills,
        "cycles": None if target is None else cycles,
    }


_cycles: dict[object, int] = {}
"""Cycles of instructions by all that they depend on."""


def _spat_cost(batch: BatchOp, target: Target | None, facts: object) -> BodyCost:
    lowered = lower_body(batch)
    products = [op for op in batch.block.ops if isinstance(op, VMMOp)]
    numbers = _issue_cost(lowered.issues, target, facts)
    return BodyCost(
        **numbers,  # pyright: ignore[reportArgumentType]
        product_elements=_by_node((op, math.prod(shape_of(op.result))) for op in products),
        weights=sum(shape_of(op.vector)[1] * shape_of(op.weights)[1] for op in products),
        partial_sums=_partial_sums(batch),
        constants=_constants(batch, lowered),
        recomputed=repeated_ops(batch.block),
    )


def _pim_cost(batch: pim.CoreBatchOp, target: Target | None, facts: object) -> BodyCost:
    issues = [op for op in batch.block.ops if isinstance(op, pim.IssueOp)]
    products = [op for op in issues if op.matrix is not None]
    numbers = _issue_cost(issues, target, facts)
    on_tensors = bool(batch.results_)
    return BodyCost(
        **numbers,  # pyright: ignore[reportArgumentType]
        product_elements=_by_node((op, op.count * op.written_size) for op in products),
        weights=sum(op.size * op.written_size for op in products),
        recomputed=repeated_ops(batch.block) if on_tensors else 0,
    )


def _constants(batch: BatchOp, lowered: LoweredBody) -> tuple[tuple[int, int, int], ...]:
    weights = list(batch.weights)
    found: list[tuple[int, int, int]] = []
    for value, columns in lowered.constants:
        index = weights.index(value) if value in weights else -1
        found.append((index, columns, columns * shape_of(value)[-1]))
    return tuple(found)


def _by_node(numbers: Iterable[tuple[Operation, int]]) -> Counts:
    found: dict[str, int] = {}
    names: dict[int, str] = {}
    for op, number in numbers:
        name = names.get(id(op.location))
        if name is None:
            name = names[id(op.location)] = node_name(op) or UNNAMED
        found[name] = found.get(name, 0) + number
    return counts(found)


def _partial_sums(batch: BatchOp) -> Counts:
    """Elements of the sums whose two operands are both (sums of) products of slices, unscaled and without bias."""
    partial: set[SSAValue] = set()
    sums: list[tuple[Operation, int]] = []
    for argument, value in zip(batch.input_arguments, batch.inputs, strict=True):
        if is_partial(value):
            partial.add(argument)
    for op in batch.block.ops:
        match op:
            case VMMOp():
                partial.add(op.result)
            case ViewOp() if op.source in partial:
                partial.add(op.result)
            case VAddOp() if op.lhs in partial and op.rhs in partial:
                partial.add(op.result)
                sums.append((op, math.prod(shape_of(op.result))))
            case _:
                pass
    return _by_node(sums)


def is_partial(value: SSAValue) -> bool:
    """Whether a batch's result is a sum of products of some slices: what a further batch completes.

    Looks at the producer only: its result is a product, or a sum of products alone.
    """
    batch = value.owner
    if not isinstance(batch, BatchOp):
        return False
    assert isinstance(value, OpResult)
    last = batch.yielded.values[value.index]
    pending = [last]
    while pending:
        owner = pending.pop().owner
        match owner:
            case VMMOp():
                continue
            case VAddOp():
                pending += [owner.lhs, owner.rhs]
            case ViewOp():
                pending.append(owner.source)
            case _:
                return False
    return True


def repeated_ops(block: Block) -> int:
    """Ops of a body that compute what another one computes: equal ops on equal operands, without effects."""
    numbers: dict[SSAValue, object] = {}
    known: dict[object, int] = {}
    repeated = 0
    for op in block.ops:
        if not op.results or not op.operands or isinstance(op, ConstantOp):
            continue
        key = (op.name, tuple(numbers.get(o, o) for o in op.operands), frozenset(op.properties.items()))
        if key in known:
            repeated += not isinstance(op, ViewOp)
        number = known.setdefault(key, len(known))
        numbers.update((result, (number, index)) for index, result in enumerate(op.results))
    return repeated
