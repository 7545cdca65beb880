"""How many replicas each layer with weights gets and how each is laid over cores, for the least latency of one sample.

Cores hold several layers, which are busy at different times, so that what layers share is the chip's time and its
arrays. Were all cores always busy, a sample would take the work of all layers divided by the cores; and however many
cores there are, it has to pass through one layer after the other. The time of a sample is taken to be

    sum over layers of  work / (BUSY x cores) + latency of a row,

which each layer can minimise by itself: more parts of a replica make its rows come sooner, but each part has messages
to handle and sums to be added. If the arrays do not suffice, a layer also pays for the arrays that it takes, the lowest
price at which one replica of each fits.

The arrays that are left go to replicas, so that no layer holds up the others (:mod:`.replicas`).

Of several samples in flight, what counts is the time from one to the next: at least the work of all layers divided by
the cores, and at least that of the busiest core. Work weighs as often as there are samples, since a layer's rows are
those of all of them; or once, if that makes the busiest core quicker, as where arrays do not suffice for replicas. A
layer whose busiest core does the share `ENOUGH` of all work divided by the cores gets no more replicas, which would
only take memory and messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .core_packing import LARGE
from .replicas import Choice, Layer, Terms, arrays_of, busiest_cycles, deal_replicas, fits

BUSY = 0.3
"""Share of the chip's time that a sample makes use of, as measured on schedules of convolutional networks. More lets
layers take parts whose rows come soon for more work in all; less saves work. (+4.5 %, +1.1 %)"""

SHARPNESS = 1.5
"""Exponent of the cycles of a layer's busiest core in the sum that replicas make small: between 1, as if layers ran one
after the other, and infinity, as if all ran at the same time. More gives replicas to the layer that works longest, less
to those that need few arrays for one. (+1.7 % with 1.0, -0.3 % with 3.0)"""

SHARPER = 5.0
"""The same exponent where each part has a core of its own, which nobody else makes use of while the layer is idle."""

ENOUGH = 0.5
"""The share of the work of a core that one replica may be, of several samples in flight, as measured."""

FILL = (0.8, 0.9, 0.97, 1.0)
"""Shares of the arrays to try, in this order. Where groups of arrays are large, not all of a full chip can be used;
groups of one array fill it."""

SPARE = 0.04
"""Share of the chip's arrays that is to be left for replicas; else the next one of `FILL` is tried. (no difference)"""

MOST_OF_CORE = (1.0, 0.5, 0.25, 0.125)
"""Shares of a core's arrays that one part may take, in the order in which they are tried."""

EVEN = 1.5
"""The work of the busiest core, as a multiple of that of a core on average, up to which parts do not get smaller. Less
makes smaller parts, which are more messages; more leaves cores crowded. (no difference with 1.2 and 3.0)"""

PRICES = (0.0, *(float(1 << power) for power in range(24)))
"""Cycles that an array may cost, ascending."""


class InfeasibleError(Exception):
    """One copy of the weights does not fit: ``needs`` are (layer, arrays), greatest first."""

    def __init__(self, layers: Sequence[Layer], cores: int, arrays_per_core: int) -> None:
        least = [(layer.name, min(option.arrays for option in layer.options)) for layer in layers]
        self.needs = sorted(least, key=lambda need: -need[1])
        self.arrays_needed = sum(arrays for _, arrays in least)
        available = cores * arrays_per_core
        reason = (
            "" if self.arrays_needed > available else ", and no way was found to pack the parts of layers into cores"
        )
        top = ", ".join(f"{name} {arrays}" for name, arrays in self.needs[:5])
        super().__init__(
            f"the layers need {self.arrays_needed} arrays, the machine has {available} "
            f"({cores} cores of {arrays_per_core}){reason}; most need: {top}"
        )


def allocate_for_latency(layers: Sequence[Layer], cores: int, arrays_per_core: int, samples: int = 1) -> list[Choice]:
    """What each layer gets; with several ``samples``, for the least time from one to the next.

    Raises InfeasibleError if one replica of each is not found to fit.
    """
    found = [
        choices
        for weight in dict.fromkeys((samples, 1))
        if (choices := _allocate(layers, cores, arrays_per_core, samples, weight)) is not None
    ]
    if not found:
        raise InfeasibleError(layers, cores, arrays_per_core)
    return min(found, key=lambda choices: _interval(layers, choices, cores))


def _allocate(
    layers: Sequence[Layer], cores: int, arrays_per_core: int, samples: int, weight: int
) -> list[Choice] | None:
    """What each layer gets if work weighs as that of ``weight`` of the ``samples``; None if nothing is found to fit.

    Where parts of one layer fill cores that have little to do then, and others crowd on the rest, parts get smaller: if
    what all cores, the busiest one and one row take is less in all.
    """
    found: list[tuple[float, list[Choice]]] = []
    for most in MOST_OF_CORE:
        smaller = [_without_large(layer, int(most * arrays_per_core)) for layer in layers]
        choices = _allocate_all(smaller, cores, arrays_per_core, samples, weight)
        if choices is None:
            continue
        choices = [_renamed(choice, *pair) for choice, *pair in zip(choices, smaller, layers, strict=True)]
        spread = _work(layers, [one.option for one in choices]) / cores
        crowded = _most_crowded(layers, choices, cores, arrays_per_core)
        latency = sum(layer.options[one.option].latency_cycles for layer, one in zip(layers, choices, strict=True))
        found.append((spread + crowded + latency, choices))
        if crowded <= EVEN * spread:
            break
    return min(found, key=lambda one: one[0])[1] if found else None


