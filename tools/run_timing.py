"""`tile-run --timing`: the time and energy of a package, or of any stream for the pimsim-nn simulator."""

from __future__ import annotations

import json
import sys
import time

from ..analysis.machine import Machine
from ..analysis.machine_file import preset_names
from ..codegen.archive import ZIP_SUFFIX
from ..codegen.columns import Program
from ..codegen.json_reader import JsonProgram, read_program_json
from ..codegen.manifest import Origin
from ..codegen.package import read_package_program
from ..simulators.timing import FIRST_COME, SIMULATOR, CoreTiming, TimingOptions, TimingResult, simulate
from ..simulators.timing.energy_fields import parts_without_energy
from ..support.diagnostics import TileError
from .report_idle import IDLE_REASONS, SHORT_REASONS
from .run_arguments import RunOptions
from .session import standard_output

_CORES_SHOWN = 8
_COLUMNS = {
    "matrix": "matrix",
    "vector": "vector",
    "copies": "local_move",
    "global": "global_memory",
    "send": "send",
    "receive": "receive",
    "scalar": "scalar",
    **{SHORT_REASONS[reason]: reason for reason in IDLE_REASONS},
}
"""The clock's words for what a core spends its time on, by what the table calls them."""


def run_timing(options: RunOptions) -> int:
    """The exit code: 1 if a latency run does not finish on every core."""
    program, machine, samples = _load(options)
    looped = options.mode == "throughput"
    limit = options.sim_time
    if limit is None and looped:
        limit = machine.architecture.sim_config.sim_time
    start = time.perf_counter()
    quirks = FIRST_COME if options.first_come else SIMULATOR
    timing = TimingOptions(looped, None if limit is None else limit * 1e6, quirks)
    if options.trace is None:
        result = simulate(program, machine, timing)
    else:
        from .run_trace import traced

        result = traced(program, machine, timing, options, options.trace)
    if options.verbose:
        print(f"timed in {time.perf_counter() - start:.2f} s", file=sys.stderr)
    with standard_output():
        if options.json:
            print(json.dumps({"machine": machine.name, "samples": samples, **result.to_json()}, indent=1))
        elif not options.quiet:
            print("\n".join(_report(result, samples, parts_without_energy(machine))))
    return 0 if looped or result.finished else 1


def _load(options: RunOptions) -> tuple[Program | JsonProgram, Machine, int]:
    """The program, its machine, and how many samples it takes at once."""
    path = options.package
    if path.is_file() and path.suffix != ZIP_SUFFIX:
        if options.machine is None:
            raise TileError("--timing", f"needs a machine for the stream {path}", "add --machine NAME or FILE")
        return read_program_json(path), Machine.load(options.machine, strict=False), 1
    program, manifest = read_package_program(path)
    return program, _machine(manifest.machine, options), manifest.samples


def _machine(origin: Origin, options: RunOptions) -> Machine:
    name = options.machine
    if name is None:
        if origin.name not in preset_names():
            what = f"the package was compiled for machine '{origin.name}', which is not a preset"
            raise TileError("--timing", what, "add --machine FILE")
        name = origin.name
    machine = Machine.load(name, strict=False)
    if machine.digest() != origin.sha256 and not options.other_machine:
        what = f"is not the machine that the package was compiled for ('{origin.name}', {origin.sha256[:12]})"
        raise TileError(f"machine {name}", what, "compile for it, or add --other-machine to time it there anyway")
    return machine


def _report(result: TimingResult, samples: int, unknown: list[str]) -> list[str]:
    lines = [*_summary(result, samples), "", *_core_table(result), "", *_unit_table(result), "", *_energy_table(result)]
    if unknown:
        lines.append(f"0 because the machine file gives no energy for it: {', '.join(unknown)}")
    return [line.rstrip() for line in lines]


def _summary(result: TimingResult, samples: int) -> list[str]:
    cores = len(result.cores)
    if result.looped:
        return [
            f"throughput {result.throughput_per_s:.6g} a second: {result.output_count:.6g} rounds, the mean of "
            f"{cores} cores, in {_ms(result.makespan_ns)}; the slowest core makes {result.sustained_rounds}"
        ]
    lines = [f"latency {_ms(result.latency_ns)}, {cores - len(result.unfinished)} of {cores} cores finish"]
    if result.makespan_ns != result.latency_ns:
        lines.append(f"makespan {_ms(result.makespan_ns)}")
    if samples > 1:
        lines.append(f"{samples} samples, {_ms(result.makespan_ns / samples)} a sample")
    stuck = [core for core in result.cores if core.unfinished]
    for core in stuck[:_CORES_SHOWN]:
        at = f" at {core.blocked_at}" if core.blocked_at else ""
        lines.append(f"  core {core.core}: {core.unfinished.replace('_', ' ')}{at}")
    if len(stuck) > _CORES_SHOWN:
        lines.append(f"  and {len(stuck) - _CORES_SHOWN} more cores")
    return lines


def _core_table(result: TimingResult) -> list[str]:
    """The busiest cores and the chip, in percent of the makespan."""
    busiest = sorted(result.cores, key=lambda core: (-_working(core), core.core))[:_CORES_SHOWN]
    rows = [["% of makespan", *_COLUMNS]]
    whole = result.makespan_ns * len(result.cores) or 1
    rows.append(["all cores", *_shares(result.spent_ns, whole)])
    rows += [[f"core {core.core}", *_shares(core.spent_ns, result.makespan_ns or 1)] for core in busiest]
    return _table(rows)


def _working(core: CoreTiming) -> float:
    return sum(time for name, time in core.spent_ns.items() if name not in IDLE_REASONS)


def _shares(spent: dict[str, float], whole: float) -> list[str]:
    return [f"{100 * spent[name] / whole:.1f}" for name in _COLUMNS.values()]


def _unit_table(result: TimingResult) -> list[str]:
    rows = [["unit", "busy, mean", "busy, most", "core"]]
    whole = result.makespan_ns or 1
    for unit in ("matrix", "vector", "transfer", "local_memory", "switch"):
        times = [core.busy_ns[unit] for core in result.cores] or [0.0]
        most = max(range(len(times)), key=times.__getitem__)
        name = str(result.cores[most].core) if result.cores else ""
        shares = (100 * sum(times) / len(times) / whole, 100 * times[most] / whole)
        rows.append([unit.replace("_", " "), *(f"{share:.1f} %" for share in shares), name])
    rows.append(["global memory", f"{100 * result.global_memory_busy_ns / whole:.1f} %", "", ""])
    return _table(rows)


def _energy_table(result: TimingResult) -> list[str]:
    energy = result.energy
    parts = {
        "matrix": energy.matrix_pj,
        "vector": energy.vector_pj,
        "local memory": energy.local_memory_pj,
        "global memory": energy.global_memory_pj,
        "network": energy.network_pj,
        "front end": energy.front_end_pj,
        "static": energy.static_pj,
        "all": energy.total_pj,
    }
    rows = [["energy", "uJ", "%"]]
    rows += [[name, f"{pj * 1e-6:.6g}", f"{100 * pj / (energy.total_pj or 1):.1f}"] for name, pj in parts.items()]
    return _table(rows)


def _table(rows: list[list[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(text.ljust(width) if not column else text.rjust(width) for column, (text, width) in enumerate(cells))
        for cells in (list(zip(row, widths, strict=True)) for row in rows)
    ]


def _ms(nanoseconds: float) -> str:
    return f"{nanoseconds * 1e-6:.10g} ms"
