"""Where the time goes by layer: what each node of the network occupies, takes, and has of the critical path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..analysis.machine import Machine
from ..codegen.network_nodes import Layers
from ..codegen.package import REPORTS, Package
from ..simulators.timing.executed_path import PATH_USES, PATH_WAITS
from ..simulators.timing.layer_times import BUSY_UNITS, LayerTimes, layer_times
from ..simulators.timing.recording import record
from ..support.diagnostics import TileError
from .tables import text_table

REPORT = "report.json"
NO_NODE = "(no node)"
"""Instructions that come from none: inputs, zeros beside images, bit widths."""

_WAIT_TEXTS = {
    "memory_queue": "local memory, which serves another unit",
    "event": "events of other cores",
    "start": "the first instructions to be fetched",
    "stall": "the front end, held up",
}
_HEADERS = (
    *("node", "operator", "cores", "arrays", "products", "vector", "scalar", "bytes sent", "first ns", "last ns"),
    *("matrix ns", "vector ns", "transfer ns", "path ns", "path %"),
)


@dataclass(frozen=True)
class LayerReport:
    """The layers of a package with their times, of a run on one machine."""

    layers: Layers
    times: LayerTimes
    latency_ps: int
    period_ns: float

    @staticmethod
    def of(package: Package, machine: Machine, path: Path) -> LayerReport:
        """A TileError if the package says something wrong of its nodes, or does not finish."""
        layers = Layers.of(package.program, report_content(package.reports.get(REPORT)), f"{path}/{REPORTS}{REPORT}")
        recording = record(package.program, machine)
        if not recording.result.finished:
            core, reason = next(iter(recording.result.unfinished.items()))
            what = f"core {core} does not finish ({reason.replace('_', ' ')}), so that there is no critical path"
            raise TileError(str(path), what, "tile-run --timing says where cores wait")
        times = layer_times(recording, layers.of_rows(package.program), len(layers.nodes))
        return LayerReport(layers, times, round(recording.result.latency_ns * 1000), machine.period_ns)

    def to_json(self) -> str:
        """Everything, times in ns."""
        content = {
            "latency_ns": _ns(self.latency_ps),
            "period_ns": self.period_ns,
            "layers": [self._layer(number) for number in range(len(self.layers.nodes))],
            "totals": self._totals(),
            "path_waits_ns": dict(zip(PATH_WAITS, map(_ns, self.times.waits_ps.tolist()), strict=True)),
        }
        return json.dumps(content, indent=1) + "\n"

    def _layer(self, number: int) -> dict[str, object]:
        node, times = self.layers.nodes[number], self.times
        used = times.end_ps[number] >= 0
        return {
            "node": node.name or None,
            "operator": node.operator or None,
            "with": [self.layers.nodes[other].name for other in self.layers.fused(number)],
            "cores": int(times.cores[number]),
            "arrays": int(times.arrays[number]),
            "matrix_products": int(times.matrix_products[number]),
            "vector_instructions": int(times.vector_instructions[number]),
            "scalar_instructions": int(times.scalar_instructions[number]),
            "instructions": int(times.instructions[number]),
            "sent_bytes": int(times.sent_bytes[number]),
            "first_ns": _ns(int(times.begin_ps[number])) if used else None,
            "last_ns": _ns(int(times.end_ps[number])) if used else None,
            "busy_ns": dict(zip(BUSY_UNITS, map(_ns, times.busy_ps[number].tolist()), strict=True)),
            "path_ns": dict(zip(PATH_USES, map(_ns, times.path_ps[number].tolist()), strict=True)),
            "path_share": int(times.path_ps[number].sum()) / (self.latency_ps or 1),
        }

    def _totals(self) -> dict[str, object]:
        times = self.times
        return {
            "cores": times.cores_used,
            "arrays": int(times.arrays.sum()),
            "matrix_products": int(times.matrix_products.sum()),
            "vector_instructions": int(times.vector_instructions.sum()),
            "scalar_instructions": int(times.scalar_instructions.sum()),
            "instructions": int(times.instructions.sum()),
            "sent_bytes": int(times.sent_bytes.sum()),
            "busy_ns": dict(zip(BUSY_UNITS, map(_ns, times.busy_ps.sum(axis=0).tolist()), strict=True)),
            "path_ns": dict(zip(PATH_USES, map(_ns, times.path_ps.sum(axis=0).tolist()), strict=True)),
        }

    def text(self, everything: bool) -> str:
        """The table in the order of the network, totals, and what the critical path is spent on."""
        return "".join(self._lines(everything))

    def _lines(self, everything: bool) -> Iterator[str]:
        latency, times = _ns(self.latency_ps), self.times
        yield f"latency {latency:.10g} ns, {latency / self.period_ns:.10g} cycles\n\n"
        shown = [number for number, count in enumerate(times.instructions.tolist()) if count]
        rows = [self._row(number) for number in shown]
        path, sums = int(times.path_ps.sum()), times.busy_ps.sum(axis=0).tolist()
        counts = (times.matrix_products, times.vector_instructions, times.scalar_instructions, times.sent_bytes)
        total = [str(times.cores_used), str(times.arrays.sum()), *(str(one.sum()) for one in counts), "", ""]
        total += [*(_whole(time) for time in sums[:3]), _whole(path), self._percent(path)]
        yield text_table([*rows, ["all", "", *total]], _HEADERS, (0, 1))
        yield "\n"
        yield self._path()
        if len(shown) == 1 and not self.layers.nodes[shown[0]].name:
            yield "no instruction is known to be of a node: text names them if it is printed with --print-debuginfo\n"
        folded = [node for number, node in enumerate(self.layers.nodes[:-1]) if number not in shown]
        if folded and everything:
            rows = [[node.name, node.operator, self._folded_into(node.name)] for node in folded]
            yield "\n" + text_table(rows, ["without instructions of its own", "operator", "part of"], (0, 1, 2))
        elif folded:
            yield f"nodes without instructions of their own, as what is fused into others: {len(folded)}, see --all\n"

    def _row(self, number: int) -> list[str]:
        node, times = self.layers.nodes[number], self.times
        path = int(times.path_ps[number].sum())
        moments = [times.begin_ps[number], times.end_ps[number]]
        return [
            node.name or NO_NODE,
            node.operator,
            *(str(column[number]) for column in (times.cores, times.arrays, times.matrix_products)),
            *(str(column[number]) for column in (times.vector_instructions, times.scalar_instructions)),
            str(times.sent_bytes[number]),
            *("" if times.end_ps[number] < 0 else _whole(int(moment)) for moment in moments),
            *(_whole(time) for time in times.busy_ps[number].tolist()[:3]),
            _whole(path),
            self._percent(path),
        ]

    def _path(self) -> str:
        """One line: what work and what waits the critical path consists of."""
        uses = dict(zip(PATH_USES, self.times.path_ps.sum(axis=0).tolist(), strict=True))
        waits = dict(zip(PATH_WAITS, self.times.waits_ps.tolist(), strict=True))
        parts = [f"{name.replace('_', ' ')} {self._percent(time)} %" for name, time in uses.items() if time]
        parts += [f"waiting for {_WAIT_TEXTS[name]} {_ns(time):g} ns" for name, time in waits.items() if time]
        return f"the critical path of the run: {', '.join(parts)}\n"

    def _folded_into(self, name: str) -> str:
        """The layer that has a node's work, if the node is known to some instruction."""
        number = [node.name for node in self.layers.nodes].index(name)
        return next((self.layers.nodes[min(one)].name for one in self.layers.sources if number in one), "")

    def _percent(self, time_ps: int) -> str:
        return f"{100 * time_ps / (self.latency_ps or 1):.1f}"


def report_content(data: bytes | None) -> Mapping[str, Any] | None:
    """The content of `report.json`; None if there is none, or none that is an object."""
    if data is None:
        return None
    try:
        content = json.loads(data)
    except ValueError:
        return None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else None


def _ns(picoseconds: int) -> float:
    """Whole numbers stay exact."""
    return picoseconds // 1000 if picoseconds % 1000 == 0 else picoseconds / 1000


def _whole(picoseconds: int) -> str:
    return f"{round(picoseconds / 1000)}"
