"""`tile-run --timing --trace`: a timed run as a file for trace viewers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..analysis.machine import Machine
from ..codegen.columns import Program
from ..codegen.isa import mnemonic
from ..codegen.json_reader import SLD, JsonProgram
from ..codegen.network_nodes import Layers
from ..codegen.package import REPORTS, read_report
from ..simulators.timing import TimingOptions, TimingResult
from ..simulators.timing.recording import record
from ..support.arrays import Ints
from ..support.files import atomic_file, require_apart, require_file
from .report_layers import NO_NODE, REPORT, report_content
from .run_arguments import RunOptions
from .trace_file import Label, write_trace
from .trace_slices import message_flows, trace_slices

_FLOWS = 1000


def traced(
    program: Program | JsonProgram, machine: Machine, timing: TimingOptions, options: RunOptions, path: Path
) -> TimingResult:
    """The result of a run, after its trace has been written to ``path``. A TileError if that cannot be."""
    require_apart({"--trace": path}, {"the package": options.package})
    require_file(path)
    labels, label_of_row = _labels(program, options.package)
    recording = record(program, machine, timing)
    slices = trace_slices(recording, label_of_row, round((options.trace_gap or 0.0) * 1000))
    flows = message_flows(recording, label_of_row, _FLOWS if options.trace_flows is None else options.trace_flows)
    facts = {"machine": machine.name, "period_ns": machine.period_ns, "makespan_ns": recording.result.makespan_ns}
    with atomic_file(path) as temporary:
        compressed = path.name.lower().endswith(".gz")
        write_trace(temporary, compressed, slices, flows, labels, recording.run.stream.core_ids, facts)
    return recording.result


def _labels(program: Program | JsonProgram, path: Path) -> tuple[list[Label], Ints]:
    """What events are called, and which one every instruction has: its layer; in a stream without any, its opcode."""
    if isinstance(program, JsonProgram):
        codes, label = np.unique(program.op, return_inverse=True)
        names = ["sld" if code == SLD else mnemonic(code) for code in codes.tolist()]
        return [Label(name, "instruction") for name in names], label.astype(np.int64)
    layers = Layers.of(program, report_content(read_report(path, REPORT)), f"{path}/{REPORTS}{REPORT}")
    labels = [Label(node.name or NO_NODE, node.operator or "node") for node in layers.nodes]
    return labels, layers.of_rows(program)
