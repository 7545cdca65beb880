"""What the stages of a build are called in reports."""

from __future__ import annotations

from collections.abc import Callable

INPUT = "input"
"""What no pass has worked on yet."""
PACKAGE = "package"
"""What code generation makes."""
CODE_GENERATION = "pim-codegen"
"""What the guard calls it."""


def stage_names() -> Callable[[str], str]:
    """Names for the passes of one build, one after the other: a pass that runs again is numbered."""
    times: dict[str, int] = {}

    def name_of(one: str) -> str:
        times[one] = times.get(one, 0) + 1
        name = PACKAGE if one == CODE_GENERATION else one
        return name if times[one] == 1 else f"{name} #{times[one]}"

    return name_of
