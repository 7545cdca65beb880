"""The machine that a module is compiled for, as attributes of the module."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation

from ..analysis.machine import Machine, Precision
from ..dialects.location import place_of
from ..support.diagnostics import TileError

OTHER_MACHINE = "lower it for this machine, or let tile.machine name the one that it is made for"
"""The remedy where a program is for another machine than its module says."""

STAND_IN = "reference144"
"""The machine by whose cycles passes on batches work and are judged where the module names none."""


@dataclass(frozen=True)
class Target:
    """A machine and the widths of weights and activations on it."""

    machine: Machine
    precision: Precision

    def __hash__(self) -> int:
        """Costs are kept by target, and looked up often."""
        return hash(self.machine)

    @cached_property
    def known_cycles(self) -> dict[tuple[str, int, int], int]:
        """Cycles of one instruction by its name, size and what it writes, so far as someone has asked for them."""
        return {}

    @property
    def element_bytes(self) -> int:
        return self.precision.input_bytes

    @property
    def array_columns(self) -> int:
        """Columns of weights of one array."""
        return self.machine.array_cols_at(self.precision.weight_bits)

    def require_cores(self, op: Operation, cores: NDArray[np.integer[Any]]) -> None:
        """Raises a TileError if the op uses a core that the machine does not have."""
        count = self.machine.core_count
        if cores.size and cores.max() >= count:
            has = f"{count} cores, 0 to {count - 1}" if count > 1 else "core 0 only"
            what = f"it is on core {cores.max()}, and machine '{self.machine.name}' has {has}"
            raise TileError(place_of(op), what, OTHER_MACHINE)


LARGEST_WIDTH_BITS = 32


def width_fault(bits: int) -> str:
    """What is wrong with a width of weights or activations; empty if nothing is."""
    return "" if 1 <= bits <= LARGEST_WIDTH_BITS else f"1 to {LARGEST_WIDTH_BITS} bits expected"


def set_target(module: ModuleOp, machine: str, precision: Precision) -> Target:
    """Writes the target onto the module: `tile.machine`, `tile.weight_bits`, `tile.activation_bits`."""
    target = _target(Machine.load(machine), precision)
    module.attributes["tile.machine"] = StringAttr(machine)
    module.attributes["tile.weight_bits"] = IntegerAttr(precision.weight_bits, i64)
    module.attributes["tile.activation_bits"] = IntegerAttr(precision.input_bits, i64)
    return target


def target_of(module: ModuleOp) -> Target:
    """The target that `convert-onnx-to-spat` wrote. Raises TileError if there is none."""
    machine = module.attributes.get("tile.machine")
    if not isinstance(machine, StringAttr):
        if any(op.name.startswith("onnx.") for op in module.walk()):
            raise TileError("module", "it holds an ONNX network that is not lowered", "run convert-onnx-to-spat first")
        raise TileError(
            "module", "no target machine is named", 'add the module attribute tile.machine = "reference144"'
        )
    bits: list[int] = []
    for name in ("tile.weight_bits", "tile.activation_bits"):
        value = module.attributes.get(name)
        if value is not None and not isinstance(value, IntegerAttr):
            raise TileError("module", f"attribute {name} is {value}", "an integer is expected")
        bits.append(8 if value is None else value.value.data)
        if fault := width_fault(bits[-1]):
            raise TileError("module", f"attribute {name} is {bits[-1]}", fault)
    return _target(Machine.load(machine.data), Precision(bits[0], bits[1], bits[1]))


def default_target(machine: str) -> Target:
    """A machine with the usual widths of weights and activations. Raises TileError if there is no such machine."""
    return _target(Machine.load(machine), Precision(8, 8, 8))


def target_or_stand_in(module: ModuleOp) -> Target:
    """The target of the module, or one that stands in for it where it names none."""
    return target_of(module) if "tile.machine" in module.attributes else default_target(STAND_IN)


@lru_cache(maxsize=8)
def _target(machine: Machine, precision: Precision) -> Target:
    """One object for one machine and precision, both of which are immutable. A TileError if no array holds a weight."""
    if not machine.array_cols_at(precision.weight_bits):
        row_bits = machine.array_row_bits
        what = f"a row of an array holds {row_bits} bits, one weight has {precision.weight_bits}"
        remedy = f"give weights {row_bits} bits or fewer, or the machine wider arrays"
        raise TileError(f"machine {machine.name}", what, remedy)
    return Target(machine, precision)
