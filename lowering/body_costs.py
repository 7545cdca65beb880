"""What one lane of a batch issues and takes, on either side of instruction selection.

On `spat`, this follows from the content of the body and is kept under it; on `pim`, instructions are counted where they
stand, every time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ..codegen.isa import VECTOR_OPS, Op
from ..dialects import pim
from ..dialects.spat import VAddOp, ViewOp, VMMOp, YieldOp
from .body_content import BodyContent, TileOp
from .instruction_chains import CycleChains, cycle_chains
from .lane_cost import OPCODES, instruction_cycles
from .spat_to_pim.selector import select
from .target import Target

KEPT = 4096
"""Costs of bodies of different content that are kept."""

Amounts = tuple[tuple[int, int], ...]
"""Numbers by the position of an op in the body."""


class BodyCost(NamedTuple):
    """Of one lane."""

    products: int = 0
    vectors: int = 0
    copies: int = 0
    copy_elements: int = 0
    fills: int = 0
    cycles: int | None = None
    """Unknown without a machine."""
    chains: CycleChains = ()
    """What these cycles are spent on, one after another."""
    product_elements: Amounts = ()
    """Of results of matrix products."""
    weights: int = 0
    """Elements of its array groups."""
    matrices: frozenset[int] = frozenset()
    """Which of the batch's weights are in arrays."""
    constants: tuple[tuple[int | None, int, int], ...] = ()
    """Constants that vector instructions read: (index among the weights or None, columns, elements)."""
    stacks: tuple[tuple[int, int], ...] = ()
    """Stacks of constants that tiles are picked of: (index among the weights, elements)."""
    recomputed: int = 0

    @property
    def instructions(self) -> int:
        return self.products + self.vectors + self.copies + self.fills


class _Counter:
    """Adds up instructions by kind."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int, int], int] = {}
        self._issues: list[tuple[bool, int, int, str, int, int]] = []

    def add(self, instruction: str, count: int, size: int, written: int, chained: bool, turns: int) -> None:
        """``count`` times an instruction on ``size`` elements that writes ``written``."""
        key = instruction, size, written
        self._counts[key] = self._counts.get(key, 0) + count
        self._issues.append((chained, turns, count, *key))

    def chains(self, target: Target | None) -> CycleChains:
        """All instructions in order; nothing without a machine."""
        if target is None:
            return ()
        return cycle_chains(
            (chained, turns, count, instruction_cycles(instruction, size, written, target))
            for chained, turns, count, instruction, size, written in self._issues
        )

    def numbers(self, target: Target | None) -> tuple[int, int, int, int, int, int | None]:
        """The first fields of a :class:`BodyCost`."""
        products = vectors = copies = copy_elements = fills = cycles = 0
        for (instruction, size, written), count in self._counts.items():
            match OPCODES[instruction]:
                case Op.MVMUL:
                    products += count
                case Op.LMV:
                    copies += count
                    copy_elements += count * size
                case Op.LLDI:
                    fills += count
                case opcode:
                    assert opcode in VECTOR_OPS
                    vectors += count
            if target is not None:
                cycles += count * instruction_cycles(instruction, size, written, target)
        return products, vectors, copies, copy_elements, fills, None if target is None else cycles


def by_node(names: Sequence[str], amounts: Iterable[tuple[int, int]]) -> dict[str, int]:
    """Numbers of a body's ops, added up by the node that the op comes from."""
    found: dict[str, int] = {}
    for position, number in amounts:
        name = names[position]
        found[name] = found.get(name, 0) + number
    return found


# On `spat`


@lru_cache(KEPT)
def tile_cost(content: BodyContent, target: Target | None) -> BodyCost:
    """The numbers of a body of tile ops, of this content."""
    selection = select(content)
    counter = _Counter()
    for issue in selection.issues:
        written = selection.written_size(issue)
        counter.add(issue.instruction, issue.repeat, issue.length, written, issue.chained, issue.turns)
    shapes = [*content.arguments, *(shape for op in content.ops for shape in op.shapes)]
    products = [(position, op) for position, op in enumerate(content.ops) if op.name == VMMOp.name]
    return BodyCost(
        *counter.numbers(target),
        chains=counter.chains(target),
        product_elements=tuple((position, math.prod(op.shapes[0])) for position, op in products),
        weights=sum(shapes[op.operands[0]][1] * shapes[op.operands[1]][1] for _, op in products),
        matrices=frozenset(op.operands[1] - content.inputs for _, op in products),
        constants=tuple((held.argument, held.columns, held.columns * held.channels) for held in selection.constants),
        stacks=tuple(
            (argument - content.inputs, math.prod(shapes[argument])) for argument in sorted(_picked(content.ops))
        ),
        recomputed=_repeated_tile_ops(content),
    )


def _picked(ops: Iterable[TileOp]) -> set[int]:
    return {op.operands[0] for op in ops if op.name == "spat.pick"}


