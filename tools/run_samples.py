"""Samples of a package that takes several at once: one by one outside, along the leading axis of its tensors inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codegen.memory_image import TensorLayout

Array = npt.NDArray[Any]


def layouts_of_one(layouts: Sequence[TensorLayout], samples: int) -> list[TensorLayout]:
    """The tensors of one sample of a package that takes ``samples``."""
    if samples == 1:
        return list(layouts)
    return [replace(layout, shape=(1, *layout.shape[1:])) for layout in layouts]


def grouped(inputs: Mapping[str, Array], samples: int) -> dict[str, Array]:
    """Inputs [S, 1, ...] of any number of samples as [groups, samples, ...]; zeros fill up the last group."""
    return {name: _grouped(array, samples) for name, array in inputs.items()}


def _grouped(array: Array, samples: int) -> Array:
    missing = -len(array) % samples
    filled = np.concatenate((array, np.zeros((missing, *array.shape[1:]), array.dtype)))
    return filled.reshape(-1, samples, *array.shape[2:])


def ungrouped(outputs: Mapping[str, Array], count: int) -> dict[str, Array]:
    """Outputs [groups, samples, ...] as those [count, 1, ...] of the first ``count`` samples."""
    return {name: array.reshape(-1, 1, *array.shape[2:])[:count] for name, array in outputs.items()}
