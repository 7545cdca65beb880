"""How many replicas each layer with weights gets and how each is laid over cores, for the least latency of one sample.

Cores hold several layers, which are busy at different times, so that what layers share is the chip's time and its
arrays. Were all cores always busy, a sample would take the work of all layers divided by the cores; and however many
cores there are, it has to pass through one layer after the other. The time of a sample is taken to be

    sum over layers of  work / (BUSY x cores) + latency of a row,

which each layer can minimise by itself: more parts of a replica make its rows come sooner, but each part has messages
to handle and sums to be added. If the arrays do not suffice, a layer also pays for the arrays that it takes, the lowest
price at which one replica of each fits.

The arrays that are left go to replicas, so that no layer holds up the others: the next one always to the layer where
it lowers

    sum over layers of  (cycles of its busiest core) ^ SHARPNESS

most per array.

Of several samples in flight, what counts is the time from one to the next: at least the work of all layers divided by
the cores, and at least that of the busiest core. Work weighs as often as there are samples, since a layer's rows are
those of all of them; or once, if that makes the busiest core quicker, as where arrays do not suffice for replicas. A
layer whose busiest core does the share `ENOUGH` of all work divided by the cores gets no more replicas, which would
only take memory and messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .core_packing import LARGE

BUSY = 0.3
"""The share of the chip's time that a sample makes use of, measured on schedules of convolutional networks."""

SHARPNESS = 1.5
"""Between 1, as if layers ran one after the other, and infinity, as if all ran at the same time."""

ENOUGH = 0.5
"""The share of the work of a core that one replica may be, of several samples in flight, as measured."""

FILL = (0.8, 0.9, 0.97, 1.0)
"""Shares of the arrays to try, in this order. Where groups of arrays are large, not all of a full chip can be used;
groups of one array fill it."""

SPARE = 0.04
"""Of the arrays, what is to be left for replicas; else more of the chip is used."""

WORTH = 0.02
"""Of the sum that replicas are to make small, what has to be gained for replicas of other layers to be taken back."""

MOST_OF_CORE = (1.0, 0.5, 0.25, 0.125)

PRICES = (0.0, *(float(1 << power) for power in range(24)))
"""Cycles that an array may cost, ascending."""


@dataclass(frozen=True)
class Option:
    """One way to lay a replica of a layer on cores."""

    parts: int
    """Cores that a replica takes."""
    part_arrays: int
    """Arrays of the largest part."""
    row_cycles: int
    """That one row keeps the busiest of these cores busy, with its messages."""
    work_cycles: int
    """Of one row on all cores."""
    latency_cycles: int
    """From the input of a row until it is where the next layer reads it."""

    @property
    def arrays(self) -> int:
        return self.parts * self.part_arrays


@dataclass(frozen=True)
class Layer:
    """A layer with weights."""

    name: str
    rows: int
    """Rows that replicas can share."""
    options: tuple[Option, ...]


