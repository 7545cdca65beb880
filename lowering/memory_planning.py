"""Addresses in the local memories: rings of rows, temporary tiles, constants and rows of zeros.

What is planned together on a core:

* a *ring* for each distributed tensor of which rows are read there: as many slots as rows are ever held at once. Zero
  columns beside the rows are written once, before the first row comes;
* slots for rows that only pass, which all tensors share (:mod:`.row_slots`);
* a *frame* for the temporary tiles of each batch, which share it by their lifetimes within the body. Batches of which
  no lane interrupts one of the other share one place for their frames;
* constants, from their first use to the last;
* one row of zeros, if any window reaches beyond its image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..analysis.buffers import Buffers, MemoryPlan
from ..analysis.liveness import CapacityError, plan_cores, plan_memory
from ..analysis.plan_validation import validate_plan
from ..dialects import pim
from ..dialects.location import node_name
from ..dialects.tile import ArrayAttr
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .batch_lanes import BatchLanes
from .event_order import PROLOGUE, Phase, begin_of, step_of
from .frame_sharing import Frame, share_places
from .memory_requests import (
    check_lanes,
    constant_lives,
    interrupting_batches,
    lifetimes,
    rows_of_zeros,
    slot_elements,
)
from .pim_programs import programs_of
from .row_instances import Instances, instances_of_all
from .row_slots import SlotPlan, plan_slots
from .target import Target, target_of

UNLIMITED = 1 << 40

WORTH_DIVIDING = 0.8
"""Of a core's memory, what it has to come down to for slots of passing rows to change with time: then addresses change,
too, which take more instructions to load."""


def plan_module(module: ModuleOp) -> int:
    """Plans every `pim.program` of the module; the bytes of the fullest core. Raises TileError if there is none, or
    if they do not fit."""
    target = target_of(module)
    return max(_Planner(program, target).run() for program in programs_of(module))


@dataclass(frozen=True)
class _Request:
    """A buffer that one op wants on one core."""

    owners: tuple[Operation, ...]
    """One op, or the batches that share a frame."""
    size: int
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of all distributed tensors."""

    ops: list[pim.RowsOp]
    instances: list[Instances]
    sizes: Ints
    """[ops] bytes of a slot."""

    @cached_property
    def columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Of all instances, op by op: which op, core, first and last key."""
        owner = np.repeat(np.arange(len(self.ops)), [len(one) for one in self.instances])
        core, first, last = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(one, name) for one in self.instances)])
            for name in ("core", "first", "last")
        )
        return owner, core, first, last

    @cached_property
    def passing(self) -> NDArray[np.bool_]:
        """Of all instances, whether the row only passes."""
        return np.concatenate([np.zeros(0, np.bool_), *(one.passing for one in self.instances)])

    def slots(self, divided: NDArray[np.bool_], only: int | None = None) -> SlotPlan:
        """Of all instances, or of those on one core; ``divided`` as in :func:`.row_slots.plan_slots`."""
        mine = slice(None) if only is None else self.columns[1] == only
        owner, core, first, last = (column[mine] for column in self.columns)
        return plan_slots(owner, core, first, last, self.passing[mine], self.sizes, divided)

    def begins(self, slots: SlotPlan) -> Ints:
        """Of each area the key from which on it is needed: the fill of the columns beside the rows of a ring comes
        right before the first row."""
        filled = np.array([any(op.pads) for op in self.ops], np.bool_)[slots.tensor] & ~slots.shared
        return np.where(filled, begin_of(step_of(slots.first)), slots.first)

    def requests(self, slots: SlotPlan) -> list[tuple[int, _Request]]:
        """Of each area: the core, and what it wants there."""
        columns = slots.core, slots.size, self.begins(slots), slots.last, slots.tensor
        areas: list[list[int]] = np.stack(columns, axis=1).tolist()
        return [(core, _Request((self.ops[op],), size, begin, end)) for core, size, begin, end, op in areas]


class _Planner:
    def __init__(self, program: pim.ProgramOp, target: Target) -> None:
        self._program = program
        self._bytes = target.element_bytes
        self._target = target
        self._requests: list[list[_Request]] = [[] for _ in range(target.machine.core_count)]
        self._lanes = BatchLanes()
        self._frames: dict[pim.CoreBatchOp, tuple[list[pim.AllocOp], MemoryPlan]] = {}
        self._frame_plans: dict[tuple[int, ...], MemoryPlan] = {}
        """Plans of frames by sizes and lifetimes: many batches have equal ones."""

    def run(self) -> int:
        for op in self._program.body.block.ops:
            self._target.require_cores(op, _cores_of(op))
        rows = self._rows()
        for op in self._program.body.block.ops:
            match op:
                case pim.ConstantRowsOp():
                    self._request_constant(op)
                case pim.CoreBatchOp():
                    self._plan_frame(op)
                case _:
                    pass
        self._request_frames()
        self._request_zeros()
        check_lanes(self._program)
        slots, requests, plans = self._plan(rows)
        self._assign_rows(rows, slots, plans)
        self._assign(requests, plans)
        peak = np.array([plan.peak for plan in plans], np.int64)
        self._program.properties["peak_bytes"] = ArrayAttr.get(peak)
        return int(peak.max(initial=0))

    # Requests

    def _rows(self) -> _Rows:
        ops = [op for op in self._program.body.block.ops if isinstance(op, pim.RowsOp)]
        sizes = np.array([slot_elements(op) * self._bytes for op in ops], np.int64)
        return _Rows(ops, instances_of_all(ops, self._lanes), sizes)

    def _request_constant(self, rows: pim.ConstantRowsOp) -> None:
        size = int(np.prod(pim.shape_of(rows.result))) * self._bytes
        lives = constant_lives(rows, self._lanes)
        for core in sorted(lives):
            self._want(core, rows, size, *lives[core])

    def _plan_frame(self, batch: pim.CoreBatchOp) -> None:
        allocs = [op for op in batch.block.ops if isinstance(op, pim.AllocOp)]
        if allocs:
            first, last = lifetimes(batch, allocs)
            sizes = [(int(np.prod(pim.shape_of(op.result))) + op.slack.value.data) * self._bytes for op in allocs]
            key = (*sizes, *first, *last)
            if key not in self._frame_plans:
                self._frame_plans[key] = plan_memory(Buffers.build(sizes, first, last, self._bytes), UNLIMITED)
            self._frames[batch] = allocs, self._frame_plans[key]

    def _request_frames(self) -> None:
        batches = list(self._frames)
        wanted: dict[int, list[Frame]] = {}
        for index, batch in enumerate(batches):
            for core, first, last in self._lanes[batch].lives(Phase.COMPUTE):
                wanted.setdefault(core, []).append(Frame(first, last, self._frames[batch][1].peak, index))
        interrupted = interrupting_batches(batches, self._lanes)
        for core in sorted(wanted):
            for frames in share_places(wanted[core], interrupted.get(core, ())):
                owners = tuple(batches[frame.batch] for frame in frames)
                size, last = max(frame.size for frame in frames), max(frame.last for frame in frames)
                self._requests[core].append(_Request(owners, size, frames[0].first, last))

    def _request_zeros(self) -> None:
        """One row of zeros on every core with a window that reaches beyond its image, as long as the longest needs."""
        for core, (size, last) in sorted(rows_of_zeros(self._program, self._bytes, self._lanes).items()):
            self._want(core, self._program, size, PROLOGUE, last)

    def _want(self, core: int, owner: Operation, size: int, first: int, last: int) -> None:
        self._requests[core].append(_Request((owner,), size, first, last))

    # Planning

    def _plan(self, rows: _Rows) -> tuple[SlotPlan, list[list[_Request]], list[MemoryPlan]]:
        """The slots of rows, all requests of each core, and their addresses.

        Passing rows have the same slots all the time, but for cores that are the fullest, and would be much less full
        otherwise; and if not everything fits.
        """
        capacity = self._target.machine.local_memory_bytes
        divided = np.zeros(len(self._requests), np.bool_)
        while True:
            slots, requests = self._all_requests(rows, divided)
            problems = list(map(self._problem, requests))
            try:
                plans = plan_cores(problems, capacity)
            except CapacityError as error:
                if divided.all():
                    raise self._too_small(error, requests) from error
                divided[:] = True
                continue
            fullest = max(range(len(plans)), key=lambda core: plans[core].peak)
            if divided[fullest] or self._divided_peak(rows, fullest) > WORTH_DIVIDING * plans[fullest].peak:
                break
            divided[fullest] = True
        for problem, plan in zip(problems, plans, strict=True):
            faults = validate_plan(problem, plan, capacity)
            assert not faults, f"the memory plan is wrong: {faults[0]}"
        return slots, requests, plans

    def _all_requests(self, rows: _Rows, divided: NDArray[np.bool_]) -> tuple[SlotPlan, list[list[_Request]]]:
        """The slots of rows, and of each core those of areas of slots, and then all others."""
        slots = rows.slots(divided)
        found: list[list[_Request]] = [[] for _ in self._requests]
        for core, request in rows.requests(slots):
            found[core].append(request)
        for mine, others in zip(found, self._requests, strict=True):
            mine += others
        return slots, found

    def _divided_peak(self, rows: _Rows, core: int) -> int:
        """Bytes of a core where passing rows have other slots after a moment without any."""
        slots = rows.slots(np.ones(len(self._requests), np.bool_), core)
        requests = [*(request for _, request in rows.requests(slots)), *self._requests[core]]
        return plan_memory(self._problem(requests), UNLIMITED).peak

    def _problem(self, requests: Sequence[_Request]) -> Buffers:
        return Buffers.build(
            [request.size for request in requests],
            [request.first for request in requests],
            [request.last for request in requests],
            self._bytes,
        )

    def _too_small(self, error: CapacityError, requests: Sequence[Sequence[_Request]]) -> TileError:
        core = error.core or 0
        holders: dict[str, int] = {}
        for index, size in error.holders:
            owner = requests[core][index].owners[0]
            name = "rows of zeros" if owner is self._program else node_name(owner).partition("+")[0] or owner.name
            holders[name] = holders.get(name, 0) + size
        largest = sorted(holders.items(), key=lambda item: (-item[1], item[0]))[:4]
        return TileError(
            f"core {core}",
            f"it needs {error.need} bytes of local memory and has {error.have}; "
            f"most is held for {', '.join(f'{name} ({size} bytes)' for name, size in largest)}",
            "use a machine with more local memory or more cores, or fewer samples at a time",
        )

    def _assign(self, wanted: Sequence[Sequence[_Request]], plans: Sequence[MemoryPlan]) -> None:
        """Writes the addresses onto the ops, as tables in order of core."""
        # A constant that no lane reads is on no core: its table is empty.
        constants = (op for op in self._program.body.block.ops if isinstance(op, pim.ConstantRowsOp))
        base: dict[Operation, list[tuple[int, int, int, int]]] = {op: [] for op in constants}
        for core, (requests, plan) in enumerate(zip(wanted, plans, strict=True)):
            for request, address in zip(requests, plan.address.tolist(), strict=True):
                for owner in request.owners:
                    base.setdefault(owner, []).append((core, address, request.size, request.first))
        for owner, places in base.items():
            table = np.array(places, np.int64).reshape(-1, 4)
            match owner:
                case pim.ConstantRowsOp():
                    steps = step_of(table[:, 3])
                    owner.properties["instances"] = ArrayAttr.get(np.column_stack((table[:, :2], steps)))
                case pim.CoreBatchOp():
                    allocs, frame = self._frames[owner]
                    for alloc, offset in zip(allocs, frame.address.tolist(), strict=True):
                        addresses = table[:, :2] + np.array([0, offset])
                        alloc.properties["addresses"] = ArrayAttr.get(addresses)
                case pim.RowsOp():
                    pass
                case _:
                    assert owner is self._program
                    owner.properties["zeros"] = ArrayAttr.get(np.ascontiguousarray(table[:, :3]))

    def _assign_rows(self, rows: _Rows, slots: SlotPlan, plans: Sequence[MemoryPlan]) -> None:
        """Where each row is, and of each ring its place and when its first row comes."""
        base = np.zeros(len(slots.core), np.int64)
        for core, span in _spans(slots.core):
            base[span] = plans[core].address[: span.stop - span.start]  # areas come first among the requests
        address = base[slots.area] + slots.offset
        rings = np.stack((slots.core, base, slots.size, rows.begins(slots)), axis=1)
        ends = np.cumsum([len(one) for one in rows.instances])
        for number, (op, one, end) in enumerate(zip(rows.ops, rows.instances, ends.tolist(), strict=True)):
            mine = address[end - len(one) : end]
            order = np.lexsort((one.row, one.core))
            columns = (one.core[order], one.row[order], mine[order])
            op.properties["instances"] = ArrayAttr.get(np.stack(columns, axis=1))
            op.properties["rings"] = ArrayAttr.get(rings[(slots.tensor == number) & ~slots.shared])


def _cores_of(op: Operation) -> Ints:
    """The cores that an op names."""
    match op:
        case pim.CoreBatchOp():
            return op.lane_cores
        case pim.LoadOp():
            return op.rows.array[:, 1]
        case pim.TransferOp():
            return op.messages.array[:, 1:3]
        case _:
            return np.zeros(0, np.int64)


def _spans(sorted_values: Ints) -> list[tuple[int, slice]]:
    """The runs of equal values in a sorted array."""
    values, starts = np.unique(sorted_values, return_index=True)
    ends = np.append(starts[1:], len(sorted_values))[: len(starts)].tolist()
    return [
        (value, slice(start, end)) for value, start, end in zip(values.tolist(), starts.tolist(), ends, strict=True)
    ]
