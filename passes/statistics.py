"""Counters that passes report (`--pass-statistics`).

A pass calls :func:`record_statistic` wherever it does what it counts; nobody need pass a collector down to it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from .instrumentation import PassInstrumentation, PassRun
from .timing import banner

_collector: ContextVar[dict[str, int] | None] = ContextVar("pass_statistics", default=None)


def record_statistic(name: str, count: int = 1) -> None:
    """Adds ``count`` to the statistic ``name`` of the pass that runs; does nothing if nobody collects."""
    statistics = _collector.get()
    if statistics is not None:
        statistics[name] = statistics.get(name, 0) + count


@contextmanager
def collect_statistics(statistics: dict[str, int]) -> Generator[None]:
    """Within the context, statistics are added to ``statistics``."""
    token = _collector.set(statistics)
    try:
        yield
    finally:
        _collector.reset(token)


@dataclass
class PassStatistics(PassInstrumentation):
    """Collects the statistics of each pass of the pipeline, over all modules that it runs on."""

    by_pass: dict[tuple[int, str], dict[str, int]] = field(default_factory=dict[tuple[int, str], dict[str, int]])
    """By the pass's position and name."""

    def before_pass(self, run: PassRun) -> None:
        _collector.set(self.by_pass.setdefault((run.index, run.name), {}))

    def after_pass(self, run: PassRun) -> None:
        _collector.set(None)

    def after_failed_pass(self, run: PassRun, error: Exception) -> None:
        _collector.set(None)

    def report(self) -> str:
        """The statistics as text, pass by pass in the order of the pipeline, in the form of MLIR's list display."""
        lines = banner("Pass statistics report")
        for (_, name), statistics in sorted(self.by_pass.items()):
            lines.append(f"'{name}'")
            width = max((len(str(count)) for count in statistics.values()), default=0)
            lines += [f"  (S) {count:>{width}} {what}" for what, count in statistics.items()]
        return "\n".join(lines) + "\n"
