"""The programs of a module, for the passes that need one."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..dialects.pim import ProgramOp
from ..support.diagnostics import TileError


def programs_of(module: ModuleOp) -> list[ProgramOp]:
    """Every `pim.program` of the module. Raises TileError if there is none."""
    programs = [op for op in module.walk() if isinstance(op, ProgramOp)]
    if not programs:
        raise TileError("module", "it holds no pim.program", "run convert-spat-to-pim first")
    return programs
