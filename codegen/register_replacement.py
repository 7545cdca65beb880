"""Which register holds which value when: of the values held, the one that is needed again last makes room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from ..support.kernel_columns import as_lists
from ..support.machine_code import Kernel, can_compile
from . import replacement_kernel
from .replacement_kernel import Code, Facts, State, run

I32 = npt.NDArray[np.int32]

WORTH_COMPILING = 2_000
"""Instructions from which on loading the machine code takes less time than it saves; llvmlite is there since
scheduling."""

_MOST_VALUES = 1 << 24
"""Values below this index tables directly; if there are higher ones, all are numbered first."""

REPLACEMENT = Kernel("registers", (replacement_kernel,), replacement_kernel)


@dataclass(frozen=True, eq=False)
class Assignment:
    """Registers of n instructions, and the loads of registers that these need."""

    register: npt.NDArray[np.uint8]
    """Of each operand; 0 for the value 0."""
    load_row: Ints
    """Ascending: the instruction before which a register is loaded."""
    load_register: Ints
    load_value: Ints


def assign_registers(
    core: npt.NDArray[np.int32], value: npt.NDArray[np.integer], pool: Sequence[int], forced: Ints | None = None
) -> Assignment:
    """Registers of the pool for values [n, operands] of instructions in order, core by core; register 0 holds 0.

    Registers are loaded as rarely as possible (Belady's rule: evict what is used furthest in the future). The pool has
    more registers than an instruction has operands; what they hold at a core's start is not used. Values are not
    negative.

    ``forced`` [n] is a value that an instruction also needs, in the first register of the pool; -1 for none. It is
    loaded even if it is 0. On cores where that saves loads, this register serves other values in between. The choice of
    what to evict is then not always the best, since it only takes the next forced value into account.
    """
    rows, count = value.shape
    number, values = _numbered(value)
    forced_number, forced_values = np.zeros(rows, np.int32), values[:0]
    if forced is not None:
        needs = np.flatnonzero(forced >= 0)
        forced_values, numbers = np.unique(forced[needs], return_inverse=True)
        forced_number[needs] = len(values) + numbers
    stop = np.flatnonzero(np.diff(core, append=-1)) + 1
    most = 2 * (count + 1) * int(np.diff(stop, prepend=0).max(initial=0))
    facts = Facts(len(pool), count, len(values) + len(forced_values))
    code = (number.reshape(-1), forced_number, stop.astype(np.int64), np.array(pool, np.int64))
    register, load_register = np.zeros(rows * count, np.uint8), np.empty(rows * (count + 1), np.uint8)
    # Of the room for loads only what is used becomes memory.
    load_row, load_number = (np.empty(rows * (count + 1), np.int32) for _ in range(2))
    state = [register, load_row, load_register, load_number]
    state += [np.empty(most * ways, np.int64) for ways in (1, 1, 1, 1, 2, 2)]
    state += [np.empty(len(pool), np.int64) for _ in range(2)]
    state.append(np.full(facts.numbers + 1, -1, np.int64))
    if rows >= WORTH_COMPILING and can_compile():
        loads = REPLACEMENT.run(facts, code, state, len(stop))
    else:
        lists = State(*as_lists(state))
        loads = run(facts, Code(*as_lists(code)), lists, len(stop))
        for column, found in zip((register, load_row, load_register, load_number), lists, strict=False):
            column[:] = found
    return Assignment(
        register.reshape(rows, count),
        load_row[:loads].astype(np.int64),
        load_register[:loads].astype(np.int64),
        np.concatenate((values, forced_values))[load_number[:loads]],
    )


def _numbered(value: npt.NDArray[np.integer]) -> tuple[I32, Ints]:
    """The values as numbers, 0 as 0, and the values of the numbers."""
    most = int(value.max(initial=0))
    if most < _MOST_VALUES:
        return np.ascontiguousarray(value, np.int32), np.arange(most + 1)
    values, number = np.unique(np.append(value, 0), return_inverse=True)
    return number[:-1].reshape(value.shape).astype(np.int32), values.astype(np.int64)
