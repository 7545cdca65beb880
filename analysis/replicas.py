"""How many replicas layers get: the arrays that are left when each has one are dealt to those that they serve most.

The next ones go to the layer where they lower

    sum over layers of  (cycles of its busiest core) ^ sharpness

most per array. A sharpness of 1 is right if layers run one after the other, a large one if all run at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

WORTH = 0.02
"""Share of the sum that replicas make small which has to be gained for replicas of other layers to be taken back. Less
exchanges them for next to nothing. (-0.9 % with 0, no difference with 0.05)"""


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


class Terms(NamedTuple):
    """What replicas are dealt by."""

    cores: int
    arrays_per_core: int
    enough: float
    """Cycles of its busiest core from which on a layer gets more."""
    sharpness: float
    """Of the sum that replicas make small: how much more a core counts that is busier than others."""


def deal_replicas(layers: Sequence[Layer], options: Sequence[int], budget: int, terms: Terms) -> list[Choice]:
    """What each layer gets of ``budget`` arrays, as it is laid out by its option, so that all parts can be packed."""
    choices = _replicate(layers, options, budget, terms)
    if fits(layers, choices, terms.cores, terms.arrays_per_core):
        return _on_free_cores(layers, choices, terms)
    return _replicate_while_fits(layers, options, budget, terms)


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


def arrays_of(layers: Sequence[Layer], options: Sequence[int]) -> int:
    """Arrays of one replica of each layer."""
    return sum(layer.options[option].arrays for layer, option in zip(layers, options, strict=True))


def busiest_cycles(layer: Layer, choice: Choice) -> float:
    """Cycles that a sample keeps the layer's busiest core busy."""
    return float(-(-layer.rows // choice.replicas) * layer.options[choice.option].row_cycles)


def _replicate(layers: Sequence[Layer], options: Sequence[int], budget: int, terms: Terms) -> list[Choice]:
    """Deals the rest of the budget."""
    choices = [Choice(1, option) for option in options]
    left = _deal(layers, choices, budget - arrays_of(layers, options), terms)
    return _exchanged(layers, choices, left, terms)


def _on_free_cores(layers: Sequence[Layer], choices: list[Choice], terms: Terms) -> list[Choice]:
    """With more replicas, beyond any budget, as long as there is a core for each part: then nothing is to be packed."""
    taken = [
        layer.options[choice.option].parts * choice.replicas for layer, choice in zip(layers, choices, strict=True)
    ]
    _deal(layers, choices, terms.cores - sum(taken), terms, whole_cores=True)
    return choices


def _deal(layers: Sequence[Layer], choices: list[Choice], left: int, terms: Terms, whole_cores: bool = False) -> int:
    """Gives ``left`` arrays to replicas, or cores, each to one of their parts; how many are left then."""
    while True:
        best, best_gain, price = None, 0.0, 0
        for index, (layer, choice) in enumerate(zip(layers, choices, strict=True)):
            option, more = layer.options[choice.option], _next(layer, choice, terms.cores)
            added = more.replicas - choice.replicas
            size = added * (option.parts if whole_cores else option.arrays)
            if added and size <= left and busiest_cycles(layer, choice) > terms.enough:
                gain = _gain(layer, choice, more, terms)
                if gain > best_gain:
                    best, best_gain, price = index, gain, size
        if best is None:
            return left
        choices[best] = _next(layers[best], choices[best], terms.cores)
        left -= price


def _exchanged(layers: Sequence[Layer], choices: list[Choice], left: int, terms: Terms) -> list[Choice]:
    """With replicas of others taken back for those of the layer that works longest, if that gains much in all: dealt
    one by one, the last arrays go to small replicas, until they do not suffice for a large one any more."""
    busiest = max(range(len(layers)), key=lambda index: busiest_cycles(layers[index], choices[index]), default=None)
    if busiest is None or busiest_cycles(layers[busiest], choices[busiest]) <= terms.enough:
        return choices
    found = list(choices)
    found[busiest] = _next(layers[busiest], choices[busiest], terms.cores)
    option = layers[busiest].options[choices[busiest].option]
    left -= (found[busiest].replicas - choices[busiest].replicas) * option.arrays
    while left < 0:
        losses = [
            (_gain(layers[index], fewer, choice, terms), index, fewer)
            for index, choice in enumerate(found)
            if index != busiest and (fewer := _previous(layers[index], choice)) != choice
        ]
        if not losses:
            return choices
        _, index, fewer = min(losses)
        left += (found[index].replicas - fewer.replicas) * layers[index].options[fewer.option].arrays
        found[index] = fewer
    _deal(layers, found, left, terms)
    return found if _cost(layers, found, terms) < (1 - WORTH) * _cost(layers, choices, terms) else choices


def _replicate_while_fits(layers: Sequence[Layer], options: Sequence[int], budget: int, terms: Terms) -> list[Choice]:
    """Deals as much of the budget as can still be packed, by bisection; at worst one replica of each layer."""
    low = arrays_of(layers, options)
    found = [Choice(1, option) for option in options]
    while budget - low > terms.cores:
        middle = (low + budget) // 2
        choices = _replicate(layers, options, middle, terms)
        if fits(layers, choices, terms.cores, terms.arrays_per_core):
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


def _gain(layer: Layer, choice: Choice, more: Choice, terms: Terms) -> float:
    """By how much more replicas lower the sum, for each array that they take."""
    arrays = (more.replicas - choice.replicas) * layer.options[choice.option].arrays
    before, after = (busiest_cycles(layer, one) ** terms.sharpness for one in (choice, more))
    return (before - after) / arrays


def _cost(layers: Sequence[Layer], choices: Sequence[Choice], terms: Terms) -> float:
    """The sum that replicas are to make small."""
    return sum(busiest_cycles(*pair) ** terms.sharpness for pair in zip(layers, choices, strict=True))
