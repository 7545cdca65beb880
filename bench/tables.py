"""The benchmark's tables, in plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from .measure import Program
from .process import Usage
from .references import goal, missed, rival, rivals

IDLE = {
    "receive_wait": "no input",
    "send_wait": "no taker",
    "global_queue": "queue",
    "event": "event",
    "finished": "done",
}
"""What cores are idle for, in the clock's words and in those of `tile-report show --idle`."""


@dataclass(frozen=True)
class Row:
    """One network."""

    name: str
    size: int
    program: Program
    usage: Usage


def report(rows: Sequence[Row], errors: Mapping[str, str]) -> str:
    """All tables, and what is not reached."""
    parts: list[str] = []
    if rows:
        parts += [
            "one sample, and each of several in flight, in ms\n" + _table([_latency(row) for row in rows]),
            "the program\n" + _table([_program(row) for row in rows]),
            "what cores do, in % of all their time\n" + _table([_cores(row) for row in rows]),
            "the compiler, as a whole command\n" + _table([_compiler(row) for row in rows]),
        ]
        if any(rival(row.name, row.size) for row in rows):
            parts.append(f"rival: {rivals()['name']}, see bench/rivals.json\n")
    parts += [f"{name}: not measured: {text}\n" for name, text in errors.items()]
    short = [text for row in rows for text in missed(row.name, row.size, row.program, row.usage)]
    if short:
        parts.append("not reached\n" + "".join(f"- {text}\n" for text in short))
    return "\n".join(parts)


def _latency(row: Row) -> dict[str, str]:
    program, own, other = row.program, goal(row.name, row.size), rival(row.name, row.size)
    cells = {"network": row.name, "px": str(row.size), "latency": f"{program.latency_ms:.3f}"}
    if program.simulator_ms is not None:
        cells["pimsim-nn"] = f"{program.simulator_ms:.3f}"
    return cells | {
        "goal": _number(own.get("goal_ms")),
        "rival": _number(other.get("latency_ms")),
        "faster": f"{other['latency_ms'] / program.latency_ms:.1f} x" if other else "",
        "bound": f"{program.bound_ms:.3f}",
        "by": program.bound_by,
        "latency / bound": f"{program.latency_ms / program.bound_ms:.2f}",
        "best bound": f"{program.best_bound_ms:.3f}",
        "order": f"{program.order_ms:.3f}",
        "interval": f"{program.interval_ms:.2f}",
        "goal ": _number(own.get("interval_ms")),
        "rival ": _number(other.get("interval_ms")),
        "busiest core": f"{program.interval_bound_ms:.3f}",
    }


def _program(row: Row) -> dict[str, str]:
    program, other = row.program, rival(row.name, row.size)
    return {
        "network": row.name,
        "instructions": str(program.instructions),
        "of rival's": f"{100 * program.instructions / other['instructions']:.1f} %" if other else "",
        "scalar / useful": f"{program.scalar_per_useful:.2f}",
        "products": str(program.matrix_products),
        "messages": str(program.messages),
        "MB sent": f"{program.message_bytes / 1e6:.2f}",
        "cores": str(program.cores_used),
        "arrays": str(program.arrays_used),
        "peak local kB": f"{program.peak_local_bytes / 1000:.1f}",
    }


def _cores(row: Row) -> dict[str, str]:
    share = row.program.spent
    working = 1 - sum(share[reason] for reason in IDLE)
    idle = {name: f"{100 * share[reason]:.1f}" for reason, name in IDLE.items()}
    return {"network": row.name, "work": f"{100 * working:.1f}", "matrix": f"{100 * share['matrix']:.1f}"} | idle


def _compiler(row: Row) -> dict[str, str]:
    usage, other = row.usage, rival(row.name, row.size)
    return {
        "network": row.name,
        "user s": f"{usage.user_s:.2f}",
        "system s": f"{usage.system_s:.2f}",
        "wall s": f"{usage.wall_s:.2f}",
        "rival user s": _number(other.get("compile_user_s")),
        "peak RSS MB": f"{usage.peak_rss_bytes / 1e6:.0f}",
        "rival GiB": _number(other.get("compile_gib")),
    }


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    headers = list(rows[0])
    align = ["left", *["right"] * (len(headers) - 1)]
    cells = [list(row.values()) for row in rows]
    lines = tabulate(cells, headers, tablefmt="simple", colalign=align, disable_numparse=True).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
