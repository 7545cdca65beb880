"""The proxies of a finished package: counted on its instruction columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..analysis.machine import Machine, Precision
from ..analysis.proxies import Level, Proxies, counts
from .isa import VECTOR_OPS, Op
from .package import Package
from .report import instruction_cycles

I64 = npt.NDArray[np.int64]


def package_proxies(package: Package, machine: Machine | None = None) -> Proxies:
    """The proxies of a package; those in cycles and in hops only if its machine is given."""
    program = package.program
    columns, core = program.columns, program.core_of_rows()
    per_core = np.diff(program.core_start)
    precision = None if machine is None else _precision(package, machine)
    cycles = None if machine is None or precision is None else instruction_cycles(program, machine, precision)
    busy = None if cycles is None else np.bincount(core, cycles, program.core_count).astype(np.int64)
    names = ("input", package.inputs), ("output", package.outputs)
    interface = "; ".join(
        sorted(f"{kind} {layout.name} {list(layout.shape)}" for kind, layouts in names for layout in layouts)
    )
    sends, receives, loads, stores, copies = (columns.op == op for op in (Op.SEND, Op.RECV, Op.LD, Op.ST, Op.LMV))
    size = columns.a.astype(np.int64)
    hops = None
    if machine is not None:
        hops = int((size[sends] * machine.hops[core[sends], columns.b[sends]]).sum())
    used = per_core > 0
    return Proxies(
        level=Level.PACKAGE,
        machine=f"{package.machine.name} {package.machine.sha256[:16]}",
        interface=interface,
        opaque_ops=0,
        width=int(used.sum()),
        busy_cycles=None if busy is None else counts({f"{n:05}": int(busy[n]) for n in np.flatnonzero(used).tolist()}),
        busy_cycles_max=None if busy is None else int(busy.max(initial=0)),
        work_cycles=None if busy is None else int(busy.sum()),
        mvm_count=int((columns.op == Op.MVMUL).sum()),
        vector_count=int(np.isin(columns.op, [int(op) for op in VECTOR_OPS]).sum()),
        instructions=len(columns),
        instructions_max=int(per_core.max(initial=0)),
        host_ops=0,
        sends=int(sends.sum()),
        send_bytes=int(size[sends].sum()),
        receives=int(receives.sum()),
        receive_bytes=int(size[receives].sum()),
        byte_hops=hops,
        local_copies=int(copies.sum()),
        local_copy_bytes=int(size[copies].sum()),
        host_to_device_copies=int(loads.sum()),
        host_to_device_bytes=int(size[loads].sum()),
        device_to_host_copies=int(stores.sum()),
        device_to_host_bytes=int(size[stores].sum()),
        host_bytes=package.memory.size_bytes,
        weight_elements=sum(
            package.weights.matrices[one].size for of_core in package.weights.of_group for one in of_core if one >= 0
        ),
    )


def _precision(package: Package, machine: Machine) -> Precision | None:
    """The widths that the streams set; None if there is no stream."""
    columns = package.program.columns
    settings = np.flatnonzero(columns.op == Op.SETBW)
    if not len(settings):
        return None
    bits = int(columns.a[settings[0]]), int(columns.b[settings[0]])
    weights = package.options.get("weight_bits")
    return Precision(weights if isinstance(weights, int) else 8, *bits)