def _without_large(layer: Layer, most: int) -> Layer:
    """With the options of ``most`` arrays in a part at most; or with those of the smallest parts."""
    least = min(option.part_arrays for option in layer.options)
    return replace(layer, options=tuple(option for option in layer.options if option.part_arrays <= max(least, most)))


def _renamed(choice: Choice, mine: Layer, layer: Layer) -> Choice:
    return choice._replace(option=layer.options.index(mine.options[choice.option]))


def _most_crowded(layers: Sequence[Layer], choices: Sequence[Choice], cores: int, arrays_per_core: int) -> float:
    """Cycles of the busiest core if each part goes where there is least to do, as far as there is room."""
    parts = [
        (layer.options[choice.option].part_arrays, busiest_cycles(layer, choice))
        for layer, choice in zip(layers, choices, strict=True)
        for _ in range(choice.replicas * layer.options[choice.option].parts)
    ]
    load, free = np.zeros(cores), np.full(cores, arrays_per_core)
    large = arrays_per_core * LARGE
    for arrays, cycles in sorted(parts, key=lambda part: (part[0] <= large, -part[0] * (part[0] > large), -part[1])):
        core = int(np.where(free >= arrays, load, np.inf).argmin())
        if free[core] < arrays:
            return float("inf")
        load[core] += cycles
        free[core] -= arrays
    return float(load.max())


def _allocate_all(
    layers: Sequence[Layer], cores: int, arrays_per_core: int, samples: int, weight: int
) -> list[Choice] | None:
    found: tuple[int, list[int]] | None = None
    for share in FILL:
        if found is not None and share == FILL[-1]:
            break  # a chip that is full to the last array is the last resort
        budget = int(share * cores * arrays_per_core)
        options = _options(layers, cores, arrays_per_core, budget, weight / samples)
        if options is not None:
            found = budget, options
            if budget - arrays_of(layers, options) >= SPARE * cores * arrays_per_core:
                break
    if found is None:
        return None
    budget, options = found
    if all(layer.options[option].part_arrays == 1 for layer, option in zip(layers, options, strict=True)):
        budget = cores * arrays_per_core
    enough = ENOUGH * _work(layers, options) / cores if samples > 1 else 0.0
    choices = deal_replicas(layers, options, budget, Terms(cores, arrays_per_core, enough, SHARPNESS))
    if sum(layer.options[one.option].parts * one.replicas for layer, one in zip(layers, choices, strict=True)) > cores:
        return choices
    return deal_replicas(layers, options, budget, Terms(cores, arrays_per_core, enough, SHARPER))


def _interval(layers: Sequence[Layer], choices: Sequence[Choice], cores: int) -> float:
    """Cycles that all samples take at least: of the busiest core, and of all cores if they are all busy."""
    return max(
        max(map(busiest_cycles, layers, choices), default=0.0), _work(layers, [one.option for one in choices]) / cores
    )


def validate_choices(layers: Sequence[Layer], choices: Sequence[Choice], cores: int, arrays_per_core: int) -> list[str]:
    """Lists what is wrong with an allocation, in words. Shares nothing with the planner."""
    found: list[str] = []
    used = 0
    for layer, choice in zip(layers, choices, strict=True):
        if not 1 <= choice.replicas <= layer.rows:
            found.append(f"{layer.name} has {choice.replicas} replicas for {layer.rows} rows")
        if not 0 <= choice.option < len(layer.options):
            found.append(f"{layer.name} has option {choice.option} of {len(layer.options)}")
            continue
        option = layer.options[choice.option]
        if option.part_arrays > arrays_per_core:
            found.append(f"{layer.name} has parts of {option.part_arrays} arrays")
        used += choice.replicas * option.parts * option.part_arrays
    if used > cores * arrays_per_core:
        found.append(f"{used} arrays are dealt of {cores * arrays_per_core}")
    return found


def _options(layers: Sequence[Layer], cores: int, arrays_per_core: int, budget: int, weight: float) -> list[int] | None:
    """The options at the lowest price at which one replica of each layer fits and is within the budget; or None."""
    usable = [
        [index for index, option in enumerate(layer.options) if option.part_arrays <= arrays_per_core]
        for layer in layers
    ]
    if not all(usable):
        return None
    for price in PRICES:
        options = [_cheapest(*pair, cores, price, weight) for pair in zip(layers, usable, strict=True)]
        if sum(layer.options[option].arrays for layer, option in zip(layers, options, strict=True)) <= budget and fits(
            layers, [Choice(1, option) for option in options], cores, arrays_per_core
        ):
            return options
    return None


def _cheapest(layer: Layer, usable: Sequence[int], cores: int, price: float, weight: float) -> int:
    def cost(index: int) -> float:
        option = layer.options[index]
        return weight * layer.rows * option.work_cycles / (BUSY * cores) + option.latency_cycles + price * option.arrays

    return min(usable, key=cost)


def _work(layers: Sequence[Layer], options: Sequence[int]) -> int:
    """Cycles of all layers on all cores."""
    return sum(layer.rows * layer.options[option].work_cycles for layer, option in zip(layers, options, strict=True))
