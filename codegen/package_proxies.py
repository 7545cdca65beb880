"""The proxies of a finished package: everything that its instruction streams and tables tell exactly.

Nothing is taken from the compiler's word: widths come from the streams, memory from the addresses that they touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from ..analysis.machine import Machine, Precision
from ..analysis.proxies import UNNAMED, Level, Proxies, counts, tensor_text
from ..support.arrays import Ints
from .columns import Program
from .isa import BY_CODE, OP_LIMIT, SCALAR_OPS, VECTOR_OPS, Op
from .package import Package
from .register_use import needless_scalars
from .rendezvous import Rendezvous
from .report import instruction_cycles
from .stream_check import StreamCheck
from .stream_path import stream_path
from .transfer_order import stream_order

_COMPUTES = np.isin(np.arange(OP_LIMIT), [Op.MVMUL, *VECTOR_OPS])
_FRONT_END = np.isin(np.arange(OP_LIMIT), [Op.SETBW, *SCALAR_OPS])


def package_proxies(
    package: Package,
    machine: Machine | None = None,
    *,
    weight_bits: int | None = None,
    check: StreamCheck | None = None,
) -> Proxies:
    """The proxies of a package whose streams are valid; those in cycles and in hops only if its machine is given.

    Without products the streams do not tell the width of weights; then it is ``weight_bits``. ``check`` is the check of
    these streams, if it has run already.
    """
    program = package.program
    columns, core = program.columns, program.core_of_rows()
    per_core = np.diff(program.core_start)
    precision = _precision(package, weight_bits)
    sends, receives, loads, stores, copies = (columns.op == op for op in (Op.SEND, Op.RECV, Op.LD, Op.ST, Op.LMV))
    size = columns.a.astype(np.int64)
    check = _checked(package) if check is None else check
    held = counts({core_name(n): bytes_ for n, bytes_ in enumerate(check.local_bytes) if bytes_})
    kinds = np.bincount(columns.op, minlength=OP_LIMIT)
    numbers: dict[str, object] = {}
    if machine is not None and precision is not None:
        numbers = _times(program, machine, precision, check.met)
        numbers["byte_hops"] = int((size[sends] * machine.hops[core[sends], columns.b[sends]]).sum())
    if program.node is not None:
        numbers |= _nodes(package, core)
    return Proxies(
        level=Level.PACKAGE,
        machine=_machine_name(package, precision),
        interface=_interface(package),
        samples=package.samples,
        opaque_ops=0,
        width=int((per_core > 0).sum()),
        mvm_count=int(kinds[Op.MVMUL]),
        vector_count=int(sum(kinds[op] for op in VECTOR_OPS)),
        instructions=len(columns),
        instructions_max=int(per_core.max(initial=0)),
        instruction_kinds=counts({BY_CODE[code].mnemonic: int(kinds[code]) for code in np.flatnonzero(kinds).tolist()}),
        recomputed=needless_scalars(program),
        host_ops=0,
        sends=int(sends.sum()),
        send_bytes=int(size[sends].sum()),
        receives=int(receives.sum()),
        receive_bytes=int(size[receives].sum()),
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
        logical_core_bytes=held,
        physical_core_bytes=held,
        core_bytes_max=max(check.local_bytes, default=0),
        core_bytes=sum(check.local_bytes),
        **numbers,  # pyright: ignore[reportArgumentType]
    )


def core_name(core: int) -> str:
    """The name of a core in tables of proxies: cores sort by number."""
    return f"{core:05}"


def place_digest(places: Sequence[tuple[str, int]]) -> str:
    """Stands for the cores of each node: pairs of node name and core, in any order."""
    lines = [f"{name}\0{core}\0" for name, core in sorted(set(places))]
    return blake2b("".join(lines).encode(), digest_size=8).hexdigest()


def _times(program: Program, machine: Machine, precision: Precision, met: Rendezvous | None) -> dict[str, object]:
    """Cycles of instructions that execute alone; scalar ones, which the front end does meanwhile or between, take none.

    The clock counts those as well.
    """
    cycles = instruction_cycles(program, machine, precision)
    work = np.where(_FRONT_END[program.columns.op], 0, cycles)
    busy = np.bincount(program.core_of_rows(), work, program.core_count).astype(np.int64)
    return {
        "busy_cycles": counts({core_name(n): int(busy[n]) for n in np.flatnonzero(busy).tolist()}),
        "busy_cycles_max": int(busy.max(initial=0)),
        "work_cycles": int(busy.sum()),
        "makespan_cycles": stream_path(program, work, met),
        "order": stream_order(program, work),
    }


def _nodes(package: Package, core: npt.NDArray[np.int32]) -> dict[str, object]:
    """What each node of the network gets."""
    program = package.program
    assert program.node is not None
    names = [*(name or UNNAMED for name in program.node_names), UNNAMED]
    node = program.node % len(names)
    computes = np.flatnonzero(_COMPUTES[program.columns.op])
    pairs = node[computes].astype(np.int64) * program.core_count + core[computes]
    # A core mostly computes something of one node for a while.
    changes = np.flatnonzero(np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)])
    cores = program.core_count
    found: list[int] = np.unique(pairs[changes]).tolist()
    places = [(names[pair // cores], pair % cores) for pair in found]
    width: dict[str, int] = {}
    for name, _ in set(places):
        width[name] = width.get(name, 0) + 1
    width.pop(UNNAMED, None)
    products = np.flatnonzero(program.columns.op == Op.MVMUL)
    written = np.bincount(node[products], _written(package, core, products), len(names))
    elements: dict[str, int] = {}
    for number in np.flatnonzero(written).tolist():
        elements[names[number]] = elements.get(names[number], 0) + int(written[number])
    return {
        "assignment": place_digest(places),
        "width_of_node": counts(width),
        "product_elements": counts(elements),
    }


def _written(package: Package, core: npt.NDArray[np.int32], products: Ints) -> Ints:
    """Elements that each matrix product computes: the columns of its weights."""
    start = np.cumsum([0, *map(len, package.program.groups)])
    columns = np.zeros(int(start[-1]) + 1, np.int64)
    for number, of_core in enumerate(package.weights.of_group):
        for group, matrix in enumerate(of_core):
            if matrix >= 0:
                columns[start[number] + group] = package.weights.matrices[matrix].shape[1]
    return columns[start[core[products]] + package.program.columns.b[products]]


def _checked(package: Package) -> StreamCheck:
    check = StreamCheck(package.program, package.weights, package.memory.size_bytes)
    for _ in check.addresses():
        pass
    return check


def _interface(package: Package) -> str:
    names = ("input", package.inputs), ("output", package.outputs)
    return "; ".join(
        sorted(
            tensor_text(kind, layout.name, layout.dtype, layout.shape) for kind, layouts in names for layout in layouts
        )
    )


def _machine_name(package: Package, precision: Precision | None) -> str:
    bits = "?"
    if precision is not None:
        bits = f"{precision.weight_bits}/{precision.input_bits}/{precision.output_bits}"
    return f"{package.machine.name} {bits} {package.machine.sha256[:16]}"


def _precision(package: Package, weight_bits: int | None) -> Precision | None:
    """The widths that the streams set; None if they set none, or change them."""
    columns = package.program.columns
    settings, products = columns.op == Op.SETBW, columns.op == Op.MVMUL
    found = np.unique(np.stack((columns.a[settings], columns.b[settings])), axis=1)
    weights = columns.a[products]
    if found.shape[1] != 1 or bool((weights != weights[:1]).any()):
        return None
    if not len(weights):
        recorded = package.options.get("weight_bits") if weight_bits is None else weight_bits
        return Precision(recorded if isinstance(recorded, int) else 8, *found[:, 0].tolist())
    return Precision(int(weights[0]), *found[:, 0].tolist())
