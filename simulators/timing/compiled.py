"""The event loop of :mod:`.kernel`, compiled by numba if that is installed and the program is long enough."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, cast

from . import kernel
from .kernel import Code, Facts, State

Loop = Callable[[Facts, Code, State, int], int]

WORTH_COMPILING = 40_000
"""Elements from which on loading the compiled loop takes less time than it saves."""


def can_compile() -> bool:
    """Whether numba is there and not switched off (``TILE_NO_NUMBA=1``)."""
    return not os.environ.get("TILE_NO_NUMBA") and importlib.util.find_spec("numba") is not None


@cache
def compiled_loop() -> Loop:
    """:func:`.kernel.run`, compiled. The first use on a machine compiles, which takes a minute; later ones load."""
    jit = cast("Callable[..., Any]", importlib.import_module("numba").njit)
    namespace: dict[str, Any] = dict(vars(kernel))
    functions = [value for value in vars(kernel).values() if inspect.isfunction(value)]
    for function in functions:
        if function.__module__ == kernel.__name__:
            copy = FunctionType(function.__code__, namespace, function.__name__)
            copy.__module__ = kernel.__name__
            namespace[function.__name__] = jit(cache=True)(copy)
    return cast("Loop", namespace["run"])
