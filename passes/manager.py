"""Runs passes on a module, with instrumentation around each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ..dialects.block_looks import BlockLooks
from ..support.diagnostics import TileError, TileErrors
from .instrumentation import PassInstrumentation, PassRun
from .op_error import concise_diagnostics
from .pass_bug import PassBug
from .verified_ops import VerifiedOps
from .verifier import verify_input, verify_module


@dataclass(frozen=True)
class PassManager:
    """A pipeline and what watches it."""

    passes: tuple[ModulePass, ...]
    instrumentations: Sequence[PassInstrumentation] = ()

    def run(self, context: Context, module: ModuleOp) -> None:
        """Applies the passes in order.

        Raises a TileError if a pass rejects its input or an instrumentation rejects a pass, and a PassBug if a pass
        breaks.
        """
        passes = tuple(self.passes)
        owners = [type(one) for one in passes]
        for instrumentation in self.instrumentations:
            instrumentation.before_pipeline(module, passes)
        names = [one.name for one in passes]
        looks = BlockLooks()
        for index, (one, name, owner) in enumerate(zip(passes, names, owners, strict=True)):
            if type(one) is not owner:
                raise PassBug.of(one, name, TypeError(f"it was of class {owner.__name__} before the pipeline"))
            self._run_pass(PassRun(index, one, name, module, context, passes, looks))
        for instrumentation in reversed(self.instrumentations):
            instrumentation.after_pipeline(module)

    def _run_pass(self, run: PassRun) -> None:
        for instrumentation in self.instrumentations:
            run.looks.begin()
            instrumentation.before_pass(run)
        waiting = list(self.instrumentations)
        try:
            _apply(run)
            run.looks.begin()
            while waiting:
                instrumentation = waiting.pop()
                instrumentation.after_pass(run)
                if instrumentation.changes_modules:
                    run.looks.begin()
        except Exception as error:
            for instrumentation in reversed(waiting):
                instrumentation.after_failed_pass(run, error)
            raise


class Verifier(PassInstrumentation):
    """Verifies the module before the first pass and after every pass."""

    def __init__(self) -> None:
        self._verified = VerifiedOps()

    def before_pipeline(self, module: ModuleOp, passes: tuple[ModulePass, ...]) -> None:
        self._verified = VerifiedOps()
        verify_input(module, self._verified)

    @property
    def changes_modules(self) -> bool:
        return False

    def after_pass(self, run: PassRun) -> None:
        try:
            verify_module(run.module, self._verified, run.looks)
        except TileError as error:
            errors = error.errors if isinstance(error, TileErrors) else (error,)
            blame = TileError(f"pass '{run.name}'", "left an invalid module", "this is an error in the pass")
            raise TileErrors((*errors, blame)) from error


def _apply(run: PassRun) -> None:
    with concise_diagnostics():
        try:
            type(run.one).apply(run.one, run.context, run.module)
        except (TileError, KeyboardInterrupt):
            raise
        except DiagnosticException as error:
            raise TileError(f"pass '{run.name}'", _message(error)) from error
        except BaseException as error:  # SystemExit, too: a pass is not the one to say that all is done.
            raise PassBug.of(run.one, run.name, error) from error


def _message(error: Exception) -> str:
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    return ", ".join(["; ".join(str(error).splitlines()), *notes])
