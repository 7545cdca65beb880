"""Whether an op is valid, judged part by part.

What xDSL checks by the definition of an op concerns parts that do not depend on each other: operands and results
together, and each property. New ops mostly consist of parts that others had before, so xDSL checks each part once. What
an op checks itself, by its own `verify_` and its traits, is checked for every op. Where the parts are not enough to
tell, nothing is accepted, and xDSL has to verify the op as a whole.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from xdsl.ir import Attribute, Operation
from xdsl.irdl import AttrSizedSegments, BaseAttr, OpDef, OptPropertyDef, VerificationContext
from xdsl.irdl.operations import VarIRConstruct, irdl_op_verify_arg_list, irdl_op_verify_regions
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, OpTrait
from xdsl.utils.exceptions import VerifyException

NOT_TOLD_APART = -1
"""Instead of the number of an attribute."""

_SEGMENTS = "operandSegmentSizes", "resultSegmentSizes"
"""The properties that share operands and results out to the names of a definition."""


class VerifiedParts:
    """Parts of ops that were found valid."""

    def __init__(self, number_of: Callable[[Attribute], int]) -> None:
        """``number_of`` gives an attribute the number of those that are equal to it, or NOT_TOLD_APART."""
        self._number_of = number_of
        self._kinds: dict[object, _Kind] = {}
        """By the `verify_` of an op's class: if another one takes its place, that is another kind."""

    def accept(self, op: Operation, is_last: bool, is_closed: bool) -> bool:
        """Whether it is known that ``op`` is valid, if its operands are still there and the ops in it are valid.

        ``is_last`` says that it ends its block, ``is_closed`` that all that is used in its regions is defined there.
        """
        verify: Any = type(op).verify_
        kind = self._kinds.get(verify)
        if kind is None:
            kind = self._kinds[verify] = _Kind(_definition(verify))
        definition = kind.definition
        if definition is None or op.successor_uses or (is_last and not definition.is_terminator and not _may_end(op)):
            return False
        try:
            if not self._has_valid_parts(op, definition, kind):
                return False
            for trait in definition.traits:
                if not (is_closed and isinstance(trait, IsolatedFromAbove)):
                    trait.verify(op)
            if definition.verify is not None:
                definition.verify(op)
        except (VerifyException, ValueError):
            return False
        return True

    def _has_valid_parts(self, op: Operation, definition: _Definition, kind: _Kind) -> bool:
        properties, of, number_of = op.properties, definition.of, self._number_of
        names = tuple(properties)
        if names not in kind.names:
            if not definition.has_properties(names):
                return False
            kind.names.add(names)
        for name, attribute in properties.items():
            seen = kind.properties[name]
            number = type(attribute) if name in definition.by_class else number_of(attribute)
            if number not in seen:
                if number == NOT_TOLD_APART or not _stands_alone(partial(of.properties[name].constr.verify, attribute)):
                    return False
                seen.add(number)
        operands, results = op.operands, op.results
        segments = [number_of(properties[sizes]) for sizes in _SEGMENTS if sizes in properties]
        types = [number_of(value.type) for values in (operands, results) for value in values]
        key = (len(operands), len(segments), *segments, *types)
        if key not in kind.values:
            if NOT_TOLD_APART in key:
                return False
            _verify_values(op, of)
            kind.values.add(key)
        return not (op.regions or of.regions) or _stands_alone(partial(irdl_op_verify_regions, op, of))


class _Definition(NamedTuple):
    """What xDSL verifies ops of one kind by."""

    of: OpDef
    verify: Callable[[Operation], None] | None
    """Of the op itself."""
    traits: tuple[OpTrait, ...]
    """Those that demand something."""
    by_class: frozenset[str]
    """Properties of which only the class counts."""
    is_terminator: bool

    def has_properties(self, names: tuple[str, ...]) -> bool:
        """Whether properties of these names may be there, and no others have to."""
        known = self.of.properties
        needed = [name for name, one in known.items() if not isinstance(one, OptPropertyDef)]
        return known.keys() >= set(names) and set(names).issuperset(needed)


class _Kind:
    """Ops of one definition, with parts that were found valid."""

    __slots__ = ("definition", "names", "properties", "values")

    def __init__(self, definition: _Definition | None) -> None:
        self.definition = definition
        """None if it does not tell all that such ops are verified by."""
        self.names: set[tuple[str, ...]] = set()
        """Of all properties of an op."""
        properties = {} if definition is None else definition.of.properties
        self.properties: dict[str, set[object]] = {name: set() for name in properties}
        self.values: set[tuple[object, ...]] = set()
        """Types of operands and results."""


def _definition(verify: Callable[[Operation], None]) -> _Definition | None:
    """What ``verify`` goes by, if xDSL has made it of a definition; None if not, or if attributes count."""
    if getattr(verify, "__module__", None) != irdl_op_verify_regions.__module__:
        return None
    found = inspect.getclosurevars(verify).nonlocals
    of = found.get("op_def")
    if "custom_verify" not in found or not isinstance(of, OpDef) or of.attributes or of.successors:
        return None
    if any(isinstance(option, AttrSizedSegments) and not option.as_property for option in of.options):
        return None
    traits = tuple(of.traits)
    return _Definition(
        of,
        found["custom_verify"],
        tuple([trait for trait in traits if type(trait).verify is not OpTrait.verify]),
        frozenset(name for name, one in of.properties.items() if type(one.constr) is BaseAttr),
        any(isinstance(trait, IsTerminator) for trait in traits),
    )


def _verify_values(op: Operation, of: OpDef) -> None:
    """VerifyException if operands or results are not as they have to be. They may depend on each other."""
    context = VerificationContext()
    irdl_op_verify_arg_list(op, of, VarIRConstruct.OPERAND, context)
    irdl_op_verify_arg_list(op, of, VarIRConstruct.RESULT, context)


def _stands_alone(verify: Callable[[VerificationContext], None]) -> bool:
    """Whether a part is valid, whatever the others are: VerifyException if it is not.

    Constraints with variables bind them: then, what the part may be depends on others.
    """
    context = VerificationContext()
    verify(context)
    return not (context.attr_variables or context.range_variables or context.int_variables)


def _may_end(op: Operation) -> bool:
    """Whether ``op`` may end its block although it is no terminator."""
    region = op.parent_region()
    around = op.parent_op()
    single = region is not None and region.first_block is region.last_block
    return around is None or (single and around.has_trait(NoTerminator))
