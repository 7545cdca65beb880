"""What asks for local memory, how much and for how long; and what keeps lanes from mixing on a core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from ..analysis.window import OUTSIDE
from ..dialects import pim
from ..dialects.location import place_of
from ..support.arrays import Ints
from ..support.diagnostics import TileError
from .batch_lanes import BatchLanes
from .event_order import PROLOGUE, Phase, event_key, step_of
from .frame_sharing import interrupting
from .instruction_chains import chains_of


def slot_elements(rows: pim.RowsOp) -> int:
    """Elements that a row takes, with the columns of zeros beside it and what may be overwritten behind it."""
    _, columns, channels = pim.shape_of(rows.result)
    return (sum(rows.pads) + columns) * channels + rows.slack.value.data


def check_lanes(program: pim.ProgramOp) -> None:
    """Raises a TileError if two lanes on one core run at the same step: they would mix their instructions."""
    batches = [op for op in program.body.block.ops if isinstance(op, pim.CoreBatchOp)]
    if not batches:
        return
    core, first, last, owner = np.concatenate([_runs(batch, index) for index, batch in enumerate(batches)], axis=1)
    order = np.lexsort((first, core))
    core, first, last, owner = core[order], first[order], last[order], owner[order]
    mixed = np.flatnonzero((core[1:] == core[:-1]) & (first[1:] <= last[:-1]))
    if mixed.size:
        at = int(mixed[0])
        names = " and ".join(place_of(batches[int(owner[one])]) for one in (at, at + 1))
        raise TileError(
            f"core {core[at]}", f"lanes of {names} share step {first[at + 1]}", "schedule with spat-schedule-peft"
        )


def _runs(batch: pim.CoreBatchOp, owner: int) -> Ints:
    """[4, n] core, first and last step of everything that lanes run without an interruption, and ``owner``.

    What a lane has done when it goes on says for how long it has run before.
    """
    every, zeros = np.arange(batch.lane_count), np.zeros(batch.lane_count, np.int64)
    lines = np.stack((every, zeros, zeros), axis=1)
    if batch.lane_resumes is not None:
        lines = np.concatenate((lines, batch.lane_resumes))
        lines = lines[np.lexsort((lines[:, 2], lines[:, 1], lines[:, 0]))]
    lane, done, offset = lines.T
    is_last = np.append(lane[1:] != lane[:-1], True)
    length: Ints = np.append(done[1:], 0) - done
    length[is_last] = (batch.lane_spans[lane] - offset)[is_last]
    first = batch.steps.array.astype(np.int64)[lane] + offset
    runs = np.stack((batch.lane_cores[lane], first, first + length - 1, np.full(len(lane), owner)))
    return runs[:, length > 0]


def interrupting_batches(batches: Sequence[pim.CoreBatchOp], lanes_of: BatchLanes) -> dict[int, set[tuple[int, int]]]:
    """By core, pairs of batches, by number, of which a lane of the second interrupts one of the first.

    Raises a TileError if a lane interrupts another one of its own batch.
    """
    if not batches:
        return {}
    lanes = [lanes_of[batch] for batch in batches]
    core = np.concatenate([one.cores for one in lanes])
    first = np.concatenate([one.steps for one in lanes])
    last = np.concatenate([one.last_steps for one in lanes])
    owner = np.repeat(np.arange(len(batches)), [len(one.cores) for one in lanes])
    found = interrupting(core, first, last, owner)
    for place, pairs in sorted(found.items()):
        if same := sorted(outer for outer, inner in pairs if outer == inner):
            raise TileError(
                f"core {place}",
                f"a lane of {place_of(batches[same[0]])} interrupts another one, and both work in one place",
                "schedule with spat-schedule-peft",
            )
    return found


def constant_lives(rows: pim.ConstantRowsOp, lanes_of: BatchLanes) -> dict[int, tuple[int, int]]:
    """By core that uses a constant, the key at which it is loaded and the last at which it is read.

    Raises a TileError if a core is to load it after its first lane.
    """
    lives: dict[int, tuple[int, int]] = {}
    for use in rows.result.uses:
        if isinstance(batch := use.operation, pim.CoreBatchOp):
            fetched = _fetched(batch, rows.result)
            for core, first, last in lanes_of[batch].lives(Phase.FILL):
                begin = fetched.get(core, first)
                if begin > first:
                    raise TileError(
                        place_of(batch),
                        f"core {core} loads a constant at step {step_of(begin)}, and its first lane there is "
                        f"at step {step_of(first)}",
                        "load it at this step or before",
                    )
                earlier = lives.get(core, (begin, last))
                lives[core] = min(begin, earlier[0]), max(last, earlier[1])
    return lives


def rows_of_zeros(program: pim.ProgramOp, element_bytes: int, lanes_of: BatchLanes) -> dict[int, tuple[int, int]]:
    """By core with a window that reaches beyond its image, the bytes of the longest such row, and the last key."""
    found: dict[int, tuple[int, int]] = {}
    for batch in program.body.block.ops:
        if not isinstance(batch, pim.CoreBatchOp):
            continue
        lanes = lanes_of[batch]
        for index, argument in enumerate(batch.input_arguments):
            outside = (lanes.rows_read(index) == OUTSIDE).any(axis=1)
            if not outside.any():
                continue
            keys = event_key(lanes.last_steps, Phase.COMPUTE)
            row_bytes = int(np.prod(pim.shape_of(argument)[1:])) * element_bytes
            for core in np.unique(lanes.cores[outside]).tolist():
                size, last = found.get(core, (0, PROLOGUE))
                mine = keys[outside & (lanes.cores == core)]
                found[core] = max(size, row_bytes), max(last, int(mine.max()))
    return found


def _fetched(batch: pim.CoreBatchOp, constant: SSAValue) -> dict[int, int]:
    """By core, the key at which it loads the constant, as far as that is planned."""
    if batch.fetches is None:
        return {}
    number, core, step = batch.fetches.array.astype(np.int64).T
    loaded = batch.loaded_constants
    if int(number.max(initial=-1)) >= len(loaded):
        raise TileError(
            place_of(batch),
            f"constant {int(number.max())} is to be loaded, and there are {len(loaded)}",
            "number them from 0",
        )
    mine = np.isin(number, [index for index, value in enumerate(loaded) if value is constant])
    order = np.argsort(-step[mine], kind="stable")  # what has several numbers is loaded at the first of the steps
    return dict(zip(core[mine][order].tolist(), event_key(step[mine], Phase.FILL)[order].tolist(), strict=True))


def lifetimes(batch: pim.CoreBatchOp, allocs: Sequence[pim.AllocOp]) -> tuple[list[int], list[int]]:
    """First and last instruction of the body that touches each tile; a chain counts as one instruction."""
    position: dict[Operation, int] = {op: index for index, chain in enumerate(chains_of(batch.block)) for op in chain}
    first: list[int] = []
    last: list[int] = []
    for alloc in allocs:
        value: SSAValue = alloc.result
        users = [position[use.operation] for use in value.uses]
        first.append(min(users, default=0))
        last.append(max(users, default=0))
    return first, last
