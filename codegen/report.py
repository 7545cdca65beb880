"""The report of a package: what each layer and each core got, as JSON and as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..analysis.machine import Machine, Precision
from ..dialects import pim
from ..dialects.location import node_name
from ..lowering.lane_cost import issue_cycles
from ..lowering.target import Target, target_of
from ..support.arrays import Ints
from ..support.diagnostics import printable
from .columns import Columns, Program
from .emission import Emission, emission_of
from .isa import VECTOR_OPS, Op
from .network_nodes import NetworkNode, node_tables
from .static_latency import latency_cycles


@dataclass(frozen=True)
class LayerReport:
    """One compute batch."""

    nodes: str
    lanes: int
    replicas: int
    cores: tuple[int, ...]
    arrays: int
    """Of all replicas."""
    matrix_products: int
    vector_instructions: int
    busy_cycles: int
    """Of all lanes together, without communication."""


@dataclass(frozen=True)
class CoreReport:
    """One core. Busy cycles are those of its instructions when nothing keeps them waiting."""

    core: int
    instructions: int
    arrays: int
    peak_bytes: int
    busy_cycles: int
    sent_bytes: int
    received_bytes: int


def build_reports(
    module: ModuleOp,
    program: Program,
    emission: Callable[[], Emission] | None = None,
    nodes: Sequence[NetworkNode] = (),
) -> Mapping[str, bytes]:
    """`report.json` and `report.txt` of a package; ``emission`` gives :func:`.emission.emission_of` the module, and
    ``nodes`` are those of the network that it was lowered from, as far as they are known."""
    target = target_of(module)
    chip = next(op for op in module.body.block.ops if isinstance(op, pim.ProgramOp))
    cycles = instruction_cycles(program, target.machine, target.precision)
    layers = _layers(chip, program, target)
    cores = _cores(chip, program, cycles)
    path = (emission_of(module) if emission is None else emission()).path
    latency = latency_cycles(target.machine, path.schedule)
    content = {
        "latency_cycles": latency,
        "layers": [asdict(layer) for layer in layers],
        "cores": [asdict(core) for core in cores],
        **node_tables(nodes, chip.walk(), program.node_names),
    }
    text = _text(layers, cores, target, latency)
    return {"report.json": (json.dumps(content, indent=1) + "\n").encode(), "report.txt": text.encode()}


def instruction_cycles(program: Program, machine: Machine, precision: Precision) -> Ints:
    """Cycles of every instruction when it executes alone, a message when its partner waits already."""
    columns = program.columns
    core = program.core_of_rows()
    cycles = np.ones(len(columns), np.int64)
    op, a, b = columns.op, columns.a.astype(np.int64), columns.b.astype(np.int64)
    for code in np.flatnonzero(np.bincount(op)).tolist():
        rows = np.flatnonzero(op == code)
        match Op(code):
            case Op.MVMUL:
                cycles[rows] = machine.mvm_cycles(_group_arrays(program, columns, rows), precision)
            case Op.LMV:
                cycles[rows] = machine.copy_cycles(a[rows])
            case Op.LLDI:
                cycles[rows] = machine.fill_cycles(a[rows])
            case Op.LD:
                cycles[rows] = machine.load_cycles(core[rows], a[rows])
            case Op.ST:
                cycles[rows] = machine.store_cycles(core[rows], a[rows])
            case Op.SEND:
                cycles[rows] = machine.send_cycles(core[rows], b[rows], a[rows])
            case Op.RECV:
                cycles[rows] = machine.recv_cycles(b[rows], core[rows], a[rows])
            case one if one in VECTOR_OPS:
                cycles[rows] = machine.vector_cycles(code, a[rows], precision)
            case _:
                pass
    return cycles


def _group_arrays(program: Program, columns: Columns, rows: Ints) -> Ints:
    """The arrays that each matrix product drives."""
    start = np.cumsum([0, *(len(groups) for groups in program.groups)])
    arrays = np.array([count for groups in program.groups for count in groups] or [0], np.int64)
    return arrays[start[program.core_of_rows()[rows]] + columns.b[rows]]


def _layers(chip: pim.ProgramOp, program: Program, target: Target) -> list[LayerReport]:
    found: list[LayerReport] = []
    for batch in chip.body.block.ops:
        if not isinstance(batch, pim.CoreBatchOp):
            continue
        issues = [op for op in batch.block.ops if isinstance(op, pim.IssueOp)]
        products = [op for op in issues if op.matrix is not None]
        arrays = sum(-(-op.written_size // target.array_columns) for op in products)
        vectors = sum(op.count for op in issues if op.opcode in VECTOR_OPS)
        found.append(
            LayerReport(
                node_name(batch),
                batch.lane_count,
                batch.replica_count,
                tuple(map(int, batch.cores.array)),
                batch.replica_count * arrays,
                batch.lane_count * sum(op.count for op in products),
                batch.lane_count * vectors,
                batch.lane_count * sum(issue_cycles(op, target) for op in issues),
            )
        )
    return found


def _cores(chip: pim.ProgramOp, program: Program, cycles: Ints) -> list[CoreReport]:
    columns, core = program.columns, program.core_of_rows()
    count = program.core_count
    busy = np.bincount(core, cycles, count).astype(np.int64)
    moved = [
        np.bincount(core[columns.op == op], columns.a[columns.op == op], count).astype(np.int64)
        for op in (Op.SEND, Op.RECV)
    ]
    peak = np.zeros(count, np.int64) if chip.peak_bytes is None else chip.peak_bytes.array
    instructions = np.diff(program.core_start)
    return [
        CoreReport(
            index,
            int(instructions[index]),
            sum(program.groups[index]),
            int(peak[index]),
            int(busy[index]),
            int(moved[0][index]),
            int(moved[1][index]),
        )
        for index in range(count)
        if instructions[index]
    ]


def _text(layers: list[LayerReport], cores: list[CoreReport], target: Target, latency: int) -> str:
    busiest = sorted(cores, key=lambda core: (-core.busy_cycles, core.core))
    lines = [
        f"machine {target.machine.name}: {len(cores)} of {target.machine.core_count} cores used",
        f"one sample takes {latency} cycles, as estimated before code generation",
        "",
        f"{'busy cycles':>14} {'lanes':>6} {'replicas':>8} {'arrays':>7} {'products':>9}  layer",
    ]
    lines += [
        f"{layer.busy_cycles:14} {layer.lanes:6} {layer.replicas:8} {layer.arrays:7} {layer.matrix_products:9}  "
        f"{printable(layer.nodes)}"
        for layer in layers
    ]
    lines += ["", f"{'core':>6} {'busy cycles':>14} {'instructions':>13} {'arrays':>7} {'peak bytes':>11}"]
    lines += [
        f"{core.core:6} {core.busy_cycles:14} {core.instructions:13} {core.arrays:7} {core.peak_bytes:11}"
        for core in busiest
    ]
    return "\n".join(lines) + "\n"
