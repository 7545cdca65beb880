"""One line for each pass: what it did to the number of ops, and how long it took (`--verbose`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.ir import Operation

from .instrumentation import PassInstrumentation, PassRun


@dataclass
class Progress(PassInstrumentation):
    """Tells ``write`` of each pass when it has ended."""

    write: Callable[[str], object]
    _ops: int = field(default=0, init=False)
    _begin: float = field(default=0.0, init=False)

    def before_pass(self, run: PassRun) -> None:
        self._ops = _count(run.module)
        self._begin = perf_counter()

    def after_pass(self, run: PassRun) -> None:
        seconds = perf_counter() - self._begin
        self.write(f"note: pass '{run.name}': {self._ops} ops -> {_count(run.module)} ops, {seconds:.3f} s\n")


def _count(op: Operation) -> int:
    return sum(1 for _ in op.walk())
