"""How many samples a program takes at once, as an attribute of the module."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from ..support.diagnostics import TileError

SAMPLES = "tile.samples"
"""The module attribute that says how many samples a program takes at once, if it is more than one."""


def samples_of(module: ModuleOp) -> int:
    """How many samples the program takes at once. Raises a TileError if the attribute has no meaning."""
    value = module.attributes.get(SAMPLES, IntegerAttr(1, i64))
    if not isinstance(value, IntegerAttr) or value.value.data < 1:
        raise TileError("module", f"attribute {SAMPLES} is {value}", "an integer of at least 1 is expected")
    return value.value.data
