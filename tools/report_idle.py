"""Why cores are idle: every core's time by what it was spent on, and idle time by its reason, from the clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..simulators.timing import CoreTiming, TimingResult
from .tables import text_table

WORKING: Mapping[str, tuple[str, ...]] = {
    "matrix": ("matrix",),
    "vector": ("vector",),
    "copies": ("local_move",),
    "transfers": ("send", "receive", "global_memory"),
    "scalar": ("scalar",),
}
"""What a core does when it is not idle, in the clock's words."""

IDLE_REASONS: Mapping[str, str] = {
    "receive_wait": "waits for data from another core",
    "send_wait": "waits for another core to receive",
    "global_queue": "waits for global memory, which serves others",
    "event": "waits for an event of another core",
    "finished": "has no work left",
}
"""What a core is idle for, in the clock's words and in plain ones: all time that is not spent on work."""

SHORT_REASONS: Mapping[str, str] = {
    "receive_wait": "no input",
    "send_wait": "no taker",
    "global_queue": "queue",
    "event": "event",
    "finished": "done",
}
_CORES_SHOWN = 16
_PARTNERS_SHOWN = 3


@dataclass(frozen=True)
class CoreIdle:
    """One core. Times in ns; ``working`` and ``idle`` together are the makespan."""

    core: int
    working: Mapping[str, float]
    idle: Mapping[str, float]
    """By reason, as in :data:`IDLE_REASONS`."""
    waits_for: Mapping[int, float]
    """Waiting for other cores, to send or to receive: by core, the longest first."""
    blocked_at: str
    """The instruction at which it waits for ever, if it does."""

    @staticmethod
    def of(core: CoreTiming) -> CoreIdle:
        working = {name: sum(core.spent_ns[use] for use in uses) for name, uses in WORKING.items()}
        idle = {reason: core.spent_ns[reason] for reason in IDLE_REASONS}
        waits: dict[int, float] = {}
        for by_core in core.waits_ns.values():
            for other, time in by_core.items():
                waits[other] = waits.get(other, 0.0) + time
        longest = dict(sorted(waits.items(), key=lambda item: (-item[1], item[0])))
        return CoreIdle(core.core, working, idle, longest, core.blocked_at)

    @property
    def idle_ns(self) -> float:
        return sum(self.idle.values())


def idle_json(timing: TimingResult, unused: int) -> str:
    """Everything as JSON, times in ns."""
    cores = [
        {
            "core": core.core,
            "idle_ns": core.idle_ns,
            "working_ns": dict(core.working),
            "reasons_ns": dict(core.idle),
            "waits_for_ns": {str(other): time for other, time in core.waits_for.items()},
            "blocked_at": core.blocked_at,
        }
        for core in map(CoreIdle.of, timing.cores)
    ]
    content = {"makespan_ns": timing.makespan_ns, "unused_cores": unused, "reasons": IDLE_REASONS, "cores": cores}
    return json.dumps(content, indent=1) + "\n"


def idle_text(timing: TimingResult, unused: int, everything: bool) -> str:
    """Tables in percent: all cores by reason, then core by core, the idlest first."""
    return "".join(_text([CoreIdle.of(core) for core in timing.cores], timing.makespan_ns, unused, everything))


def idle_summary(timing: TimingResult) -> str:
    """One line: how much of the cores' time is idle, and what for."""
    cores = [CoreIdle.of(core) for core in timing.cores]
    whole = timing.makespan_ns * len(cores) or 1.0
    shares = {text: 100 * sum(core.idle[reason] for core in cores) / whole for reason, text in IDLE_REASONS.items()}
    parts = [f"{text} {share:.1f} %" for text, share in sorted(shares.items(), key=lambda item: -item[1]) if share]
    return f"cores idle {sum(shares.values()):.1f} % of their time: {', '.join(parts)}\n" if parts else ""


def _text(cores: Sequence[CoreIdle], makespan: float, unused: int, everything: bool) -> Iterator[str]:
    whole = makespan * len(cores) or 1.0
    idle = sum(core.idle_ns for core in cores)
    yield f"latency {makespan:.10g} ns; {len(cores)} cores, {100 * idle / whole:.1f} % idle"
    yield f"; {unused} more without instructions\n\n" if unused else "\n\n"
    yield _reasons(cores, whole, makespan or 1.0)
    yield "\n"
    idlest = sorted(cores, key=lambda core: (-core.idle_ns, core.core))
    shown = idlest if everything else idlest[:_CORES_SHOWN]
    headers = ["core", *WORKING, *(SHORT_REASONS[reason] for reason in IDLE_REASONS), "waits for core"]
    rows = [_row(core, makespan or 1.0) for core in shown]
    yield "the time of each core in %, the idlest first\n"
    yield text_table(rows, headers, (0, len(headers) - 1))
    if len(shown) < len(cores):
        yield f"and {len(cores) - len(shown)} more cores: --all\n"
    for core in cores:
        if core.blocked_at:
            yield f"core {core.core} waits for ever: {core.blocked_at}\n"


def _reasons(cores: Sequence[CoreIdle], whole: float, makespan: float) -> str:
    rows: list[list[str]] = []
    for reason, text in IDLE_REASONS.items():
        most = max(cores, key=lambda core: core.idle[reason], default=None)
        total = sum(core.idle[reason] for core in cores)
        affected = sum(core.idle[reason] > 0 for core in cores)
        if most is not None and total:
            where = f"core {most.core}: {100 * most.idle[reason] / makespan:.1f} %"
            rows.append([text, f"{100 * total / whole:.1f}", str(affected), where])
    return text_table(rows, ["idle because a core", "% of all time", "cores", "most"], (0, 3))


def _row(core: CoreIdle, makespan: float) -> list[str]:
    shares = [f"{100 * time / makespan:.1f}" for time in (*core.working.values(), *core.idle.values())]
    longest = list(core.waits_for.items())[:_PARTNERS_SHOWN]
    partners = [f"{other} ({100 * time / makespan:.1f} %)" for other, time in longest]
    more = len(core.waits_for) - len(longest)
    return [str(core.core), *shares, ", ".join(partners) + (f" and {more} more" if more else "")]
