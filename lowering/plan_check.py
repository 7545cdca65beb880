"""Whether a program keeps what it needs: the check of addresses, whoever has planned them.

It asks for memory as `pim-plan-memory` does, takes the addresses as they are, and looks for two things that live at the
same time in one place, for what has no place at all, and for what is not written or loaded when it is said to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..analysis.plan_validation import overlap_sweep
from ..dialects import pim
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .body_memory import Body
from .event_order import PROLOGUE, Phase, begin_of, step_of
from .frame_sharing import Frame, share_places
from .memory_requests import check_lanes, constant_lives, interrupting_batches, rows_of_zeros
from .plan_bodies import BodyFrame, body_frame, ops_at
from .plan_rows import check_rows
from .plan_tables import Held, PlanTables, fail
from .target import Target, target_of


def check_plan(module: ModuleOp) -> None:
    """Raises a TileError if what a planned module says of addresses, rings, zeros and peaks does not hold."""
    target = target_of(module)
    for program in module.walk():
        if isinstance(program, pim.ProgramOp):
            check_lanes(program)
            _Check(program, target).run()


def plan_fault(
    program: pim.ProgramOp, target: Target, bodies: Mapping[pim.CoreBatchOp, Body] = MappingProxyType({})
) -> TileError | None:
    """The first thing that does not hold of what a planned program says of local memory; None if all does.

    ``bodies`` are those of its batches, if they are known: equal ones need to be looked at once.
    """
    try:
        _Check(program, target, bodies).run()
    except TileError as error:
        return error
    return None


class _Check:
    def __init__(
        self, program: pim.ProgramOp, target: Target, bodies: Mapping[pim.CoreBatchOp, Body] = MappingProxyType({})
    ) -> None:
        self._program = program
        self._bodies = bodies
        self._target = target
        self._bytes = target.element_bytes
        self._tables = PlanTables(target)
        self._held = Held()
        self._sound_frames: set[bytes] = set()
        """Places in frames that were found to be apart, with the sizes and lifetimes of what is there."""

    def run(self) -> None:
        ops = list(self._program.body.block.ops)
        check_rows([op for op in ops if isinstance(op, pim.RowsOp)], self._tables, self._held)
        for op in ops:
            match op:
                case pim.ConstantRowsOp():
                    self._constant(op)
                case pim.CoreBatchOp():
                    self._check_reach(op)
                case _:
                    pass
        self._frames([op for op in ops if isinstance(op, pim.CoreBatchOp)])
        self._zeros()
        machine = self._target.machine
        peaks = self._held.check(machine.core_count, machine.local_memory_bytes, self._bytes)
        if self._program.peak_bytes is None or self._program.peak_bytes.array.tolist() != peaks:
            fail(self._program, f"its peaks are not {peaks[:8]}")

    # Constants, frames, zeros

    def _constant(self, op: pim.ConstantRowsOp) -> None:
        lives = constant_lives(op, self._tables.lanes_of)
        size = prod(pim.shape_of(op.result)) * self._bytes
        core, address, step = self._tables.table(op, op.instances).T
        if core.tolist() != sorted(lives):
            fail(op, f"it has addresses on cores {core.tolist()[:8]}, and is read on {sorted(lives)[:8]}")
        first, last = np.array([lives[one] for one in core.tolist()], np.int64).reshape(-1, 2).T
        if (other := step != step_of(first)).any():
            at = int(other.argmax())
            planned = f"and is to load it at step {step_of(first[at])}, before it reads it"
            fail(op, f"core {core[at]} loads it at step {step[at]}, {planned}")
        self._held.add([op] * len(core), core, address, size, begin_of(step_of(first)), last)

    def _frames(self, batches: list[pim.CoreBatchOp]) -> None:
        wanted: dict[int, list[Frame]] = {}
        places: dict[tuple[int, int], int] = {}
        framed: list[pim.CoreBatchOp] = []
        for batch in batches:
            frame = self._body(batch)
            if not frame.tiles:
                continue
            lives = self._tables.lanes_of[batch].lives(Phase.COMPUTE)
            spans = self._frame(batch, frame, np.array([core for core, _, _ in lives]))
            for (core, first, last), (begin, end) in zip(lives, spans, strict=True):
                wanted.setdefault(core, []).append(Frame(first, last, end - begin, len(framed)))
                places[core, len(framed)] = begin
            framed.append(batch)
        interrupted = interrupting_batches(framed, self._tables.lanes_of)
        owners: list[pim.CoreBatchOp] = []
        found: list[tuple[int, int, int, int, int]] = []
        for core, frames in wanted.items():
            for group in share_places(frames, interrupted.get(core, ())):
                begin = min(places[core, frame.batch] for frame in group)
                end = max(places[core, frame.batch] + frame.size for frame in group)
                first, last = group[0].first, max(frame.last for frame in group)
                owners.append(framed[group[0].batch])
                found.append((core, begin, end - begin, first, last))
        self._held.add(owners, *np.array(found, np.int64).reshape(-1, 5).T)

    def _body(self, batch: pim.CoreBatchOp) -> BodyFrame:
        known = self._bodies.get(batch)
        if known is None:
            return body_frame(batch, self._target)
        key = BodyFrame, self._target.element_bytes, self._target.array_columns
        return known.once(key, lambda: body_frame(batch, self._target))

    def _frame(self, batch: pim.CoreBatchOp, frame: BodyFrame, cores: Ints) -> list[tuple[int, int]]:
        """On each of its cores, where the temporary tiles of a batch begin and end."""
        allocs = [cast("pim.AllocOp", op) for op in ops_at(batch, frame.tiles)]
        tables = [self._tables.table(alloc, alloc.addresses) for alloc in allocs]
        for alloc, table in zip(allocs, tables, strict=True):
            if len(table) != len(cores) or (table[:, 0] != cores).any():
                what = f"it has addresses on cores {table[:8, 0].tolist()}, and is used on {cores.tolist()[:8]}"
                fail(alloc, what)
        address = np.array(tables)[:, :, 1].T
        offset = address - address[:, :1]
        for row in offset[:1] if (offset == offset[0]).all() else np.unique(offset, axis=0):
            key = frame.content + row.tobytes()  # many batches have equal bodies
            if key not in self._sound_frames and (pair := overlap_sweep(frame.buffers, row)) is not None:
                fail(allocs[pair[1]], "it overlaps another tile of its batch, which is still needed")
            self._sound_frames.add(key)
        begin, end = address.min(axis=1).tolist(), (address + frame.size).max(axis=1).tolist()
        return list(zip(begin, end, strict=True))

    def _check_reach(self, batch: pim.CoreBatchOp) -> None:
        """A product writes whole arrays, beyond what it is to write: into the slack of its destination."""
        frame, first = self._body(batch), len(batch.block.args) - len(batch.outs)
        slack = [value.owner.slack.value.data if isinstance(value.owner, pim.RowsOp) else None for value in batch.outs]
        for place, number in frame.written:
            if number < first or slack[number - first] is None:
                fail(ops_at(batch, [place])[0], "it writes to what is only read")
        for place, number, elements, tile_room in frame.beyond:
            room = tile_room if number < first else slack[number - first] or 0
            if elements > room:
                what = f"it writes {elements} elements behind its destination, {room} may be"
                fail(ops_at(batch, [place])[0], what)

    def _zeros(self) -> None:
        needed = rows_of_zeros(self._program, self._bytes, self._tables.lanes_of)
        table = np.zeros((0, 3), np.int64)
        if self._program.zeros is not None:
            table = self._tables.table(self._program, self._program.zeros)
        core, address, size = table.T
        if core.tolist() != sorted(needed):
            what = f"cores {core.tolist()[:8]} have rows of zeros, and {sorted(needed)[:8]} need them"
            fail(self._program, what)
        wanted, last = np.array([needed[one] for one in core.tolist()], np.int64).reshape(-1, 2).T
        if (short := size < wanted).any():
            at = int(short.argmax())
            fail(self._program, f"core {core[at]} has a row of zeros of {size[at]} bytes, and needs {wanted[at]}")
        self._held.add([self._program] * len(core), core, address, size, PROLOGUE, last)
