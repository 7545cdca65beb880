"""Instrumentation that prints the module between passes, as MLIR's `--mlir-print-ir-*` do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from .instrumentation import PassInstrumentation, PassRun
from .ir_text import PrintOptions, ir_text

Sink: TypeAlias = Callable[[str, str, PassRun], None]
"""Takes a title (`Before`, `After`, ...), the text of the module, and the run."""


@dataclass(frozen=True)
class PrintWhen:
    """Which dumps are wanted. Names are those of passes."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    after_change: bool = False
    """Of the dumps after passes (of all, if none are named), only those after a pass that changed the module."""
    after_failure: bool = False

    @property
    def anything(self) -> bool:
        return self != PrintWhen()

    def wants_before(self, name: str) -> bool:
        return self.before_all or name in self.before

    def wants_after(self, name: str) -> bool:
        everything = self.after_all or (self.after_change and not self.after)
        return everything or name in self.after


@dataclass
class IRPrinter(PassInstrumentation):
    """Hands the module's text to ``sink`` before and after the passes that ``when`` names."""

    when: PrintWhen
    sink: Sink
    options: PrintOptions = field(default_factory=PrintOptions)
    _fingerprint: str | None = field(default=None, init=False)

    def before_pass(self, run: PassRun) -> None:
        if self.when.wants_before(run.name):
            self.sink("Before", ir_text(run.module, self.options), run)
        if self.when.after_change and self._fingerprint is None:
            self._fingerprint = _fingerprint(run.module)

    def after_pass(self, run: PassRun) -> None:
        changed = True
        if self.when.after_change:
            fingerprint = _fingerprint(run.module)
            changed = fingerprint != self._fingerprint
            self._fingerprint = fingerprint
        if changed and self.when.wants_after(run.name):
            self.sink("After", ir_text(run.module, self.options), run)

    def after_failed_pass(self, run: PassRun, error: Exception) -> None:
        if self.when.after_failure or self.when.wants_after(run.name):
            self.sink("After Failure Of", ir_text(run.module, self.options), run)

    def after_pipeline(self, module: ModuleOp) -> None:
        self._fingerprint = None


def dump_to(write: Callable[[str], object]) -> Sink:
    """A sink that writes each dump below a banner of MLIR's form."""

    def sink(title: str, text: str, run: PassRun) -> None:
        write(f"// -----// IR Dump {title} {type(run.one).__name__} ({run.name}) //----- //\n{text}\n\n")

    return sink


def _fingerprint(module: ModuleOp) -> str:
    """Text that differs whenever the module does: locations included, constants in full or by digest."""
    return ir_text(module, PrintOptions(debuginfo=True))
