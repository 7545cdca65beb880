"""Which core each replica of each batch lives on, when cores are shared by layers that are busy at different times.

A *group* is one replica of one batch: its weights are on one core for good. Given is when each group would be busy, and
what memory it would hold, if it had a core of its own. Groups that are busy at the same times would wait for each other
on one core; the cycles that a group would collide with what is on a core already,

    sum over periods of busy[core, period] x busy[group, period],

are what its earliest finish there loses. Groups with much work choose first, each the core where it loses least, among
those with room for its arrays and, if there are any, for its memory. On equal cores PEFT's optimistic cost is the same
everywhere (Arabnejad and Barbosa 2014, equation 3), so that this earliest finish is all there is to choose by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..support.arrays import Ints
from ..support.kernel_columns import as_arrays
from ..support.machine_code import Kernel, can_compile
from . import packing_kernel
from .packing_kernel import LOAD, NONE, Code, Facts, State

LARGE = 1 / 4
"""Share of a core's arrays from which on a group chooses before all smaller ones, since it finds no room later. Less
puts size before work for more groups, more may leave large ones without a core. (+1.3 %, +0.8 %)"""

SCALE = 1 << 16
"""What a group counts that is busy for a whole period. Sums of whole numbers are the same in any order."""

PACKING = Kernel("packing", (packing_kernel,), packing_kernel)

WORTH_COMPILING = 20_000
"""Groups times cores from which on loading llvmlite and the machine code takes less time than it saves."""


@dataclass(frozen=True, eq=False)
class Groups:
    """n groups over t periods of time."""

    busy: Ints
    """[n, t] the share of each period for which the group is busy, in parts of `SCALE`."""
    memory: Ints
    """[n, t] bytes that it holds."""
    scratch: Ints
    """[n] bytes that it needs while it is busy; groups on one core share them."""
    arrays: Ints
    """[n]"""
    batch: Ints
    """[n] of which batch it is a replica: replicas of one batch are to run at the same time, so on different cores."""


class NoRoomError(Exception):
    """A group fits no core any more."""

    def __init__(self, group: int) -> None:
        self.group = group
        super().__init__(f"group {group} fits no core")


def pack_groups(groups: Groups, cores: int, arrays_per_core: int, memory_per_core: int) -> Ints:
    """The core of each group [n]. Raises NoRoomError if the arrays do not fit; memory is exceeded if need be."""
    work = groups.busy.sum(axis=1)
    large = np.where(groups.arrays > LARGE * arrays_per_core, groups.arrays, 0)
    try:
        return _pack(groups, np.lexsort((-work, -large)), cores, arrays_per_core, memory_per_core)
    except NoRoomError:
        return _pack(groups, np.lexsort((-work, -groups.arrays)), cores, arrays_per_core, memory_per_core)


def validate_packing(groups: Groups, core: Ints, cores: int, arrays_per_core: int) -> list[str]:
    """Lists what is wrong with the cores of the groups, in words. Shares nothing with the planner."""
    found = [f"group {group} is on core {home} of {cores}" for group, home in enumerate(core) if not 0 <= home < cores]
    for home in range(cores):
        used = sum(int(groups.arrays[group]) for group in range(len(core)) if core[group] == home)
        if used > arrays_per_core:
            found.append(f"core {home} holds {used} arrays of {arrays_per_core}")
    return found


def _pack(groups: Groups, order: Ints, cores: int, arrays_per_core: int, memory_per_core: int) -> Ints:
    found = _compiled if len(order) * cores >= WORTH_COMPILING and can_compile() else _interpreted
    return found(groups, order, cores, arrays_per_core, memory_per_core)


def _compiled(groups: Groups, order: Ints, cores: int, arrays_per_core: int, memory_per_core: int) -> Ints:
    """The same as :func:`_interpreted`, as machine code."""
    count, periods = groups.busy.shape
    batches = int(groups.batch.max(initial=-1)) + 1
    some = groups.busy > 0
    begin = np.where(some.any(axis=1), some.argmax(axis=1), 0)
    end = np.where(some.any(axis=1), periods - some[:, ::-1].argmax(axis=1), 0)
    work, peak = groups.busy.sum(axis=1), groups.memory.max(axis=1, initial=0)
    columns = (order, groups.busy, begin, end, work, groups.memory, peak, groups.scratch, groups.arrays, groups.batch)
    code = Code(*as_arrays(columns))
    free = np.full(cores, arrays_per_core, np.int64)
    sizes = (count, cores * periods, cores * periods, cores, cores, batches * cores)
    home, busy, memory, load, scratch, holds = (np.zeros(size, np.int64) for size in sizes)
    state = State(*as_arrays((home, busy, memory, load, scratch, free, holds)))
    refused = PACKING.run(Facts(cores, periods, memory_per_core), code, state, count)
    if refused != NONE:
        raise NoRoomError(refused)
    return home


def _interpreted(groups: Groups, order: Ints, cores: int, arrays_per_core: int, memory_per_core: int) -> Ints:
    """Group by group, of which each looks at all cores at once."""
    periods = groups.busy.shape[1]
    home = np.zeros(len(groups.arrays), np.int64)
    busy, memory = np.zeros((cores, periods), np.int64), np.zeros((cores, periods), np.int64)
    load = np.zeros(cores, np.int64)  # the sum of busy
    highest, most_scratch = 0, 0
    scratch, free = np.zeros(cores, np.int64), np.full(cores, arrays_per_core)
    others = np.ones((int(groups.batch.max(initial=-1)) + 1, cores), np.bool_)  # of each batch: cores without it
    batches, arrays, scratches = groups.batch.tolist(), groups.arrays.tolist(), groups.scratch.tolist()
    works, peaks = groups.busy.sum(axis=1).tolist(), groups.memory.max(axis=1, initial=0).tolist()
    for group in order.tolist():
        mine, alone = groups.busy[group], others[batches[group]]
        fits = free >= arrays[group]
        choice = (fits & alone).nonzero()[0]
        if not len(choice):
            choice = fits.nonzero()[0]
            if not len(choice):
                raise NoRoomError(group)
        most_scratch = max(most_scratch, scratches[group])
        # Mostly there is room even if what cores hold is at its most at the same time.
        if highest + peaks[group] + most_scratch > memory_per_core:
            held = (memory[choice] + groups.memory[group]).max(axis=1, initial=0)
            excess = np.maximum(held + np.maximum(scratch[choice], scratches[group]) - memory_per_core, 0)
            choice = choice[excess == excess.min()]
        lost = LOAD * periods * (busy @ mine) + load * works[group]
        core = int(choice[lost[choice].argmin()])
        home[group] = core
        alone[core] = False
        busy[core] += mine
        memory[core] += groups.memory[group]
        load[core] += works[group]
        highest = max(highest, int(memory[core].max(initial=0)))
        scratch[core] = max(scratch[core], scratches[group])
        free[core] -= arrays[group]
    return home
