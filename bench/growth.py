"""How time and memory of the compiler grow when the side of the images doubles: four times as many windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from .measure import Program, compile_and_time
from .networks import model_file
from .process import Usage
from .references import goals

SIZES = (112, 224, 448)
QUICK_SIZES = (64, 128)


@dataclass(frozen=True)
class Step:
    """The network at one size."""

    size: int
    program: Program
    usage: Usage


def grow(name: str, sizes: Sequence[int], cache: Path, repeat: int) -> list[Step]:
    """Measures the network at every size. Raises a CommandError."""
    return [
        Step(size, *compile_and_time(model_file(name, size, cache / "models"), cache, pipeline=False, repeat=repeat))
        for size in sizes
    ]


def growth_report(name: str, steps: Sequence[Step]) -> str:
    """A table of what each size takes, and in brackets how often what the size before takes."""
    rows = [_cells(step, before) for step, before in zip(steps, [None, *steps[:-1]], strict=True)]
    headers = ["px", "user s", "wall s", "peak RSS MB", "IR ops", "instructions", "latency ms"]
    align = ["right"] * len(headers)
    lines = tabulate(rows, headers, tablefmt="simple", colalign=align, disable_numparse=True).splitlines()
    wall, rss = goals()["growth_wall"], goals()["growth_rss"]
    text = f"{name}, larger and larger images; goals for twice the side: {wall:g} x in wall time, {rss:g} x in memory\n"
    return text + "".join(f"{line.rstrip()}\n" for line in lines)


def _cells(step: Step, before: Step | None) -> list[str]:
    return [
        str(step.size),
        *(
            f"{value:{form}}" if old is None else f"{value:{form}} ({value / old:.2f} x)"
            for value, old, form in zip(
                _values(step), [None] * 6 if before is None else _values(before), _FORMS, strict=True
            )
        ),
    ]


_FORMS = (".2f", ".2f", ".0f", "d", "d", ".3f")


def _values(step: Step) -> tuple[float, ...]:
    usage, program = step.usage, step.program
    return (
        usage.user_s,
        usage.wall_s,
        usage.peak_rss_bytes / 1e6,
        program.ir_ops,
        program.instructions,
        program.latency_ms,
    )
