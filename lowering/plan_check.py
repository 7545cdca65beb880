"""Whether a program keeps what it needs: the check of addresses that stand in a text, and that no pass has planned.

It asks for memory as `pim-plan-memory` does, takes the addresses as they are, and looks for two things that live at the
same time in one place, and for what has no place at all.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ..analysis.buffers import Buffers
from ..analysis.plan_validation import overlap_sweep
from ..dialects import pim
from ..dialects.location import place_of
from ..dialects.spat import WindowAttr
from ..dialects.tile import ArrayAttr
from ..support.diagnostics import TileError
from .event_order import PROLOGUE, Phase, begin_of, step_of
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
from .row_instances import Instances, Lanes, row_instances
from .target import Target, target_of

Ints = NDArray[np.int64]

REMEDY = "run pim-plan-memory on the module as it was before it"


def check_plan(module: ModuleOp) -> None:
    """Raises a TileError if what a planned module says of addresses, rings, zeros and peaks does not hold."""
    target = target_of(module)
    for program in module.walk():
        if isinstance(program, pim.ProgramOp):
            _Check(program, target).run()


class _Held(NamedTuple):
    """Something in the local memory of a core."""

    owner: Operation
    address: int
    size: int
    first: int
    last: int


class _Check:
    def __init__(self, program: pim.ProgramOp, target: Target) -> None:
        self._program = program
        self._target = target
        self._bytes = target.element_bytes
        self._held = [list[_Held]() for _ in range(target.machine.core_count)]
        self._lanes: dict[pim.CoreBatchOp, Lanes] = {}

    def run(self) -> None:
        check_lanes(self._program)
        ops = list(self._program.body.block.ops)
        for op in ops:
            match op:
                case pim.RowsOp():
                    self._rows(op)
                case pim.ConstantRowsOp():
                    self._constant(op)
                case pim.CoreBatchOp():
                    _check_reach(op, self._target)
                case _:
                    pass
        self._frames([op for op in ops if isinstance(op, pim.CoreBatchOp)])
        self._zeros()
        self._overlaps()
        self._peaks()

    # Rows

    def _rows(self, op: pim.RowsOp) -> None:
        found = row_instances(op, self._lanes)
        height = pim.shape_of(op.result)[0]
        table = self._table(op, op.instances)
        where = table[:, 0] * height + table[:, 1]
        if ((table[:, 1] < 0) | (table[:, 1] >= height)).any() or (where[1:] <= where[:-1]).any():
            _fail(op, "its addresses are not in order of cores and rows, each once")
        needed = found.core * height + found.row
        at = np.minimum(np.searchsorted(where, needed), max(len(where) - 1, 0))
        missing = np.flatnonzero(where[at] != needed) if len(where) else np.arange(len(needed))
        if missing.size:
            core, row = int(found.core[missing[0]]), int(found.row[missing[0]])
            _fail(op, f"row {row} has no address on core {core}, which uses it")
        if len(where) > len(needed):
            _fail(op, f"{len(where)} rows have an address, and {len(needed)} are used")
        self._slots(op, found, table[at, 2])
        for use in op.result.uses:
            _check_pads(op, use.operation, use.index)

    def _slots(self, op: pim.RowsOp, found: Instances, address: Ints) -> None:
        """Rows in a ring of their own, or each in a slot by itself."""
        slot = slot_elements(op) * self._bytes
        rings = np.zeros((0, 4), np.int64) if op.rings is None else self._table(op, op.rings)
        if len(np.unique(rings[:, 0])) < len(rings):
            _fail(op, "a core has two rings")
        in_ring = np.zeros(len(found), np.bool_)
        listed: list[list[int]] = rings.tolist()
        for core, base, size, key in listed:
            mine = found.core == core
            distance = address - base
            inside = mine & (distance >= 0) & (distance + slot <= size)
            if not inside.any() or size % slot or (distance[inside] % slot).any():
                _fail(op, f"the ring on core {core}, {size} bytes at {base}, does not hold rows of {slot} bytes")
            if key > int(found.first[inside].min()):
                _fail(op, f"the ring on core {core} is there from key {key} on, after its first row")
            begin = begin_of(step_of(key)) if any(op.pads) else key
            self._held[core].append(_Held(op, base, size, begin, int(found.last[inside].max())))
            in_ring |= inside
        alone = np.flatnonzero(~in_ring)
        if not found.passing[alone].all():
            _fail(op, f"a row that lanes on core {found.core[alone][~found.passing[alone]][0]} read is in no ring")
        by_itself: list[list[int]] = np.stack((found.core, address, found.first, found.last), 1)[alone].tolist()
        for core, place, first, last in by_itself:
            self._held[core].append(_Held(op, place, slot, first, last))
        order = np.lexsort((found.first, address, found.core))
        order = order[in_ring[order]]
        core, place, first, last = (column[order] for column in (found.core, address, found.first, found.last))
        clash = np.flatnonzero((core[1:] == core[:-1]) & (place[1:] == place[:-1]) & (first[1:] <= last[:-1]))
        if clash.size:
            _fail(op, f"two of its rows are at address {place[clash[0]]} of core {core[clash[0]]} at once")

    # Constants, frames, zeros

    def _constant(self, op: pim.ConstantRowsOp) -> None:
        lives = constant_lives(op)
        size = int(np.prod(pim.shape_of(op.result))) * self._bytes
        table = self._table(op, op.instances)
        if table[:, 0].tolist() != sorted(lives):
            _fail(op, f"it has addresses on cores {table[:, 0].tolist()[:8]}, and is read on {sorted(lives)[:8]}")
        places: list[list[int]] = table.tolist()
        for core, address, step in places:
            first, last = lives[core]
            if begin_of(step) > first:
                _fail(op, f"core {core} loads it at step {step}, and reads it from step {step_of(first)} on")
            self._held[core].append(_Held(op, address, size, begin_of(step), last))

    def _frames(self, batches: list[pim.CoreBatchOp]) -> None:
        wanted: dict[int, list[Frame]] = {}
        places: dict[tuple[int, int], int] = {}
        framed: list[pim.CoreBatchOp] = []
        for batch in batches:
            allocs = [op for op in batch.block.ops if isinstance(op, pim.AllocOp)]
            if not allocs:
                continue
            spans = self._frame(batch, allocs)
            for core, first, last in lives_of_lanes(batch, Phase.COMPUTE):
                begin, end = spans[core]
                wanted.setdefault(core, []).append(Frame(first, last, end - begin, len(framed)))
                places[core, len(framed)] = begin
            framed.append(batch)
        interrupted = interrupting_batches(framed)
        for core, frames in wanted.items():
            for group in share_places(frames, interrupted.get(core, ())):
                begin = min(places[core, frame.batch] for frame in group)
                end = max(places[core, frame.batch] + frame.size for frame in group)
                first, last = group[0].first, max(frame.last for frame in group)
                self._held[core].append(_Held(framed[group[0].batch], begin, end - begin, first, last))

    def _frame(self, batch: pim.CoreBatchOp, allocs: list[pim.AllocOp]) -> dict[int, tuple[int, int]]:
        """By core, where the temporary tiles of a batch begin and end."""
        cores = np.unique(batch.lane_cores)
        columns: list[Ints] = []
        for alloc in allocs:
            table = self._table(alloc, alloc.addresses)
            if not np.array_equal(table[:, 0], cores):
                _fail(
                    alloc, f"it has addresses on cores {table[:, 0].tolist()[:8]}, and is used on {cores.tolist()[:8]}"
                )
            columns.append(table[:, 1])
        address = np.stack(columns, axis=1)
        size = np.array([(np.prod(pim.shape_of(op.result)) + op.slack.value.data) * self._bytes for op in allocs])
        buffers = Buffers.build(size, *lifetimes(batch, allocs))
        for row in np.unique(address - address[:, :1], axis=0):
            if (pair := overlap_sweep(buffers, row)) is not None:
                _fail(allocs[pair[1]], "it overlaps another tile of its batch, which is still needed")
        begin, end = address.min(axis=1).tolist(), (address + size).max(axis=1).tolist()
        return dict(zip(cores.tolist(), zip(begin, end, strict=True), strict=True))

    def _zeros(self) -> None:
        needed = rows_of_zeros(self._program, self._bytes)
        table = np.zeros((0, 3), np.int64)
        if self._program.zeros is not None:
            table = self._table(self._program, self._program.zeros)
        if table[:, 0].tolist() != sorted(needed):
            what = f"cores {table[:, 0].tolist()[:8]} have rows of zeros, and {sorted(needed)[:8]} need them"
            _fail(self._program, what)
        for core, address, size in table.tolist():
            if size < needed[core][0]:
                _fail(self._program, f"core {core} has a row of zeros of {size} bytes, and needs {needed[core][0]}")
            self._held[core].append(_Held(self._program, address, size, PROLOGUE, needed[core][1]))

    # What they come to

    def _overlaps(self) -> None:
        capacity = self._target.machine.local_memory_bytes
        for core, held in enumerate(self._held):
            for one in held:
                if one.address < 0 or one.address + one.size > capacity or one.address % self._bytes:
                    what = (
                        f"it is at bytes {one.address} to {one.address + one.size} of core {core}, which has {capacity}"
                    )
                    _fail(one.owner, what)
            address, *columns = (np.array([one[column] for one in held], np.int64) for column in (1, 2, 3, 4))
            if (pair := overlap_sweep(Buffers.build(*columns), address)) is not None:
                one, other = (held[index] for index in pair)
                what = f"it is at address {one.address} of core {core}, and overlaps {place_of(other.owner)} there"
                _fail(one.owner, what)

    def _peaks(self) -> None:
        peaks = [max((one.address + one.size for one in held), default=0) for held in self._held]
        if self._program.peak_bytes is None or self._program.peak_bytes.array.tolist() != peaks:
            _fail(self._program, f"its peaks are not {peaks[:8]}")

    def _table(self, op: Operation, table: ArrayAttr | None) -> Ints:
        """What a table says, whose first column is a core."""
        if table is None:
            raise TileError(place_of(op), f"{op.name} has no address yet", "run pim-plan-memory first")
        found = table.array.astype(np.int64)
        cores = len(self._held)
        if ((found[:, 0] < 0) | (found[:, 0] >= cores)).any() or (found > 1 << 50).any():
            _fail(op, f"a table names cores that a machine of {cores} does not have, or addresses beyond any memory")
        return found


def _fail(op: Operation, what: str) -> NoReturn:
    raise TileError(place_of(op), f"{op.name}: {what}", REMEDY)


def _check_pads(rows: pim.RowsOp, user: Operation, index: int) -> None:
    """As many columns of zeros are beside the rows as windows reach over."""
    if isinstance(user, pim.CoreBatchOp) and index < len(user.windows):
        window = user.windows.data[index]
        if isinstance(window, WindowAttr) and (
            window.data.pad_left > rows.pads[0] or window.data.pad_right > rows.pads[1]
        ):
            _fail(rows, f"{rows.pads} columns of zeros are beside it, and {place_of(user)} reads more")


def _check_reach(batch: pim.CoreBatchOp, target: Target) -> None:
    """A product writes whole arrays, beyond what it is to write: into the slack of its destination."""
    room: dict[SSAValue, int] = {
        op.result: op.slack.value.data for op in batch.block.ops if isinstance(op, pim.AllocOp)
    }
    for argument, value in zip(batch.out_arguments, batch.outs, strict=True):
        if isinstance(value.owner, pim.RowsOp):
            room[argument] = value.owner.slack.value.data
    for op in batch.block.ops:
        if not isinstance(op, pim.IssueOp):
            continue
        _, matrix, dest = op.split_operands
        if dest not in room:
            _fail(op, "it writes to what is only read")
        if matrix is not None:
            *_, columns, channels = pim.shape_of(dest)
            wide = target.array_columns
            access = op.dest_access.data
            last = access.start + (op.count - 1) * access.step + -(-pim.shape_of(matrix)[1] // wide) * wide
            if last - columns * channels > room[dest]:
                _fail(op, f"it writes {last - columns * channels} elements behind its destination, {room[dest]} may be")
