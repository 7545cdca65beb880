"""The verifier that the tools run between passes: each op's own verifier, then SSA dominance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ..support.diagnostics import TileErrors
from .dominance import dominance_errors
from .op_error import OpError, concise_diagnostics
from .verified_ops import VerifiedOps

MAX_ERRORS = 20
"""How many errors are reported at most: an error in a common op's definition would flood the terminal."""


def verify_module(module: ModuleOp, verified: VerifiedOps | None = None) -> None:
    """Raises TileErrors, one for each invalid op or use, in the order of the text, if ``module`` is invalid.

    ``verified`` is what was found valid in the modules before, and is added to.
    """
    with concise_diagnostics():
        errors = list(islice(_op_errors(module, VerifiedOps() if verified is None else verified), MAX_ERRORS))
    # Values can only be traced through a structure that is sound.
    errors = errors or list(islice(dominance_errors(module), MAX_ERRORS))
    if errors:
        raise TileErrors(errors)


def _op_errors(op: Operation, verified: VerifiedOps) -> Iterator[OpError]:
    """The errors of ``op`` and of the ops in it. An op with an invalid op in it is not judged itself."""
    sound = True
    for region in op.regions:
        for block in region.blocks:
            if block.is_empty and region.last_block is block and len(region.blocks) == 1:
                if not op.has_trait(NoTerminator):
                    sound = False
                    yield OpError(op, "has an empty block, and needs at least a terminator in it")
            inner, last = block.first_op, block.last_op
            while inner is not None:
                assert inner.parent is block, f"'{inner.name}' is linked into a block that is not its parent"
                signature = verified.signature(inner, inner is last)
                if signature is None or signature not in verified:
                    valid = True
                    for error in _op_errors(inner, verified):
                        sound = valid = False
                        yield error
                    if valid:
                        verified.add(signature)
                inner = inner.next_op
    if not sound:
        return
    try:
        op.verify(verify_nested_ops=False)
    except (VerifyException, ValueError) as error:
        yield OpError(op, _one_line(error))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or "does not verify"
