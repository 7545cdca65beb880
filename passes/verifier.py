"""The verifier that the tools run between passes: each op's own verifier, then SSA dominance."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..dialects.block_looks import BlockLooks
from ..dialects.traits import VerifiedWithin, is_within
from ..support.diagnostics import TileErrors
from .dominance import dominance_errors
from .op_error import OpError, concise_diagnostics
from .verified_ops import Signature, VerifiedOps, is_erased

MAX_ERRORS = 20
"""How many errors are reported at most: an error in a common op's definition would flood the terminal."""

_OPERANDS = attrgetter("_operands")
"""What is behind the property `operands`, which takes several times as long."""

_UNKNOWN = -1
"""Instead of a number in `VerifiedOps`: an op that is invalid, or valid but not among these."""


def verify_module(module: ModuleOp, verified: VerifiedOps | None = None, looks: BlockLooks | None = None) -> None:
    """Raises TileErrors, one for each invalid op or use, in the order of the text, if ``module`` is invalid.

    ``verified`` is what was found valid in the modules before, and is added to. ``looks`` are those at the module as it
    is now, if others look at it as well.
    """
    verified = VerifiedOps() if verified is None else verified
    if looks is None:
        looks = verified.looks
        looks.begin()
    else:
        verified.looks.forget()
    walk = _Walk(verified, looks)
    with concise_diagnostics():
        walk.visit(module, False, tuple(module.operands), None, False)
    verified.end()
    # Values can only be traced through a structure that is sound.
    errors = walk.errors or list(islice(dominance_errors(module, walk.ordered), MAX_ERRORS))
    if errors:
        raise TileErrors(errors[:MAX_ERRORS])


def verify_input(module: ModuleOp, verified: VerifiedOps | None = None) -> None:
    """The same for a module that no pass has made: also, its machine has to have the cores and arrays that it uses."""
    verify_module(module, verified)
    if "tile.machine" in module.attributes:  # of other dialects nobody loads machines
        from ..lowering.machine_fit import require_fitting_machine

        require_fitting_machine(module)


class _Walk:
    """One walk over a module, op by op, with those in it first."""

    def __init__(self, verified: VerifiedOps, looks: BlockLooks) -> None:
        self.errors: list[OpError] = []
        self.ordered: set[Operation] = set()
        """Ops in whose regions every value is defined before it is used, and none comes from outside."""
        self._verified = verified
        self._blocks = verified.blocks
        self._looks = looks
        verified.begin()

    def visit(
        self,
        op: Operation,
        is_last: bool,
        operands: tuple[SSAValue, ...],
        around: type[Operation] | None,
        are_placed: bool,
    ) -> int:
        """Judges ``op``, after the ops in it: with an invalid one in it, it is not judged itself.

        ``are_placed`` says that the operands are values that are still there.
        """
        if len(self.errors) >= MAX_ERRORS:
            return _UNKNOWN
        inside: Signature | None = ()
        if op.regions:
            before = len(self.errors)
            inside = self._inside(op)
            if len(self.errors) > before:
                return _UNKNOWN
        verified = self._verified
        if not are_placed and is_erased(operands):
            self._verify(op)
            return _UNKNOWN
        look = verified.look(op, is_last, operands, around, inside)
        number = None if look is None else verified.known(look)
        if number is None:
            signature = None if look is None else verified.signature(look)
            known = signature is not None and verified.has(signature)
            is_valid = self._verify_arrays(op) if known else self._verify_parts(op, is_last)
            if look is None or signature is None or not is_valid:
                return _UNKNOWN
            number = verified.add(signature, look)
        return number

    def _verify_parts(self, op: Operation, is_last: bool) -> bool:
        return self._verified.parts.accept(op, is_last, op in self.ordered) or self._verify(op)

    def _verify(self, op: Operation) -> bool:
        """Judges an op as a whole."""
        try:
            op.verify(verify_nested_ops=False)
        except (VerifyException, ValueError) as error:
            self.errors.append(OpError(op, _one_line(error)))
            return False
        return True

    def _verify_arrays(self, op: Operation) -> bool:
        """Judges an op of which another one was valid that has the same of all but arrays."""
        if is_within(type(op)):
            try:
                VerifiedWithin.verify_arrays(op)
            except (VerifyException, ValueError):
                # Again, so that the error is the same whether another one was valid or not.
                return self._verify(op)
        return True

    def _inside(self, op: Operation) -> Signature | None:
        """Judges the ops in ``op``. All that its own validity follows from in them; None if that cannot be told.

        It is told of regions of one block whose ops use what is defined before them in it.
        """
        inside: list[object] | None = [len(op.regions)] if is_within(type(op)) else None
        is_ordered = True
        for region in op.regions:
            single = region.first_block is not None and region.first_block is region.last_block
            if not single:
                inside, is_ordered = None, False
            for block in region.blocks:
                if block.is_empty and single and not op.has_trait(NoTerminator):
                    self.errors.append(OpError(op, "has an empty block, and needs at least a terminator in it"))
                found, block_is_ordered = self._block(block, type(op))
                is_ordered = is_ordered and block_is_ordered
                if inside is not None:
                    inside = None if found is None else [*inside, *found]
        if is_ordered:
            self.ordered.add(op)
        return None if inside is None else tuple(inside)

    def _block(self, block: Block, around: type[Operation]) -> tuple[list[object] | None, bool]:
        """Judges the ops of a block. What is in it, with values numbered; None if that cannot be told. And whether all
        values that are used in it are defined before in it."""
        look = self._looks.at(block)
        content = self._blocks.known(look, around)
        if content is not None:
            return content, True
        content, is_ordered = self._ops(block, around)
        if content is not None:
            self._blocks.add(look, around, content)
        return content, is_ordered

    def _ops(self, block: Block, around: type[Operation]) -> tuple[list[object] | None, bool]:
        """The same of a block that is looked at for the first time."""
        arguments = block.args
        places = {id(argument): place for place, argument in enumerate(arguments)}
        number_of = self._verified.attribute_number
        content: list[object] | None = [len(arguments), *[number_of(argument.type) for argument in arguments]]
        op, last, is_ordered = block.first_op, block.last_op, True
        while op is not None:
            assert op.parent is block, f"'{op.name}' is linked into a block that is not its parent"
            operands = _OPERANDS(op)
            found = [places.get(id(operand)) for operand in operands]
            are_placed = None not in found
            number = self.visit(op, op is last, operands, around, are_placed)
            is_ordered = is_ordered and are_placed and (not op.regions or op in self.ordered)
            if are_placed and number != _UNKNOWN and content is not None:
                content.append(number)
                content += found
            else:
                content = None
            for result in op.results:
                places[id(result)] = len(places)
            op = op.next_op
        return content, is_ordered


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or "does not verify"
