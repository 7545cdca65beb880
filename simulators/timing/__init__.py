"""The clock: when every instruction of a program executes, exactly as the pimsim-nn simulator times it.

``simulate(program, machine)`` is all that one needs; ``docs/timing.md`` has the rules.
"""

from __future__ import annotations

from ...analysis.machine import Machine
from ...codegen.columns import Program
from ...codegen.json_reader import JsonProgram
from .evaluate import evaluate
from .quirks import FIRST_COME, SIMULATOR, Quirks
from .result import SPENDINGS, CoreTiming, Energy, TimingResult
from .simulate import TimingOptions, run_program

__all__ = [
    "FIRST_COME",
    "SIMULATOR",
    "SPENDINGS",
    "CoreTiming",
    "Energy",
    "Quirks",
    "TimingOptions",
    "TimingResult",
    "simulate",
]

_DEFAULTS = TimingOptions()


def simulate(program: Program | JsonProgram, machine: Machine, options: TimingOptions = _DEFAULTS) -> TimingResult:
    """Times a program on a machine."""
    return evaluate(run_program(program, machine, options))
