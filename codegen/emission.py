"""What code generation has to emit for a planned program, counted op by op from the IR alone.

This is the guard's half of the bookkeeping: it shares no code with the expansion, which it is compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..analysis.proxies import UNNAMED
from ..dialects import pim
from ..dialects.block_looks import BlockLooks
from ..dialects.location import node_name
from ..dialects.tile import ArrayAttr
from ..lowering.body_memory import Body, BodyMemory
from ..lowering.event_order import PROLOGUE, Phase, event_key
from ..lowering.instruction_chains import chains_of
from ..lowering.instruction_steps import instruction_steps
from ..lowering.lane_cost import issue_cycles
from ..lowering.row_instances import producer_of
from ..lowering.target import Target, target_of
from ..support.arrays import Ints
from .event_path import EventPath
from .global_layout import ALIGNMENT
from .isa import ISA, Op
from .register_use import most_loads
from .ring_zeros import ring_zeros


@dataclass
class Emission:
    """Counts of everything but scalar instructions, and a bound for those."""

    cores: int
    in_order: bool
    """Whether the machine executes one instruction after another."""
    kinds: Counter[Op] = field(default_factory=Counter[Op])
    moved_bytes: Counter[Op] = field(default_factory=Counter[Op])
    """Of loads, stores, messages and local copies."""
    places: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    """Nodes and the cores that compute something of them."""
    global_bytes: int = 0
    """Inputs, outputs and constants, each on places of its own."""

    def __post_init__(self) -> None:
        self.path = EventPath(self.cores)
        self._spent: list[tuple[Ints, Ints, int, int]] = []
        self.most_loads = {op: most_loads(op, self.in_order) for op in ISA}

    @property
    def busy(self) -> Ints:
        """Cycles of each core, when every instruction executes alone."""
        return self._totals[0]

    @property
    def instructions(self) -> Ints:
        """Of each core."""
        return self._totals[1]

    @property
    def scalars(self) -> Ints:
        """Of each core, at most: a load for every register that has to hold something new."""
        return self._totals[2]

    def add(self, op: Op, core: Ints, cycles: npt.ArrayLike, size: npt.ArrayLike = 0) -> Ints:
        """An instruction on each ``core``, of ``cycles``, that moves ``size`` bytes. Returns the cycles of each."""
        self.kinds[op] += len(core)
        self.moved_bytes[op] += int(np.broadcast_to(np.asarray(size, np.int64), core.shape).sum())
        spent = np.broadcast_to(np.asarray(cycles, np.int64), core.shape)
        self.spend(core, spent, 1, self.most_loads[op])
        return spent

    def add_alone(self, op: Op, core: Ints, key: npt.ArrayLike, cycles: npt.ArrayLike, size: int = 0) -> None:
        """The same of an instruction that needs no partner, and has its place in the order of events."""
        spent = self.add(op, core, cycles, size)
        self.path.add(core, key, spent, {Op.LD: size, Op.ST: -size}.get(op, 0))

    def spend(self, core: Ints, cycles: Ints, instructions: int, scalars: int) -> None:
        """What is done on each ``core``, in numbers."""
        vars(self).pop("_totals", None)
        self._spent.append((core, cycles, instructions, scalars))

    @cached_property
    def _totals(self) -> tuple[Ints, ...]:
        """[cores] cycles, instructions and scalar ones, until more is added."""
        core = np.concatenate([np.zeros(0, np.int64), *(one[0] for one in self._spent)])
        busy = np.concatenate([np.zeros(0, np.int64), *(one[1] for one in self._spent)])
        each = np.array([one[2:] for one in self._spent], np.int64).reshape(-1, 2)
        some, loads = np.repeat(each, [len(one[0]) for one in self._spent], axis=0).T
        return tuple(np.bincount(core, column, self.cores).astype(np.int64) for column in (busy, some, loads))


def emission_of(module: ModuleOp) -> Emission:
    """What the module's `pim.program` comes to. It has addresses: a package was made of it."""
    target = target_of(module)
    program = next(op for op in module.body.block.ops if isinstance(op, pim.ProgramOp))
    found = Emission(target.machine.core_count, in_order=target.machine.rob_size == 1)
    known: dict[object, int] = {}
    bodies, looks = BodyMemory(), BlockLooks()
    constants: set[ArrayAttr] = set()
    held: dict[tuple[int, int], list[Ints]] = {}
    transfers: list[pim.TransferOp] = []
    for op in program.body.block.ops:
        match op:
            case pim.InputOp():
                found.global_bytes += _place(op.result, target)
            case pim.ConstantOp():
                constants.add(op.value)
            case pim.RowsOp():
                fills = ring_zeros(op, target)
                if len(fills.core):
                    found.add_alone(Op.LLDI, fills.core, fills.key, target.machine.fill_cycles(fills.size))
            case pim.ConstantRowsOp():
                _note_constant(held, op, target)
            case pim.LoadOp():
                _, core, step = op.rows.array.T
                size = _row_bytes(op.source, target)
                key = event_key(step, Phase.LOAD)
                found.add_alone(Op.LD, core, key, target.machine.load_cycles(core, size), size)
            case pim.TransferOp():
                transfers.append(op)
            case pim.OutputOp():
                _store(found, op, target)
            case pim.CoreBatchOp():
                _batch(found, op, target, known, bodies.body(looks.at(op.block)))
            case _:
                pass
    if transfers:
        _transfer(found, transfers, target)
    if program.zeros is not None:
        core, _, size = program.zeros.array.T
        found.add_alone(Op.LLDI, core, PROLOGUE, target.machine.fill_cycles(size))
    lines: list[Ints] = [np.zeros((0, 5), np.int64)]
    for (size, total), instances in held.items():
        number, core, step = np.concatenate(instances).T
        lines.append(_constants(found, size, total, number, core, step, target))
    # A core loads those of one step in the order in which the program has them.
    every = np.concatenate(lines)
    found.path.add(*every[np.argsort(every[:, 0], kind="stable"), 1:].T)
    found.global_bytes += sum(_aligned(_stored(value) * target.element_bytes) for value in constants)
    return found


