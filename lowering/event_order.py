"""The one order of everything that happens on the chip: steps, and phases within a step.

A core executes its events by key; keys of different cores are comparable, which is why no cycle of waiting can exist.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]


class Phase(IntEnum):
    """What a core does at a step, in this order."""

    FILL = 0
    """Constants, and zeros around the rows of a ring, before what needs them first."""
    LOAD = 1
    COMPUTE = 2
    STORE = 3
    MESSAGE = 4


PHASES = len(Phase)

PROLOGUE = -PHASES
"""The key of what happens before the first step: rows of zeros are written."""


def event_key(step: Keys, phase: Phase) -> Keys:
    """The place of an event in the order."""
    # As a plain number: numpy would look for an array in the enumeration.
    return step.astype(np.int64) * PHASES + int(phase)


KeyT = TypeVar("KeyT", int, Keys)


def step_of(key: KeyT) -> KeyT:
    """The step of an event with this key."""
    return key // PHASES


def begin_of(step: KeyT) -> KeyT:
    """The key at which a step begins: that of its first phase."""
    return step * PHASES
