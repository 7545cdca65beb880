"""The event loop of :mod:`.kernel` as machine code, if llvmlite is installed and the program is long enough."""

from __future__ import annotations

from ...support.machine_code import Kernel
from .kernel import front_end, heaps, layout, loop, network, registers, spending, units

WORTH_COMPILING = 3_000
"""Elements from which on loading the machine code takes less time than it saves."""

CLOCK = Kernel("clock", (heaps, network, spending, registers, units, front_end, loop), layout)
""":func:`.kernel.loop.run`."""
