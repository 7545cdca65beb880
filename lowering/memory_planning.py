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
from ..support.diagnostics import TileError
from .event_order import PROLOGUE, Phase
from .frame_sharing import Frame, share_places
from .memory_requests import (
    check_lanes,
    constant_lives,
    interrupting_batches,
    lifetimes,
    lives_of_lanes,
    rows_of_zeros,
    slot_elements,
)
from .row_instances import Instances, Lanes, instances_of_all
from .row_slots import SlotPlan, plan_slots
from .target import Target, target_of

Ints = NDArray[np.int64]

UNLIMITED = 1 << 40


def plan_module(module: ModuleOp) -> int:
    """Plans every `pim.program` of the module; the bytes of the fullest core. Raises TileError if they do not fit."""
    target = target_of(module)
    programs = [op for op in module.walk() if isinstance(op, pim.ProgramOp)]
    return max((_Planner(program, target).run() for program in programs), default=0)


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
    slots: SlotPlan
    """Of all instances, op by op."""
    begins: Ints
    """Of each area the key from which on it is needed."""
    request: list[int]
    """Of each area its place among the requests of its core."""


class _Planner:
    def __init__(self, program: pim.ProgramOp, target: Target) -> None:
        self._program = program
        self._bytes = target.element_bytes
        self._target = target
        self._requests: list[list[_Request]] = [[] for _ in range(target.machine.core_count)]
        self._lanes: dict[pim.CoreBatchOp, Lanes] = {}
        self._frames: dict[pim.CoreBatchOp, tuple[list[pim.AllocOp], MemoryPlan]] = {}
        self._frame_plans: dict[tuple[int, ...], MemoryPlan] = {}
        """Plans of frames by sizes and lifetimes: many batches have equal ones."""

    def run(self) -> int:
        for op in self._program.body.block.ops:
            self._target.require_cores(op, _cores_of(op))
        rows = self._request_rows()
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
        plans = self._plan()
        self._assign_rows(rows, plans)
        self._assign(plans)
        peak = np.array([plan.peak for plan in plans], np.int64)
        self._program.properties["peak_bytes"] = ArrayAttr.get(peak)
        return int(peak.max(initial=0))

    # Requests

    def _request_rows(self) -> _Rows:
        ops = [op for op in self._program.body.block.ops if isinstance(op, pim.RowsOp)]
        instances = instances_of_all(ops, self._lanes)
        owner = np.repeat(np.arange(len(ops)), [len(one) for one in instances])
        core, first, last = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(one, name) for one in instances)])
            for name in ("core", "first", "last")
        )
        passing = np.concatenate([np.zeros(0, np.bool_), *(one.passing for one in instances)])
        sizes = np.array([slot_elements(op) * self._bytes for op in ops], np.int64)
        slots = plan_slots(owner, core, first, last, passing, sizes)
        # The fill of the columns beside the rows of a ring comes right before the first row.
        filled = np.array([any(op.pads) for op in ops], np.bool_)[slots.tensor] & ~slots.shared
        begins = np.where(filled, slots.first // len(Phase) * len(Phase), slots.first)
        request: list[int] = []
        areas: list[list[int]] = np.stack((slots.core, slots.size, begins, slots.last, slots.tensor), axis=1).tolist()
        for place, size, begin, end, tensor in areas:
            request.append(len(self._requests[place]))
            self._requests[place].append(_Request((ops[tensor],), size, begin, end))
        return _Rows(ops, instances, slots, begins, request)

    def _request_constant(self, rows: pim.ConstantRowsOp) -> None:
        size = int(np.prod(pim.shape_of(rows.result))) * self._bytes
        lives = constant_lives(rows)
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
            for core, first, last in lives_of_lanes(batch, Phase.COMPUTE):
                wanted.setdefault(core, []).append(Frame(first, last, self._frames[batch][1].peak, index))
        interrupted = interrupting_batches(batches)
        for core in sorted(wanted):
            for frames in share_places(wanted[core], interrupted.get(core, ())):
                owners = tuple(batches[frame.batch] for frame in frames)
                size, last = max(frame.size for frame in frames), max(frame.last for frame in frames)
                self._requests[core].append(_Request(owners, size, frames[0].first, last))

    def _request_zeros(self) -> None:
        """One row of zeros on every core with a window that reaches beyond its image, as long as the longest needs."""
        for core, (size, last) in sorted(rows_of_zeros(self._program, self._bytes).items()):
            self._want(core, self._program, size, PROLOGUE, last)

    def _want(self, core: int, owner: Operation, size: int, first: int, last: int) -> None:
        self._requests[core].append(_Request((owner,), size, first, last))

    # Planning

    def _plan(self) -> list[MemoryPlan]:
        problems = [
            Buffers.build(
                [request.size for request in requests],
                [request.first for request in requests],
                [request.last for request in requests],
                self._bytes,
            )
            for requests in self._requests
        ]
        capacity = self._target.machine.local_memory_bytes
        try:
            plans = plan_cores(problems, capacity)
        except CapacityError as error:
            raise self._too_small(error) from error
        for problem, plan in zip(problems, plans, strict=True):
            faults = validate_plan(problem, plan, capacity)
            assert not faults, f"the memory plan is wrong: {faults[0]}"
        return plans

    def _too_small(self, error: CapacityError) -> TileError:
        core = error.core or 0
        holders: dict[str, int] = {}
        for index, size in error.holders:
            owner = self._requests[core][index].owners[0]
            name = "rows of zeros" if owner is self._program else node_name(owner).partition("+")[0] or owner.name
            holders[name] = holders.get(name, 0) + size
        largest = sorted(holders.items(), key=lambda item: (-item[1], item[0]))[:4]
        return TileError(
            f"core {core}",
            f"it needs {error.need} bytes of local memory and has {error.have}; "
            f"most is held for {', '.join(f'{name} ({size} bytes)' for name, size in largest)}",
            "use a machine with more local memory or more cores, or fewer samples at a time",
        )

    def _assign(self, plans: Sequence[MemoryPlan]) -> None:
        """Writes the addresses onto the ops, as tables in order of core."""
        base: dict[Operation, list[tuple[int, int, int, int]]] = {}
        for core, (requests, plan) in enumerate(zip(self._requests, plans, strict=True)):
            for request, address in zip(requests, plan.address.tolist(), strict=True):
                for owner in request.owners:
                    base.setdefault(owner, []).append((core, address, request.size, request.first))
        for owner, places in base.items():
            table = np.array(places, np.int64).reshape(-1, 4)
            match owner:
                case pim.ConstantRowsOp():
                    steps = table[:, 3] // len(Phase)
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

    def _assign_rows(self, rows: _Rows, plans: Sequence[MemoryPlan]) -> None:
        """Where each row is, and of each ring its place and when its first row comes."""
        slots, request = rows.slots, np.array(rows.request, np.int64)
        base = np.zeros(len(request), np.int64)
        for core, span in _spans(slots.core):
            base[span] = plans[core].address[request[span]]
        address = base[slots.area] + slots.offset
        rings = np.stack((slots.core, base, slots.size, rows.begins), axis=1)
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
