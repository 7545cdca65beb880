"""How many replicas each layer gets and over how many cores each spreads, for the least latency of one sample.

In a pipeline of layers, a sample takes about as long as the busiest layer works, plus, layer after layer, the time
until the first rows have come through: one row of each layer. Replicas relieve a busy layer; spreading a replica over more
cores also makes its rows come sooner. Cores are dealt one step at a time to the layer and the step that lower

    J = (sum over layers of busy ^ p) ^ (1 / p) + sum over layers of row_cycles

most per core. The p-norm (p = 8) stands for the maximum: it also rewards relieving a layer that is only nearly the
busiest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .replication import Choice, Layer

SHARPNESS = 8


def allocate_for_latency(layers: Sequence[Layer], cores: int) -> list[Choice] | None:
    """What each layer gets when no two share a core; None if there are fewer cores than that takes."""
    choices = [Choice(1, 0) for _ in layers]
    free = cores - sum(layer.cores(choice) for layer, choice in zip(layers, choices, strict=True))
    if free < 0:
        return None
    while True:
        step = _best_step(layers, choices, free)
        if step is None:
            return choices
        index, choice = step
        free -= layers[index].cores(choice) - layers[index].cores(choices[index])
        choices[index] = choice


def estimated_latency(layers: Sequence[Layer], choices: Sequence[Choice]) -> float:
    """J of the docstring, in cycles."""
    busy = np.array([layer.cycles(choice) for layer, choice in zip(layers, choices, strict=True)], np.float64)
    rows = sum(layer.spreads[choice.spread].row_cycles for layer, choice in zip(layers, choices, strict=True))
    return _norm(busy) + float(rows)


def _best_step(layers: Sequence[Layer], choices: Sequence[Choice], free: int) -> tuple[int, Choice] | None:
    """The step with the greatest gain per core that ``free`` cores allow; on equal gain, the first layer's."""
    busy = np.array([layer.cycles(choice) for layer, choice in zip(layers, choices, strict=True)], np.float64)
    now = _norm(busy)
    best: tuple[int, Choice] | None = None
    best_gain = 0.0
    for index, (layer, choice) in enumerate(zip(layers, choices, strict=True)):
        for candidate in _steps(layer, choice):
            added = layer.cores(candidate) - layer.cores(choice)
            if not 0 < added <= free:
                continue
            changed = busy.copy()
            changed[index] = layer.cycles(candidate)
            rows = layer.spreads[choice.spread].row_cycles - layer.spreads[candidate.spread].row_cycles
            gain = (now - _norm(changed) + rows) / added
            if gain > best_gain * (1 + 1e-9):
                best, best_gain = (index, candidate), gain
    return best


def _steps(layer: Layer, choice: Choice) -> Iterator[Choice]:
    """More replicas, as many as it takes to lower the rows of the slowest; or the next larger spreads."""
    rows = -(-layer.rows // choice.replicas)
    if rows > 1:
        yield Choice(-(-layer.rows // (rows - 1)), choice.spread)
    for spread in range(choice.spread + 1, len(layer.spreads)):
        yield Choice(choice.replicas, spread)


def _norm(busy: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    peak = float(busy.max(initial=0))
    return peak * float(((busy / peak) ** SHARPNESS).sum()) ** (1 / SHARPNESS) if peak else 0.0