def _batch(found: Emission, op: pim.CoreBatchOp, target: Target, known: dict[object, int], body: Body) -> None:
    """All lanes issue the same, and so do equal bodies."""
    lanes, cores = op.lane_count, op.lane_cores
    lane = body.once("emission", lambda: _lane(found, op, target, known))
    for opcode, count in lane.kinds.items():
        found.kinds[opcode] += lanes * count
    found.moved_bytes[Op.LMV] += lanes * lane.copied_bytes
    step = instruction_steps(op.steps.array.astype(np.int64), op.lane_spans, op.lane_resumes, lane.begin)
    found.path.add(cores[:, None], event_key(step, Phase.COMPUTE), lane.spent)
    found.spend(cores, np.full(lanes, lane.begin[-1]), len(lane.spent), lane.scalars)
    found.places.update((name, core) for core in np.unique(cores).tolist() for name in lane.names)


class _Lane(NamedTuple):
    """What one lane of a body issues."""

    kinds: Counter[Op]
    copied_bytes: int
    scalars: int
    """At most."""
    names: frozenset[str]
    """Nodes of which it computes something."""
    spent: Ints
    """Cycles of each instruction."""
    begin: Ints
    """When each begins, and when the last one ends."""


def _lane(found: Emission, op: pim.CoreBatchOp, target: Target, known: dict[object, int]) -> _Lane:
    """``known`` holds cycles of one instruction by all that they depend on."""
    names: dict[int, str] = {}
    kinds: Counter[Op] = Counter()
    cycles: list[int] = []
    scalars = copied = 0
    for chain in chains_of(op.block):
        costs: list[int] = []
        for issue in chain:
            opcode = issue.opcode
            key = opcode, issue.size, issue.written_size
            if key not in known:
                known[key] = issue_cycles(issue, target) // issue.count
            costs += [known[key]] * (issue.count // issue.turn_count)
            kinds[opcode] += issue.count
            scalars += issue.count * found.most_loads[opcode]
            if opcode is Op.LMV:
                copied += issue.count * issue.size * target.element_bytes
            if opcode not in (Op.LMV, Op.LLDI) and id(issue.location) not in names:
                names[id(issue.location)] = node_name(issue) or UNNAMED
        cycles += costs * chain[0].turn_count
    spent = np.array(cycles, np.int64)
    return _Lane(kinds, copied, scalars, frozenset(names.values()), spent, np.append(0, np.cumsum(spent)))


def _note_constant(held: dict[tuple[int, int], list[Ints]], op: pim.ConstantRowsOp, target: Target) -> None:
    """Adds the constant's number, and cores and steps of its instances, to ``held``, by its bytes in global and in
    local memory."""
    assert op.instances is not None
    assert isinstance(op.source.owner, pim.ConstantOp)
    size = _stored(op.source.owner.value) * target.element_bytes
    total = int(np.prod(pim.shape_of(op.result))) * target.element_bytes
    table = op.instances.array.astype(np.int64)
    number = sum(map(len, held.values()))
    held.setdefault((size, total), []).append(np.insert(table[:, [0, 2]], 0, number, axis=1))


def _constants(found: Emission, size: int, total: int, number: Ints, core: Ints, step: Ints, target: Target) -> Ints:
    """Constants come as they are stored; then they are repeated, twice as much each time, until they are whole. Gives
    lines of the constant's number, core, key, cycles and bytes that are loaded."""
    spent = [found.add(Op.LD, core, target.machine.load_cycles(core, size), size)]
    loaded = [size]
    while size < total:
        part = min(size, total - size)
        spent.append(found.add(Op.LMV, core, target.machine.copy_cycles(part), part))
        loaded.append(0)
        size += part
    key = event_key(step, Phase.FILL)
    columns = np.broadcast_arrays(
        number[:, None], core[:, None], key[:, None], np.stack(spent, axis=1), np.array(loaded, np.int64)
    )
    return np.stack([column.reshape(-1) for column in columns], axis=1)


def _transfer(found: Emission, ops: Sequence[pim.TransferOp], target: Target) -> None:
    tables = [op.messages.array for op in ops]
    size = np.repeat([_row_bytes(op.source, target) for op in ops], [len(table) for table in tables])
    _, source, destination, step = np.concatenate(tables).T
    sending = found.add(Op.SEND, source, target.machine.send_cycles(source, destination, size), size)
    receiving = found.add(Op.RECV, destination, target.machine.recv_cycles(source, destination, size), size)
    found.path.add_messages(event_key(step, Phase.MESSAGE), source, destination, sending, receiving, size)


def _store(found: Emission, op: pim.OutputOp, target: Target) -> None:
    for value in op.values:
        rows = value.owner
        assert isinstance(rows, pim.RowsOp)
        batch = producer_of(rows)
        assert batch is not None
        size = _row_bytes(value, target)
        core = batch.lane_cores
        key = event_key(batch.last_steps, Phase.STORE)
        found.add_alone(Op.ST, core, key, target.machine.store_cycles(core, size), size)
        found.global_bytes += _place(value, target)


def _row_bytes(value: SSAValue, target: Target) -> int:
    _, columns, channels = pim.shape_of(value)
    return columns * channels * target.element_bytes


def _place(value: SSAValue, target: Target) -> int:
    return _aligned(int(np.prod(pim.shape_of(value), dtype=np.int64)) * target.element_bytes)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _stored(value: ArrayAttr) -> int:
    """Elements of a constant in global memory: one number over and over is stored once for a whole place."""
    elements = value.array.size
    same = elements > ALIGNMENT and value.array.min() == value.array.max()
    return ALIGNMENT if same else elements
