"""What sabotages do to a finished package, and their innocent twins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from compilation import lower
from guard_programs import network
from tilec.codegen.columns import Columns, Program
from tilec.codegen.isa import VECTOR_OPS, Op
from tilec.codegen.memory_image import GlobalMemory, WeightTable
from tilec.codegen.package import Package
from tilec.dialects import pim
from tilec.dialects.location import node_name
from xdsl.dialects.builtin import ModuleOp

Edit = Callable[[Package], Package]


@cache
def lowered() -> ModuleOp:
    return lower(network(16), "tiny4")


# What is done to the streams


def rows_of(package: Package, *ops: Op) -> np.ndarray:
    return np.flatnonzero(np.isin(package.program.columns.op, ops))


def taking(package: Package, rows: np.ndarray, core_of: np.ndarray | None = None) -> Package:
    """The package with these rows, which stand core by core."""
    program = package.program
    core = (program.core_of_rows() if core_of is None else core_of)[rows]
    start = np.searchsorted(core, np.arange(program.core_count + 1)).astype(np.int64)
    assert program.node is not None
    columns = Columns(**{name: column[rows] for name, column in program.columns.items()})
    return replace(package, program=replace(program, columns=columns, core_start=start, node=program.node[rows]))


def setting(package: Package, **columns: np.ndarray) -> Package:
    made = Columns(**(dict(package.program.columns.items()) | columns))
    return replace(package, program=replace(package.program, columns=made))


def repeated(package: Package, rows: np.ndarray) -> Package:
    times = np.ones(len(package.program.columns), np.int64)
    times[rows] += 1
    return taking(package, np.repeat(np.arange(len(times)), times))


def vector_twice(package: Package) -> Package:
    return repeated(package, rows_of(package, *VECTOR_OPS)[:1])


def send_in_two(package: Package) -> Package:
    """The first message between two cores travels as two halves."""
    send = int(rows_of(package, Op.SEND)[0])
    core, target = int(package.program.core_of_rows()[send]), int(package.program.columns.b[send])
    receives = rows_of(package, Op.RECV)
    at = package.program.core_of_rows()[receives] == target
    receive = int(receives[at & (package.program.columns.b[receives] == core)][0])
    halved = package.program.columns.a.copy()
    halved[[send, receive]] //= 2
    return repeated(setting(package, a=halved), np.array([send, receive]))


def without_a_product(package: Package) -> Package:
    return taking(package, np.delete(np.arange(len(package.program.columns)), rows_of(package, Op.MVMUL)[-1]))


def without_a_store(package: Package) -> Package:
    return taking(package, np.delete(np.arange(len(package.program.columns)), rows_of(package, Op.ST)[0]))


def without_a_lane(package: Package) -> Package:
    """The last lane that core 0 computes of its first layer is gone."""
    columns, core, node = package.program.columns, package.program.core_of_rows(), package.program.node
    assert node is not None
    layer = node[(columns.op == Op.MVMUL) & (core == 0)][0]
    rows = np.flatnonzero((core == 0) & (node == layer) & np.isin(columns.op, (Op.MVMUL, *VECTOR_OPS)))
    batches = [op for op in lowered().walk() if isinstance(op, pim.CoreBatchOp)]
    names = {name: op for op in batches for name in node_name(op).split("+")}
    lanes = int((names[package.program.node_names[layer]].lane_cores == 0).sum())
    assert lanes > 1
    return taking(package, np.delete(np.arange(len(columns)), rows[-(len(rows) // lanes) :]))


def there_and_back(package: Package) -> Package:
    """What is stored is loaded again, to where it came from."""
    store = int(rows_of(package, Op.ST)[0])
    package = repeated(package, np.array([store]))
    columns = {name: column.copy() for name, column in package.program.columns.items()}
    columns["op"][store + 1] = Op.LD
    columns["rd"][store + 1], columns["rs1"][store + 1] = columns["rs1"][store], columns["rd"][store]
    return setting(package, **columns)


def local_copy(package: Package) -> Package:
    row = int(rows_of(package, Op.VVADD)[0])
    package = repeated(package, np.array([row]))
    columns = {name: column.copy() for name, column in package.program.columns.items()}
    columns["op"][row + 1], columns["rs2"][row + 1] = Op.LMV, 0
    return setting(package, **columns)


def load_twice(package: Package) -> Package:
    return repeated(package, rows_of(package, Op.LD)[:1])


def longer_vector(package: Package) -> Package:
    size = package.program.columns.a.copy()
    size[rows_of(package, *VECTOR_OPS)[0]] *= 8
    return setting(package, a=size)


def register_again(package: Package) -> Package:
    """A register is loaded with what it holds."""
    return repeated(package, rows_of(package, Op.SLDI)[:1])


def register_for_nothing(package: Package) -> Package:
    row = rows_of(package, Op.SLDI)[:1]
    package = repeated(package, row)
    register = package.program.columns.rd.copy()
    register[row] = 17
    return setting(package, rd=register)


def widths_again(package: Package) -> Package:
    return repeated(package, rows_of(package, Op.SETBW)[:1])


def other_widths(package: Package) -> Package:
    bits = package.program.columns.a.copy()
    bits[rows_of(package, Op.SETBW)] = 16
    return setting(package, a=bits)


def sends_last(package: Package) -> Package:
    """Every send waits until its core has nothing left to do before the next message: the same instructions, later."""
    columns, core = package.program.columns, package.program.core_of_rows()
    order: list[int] = []
    held: list[int] = []
    for row in range(len(columns)):
        if held and (core[row] != core[held[0]] or columns.op[row] in (Op.SEND, Op.RECV, Op.ST)):
            order += held
            held = []
        (held if columns.op[row] == Op.SEND else order).append(row)
    return taking(package, np.array(order + held))


def store_after_the_next(package: Package) -> Package:
    """A row is stored after what its core computes next, not before."""
    program = package.program
    core, op = program.core_of_rows(), program.columns.op
    computes = rows_of(package, Op.MVMUL, *VECTOR_OPS)
    for store in rows_of(package, Op.ST).tolist():
        behind = computes[(computes > store) & (core[computes] == core[store])]
        if len(behind):
            rows = np.insert(np.delete(np.arange(len(op)), store), int(behind[0]), store)
            return taking(package, rows)
    raise AssertionError("no core computes after it has stored")


def cores_exchanged(package: Package) -> Package:
    """Two cores change places, with all that they have, which is not of the same nodes."""
    return exchanged(package, unlike_the_first(package))


def unlike_the_first(package: Package) -> int:
    """A core that computes other nodes than core 0."""
    program = package.program
    assert program.node is not None
    computes = np.isin(program.columns.op, [Op.MVMUL, *VECTOR_OPS])
    nodes = [set(program.node[computes & (program.core_of_rows() == core)]) for core in range(program.core_count)]
    return next(core for core in range(1, program.core_count) if nodes[core] != nodes[0])


def exchanged(package: Package, core: int) -> Package:
    """Core 0 and another one change places."""
    program = package.program
    place = np.arange(program.core_count)
    place[[0, core]] = core, 0
    rows = np.concatenate([np.arange(*program.core_start[core : core + 2]) for core in place])
    moved = taking(package, rows, place[program.core_of_rows()])
    columns = moved.program.columns
    other = np.where(np.isin(columns.op, (Op.SEND, Op.RECV)), place[columns.b % len(place)], columns.b)
    moved = setting(moved, b=other.astype(np.int32))
    groups = tuple(program.groups[core] for core in place)
    weights = WeightTable(package.weights.matrices, tuple(package.weights.of_group[core] for core in place))
    return replace(moved, program=replace(moved.program, groups=groups), weights=weights)


def weights_twice(package: Package) -> Package:
    """Core 0 has arrays with weights that nothing uses."""
    groups = ((*package.program.groups[0], package.program.groups[0][0]), *package.program.groups[1:])
    table = ((*package.weights.of_group[0], package.weights.of_group[0][0]), *package.weights.of_group[1:])
    made = replace(package, program=replace(package.program, groups=groups))
    return replace(made, weights=WeightTable(package.weights.matrices, table))


def more_global_memory(package: Package) -> Package:
    return replace(package, memory=GlobalMemory(package.memory.size_bytes + 64, package.memory.constants))


def more_local_memory(package: Package) -> Package:
    """The first address in a register of its own stands behind all others; 1 is for global ones."""
    value = package.program.columns.a.copy()
    loads = rows_of(package, Op.SLDI)
    value[loads[package.program.columns.rd[loads] > 1][0]] = package.program.target.local_memory_bytes - 64
    return setting(package, a=value)


def without_an_output(package: Package) -> Package:
    return replace(package, outputs=())


def without_nodes(package: Package) -> Package:
    """Work that no node of the network stands for."""
    return replace(package, program=replace(package.program, node=None, node_names=()))


# What does no harm


def other_registers(package: Package) -> Package:
    """Register 33 - r in place of r, but for 0 and 1, which global addresses take."""
    columns = {name: column.copy() for name, column in package.program.columns.items()}
    for name in ("rd", "rs1", "rs2"):
        columns[name] = np.where(columns[name] > 1, 33 - columns[name], columns[name])
    return setting(package, **columns)


def loads_of_registers_exchanged(package: Package) -> Package:
    """Neighbours that load two registers change places."""
    op = package.program.columns.op
    pairs = np.flatnonzero((op[:-1] == Op.SLDI) & (op[1:] == Op.SLDI) & (np.diff(package.program.core_of_rows()) == 0))
    order = np.arange(len(op))
    order[[pairs[0], pairs[0] + 1]] = pairs[0] + 1, pairs[0]
    return taking(package, order)


def nodes_renumbered(package: Package) -> Package:
    program: Program = package.program
    assert program.node is not None
    last = np.int32(len(program.node_names) - 1)
    return replace(package, program=replace(program, node=last - program.node, node_names=program.node_names[::-1]))


def cores_there_and_back(package: Package) -> Package:
    other = unlike_the_first(package)
    return exchanged(exchanged(package, other), other)


@dataclass(frozen=True)
class Sabotage:
    edit: Edit
    fields: frozenset[str]
    """All of them are among the reasons."""
    twin: Edit = other_registers


def sabotage(edit: Edit, *fields: str, twin: Edit = other_registers) -> Sabotage:
    return Sabotage(edit, frozenset(fields), twin)


SABOTAGES = (
    sabotage(vector_twice, "vector_count", "instruction_kinds", "busy_cycles", "work_cycles"),
    sabotage(send_in_two, "sends", "receives", "instruction_kinds"),
    sabotage(without_a_product, "mvm_count", "product_elements", "busy_cycles"),
    sabotage(without_a_lane, "mvm_count", "product_elements", "busy_cycles"),
    sabotage(without_a_store, "device_to_host_copies", "device_to_host_bytes"),
    sabotage(there_and_back, "host_to_device_copies", "host_to_device_bytes"),
    sabotage(local_copy, "local_copies", "local_copy_bytes"),
    sabotage(load_twice, "host_to_device_copies", "host_to_device_bytes"),
    sabotage(longer_vector, "busy_cycles", "work_cycles"),
    sabotage(register_again, "recomputed", twin=loads_of_registers_exchanged),
    sabotage(register_for_nothing, "recomputed", twin=loads_of_registers_exchanged),
    sabotage(widths_again, "instruction_kinds"),
    sabotage(other_widths, "machine", "busy_cycles"),
    sabotage(sends_last, "makespan_cycles", twin=loads_of_registers_exchanged),
    sabotage(store_after_the_next, "order", twin=loads_of_registers_exchanged),
    sabotage(cores_exchanged, "assignment", twin=cores_there_and_back),
    sabotage(weights_twice, "weight_elements"),
    sabotage(more_global_memory, "host_bytes"),
    sabotage(more_local_memory, "core_bytes_max", "physical_core_bytes"),
    sabotage(without_an_output, "interface"),
    sabotage(without_nodes, "assignment", "product_elements", "width_of_node", twin=nodes_renumbered),
)
