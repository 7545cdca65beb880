"""Whether a program keeps what it needs: the check of addresses, whoever has planned them.

It asks for memory as `pim-plan-memory` does, takes the addresses as they are, and looks for two things that live at the
same time in one place, for what has no place at all, and for what is not written or loaded when it is said to be.
"""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..analysis.buffers import Buffers
from ..analysis.plan_validation import overlap_sweep
from ..dialects import pim
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .event_order import PROLOGUE, Phase, begin_of, step_of
from .frame_sharing import Frame, share_places
from .memory_requests import check_lanes, constant_lives, interrupting_batches, lifetimes, rows_of_zeros
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


def plan_fault(program: pim.ProgramOp, target: Target) -> TileError | None:
    """The first thing that does not hold of what a planned program says of local memory; None if all does."""
    try:
        _Check(program, target).run()
    except TileError as error:
        return error
    return None


class _Check:
    def __init__(self, program: pim.ProgramOp, target: Target) -> None:
        self._program = program
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
                    _check_reach(op, self._target)
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
            allocs = [op for op in batch.block.ops if isinstance(op, pim.AllocOp)]
            if not allocs:
                continue
            lives = self._tables.lanes_of[batch].lives(Phase.COMPUTE)
            spans = self._frame(batch, allocs, np.array([core for core, _, _ in lives]))
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

    def _frame(self, batch: pim.CoreBatchOp, allocs: list[pim.AllocOp], cores: Ints) -> list[tuple[int, int]]:
        """On each of its cores, where the temporary tiles of a batch begin and end."""
        tables = [self._tables.table(alloc, alloc.addresses) for alloc in allocs]
        for alloc, table in zip(allocs, tables, strict=True):
            if len(table) != len(cores) or (table[:, 0] != cores).any():
                what = f"it has addresses on cores {table[:8, 0].tolist()}, and is used on {cores.tolist()[:8]}"
                fail(alloc, what)
        address = np.array(tables)[:, :, 1].T
        size = np.array([(prod(pim.shape_of(op.result)) + op.slack.value.data) * self._bytes for op in allocs])
        buffers = Buffers.build(size, *lifetimes(batch, allocs))
        content = buffers.content()
        offset = address - address[:, :1]
        for row in offset[:1] if (offset == offset[0]).all() else np.unique(offset, axis=0):
            key = content + row.tobytes()  # many batches have equal bodies
            if key not in self._sound_frames and (pair := overlap_sweep(buffers, row)) is not None:
                fail(allocs[pair[1]], "it overlaps another tile of its batch, which is still needed")
            self._sound_frames.add(key)
        begin, end = address.min(axis=1).tolist(), (address + size).max(axis=1).tolist()
        return list(zip(begin, end, strict=True))

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
        dest = op.operands[-1]
        if dest not in room:
            fail(op, "it writes to what is only read")
        if "matrix_row" in op.properties:
            _, matrix, _ = op.split_operands
            assert matrix is not None
            *_, columns, channels = pim.shape_of(dest)
            wide = target.array_columns
            access = op.dest_access.data
            last = access.start + access.last(op.count) * access.step + -(-pim.shape_of(matrix)[1] // wide) * wide
            if last - columns * channels > room[dest]:
                fail(op, f"it writes {last - columns * channels} elements behind its destination, {room[dest]} may be")
