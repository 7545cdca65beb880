"""Time of the phases of a tool and of each pass (`--timing`)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .instrumentation import PassInstrumentation, PassRun


def banner(title: str) -> list[str]:
    """The lines above a report, in the form of MLIR's."""
    rule = "===" + "-" * 73 + "==="
    return [rule, f"... {title} ...".center(len(rule)).rstrip(), rule]


@dataclass
class Timer:
    """Adds up time by name, in the order in which the names first come."""

    clock: Callable[[], float] = perf_counter
    """Wall time; `time.process_time` is steadier where others use the machine, too."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    start_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        self.start_seconds = self.clock()

    @property
    def total_seconds(self) -> float:
        """Since the start."""
        return self.clock() - self.start_seconds

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Adds the time spent within the context to ``name``."""
        begin = self.clock()
        try:
            yield
        finally:
            self.add(name, self.clock() - begin)

    def add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def report(self) -> str:
        """A table in the form of MLIR's `--mlir-timing --mlir-timing-display=list`, in order of time of first start."""
        total = self.total_seconds
        rows = [*self.seconds.items(), ("Rest", total - sum(self.seconds.values())), ("Total", total)]
        lines = [f"  {seconds:9.4f} ({100 * seconds / total:5.1f}%)  {name}" for name, seconds in rows]
        head = [
            *banner("Execution time report"),
            f"  Total Execution Time: {total:.4f} seconds",
            "",
            "  ----Wall Time----  ----Name----",
        ]
        return "\n".join([*head, *lines]) + "\n"


@dataclass
class PassTimer(PassInstrumentation):
    """Adds the time of each pass to ``timer``. Stands last, so that it measures the pass and nothing else."""

    timer: Timer
    _begin: float = field(default=0.0, init=False)

    def before_pass(self, run: PassRun) -> None:
        self._begin = self.timer.clock()

    def after_pass(self, run: PassRun) -> None:
        self.timer.add(run.name, self.timer.clock() - self._begin)

    def after_failed_pass(self, run: PassRun, error: Exception) -> None:
        self.after_pass(run)


@dataclass
class TimedInstrumentation(PassInstrumentation):
    """Adds the time that ``inner`` takes between passes to ``timer``, under ``name``."""

    inner: PassInstrumentation
    timer: Timer
    name: str

    @property
    def changes_modules(self) -> bool:
        return self.inner.changes_modules

    def before_pipeline(self, module: ModuleOp, passes: tuple[ModulePass, ...]) -> None:
        with self.timer.phase(self.name):
            self.inner.before_pipeline(module, passes)

    def before_pass(self, run: PassRun) -> None:
        with self.timer.phase(self.name):
            self.inner.before_pass(run)

    def after_pass(self, run: PassRun) -> None:
        with self.timer.phase(self.name):
            self.inner.after_pass(run)

    def after_failed_pass(self, run: PassRun, error: Exception) -> None:
        with self.timer.phase(self.name):
            self.inner.after_failed_pass(run, error)

    def after_pipeline(self, module: ModuleOp) -> None:
        with self.timer.phase(self.name):
            self.inner.after_pipeline(module)
