"""How many replicas each layer gets and over how many cores each spreads, for the least latency of one sample.

In a pipeline of layers, a sample takes about as long as the busiest layer works, plus, layer after layer, the time from
the last row of the input to the last row of the output. The rows that read the last row of the input, the *tail* of a
layer, can only come then: one for a pointwise layer, two for a 3x3 convolution. Replicas relieve a busy layer;
spreading a replica over more cores also makes its rows come sooner. Cores are dealt one step at a time to the layer and
the step that lower

    J = (sum over layers of busy ^ p) ^ (1 / p) + sum over layers of ceil(tail / replicas) row_cycles

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


def allocate_for_latency(layers: Sequence[Layer], tails: Sequence[int], cores: int) -> list[Choice] | None:
    """What each layer gets when no two share a core; None if there are fewer cores than that takes.

    ``tails`` are the rows of each layer that read the last row of its input.
    """
    choices = [Choice(1, 0) for _ in layers]
    free = cores - sum(layer.cores(choice) for layer, choice in zip(layers, choices, strict=True))
    if free < 0:
        return None
    while True:
        step = _best_step(layers, tails, choices, free, _steps)
        step = step or _best_step(layers, tails, choices, free, _exchanges)
        if step is None:
            return choices
        index, choice = step
        free -= layers[index].cores(choice) - layers[index].cores(choices[index])
        choices[index] = choice


def validate_choices(layers: Sequence[Layer], choices: Sequence[Choice], cores: int) -> list[str]:
    """Lists what is wrong with an allocation, in words. Shares nothing with the planner."""
    found: list[str] = []
    used = 0
    for layer, choice in zip(layers, choices, strict=True):
        if not 1 <= choice.replicas <= layer.rows:
            found.append(f"{layer.name} has {choice.replicas} replicas for {layer.rows} rows")
        if not 0 <= choice.spread < len(layer.spreads):
            found.append(f"{layer.name} has spread {choice.spread} of {len(layer.spreads)}")
        else:
            used += choice.replicas * layer.spreads[choice.spread].parts
    if used > cores:
        found.append(f"{used} cores are dealt of {cores}")
    return found


def estimated_latency(layers: Sequence[Layer], tails: Sequence[int], choices: Sequence[Choice]) -> float:
    """J of the docstring, in cycles."""
    busy = np.array([layer.cycles(choice) for layer, choice in zip(layers, choices, strict=True)], np.float64)
    return _norm(busy) + float(sum(map(_tail_cycles, layers, tails, choices)))


def _tail_cycles(layer: Layer, tail: int, choice: Choice) -> int:
    return -(-min(tail, layer.rows) // choice.replicas) * layer.spreads[choice.spread].row_cycles


def _best_step(
    layers: Sequence[Layer], tails: Sequence[int], choices: Sequence[Choice], free: int, candidates: Candidates
) -> Step | None:
    """The step that lowers J most per core that it adds; on equal gain, the first layer's. None if no step does."""
    busy = np.array([layer.cycles(choice) for layer, choice in zip(layers, choices, strict=True)], np.float64)
    now = _norm(busy)
    best: Step | None = None
    best_gain = 1e-9 * now
    for index, (layer, tail, choice) in enumerate(zip(layers, tails, choices, strict=True)):
        for candidate in candidates(layer, choice, free):
            added = layer.cores(candidate) - layer.cores(choice)
            changed = busy.copy()
            changed[index] = layer.cycles(candidate)
            sooner = _tail_cycles(layer, tail, choice) - _tail_cycles(layer, tail, candidate)
            gain = (now - _norm(changed) + sooner) / max(added, 1)
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
