"""Keeping freed memory in the process for later use, where the C library can be told to."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``."""
_KEPT_BYTES = 1 << 30
"""Free memory at the end of the heap that stays there."""
_LARGE_BYTES = 32 << 20
"""The largest threshold that glibc takes. Larger arrays go back to the system when they are freed."""


def keep_freed_memory() -> None:
    """Makes glibc keep freed memory instead of giving it back to the system; does nothing with other C libraries.

    By default arrays of more than a few hundred KiB go back to the system, which has to clear the pages of the next
    one. Keeping them saves a quarter of the system time of a compilation.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
    mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