def _repeated_tile_ops(content: BodyContent) -> int:
    """Ops that compute what another one computes: equal ops on equal operands."""
    same = list(range(len(content.arguments)))
    known: dict[object, int] = {}
    repeated = 0
    for op, number in content.numbered():
        first = number
        if op.shapes and op.operands:
            key = op.name, tuple([same[operand] for operand in op.operands]), op.properties, op.shapes
            repeated += key in known and op.name != ViewOp.name
            first = known.setdefault(key, number)
        same += range(first, first + len(op.shapes))
    return repeated


class PartialSum(NamedTuple):
    """A sum whose two operands are both (sums of) products of slices, unscaled and without bias."""

    position: int
    elements: int
    product: int
    """The position of one of the products; that of the sum itself if none is in this body."""
    again: int
    """Elements of the operands that sums before it have added already."""


@lru_cache(KEPT)
def partial_sums(
    content: BodyContent, partial_inputs: tuple[bool, ...], again: frozenset[int]
) -> tuple[PartialSum, ...]:
    """The sums of products of slices.

    ``partial_inputs`` says which inputs are such sums: see :func:`partial_results`; sums of another batch add those
    in ``again`` already.
    """
    product: dict[int, int | None] = {number: None for number, holds in enumerate(partial_inputs) if holds}
    whole: dict[int, int] = {number: number for number in product}
    """What each view shows some of."""
    left = {number: 0 if number in again else math.prod(content.arguments[number]) for number in product}
    """Elements of each that no sum has added, negative for those that sums have added again."""
    sums: list[PartialSum] = []
    for position, (op, number) in enumerate(content.numbered()):
        if op.name == ViewOp.name and op.operands[0] in product:
            product[number], whole[number] = product[op.operands[0]], whole[op.operands[0]]
            continue
        if op.name == VMMOp.name:
            product[number] = position
        elif op.name == VAddOp.name and product.keys() >= set(op.operands):
            found = next((product[operand] for operand in op.operands if product[operand] is not None), None)
            product[number] = found
            elements = math.prod(op.shapes[0])
            repeated = 0
            for operand in op.operands:
                left[whole[operand]] -= elements
                repeated += min(elements, max(0, -left[whole[operand]]))
            sums.append(PartialSum(position, elements, position if found is None else found, repeated))
        if number not in whole and number in product:
            whole[number], left[number] = number, math.prod(op.shapes[0])
    return tuple(sums)


@lru_cache(KEPT)
def partial_results(content: BodyContent) -> tuple[bool, ...]:
    """Of each result, whether it is a sum of products of some slices: what a further batch completes.

    Looks at this batch only: the result is a product, or a sum of products alone.
    """
    partial: set[int] = set()
    results: tuple[int, ...] = ()
    for op, number in content.numbered():
        if op.name == YieldOp.name:
            results = op.operands
        elif op.name == VMMOp.name or (op.name in _SUMS and partial.issuperset(op.operands)):
            partial.add(number)
    return tuple([result in partial for result in results])


_SUMS = (VAddOp.name, ViewOp.name)


# On `pim`


def instruction_cost(ops: Sequence[Operation], on_tensors: bool, target: Target | None) -> BodyCost:
    """The numbers of a body of instructions."""
    counter = _Counter()
    products: list[tuple[int, int]] = []
    weights = 0
    for position, op in enumerate(ops):
        if not isinstance(op, pim.IssueOp):
            continue
        properties = op.properties
        instruction, size, count = (
            _text(properties["instruction"]),
            _number(properties["length"]),
            _number(properties["repeat"]),
        )
        written = size
        if instruction in ("mvmul", "vvdmul"):
            written = op.written_size
        turns = _number(properties["turns"]) if "turns" in properties else count
        counter.add(instruction, count, size, written, "chained" in properties, turns)
        if instruction == "mvmul":
            products.append((position, count * written))
            weights += size * written
    return BodyCost(
        *counter.numbers(target),
        chains=counter.chains(target),
        product_elements=tuple(products),
        weights=weights,
        recomputed=_repeated_issues(ops) if on_tensors else 0,
    )


def _number(attribute: Attribute) -> int:
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def _text(attribute: Attribute) -> str:
    assert isinstance(attribute, StringAttr)
    return attribute.data


def _repeated_issues(ops: Sequence[Operation]) -> int:
    """Instructions on tensors that compute what another one computes, into an equal destination."""
    same: dict[SSAValue, SSAValue] = {}
    known: dict[tuple[SSAValue, ...], list[Operation]] = {}
    repeated = 0
    for op in ops:
        if not op.results or not op.operands:
            continue
        # Destinations mostly differ, so that there is little to compare.
        alike = known.setdefault(tuple([same.get(operand, operand) for operand in op.operands]), [])
        for other in alike:
            if other.name == op.name and other.properties == op.properties:
                repeated += 1
                same.update((mine, same.get(its, its)) for mine, its in zip(op.results, other.results, strict=True))
                break
        else:
            alike.append(op)
    return repeated
