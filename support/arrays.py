"""Types of arrays that all parts use. Their shapes stand beside each, in brackets: ``[lanes, 3]``."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
"""Whole numbers."""
