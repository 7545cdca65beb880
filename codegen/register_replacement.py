"""Which register holds which value when: of the values held, the one that is needed again last makes room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..support.machine_code import Kernel, can_compile
from . import replacement_kernel
from .replacement_kernel import NEVER, Code, Facts, State, run

I64 = npt.NDArray[np.int64]

WORTH_COMPILING = 20_000
"""Touches from which on loading the machine code takes less time than it saves; llvmlite is there since scheduling."""

REPLACEMENT = Kernel("registers", (replacement_kernel,), replacement_kernel)


@dataclass(frozen=True, eq=False)
class Assignment:
    """Registers of n instructions, and the loads of registers that these need."""

    register: I64
    """Of each operand; 0 for the value 0."""
    load_row: I64
    """Ascending: the instruction before which a register is loaded."""
    load_register: I64
    load_value: I64


def assign_registers(
    core: npt.NDArray[np.int32], value: npt.NDArray[np.integer], pool: Sequence[int], forced: I64 | None = None
) -> Assignment:
    """Registers of the pool for values [n, operands] of instructions in order, core by core; register 0 holds 0.

    Registers are loaded as rarely as is possible (Belady's rule: evict what is used furthest in the future). The pool
    has more registers than an instruction has operands; what they hold at a core's start is of no use. Values are not
    negative, nor so large that as many for each core have no numbers of 64 bits.

    ``forced`` [n] is what an instruction finds in the first register of the pool besides, -1 for nothing: a register
    that is at everybody's disposal in between, on cores where that helps. It is loaded even if it is 0. What makes room
    is no longer the best choice in all cases then, as only the next moment is known at which it has to be free.
    """
    count = value.shape[1]
    above = int(value.max(initial=0)) + 1
    if forced is not None and (forced >= 0).any():
        value = np.column_stack((np.where(forced >= 0, forced + above, 0), value))
    ahead = value.shape[1] - count
    row, operand = np.nonzero(_touches(value))
    is_first = operand < value.shape[1]
    operand %= value.shape[1]
    touched = value[row, operand].astype(np.int64)
    key = core[row] * (touched.max(initial=0) + 1) + touched
    order = np.argsort(key, kind="stable")
    changes = np.ones(len(row), np.bool_)
    changes[1:] = np.diff(key[order]) != 0
    number = np.empty(len(row), np.int64)
    number[order] = np.cumsum(changes) - 1
    following = np.full(len(row), NEVER)
    again = np.flatnonzero(~changes)
    following[order[again - 1]] = order[again]

    stop = np.flatnonzero(np.diff(core[row], append=-1)) + 1
    needs_first = is_first & (operand < ahead)
    forced_next = _next_forced(needs_first, stop)
    places, loaded = _replaced(number, following, forced_next, stop, len(pool))
    registers = np.array(pool, np.int64)[places]
    found = np.zeros(value.shape, np.int64)
    found[row, operand] = registers
    for later in range(1, value.shape[1]):
        for earlier in range(later):
            same = value[:, later] == value[:, earlier]
            found[same, later] = found[same, earlier]
    loads = np.where(operand[loaded] < ahead, touched[loaded] - above, touched[loaded])
    return Assignment(found[:, ahead:], row[loaded], registers[loaded], loads)


def _next_forced(needs_first: npt.NDArray[np.bool_], stop: I64) -> I64:
    """Of each touch the first one from it on, of its core, that needs the first register; `NEVER` if none does."""
    count = len(needs_first)
    if not needs_first.any():
        return np.full(count, NEVER)
    found = np.minimum.accumulate(np.where(needs_first, np.arange(count), NEVER)[::-1])[::-1]
    end = np.repeat(stop, np.diff(stop, prepend=0))
    return np.where(found < end, found, NEVER)


def _touches(value: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """[n, 2 * operands]: each different value once, and all but the last a second time.

    The second time keeps a value from making room for another one of its own instruction.
    """
    first = value != 0
    for later in range(1, value.shape[1]):
        for earlier in range(later):
            first[:, later] &= value[:, later] != value[:, earlier]
    more = np.cumsum(first[:, ::-1], axis=1)[:, ::-1] > 1
    return np.concatenate([first, first & more], axis=1)


def _replaced(number: I64, following: I64, forced: I64, stop: I64, count: int) -> tuple[I64, I64]:
    """The place of each touch among ``count`` registers, and the touches that load one. ``stop`` is each core's end.

    On cores with values that have to be in the first register that is kept for them, or shared, whatever loads less.
    """
    touched = forced != NEVER
    begin = np.append(0, stop[:-1])[: len(stop)]
    has = np.add.reduceat(touched, begin) > 0 if len(stop) else np.zeros(0, np.bool_)
    shared = _run(number, following, forced, stop, np.zeros(len(stop), np.int64), count)
    if not has.any():
        return shared
    apart = _run(number, following, forced, stop, has.astype(np.int64), count)
    loads = [np.diff(np.searchsorted(loaded, np.append(begin, stop[-1:]))) for _, loaded in (shared, apart)]
    worse = np.repeat(loads[1] < loads[0], stop - begin)
    kept = [loaded[worse[loaded] == is_apart] for is_apart, (_, loaded) in enumerate((shared, apart))]
    return np.where(worse, apart[0], shared[0]), np.sort(np.concatenate(kept))


def _run(number: I64, following: I64, forced: I64, stop: I64, apart: I64, count: int) -> tuple[I64, I64]:
    values = int(number.max(initial=-1)) + 1
    columns = (number, following, forced, stop, apart)
    sizes, begins = (count, count, values + 1, len(number), len(number)), (NEVER, values, -1, 0, 0)
    state = [np.full(size, begin, np.int64) for size, begin in zip(sizes, begins, strict=True)]
    if len(number) >= WORTH_COMPILING and can_compile():
        loads = REPLACEMENT.run(Facts(count), columns, state, len(stop))
        return state[3], state[4][:loads]
    lists = State(*(column.tolist() for column in state))
    loads = run(Facts(count), Code(*(column.tolist() for column in columns)), lists, len(stop))
    return np.array(lists.place, np.int64), np.array(lists.load[:loads], np.int64)
