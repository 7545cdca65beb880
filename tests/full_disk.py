"""A disk without space, for tests: no file may be larger than so many bytes."""

from __future__ import annotations

import resource
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def file_size_limit(size_bytes: int) -> Generator[None]:
    """Within it, writing more than so much to any file is an OSError: Python ignores the signal."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
