"""Groups that choose their cores one after the other: the loop of :mod:`.core_packing`, to be compiled."""

from __future__ import annotations

from typing import NamedTuple

from ..support.kernel_columns import Numbers

NONE = -1

LOAD = 20
"""Cycles of a core's load, whenever they are, that count as one cycle of collision. More keeps apart what is expected
to run at the same time, less spreads the load, since times are only expected. (+1.1 %, +2.2 %)"""


class Facts(NamedTuple):
    """Numbers of the machine, and of the periods."""

    cores: int
    periods: int
    memory: int
    """Bytes of a core."""


class Code(NamedTuple):
    """n groups, as they are in `Groups`."""

    order: Numbers
    """[n] the groups in the order in which they choose."""
    busy: Numbers
    """[n, periods]"""
    begin: Numbers
    """[n] the first period in which each group is busy,"""
    end: Numbers
    """and the first one behind the last."""
    work: Numbers
    """[n] sums of `busy`."""
    memory: Numbers
    """[n, periods]"""
    peak: Numbers
    """[n] the most of `memory`."""
    scratch: Numbers
    arrays: Numbers
    batch: Numbers


class State(NamedTuple):
    """What cores hold so far."""

    home: Numbers
    """[n] the core of each group."""
    busy: Numbers
    """[cores, periods]"""
    memory: Numbers
    """[cores, periods]"""
    load: Numbers
    """[cores] sums of `busy`."""
    scratch: Numbers
    """[cores] the most of any group."""
    free: Numbers
    """[cores] arrays."""
    holds: Numbers
    """[batches, cores] whether a replica of the batch is there."""


def run(facts: Facts, code: Code, state: State, groups: int) -> int:
    """Gives each group a core; returns the first group that fits none, or `NONE`."""
    highest = 0
    scratch = 0
    for number in range(groups):
        group = code.order[number]
        scratch = max(scratch, code.scratch[group])
        # Mostly there is room even if what cores hold is at its most at the same time.
        crowded = 1 if highest + code.peak[group] + scratch > facts.memory else 0
        core = best_core(facts, code, state, group, 1, crowded)
        if core == NONE:
            core = best_core(facts, code, state, group, 0, crowded)
        if core == NONE:
            return group
        state.home[group] = core
        highest = max(highest, settle(facts, code, state, group, core))
    return NONE


def best_core(facts: Facts, code: Code, state: State, group: int, alone: int, crowded: int) -> int:
    """Of the cores with room for the arrays, and, if it is to be ``alone``, without a replica of the same batch: of
    those that are overfull by least, the one where the group loses least; `NONE` if there is none."""
    found = NONE
    least_excess = 0
    least_lost = 0
    for core in range(facts.cores):
        if state.free[core] < code.arrays[group]:
            continue
        if alone and state.holds[code.batch[group] * facts.cores + core]:
            continue
        over = excess(facts, code, state, group, core) if crowded else 0
        if found != NONE and over > least_excess:
            continue
        loses = lost(facts, code, state, group, core)
        if found == NONE or over < least_excess or loses < least_lost:
            found = core
            least_excess = over
            least_lost = loses
    return found


def lost(facts: Facts, code: Code, state: State, group: int, core: int) -> int:
    """What a group loses on a core by collisions, and counts its load."""
    mine = group * facts.periods
    there = core * facts.periods
    collisions = 0
    period = code.begin[group]
    while period < code.end[group]:
        collisions += code.busy[mine + period] * state.busy[there + period]
        period += 1
    return LOAD * facts.periods * collisions + state.load[core] * code.work[group]


def excess(facts: Facts, code: Code, state: State, group: int, core: int) -> int:
    """Bytes that are missing on a core if a group comes too."""
    mine = group * facts.periods
    there = core * facts.periods
    most = 0
    for period in range(facts.periods):
        most = max(most, state.memory[there + period] + code.memory[mine + period])
    return max(0, most + max(state.scratch[core], code.scratch[group]) - facts.memory)


def settle(facts: Facts, code: Code, state: State, group: int, core: int) -> int:
    """A group is on a core for good; the most that its rows and those of others take there."""
    mine = group * facts.periods
    there = core * facts.periods
    most = 0
    for period in range(facts.periods):
        state.busy[there + period] += code.busy[mine + period]
        state.memory[there + period] += code.memory[mine + period]
        most = max(most, state.memory[there + period])
    state.load[core] += code.work[group]
    state.scratch[core] = max(state.scratch[core], code.scratch[group])
    state.free[core] -= code.arrays[group]
    state.holds[code.batch[group] * facts.cores + core] = 1
    return most
