"""What may watch a pipeline run: an instrumentation has hooks before and after each pass.

Hooks run *before* in the order of the list and *after* in reverse order, so that the last instrumentation of the list
is the closest to the pass. An after-hook may change the module, for instance restore what it was before the pass;
those further out see what it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.block_looks import BlockLooks


@dataclass(frozen=True)
class PassRun:
    """One run of one pass of a pipeline."""

    index: int
    """The pass's position in the pipeline."""
    one: ModulePass
    name: str
    """The pass's, before anything ran: what a pass calls itself later is not what the pipeline says."""
    module: ModuleOp
    context: Context
    pipeline: tuple[ModulePass, ...]
    looks: BlockLooks
    """Looks at the module as it is now."""


class PassInstrumentation:
    """The base: it watches nothing."""

    @property
    def changes_modules(self) -> bool:
        """Whether a hook may change the module. If not, those further out need not look at it again."""
        return True

    def before_pipeline(self, module: ModuleOp, passes: tuple[ModulePass, ...]) -> None:
        """Before the first pass."""

    def before_pass(self, run: PassRun) -> None:
        """The module is what the pass will get."""

    def after_pass(self, run: PassRun) -> None:
        """The pass has ended. Raising a TileError rejects what it did and stops the pipeline."""

    def after_failed_pass(self, run: PassRun, error: Exception) -> None:
        """The pass, or an after-hook closer to it, has raised ``error``. The module may be in any state, unless a hook
        closer to the pass has restored it, as the guard does in mode rollback."""

    def after_pipeline(self, module: ModuleOp) -> None:
        """After the last pass; not called if one failed."""
