"""`guard-mode`: what the guard does about the passes that follow, said in the pipeline itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import STRICTEST, Contract


class Mode(Enum):
    """What the guard does about a pass that breaks its contract."""

    ERROR = "error"
    """Stops the pipeline."""
    ROLLBACK = "rollback"
    """Restores the module from before the pass, warns, and goes on."""
    REPORT = "report"
    """Warns and goes on."""
    OFF = "off"
    """Does not look."""


@dataclass(frozen=True)
class GuardModePass(ModulePass):
    """Sets what the guard does about the passes that follow: all of them, or the next `passes`.

    `guard-mode{mode=report passes=1},some-pass` lets one pass do what its contract does not allow. Changes no IR.
    """

    name = "guard-mode"
    contract: ClassVar[Contract] = STRICTEST

    mode: Mode = Mode.ERROR
    passes: int = 0
    """How many passes it holds for; 0 for all that follow."""

    def __post_init__(self) -> None:
        if self.passes < 0:
            raise ValueError(f"passes is {self.passes}, 0 or more expected")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
