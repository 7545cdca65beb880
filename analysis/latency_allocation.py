"""How many replicas each layer gets and over how many cores each spreads, for the least latency of one sample.

In a pipeline of layers, a sample takes about as long as the busiest layer works, plus, layer after layer, the time
until the first rows have come through: one row of each layer. Replicas relieve a busy layer; spreading a replica over
more cores also makes its rows come sooner. Cores are dealt one step at a time to the layer and the step that lower

    J = (sum over layers of busy ^ p) ^ (1 / p) + sum over layers of row_cycles

most per core. The p-norm (p = 8) stands for the maximum: it also rewards relieving a layer that is only nearly the
busiest. When no step is left, single layers exchange what they have, and what is free, for something better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from .replication import Choice, Layer

SHARPNESS = 8

Step: TypeAlias = "tuple[int, Choice]"
"""A layer and what it gets instead."""

Candidates: TypeAlias = "Callable[[Layer, Choice, int], Iterator[Choice]]"
"""What a layer could get instead, with so many cores free."""


def allocate_for_latency(layers: Sequence[Layer], cores: int) -> list[Choice] | None:
    """What each layer gets when no two share a core; None if there are fewer cores than that takes."""
    choices = [Choice(1, 0) for _ in layers]
    free = cores - sum(layer.cores(choice) for layer, choice in zip(layers, choices, strict=True))
    if free < 0:
        return None
    while step := _best_step(layers, choices, free, _steps) or _best_step(layers, choices, free, _exchanges):
        index, choice = step
        free -= layers[index].cores(choice) - layers[index].cores(choices[index])
        choices[index] = choice
    return choices


def estimated_latency(layers: Sequence[Layer], choices: Sequence[Choice]) -> float:
    """J of the docstring, in cycles."""
    busy = np.array([layer.cycles(choice) for layer, choice in zip(layers, choices, strict=True)], np.float64)
    rows = sum(layer.spreads[choice.spread].row_cycles for layer, choice in zip(layers, choices, strict=True))
    return _norm(busy) + float(rows)


def _best_step(layers: Sequence[Layer], choices: Sequence[Choice], free: int, candidates: Candidates) -> Step | None:
    """The step that lowers J most per core that it adds; on equal gain, the first layer's. None if no step does."""
    busy = np.array([layer.cycles(choice) for layer, choice in zip(layers, choices, strict=True)], np.float64)
    now = _norm(busy)
    best: Step | None = None
    best_gain = 1e-9 * now
    for index, (layer, choice) in enumerate(zip(layers, choices, strict=True)):
        for candidate in candidates(layer, choice, free):
            added = layer.cores(candidate) - layer.cores(choice)
            changed = busy.copy()
            changed[index] = layer.cycles(candidate)
            rows = layer.spreads[choice.spread].row_cycles - layer.spreads[candidate.spread].row_cycles
            gain = (now - _norm(changed) + rows) / max(added, 1)
            if gain > best_gain * (1 + 1e-9):
                best, best_gain = (index, candidate), gain
    return best


def _steps(layer: Layer, choice: Choice, free: int) -> Iterator[Choice]:
    """More replicas, as many as it takes to lower the rows of the slowest; or any larger spread."""
    rows = -(-layer.rows // choice.replicas)
    grown = [Choice(choice.replicas, spread) for spread in range(choice.spread + 1, len(layer.spreads))]
    if rows > 1:
        grown.insert(0, Choice(-(-layer.rows // (rows - 1)), choice.spread))
    yield from (one for one in grown if layer.cores(one) - layer.cores(choice) <= free)


def _exchanges(layer: Layer, choice: Choice, free: int) -> Iterator[Choice]:
    """Every choice that the layer's own cores and the free ones allow."""
    budget = layer.cores(choice) + free
    for spread, one in enumerate(layer.spreads):
        most = min(layer.rows, budget // one.parts)
        # Of the replicas that leave the slowest with equally many rows, the fewest.
        for replicas in sorted({-(-layer.rows // -(-layer.rows // count)) for count in range(1, most + 1)}):
            if (replicas, spread) != choice:
                yield Choice(replicas, spread)


def _norm(busy: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    peak = float(busy.max(initial=0))
    return peak * float(((busy / peak) ** SHARPNESS).sum()) ** (1 / SHARPNESS) if peak else 0.0
