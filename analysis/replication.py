"""How many replicas of its weights each layer gets, and over how many cores each replica spreads.

A layer's rows of windows are shared by its replicas; a replica's arrays spread over parts, one core each. A layer then
keeps its cores busy for ``ceil(rows / replicas) * row_cycles(parts)``, and the slowest layer bounds the interval
between samples, and the latency of pipelined layers.

With at least as many cores as parts no core is shared, and the least bottleneck is found exactly: the cores that a
layer needs to stay within T cycles are a formula, so T is bisected. Cores left over go to whichever layer is then
slowest, by the step that saves most cycles per added core, a larger spread or more replicas.

With fewer cores, parts share cores and the budget is arrays. Parts are packed longest first onto the core of least
load that has room (LPT, Graham 1969); while packing anew with one layer of the busiest core changed lowers the cores'
loads, that change is made. This is local search, and not exact: on 143 random cases of 3 to 4 layers on two cores that
are nearly full it is 1.4 % above the optimum on average, 12 % at worst.

Not handled: the cycles of messages and of vector work, unless the caller adds them to ``row_cycles``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_GOOD_ENOUGH = 1.02
"""Bottleneck of shared cores, in lower bounds, at which the search stops."""

_FINER = 1.1
"""Bottleneck of shared cores, in lower bounds, above which the search starts again from finer parts."""


@dataclass(frozen=True)
class Spread:
    """One way to lay a replica of a layer on cores."""

    parts: int
    """Cores that a replica takes."""
    row_cycles: int
    """Cycles that one row of windows keeps the slowest of these cores busy."""
    part_arrays: int
    """Arrays of the largest part."""


@dataclass(frozen=True)
class Layer:
    """A layer with weights. Its spreads ascend in parts and descend strictly in cycles."""

    name: str
    rows: int
    """Rows of windows that replicas can share; at most so many replicas are of use."""
    arrays: int
    """Arrays of one copy of the weights."""
    spreads: tuple[Spread, ...]

    def __post_init__(self) -> None:
        assert self.rows > 0, f"{self.name}: a layer without windows"
        assert self.spreads, f"{self.name}: a layer that has no spread"
        parts, cycles = ([getattr(s, field) for s in self.spreads] for field in ("parts", "row_cycles"))
        assert parts == sorted(set(parts)), f"{self.name}: spreads must ascend in parts"
        assert cycles == sorted(set(cycles), reverse=True), f"{self.name}: a larger spread must be faster"

    @classmethod
    def grid(
        cls,
        name: str,
        *,
        rows: int,
        windows_per_row: int,
        slices: int,
        tiles: int,
        arrays_per_core: int,
        mvm_cycles: Callable[[int], int],
    ) -> Layer:
        """A layer of ``slices`` by ``tiles`` arrays that is cut into ranges of either; keeps the cuts that pay."""
        options: list[Spread] = []
        for height in range(1, slices + 1):
            for width in range(1, min(tiles, arrays_per_core // height) + 1):
                parts = -(-slices // height) * -(-tiles // width)
                options.append(Spread(parts, windows_per_row * height * mvm_cycles(width), height * width))
        options.sort(key=lambda spread: (spread.parts, spread.row_cycles, spread.part_arrays))
        kept: list[Spread] = []
        for spread in options:
            if not kept or spread.row_cycles < kept[-1].row_cycles:
                kept.append(spread)
        return cls(name, rows, slices * tiles, tuple(kept))

    def cycles(self, choice: Choice) -> int:
        """Cycles that a sample keeps the layer's slowest core busy."""
        return -(-self.rows // choice.replicas) * self.spreads[choice.spread].row_cycles

    def cores(self, choice: Choice) -> int:
        """Cores that all replicas take when none is shared."""
        return choice.replicas * self.spreads[choice.spread].parts


@dataclass(frozen=True, eq=False)
class Allocation:
    """What each of n layers gets."""

    replicas: Ints
    """[n] copies of the weights."""
    spread: Ints
    """[n] index into the layer's spreads."""
    home: tuple[Ints, ...]
    """For each layer [replicas, parts]: the logical core of each part."""
    core_cycles: Ints
    """[cores] cycles that a sample keeps each core busy."""

    @property
    def bottleneck_cycles(self) -> int:
        return int(self.core_cycles.max(initial=0))


class Choice(NamedTuple):
    """What one layer gets."""

    replicas: int
    spread: int


class InfeasibleError(Exception):
    """One copy of the weights does not fit: ``needs`` are (layer, arrays), greatest first."""

    def __init__(self, layers: Sequence[Layer], cores: int, arrays_per_core: int) -> None:
        self.needs = sorted(((layer.name, layer.arrays) for layer in layers), key=lambda need: -need[1])
        self.arrays_needed = sum(arrays for _, arrays in self.needs)
        self.arrays_available = cores * arrays_per_core
        reason = ""
        if self.arrays_needed <= self.arrays_available:
            reason = ", and no way was found to pack the parts of layers into cores"
        top = ", ".join(f"{name} {arrays}" for name, arrays in self.needs[:5])
        super().__init__(
            f"the layers need {self.arrays_needed} arrays, the machine has {self.arrays_available} "
            f"({cores} cores of {arrays_per_core}){reason}; most need: {top}"
        )


def allocate(layers: Sequence[Layer], cores: int, arrays_per_core: int, share: bool = False) -> Allocation:
    """Allocates ``cores`` of ``arrays_per_core`` arrays to the layers; raises InfeasibleError when they do not fit.

    Cores are shared where there are fewer than parts, and with ``share`` also where that gives a lesser bottleneck.
    """
    usable = [_fitting(layer, arrays_per_core) for layer in layers]
    if not all(usable) or sum(layer.arrays for layer in layers) > cores * arrays_per_core:
        raise InfeasibleError(layers, cores, arrays_per_core)
    found: list[Allocation] = []
    if sum(layer.spreads[spreads[0]].parts for layer, spreads in zip(layers, usable, strict=True)) <= cores:
        found.append(_allocate_apart(layers, usable, cores))
    if share or not found:
        found += _allocate_shared(layers, usable, cores, arrays_per_core)
    if not found:
        raise InfeasibleError(layers, cores, arrays_per_core)
    return min(found, key=lambda allocation: allocation.bottleneck_cycles)


def validate_allocation(layers: Sequence[Layer], allocation: Allocation, cores: int, arrays_per_core: int) -> list[str]:
    """Lists what is wrong with ``allocation``, in words; empty when it is valid. Shares nothing with the allocator."""
    faults: list[str] = []
    arrays = [0] * cores
    cycles = [0] * cores
    for number, layer in enumerate(layers):
        replicas, spread = int(allocation.replicas[number]), layer.spreads[int(allocation.spread[number])]
        if not 1 <= replicas <= layer.rows:
            faults.append(f"{layer.name} has {replicas} replicas for {layer.rows} rows")
            continue
        if allocation.home[number].shape != (replicas, spread.parts):
            faults.append(f"{layer.name} has {replicas} replicas of {spread.parts} parts, not as many homes")
        for core in allocation.home[number].reshape(-1).tolist():
            if not 0 <= core < cores:
                return [*faults, f"{layer.name} is on core {core} of {cores}"]
            arrays[core] += spread.part_arrays
            cycles[core] += -(-layer.rows // replicas) * spread.row_cycles
    faults += [
        f"core {core} holds {used} arrays of {arrays_per_core}"
        for core, used in enumerate(arrays)
        if used > arrays_per_core
    ]
    if cycles != allocation.core_cycles.tolist():
        faults.append("the cycles of the cores are not the sums of their parts")
    return faults


def _fitting(layer: Layer, arrays_per_core: int) -> list[int]:
    """The spreads of which every part fits a core."""
    return [index for index, spread in enumerate(layer.spreads) if spread.part_arrays <= arrays_per_core]


def _allocate_apart(layers: Sequence[Layer], usable: Sequence[Sequence[int]], cores: int) -> Allocation:
    """Every part on a core of its own; the least bottleneck, then the rest of the cores to the slowest layers."""
    low = 0
    high = max((layer.cycles(Choice(1, spreads[0])) for layer, spreads in zip(layers, usable, strict=True)), default=0)
    while low < high:  # the least T within which all layers fit
        middle = (low + high) // 2
        if sum(_fewest_cores(*pair, middle)[0] for pair in zip(layers, usable, strict=True)) <= cores:
            high = middle
        else:
            low = middle + 1
    choices = [_fewest_cores(*pair, high)[1] for pair in zip(layers, usable, strict=True)]
    _spend_rest(layers, usable, choices, cores)
    taken = [layer.cores(choice) for layer, choice in zip(layers, choices, strict=True)]
    homes = np.split(np.arange(sum(taken)), np.cumsum(taken)[:-1]) if taken else []
    core_cycles = np.zeros(cores, dtype=np.int64)
    for layer, choice, home in zip(layers, choices, homes, strict=True):
        core_cycles[home] = layer.cycles(choice)
    return _allocation(choices, homes, core_cycles)


def _allocation(choices: Sequence[Choice], homes: Sequence[Ints], core_cycles: Ints) -> Allocation:
    replicas, spread = np.array(choices, dtype=np.int64).reshape(-1, 2).T
    shaped = (home.reshape(choice.replicas, -1) for home, choice in zip(homes, choices, strict=True))
    return Allocation(replicas, spread, tuple(shaped), core_cycles)


def _fewest_cores(layer: Layer, usable: Sequence[int], limit: int) -> tuple[int, Choice]:
    """The fewest cores with which the layer takes at most ``limit`` cycles; more than any machine has if it cannot.

    Of equally cheap choices the fastest, then the smallest spread.
    """
    options: list[tuple[int, int, Choice]] = [(1 << 60, 0, Choice(0, 0))]
    for index in usable:
        row_cycles = layer.spreads[index].row_cycles
        rows_each = min(layer.rows, limit // row_cycles) if row_cycles else layer.rows
        if rows_each:
            choice = Choice(-(-layer.rows // rows_each), index)
            options.append((layer.cores(choice), layer.cycles(choice), choice))
    cores, _, choice = min(options)
    return cores, choice


def _spend_rest(layers: Sequence[Layer], usable: Sequence[Sequence[int]], choices: list[Choice], cores: int) -> None:
    """Gives the cores that are left to the slowest layer that can use them, step by step; changes ``choices``."""
    left = cores - sum(layer.cores(choice) for layer, choice in zip(layers, choices, strict=True))
    growing = set(range(len(layers)))
    while left and growing:
        slowest = max(growing, key=lambda number: (layers[number].cycles(choices[number]), -number))
        steps = [step for step in _steps(layers[slowest], usable[slowest], choices[slowest]) if step.cores <= left]
        if steps:
            choices[slowest] = steps[0].choice
            left -= steps[0].cores
        else:
            growing.remove(slowest)


class _Step(NamedTuple):
    """A way for a layer to grow."""

    cycles_per_core: Fraction
    """Cycles saved by each added core."""
    cores: int
    """Cores added."""
    choice: Choice


def _steps(layer: Layer, usable: Sequence[int], now: Choice) -> list[_Step]:
    """The fewest more replicas that help, and the next spread; the step that saves more per core first."""
    following = [Choice(now.replicas, index) for index in usable if index > now.spread][:1]
    if (rows_each := -(-layer.rows // now.replicas)) > 1:
        following.append(Choice(-(-layer.rows // (rows_each - 1)), now.spread))
    steps: list[_Step] = []
    for choice in following:
        added = layer.cores(choice) - layer.cores(now)
        steps.append(_Step(Fraction(layer.cycles(now) - layer.cycles(choice), added), added, choice))
    return sorted(steps, key=lambda step: (-step.cycles_per_core, step.cores))


def _allocate_shared(
    layers: Sequence[Layer], usable: Sequence[Sequence[int]], cores: int, arrays_per_core: int
) -> list[Allocation]:
    """Several parts on a core, searched from the coarsest parts; if that ends badly also from the finest.

    Fine parts pack better, but there are more of them to search and more partial sums to add.
    """
    found: list[Allocation] = []
    bound = _least_work(layers, usable) / cores
    for end in (0, -1):
        choices = [Choice(1, spreads[end]) for spreads in usable]
        packed = _pack(layers, choices, cores, arrays_per_core)
        if packed is None:
            continue
        while packed.bottleneck_cycles > _GOOD_ENOUGH * bound:
            changed = _relieve_busiest_core(layers, usable, choices, packed, arrays_per_core)
            if changed is None:
                break
            choices, packed = changed
        found.append(packed)
        if packed.bottleneck_cycles <= _FINER * bound:
            break
    return found


def _least_work(layers: Sequence[Layer], usable: Sequence[Sequence[int]]) -> int:
    """Cycles of all cores together that no allocation can do with less than."""
    return sum(
        layer.rows * min(layer.spreads[index].parts * layer.spreads[index].row_cycles for index in spreads)
        for layer, spreads in zip(layers, usable, strict=True)
    )


def _relieve_busiest_core(
    layers: Sequence[Layer],
    usable: Sequence[Sequence[int]],
    choices: list[Choice],
    packed: Allocation,
    arrays_per_core: int,
) -> tuple[list[Choice], Allocation] | None:
    """The first change of a layer on the busiest core, slowest layer first, that lowers the cores' cycles.

    Lower is lexicographic from the busiest core down, so that relieving one of two equally busy cores counts.
    """
    now = sorted(packed.core_cycles.tolist(), reverse=True)
    busiest = int(packed.core_cycles.argmax())
    on_it = [number for number in range(len(layers)) if (packed.home[number] == busiest).any()]
    for number in sorted(on_it, key=lambda number: (-layers[number].cycles(choices[number]), number)):
        for choice in _changes(layers[number], usable[number], choices[number]):
            changed = [*choices[:number], choice, *choices[number + 1 :]]
            found = _pack(layers, changed, len(now), arrays_per_core)
            if found is not None and sorted(found.core_cycles.tolist(), reverse=True) < now:
                return changed, found
    return None


def _changes(layer: Layer, usable: Sequence[int], now: Choice) -> list[Choice]:
    """All spreads with one replica, one fewer, as many, and as many more as help; least work of all cores first."""
    rows_each = -(-layer.rows // now.replicas)
    replicas = {1, max(1, now.replicas - 1), now.replicas, -(-layer.rows // max(1, rows_each - 1))}
    choices = {Choice(copies, spread) for copies in replicas for spread in usable} - {now}
    return sorted(
        choices, key=lambda choice: (layer.cycles(choice) * layer.cores(choice), layer.cycles(choice), choice)
    )


def _pack(layers: Sequence[Layer], choices: Sequence[Choice], cores: int, arrays_per_core: int) -> Allocation | None:
    """Packs all parts onto cores, longest first, and if that fails largest first; None when neither fits."""
    spreads = [layer.spreads[choice.spread] for layer, choice in zip(layers, choices, strict=True)]
    parts = [
        (layer.cycles(choice), spread.part_arrays, number, part)
        for number, (layer, choice, spread) in enumerate(zip(layers, choices, spreads, strict=True))
        for part in range(choice.replicas * spread.parts)
    ]
    longest_first = sorted(parts, key=lambda part: (-part[0], -part[1], part[2:]))
    largest_first = sorted(parts, key=lambda part: (-part[1], -part[0], part[2:]))
    for order in (longest_first, largest_first):
        free = np.full(cores, arrays_per_core)
        core_cycles = np.zeros(cores, dtype=np.int64)
        homes = [np.zeros(layer.cores(choice), dtype=np.int64) for layer, choice in zip(layers, choices, strict=True)]
        for cycles, arrays, number, part in order:
            room = np.flatnonzero(free >= arrays)
            if not room.size:
                break
            core = int(room[core_cycles[room].argmin()])
            free[core] -= arrays
            core_cycles[core] += cycles
            homes[number][part] = core
        else:
            return _allocation(choices, homes, core_cycles)
    return None
