"""What measurements are compared with: the figures of another compiler, and goals. Facts with their source, in JSON."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from .measure import Program
from .networks import NETWORKS
from .process import Usage

FOLDER = Path(__file__).parent


@cache
def rivals() -> dict[str, Any]:
    """Figures of PIMCOMP-NN, and where they are from."""
    return json.loads((FOLDER / "rivals.json").read_bytes())


@cache
def goals() -> dict[str, Any]:
    """What the programs and the compiler are to reach."""
    return json.loads((FOLDER / "goals.json").read_bytes())


def rival(name: str, size: int) -> dict[str, Any]:
    """The rival's figures for the network; none for other images than it had."""
    return rivals()["networks"].get(name, {}) if size == NETWORKS.get(name) else {}


def goal(name: str, size: int) -> dict[str, Any]:
    """The goals for the network; none for other images."""
    return goals()["networks"].get(name, {}) if size == NETWORKS.get(name) else {}


def missed(name: str, size: int, program: Program, usage: Usage) -> list[str]:
    """The goals that the network does not reach, in words."""
    own, other, general = goal(name, size), rival(name, size), goals()
    if not own:
        return []
    checks: list[tuple[str, float, float]] = [
        ("latency / bound", program.latency_ms / program.bound_ms, general["bound_ratio"]),
        ("scalar / useful instructions", program.scalar_per_useful, general["scalar_per_useful"]),
        ("peak RSS in GB", usage.peak_rss_bytes / 1e9, own["peak_rss_gb"]),
    ]
    if "goal_ms" in own:
        checks.append(("latency in ms", program.latency_ms, own["goal_ms"]))
        checks.append(("interval in ms", program.interval_ms, own["interval_ms"]))
    if other:
        instructions = program.instructions / other["instructions"]
        checks.append(("instructions / rival's", instructions, general["instructions_of_rival"]))
        time = usage.wall_s / other["compile_user_s"]  # of which the rival's wall time is a little more
        checks.append(("wall time / rival's", time, general["compile_time_of_rival"]))
    return [f"{name}: {what} {value:.3g}, not {limit:g}" for what, value, limit in checks if value > limit]