class Choice(NamedTuple):
    """What one layer gets."""

    replicas: int
    option: int


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

    Where parts of one layer fill cores that have little to do then, and others crowd on the rest, parts get smaller.
    """
    found: list[tuple[float, list[Choice]]] = []
    for most in MOST_OF_CORE:
        smaller = [_without_large(layer, int(most * arrays_per_core)) for layer in layers]
        choices = _allocate_all(smaller, cores, arrays_per_core, samples, weight)
        if choices is None:
            continue
        choices = [_renamed(choice, *pair) for choice, *pair in zip(choices, smaller, layers, strict=True)]
        spread = _work(layers, [one.option for one in choices]) / (BUSY * cores)
        crowded = _most_crowded(layers, choices, cores, arrays_per_core)
        latency = sum(layer.options[one.option].latency_cycles for layer, one in zip(layers, choices, strict=True))
        found.append((max(spread, crowded) + latency, choices))
        if crowded <= spread:
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
        (layer.options[choice.option].part_arrays, _busiest(layer, choice))
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
            if budget - _arrays(layers, options) >= SPARE * cores * arrays_per_core:
                break
    if found is None:
        return None
    budget, options = found
    if all(layer.options[option].part_arrays == 1 for layer, option in zip(layers, options, strict=True)):
        budget = cores * arrays_per_core
    enough = ENOUGH * _work(layers, options) / cores if samples > 1 else 0.0
    choices = _replicate(layers, options, cores, budget, enough)
    if fits(layers, choices, cores, arrays_per_core):
        return _on_free_cores(layers, choices, cores, enough)
    return _replicate_while_fits(layers, options, cores, arrays_per_core, budget, enough)


def _interval(layers: Sequence[Layer], choices: Sequence[Choice], cores: int) -> float:
    """Cycles that all samples take at least: of the busiest core, and of all cores if they are all busy."""
    return max(max(map(_busiest, layers, choices), default=0.0), _work(layers, [one.option for one in choices]) / cores)


def fits(layers: Sequence[Layer], choices: Sequence[Choice], cores: int, arrays_per_core: int) -> bool:
    """Whether all parts are packed into cores, the largest first, each into the fullest core that has room for it."""
    sizes: dict[int, int] = {}
    for layer, choice in zip(layers, choices, strict=True):
        option = layer.options[choice.option]
        sizes[option.part_arrays] = sizes.get(option.part_arrays, 0) + choice.replicas * option.parts
    free = [cores if room == arrays_per_core else 0 for room in range(arrays_per_core + 1)]
    for size in sorted(sizes, reverse=True):
        left = sizes[size]
        for room in range(size, arrays_per_core + 1):
            taken = min(free[room] * (room // size), left)
            whole, rest = divmod(taken, room // size)
            free[room] -= whole + (rest > 0)
            free[room - room // size * size] += whole
            if rest:
                free[room - rest * size] += 1
            left -= taken
        if left:
            return False
    return True


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


def _arrays(layers: Sequence[Layer], options: Sequence[int]) -> int:
    """Arrays of one replica of each layer."""
    return sum(layer.options[option].arrays for layer, option in zip(layers, options, strict=True))


def _work(layers: Sequence[Layer], options: Sequence[int]) -> int:
    """Cycles of all layers on all cores."""
    return sum(layer.rows * layer.options[option].work_cycles for layer, option in zip(layers, options, strict=True))


def _replicate(layers: Sequence[Layer], options: Sequence[int], cores: int, budget: int, enough: float) -> list[Choice]:
    """Deals the rest of the budget, to layers whose busiest core does more than ``enough`` cycles."""
    choices = [Choice(1, option) for option in options]
    left = budget - _arrays(layers, options)
    left = _deal(layers, choices, cores, left, enough)
    return _exchanged(layers, choices, cores, left, enough)


def _on_free_cores(layers: Sequence[Layer], choices: list[Choice], cores: int, enough: float) -> list[Choice]:
    """With more replicas, beyond any budget, as long as there is a core for each part: then nothing is to be packed."""
    left = cores - sum(
        layer.options[choice.option].parts * choice.replicas for layer, choice in zip(layers, choices, strict=True)
    )
    _deal(layers, choices, cores, left, enough, whole_cores=True)
    return choices


def _deal(
    layers: Sequence[Layer], choices: list[Choice], cores: int, left: int, enough: float, whole_cores: bool = False
) -> int:
    """Gives ``left`` arrays to replicas, or cores, each to one of their parts; how many are left then."""
    while True:
        best, best_gain, price = None, 0.0, 0
        for index, (layer, choice) in enumerate(zip(layers, choices, strict=True)):
            option, more = layer.options[choice.option], _next(layer, choice, cores)
            added = more.replicas - choice.replicas
            size = added * (option.parts if whole_cores else option.arrays)
            if added and size <= left and _busiest(layer, choice) > enough:
                gain = _busiest(layer, choice) ** SHARPNESS - _busiest(layer, more) ** SHARPNESS
                if gain / (added * option.arrays) > best_gain:
                    best, best_gain, price = index, gain / (added * option.arrays), size
        if best is None:
            return left
        choices[best] = _next(layers[best], choices[best], cores)
        left -= price


def _exchanged(layers: Sequence[Layer], choices: list[Choice], cores: int, left: int, enough: float) -> list[Choice]:
    """With replicas of others taken back for those of the layer that works longest, if that gains much in all: dealt
    one by one, the last arrays go to small replicas, until they do not suffice for a large one any more."""
    busiest = max(range(len(layers)), key=lambda index: _busiest(layers[index], choices[index]), default=None)
    if busiest is None or _busiest(layers[busiest], choices[busiest]) <= enough:
        return choices
    found = list(choices)
    found[busiest] = _next(layers[busiest], choices[busiest], cores)
    left -= (found[busiest].replicas - choices[busiest].replicas) * layers[busiest].options[
        found[busiest].option
    ].arrays
    while left < 0:
        steps = [
            (_loss(layers[index], choice, fewer), index, fewer)
            for index, choice in enumerate(found)
            if index != busiest and (fewer := _previous(layers[index], choice)) != choice
        ]
        if not steps:
            return choices
        _, index, fewer = min(steps)
        left += (found[index].replicas - fewer.replicas) * layers[index].options[fewer.option].arrays
        found[index] = fewer
    _deal(layers, found, cores, left, enough)
    return found if _cost(layers, found) < (1 - WORTH) * _cost(layers, choices) else choices


def _replicate_while_fits(
    layers: Sequence[Layer], options: Sequence[int], cores: int, arrays_per_core: int, budget: int, enough: float
) -> list[Choice]:
    """Deals as much of the budget as can still be packed, by bisection; at worst one replica of each layer."""
    low = _arrays(layers, options)
    found = [Choice(1, option) for option in options]
    while budget - low > cores:
        middle = (low + budget) // 2
        choices = _replicate(layers, options, cores, middle, enough)
        if fits(layers, choices, cores, arrays_per_core):
            found, low = choices, middle
        else:
            budget = middle
    return found


def _next(layer: Layer, choice: Choice, cores: int) -> Choice:
    """With as many more replicas as it takes to leave the busiest with one row less; as it is if there are no more."""
    rows = -(-layer.rows // choice.replicas)
    replicas = -(-layer.rows // (rows - 1)) if rows > 1 else choice.replicas
    return choice._replace(replicas=replicas) if replicas * layer.options[choice.option].parts <= cores else choice


def _previous(layer: Layer, choice: Choice) -> Choice:
    """With one replica less, or as many less as do as well; as it is if there is but one."""
    if choice.replicas == 1:
        return choice
    rows = -(-layer.rows // (choice.replicas - 1))
    return choice._replace(replicas=-(-layer.rows // rows))


def _loss(layer: Layer, choice: Choice, fewer: Choice) -> float:
    """For each array that is taken back."""
    arrays = (choice.replicas - fewer.replicas) * layer.options[choice.option].arrays
    return (_busiest(layer, fewer) ** SHARPNESS - _busiest(layer, choice) ** SHARPNESS) / max(1, arrays)


def _cost(layers: Sequence[Layer], choices: Sequence[Choice]) -> float:
    """What replicas are to make small."""
    return sum(_busiest(layer, choice) ** SHARPNESS for layer, choice in zip(layers, choices, strict=True))


def _busiest(layer: Layer, choice: Choice) -> float:
    """Cycles that a sample keeps the layer's busiest core busy."""
    return float(-(-layer.rows // choice.replicas) * layer.options[choice.option].row_cycles)
