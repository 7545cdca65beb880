"""What programs hold in local memories: buffers by their sizes, and the bytes that live at the same time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from xdsl.ir import Operation, SSAValue

from ..analysis.window import OUTSIDE
from ..dialects import pim
from ..dialects.pim import IssueOp, shape_of
from ..dialects.spat import WindowAttr
from ..support.arrays import Ints
from .batch_program import BatchProgram, Tensor
from .op_kinds import ops_of
from .program_traffic import first_rows
from .target import Target


def buffer_elements(program: BatchProgram, target: Target) -> int:
    """Elements of the tiles of all bodies and of one row of each distributed tensor, with what surrounds them."""
    tiles = 0
    for batch in program.batches:
        tiles += batch.body.once(("tiles", target), partial(_tile_elements, batch.body_ops, target))
    batches = [batch.op for batch in program.batches if isinstance(batch.op, pim.CoreBatchOp)]
    if any(not op.results for op in batches):
        return tiles + sum(map(_slot_elements, ops_of(program.others, pim.RowsOp)))
    return tiles + _row_elements(batches, program.others)


def _tile_elements(ops: Sequence[Operation], target: Target) -> int:
    slack: dict[Operation | SSAValue, int] = {}
    found = 0
    for op in ops:
        if isinstance(op, pim.EmptyOp):
            found += math.prod(shape_of(op.results[0])) * _tiles_of(op)
        elif isinstance(op, pim.AllocOp):
            found += math.prod(shape_of(op.results[0])) + op.slack.value.data
        elif "matrix_row" in op.properties and op.results:
            # Products write whole arrays: on tensors, what they write behind their tile is not said yet.
            assert isinstance(op, IssueOp)
            _, matrix, dest = op.split_operands
            assert matrix is not None
            access, wide = op.dest_access.data, target.array_columns
            end = access.start + (op.count - 1) * access.step + -(-shape_of(matrix)[1] // wide) * wide
            root = _tile_of(op.results[0])
            slack[root] = max(slack.get(root, 0), end - math.prod(shape_of(dest)))
    return found + sum(slack.values())


def _tiles_of(empty: pim.EmptyOp) -> int:
    """The tiles that an empty tensor stands for: one for each instruction that forms its result there, since whether
    these share it says nothing; and one for those that only read it, if there are any."""
    users = {use.operation for use in empty.result.uses}
    writers = sum(op.operands[-1] is empty.result and isinstance(op, IssueOp) for op in users)
    return max(1, writers + (len(users) > writers))


def _tile_of(value: SSAValue) -> Operation | SSAValue:
    """The tile that a value was formed in, instruction after instruction: the first one of those stands for it if it
    began with an empty tensor; if not, what that began with."""
    while isinstance(owner := value.owner, IssueOp):
        value = owner.operands[-1]
        if isinstance(value.owner, pim.EmptyOp):
            return owner
    return value


def _slot_elements(rows: pim.RowsOp) -> int:
    _, columns, channels = shape_of(rows.result)
    return (sum(rows.pads) + columns) * channels + rows.slack.value.data


def _beside(rows: pim.RowsOp) -> int:
    """Elements of the columns of zeros beside a row."""
    return sum(rows.pads) * shape_of(rows.result)[2]


def _row_elements(batches: Sequence[pim.CoreBatchOp], others: Sequence[Operation]) -> int:
    """Of tensors: a row of each with the columns beside it that its widest windows read."""
    roots: dict[SSAValue, SSAValue] = {}
    for op in ops_of(others, pim.TransferOp, pim.LoadOp):
        if op.result is not None:
            roots[op.result] = op.result if isinstance(op, pim.LoadOp) else roots.get(op.source, op.source)
    pads = {value: [0, 0] for batch in batches for value in batch.results_}
    pads |= {value: [0, 0] for value in roots.values()}
    for batch in batches:
        for value, window in zip(batch.split_operands[0], batch.windows, strict=True):
            held = pads.get(roots.get(value, value))
            if held is not None and isinstance(window, WindowAttr):
                held[:] = max(held[0], window.data.pad_left), max(held[1], window.data.pad_right)
    return sum((sum(beside) + shape_of(value)[1]) * shape_of(value)[2] for value, beside in pads.items())


def overwritten(ops: Sequence[Operation]) -> tuple[int, int]:
    """Of a body on tensors: how many copies it takes so that nothing is overwritten that is read later, and elements.

    An instruction forms its result in place of its destination, unless that is read later: then elsewhere, with a copy
    of what was there. An empty tensor is one for each instruction that writes into it. A row is yielded where it was
    formed, if that was in place all the way from an empty tensor of its own.
    """
    last_read = {operand: place for place, op in enumerate(ops) for operand in op.operands}
    elsewhere: set[Operation] = set()
    saved: list[SSAValue] = []
    for place, op in enumerate(ops):
        if not isinstance(op, IssueOp) or isinstance((dest := op.operands[-1]).owner, pim.EmptyOp):
            continue
        if last_read[dest] > place:
            elsewhere.add(op)
            saved.append(dest)
    taken: set[Operation | SSAValue] = set()
    for value in ops[-1].operands if isinstance(ops[-1], pim.YieldOp) else ():
        root, in_place = value, True
        while isinstance(owner := root.owner, IssueOp):
            in_place = in_place and owner not in elsewhere
            root = owner.operands[-1]
        tile = _tile_of(value)
        if not in_place or not isinstance(root.owner, pim.EmptyOp) or tile in taken:
            saved.append(value)
        taken.add(tile)
    return len(saved), sum(math.prod(shape_of(value)) for value in saved)


class Needs(NamedTuple):
    """What a planned program needs of local memories."""

    live_bytes_max: int
    """The most bytes that live at the same time on a core."""
    live_bytes: int
    """The same of each core, of all cores together."""
    needed_zero_bytes: int
    """Zeros beside as many rows as are held at once, and one row of zeros on each core that reads any."""


def needs_of_plan(program: BatchProgram, target: Target) -> Needs:
    """What a program needs, whatever its plan.

    What lives is what has one place: the rows of a tensor, as many as there are at once, from the first one's arrival
    to the last one's end; the tiles of all batches, of which only those have a place of their own whose lanes interrupt
    others or are interrupted; constants from when they are loaded to their last use; and a row of zeros.
    """
    batches = program.batches
    core, first, last = program.lane_columns
    frames = [batch.body.once("frame", partial(_frame_elements, batch.body_ops)) for batch in batches]
    owner = np.repeat(np.arange(len(batches)), [batch.lanes for batch in batches])
    lanes = _places_of_tiles(core, first, last, owner, np.array(frames, np.int64))
    tensors = ops_of(program.others, pim.RowsOp)
    slots = {program.values[id(op.result)]: _slot_elements(op) for op in tensors}
    first_row = first_rows(slots)
    loads = _tables([(first_row[tensor], table) for tensor in slots for table in tensor.loads], 3)
    messages = _tables([(first_row[tensor], table) for tensor in slots for table in tensor.messages], 4)
    rings, tensor = _rings(*_rows(program, slots, loads, messages))
    slot, beside = np.array([(_slot_elements(op), _beside(op)) for op in tensors], np.int64).reshape(-1, 2)[tensor].T
    constants, zeros = _constants(program), _zeros(program)
    live = target.element_bytes * _most_at_once(np.concatenate([rings, constants, zeros, lanes]))
    return Needs(
        int(live.max(initial=0)),
        int(live.sum()),
        target.element_bytes * int((rings[:, 3] // slot * beside).sum() + zeros[:, 3].sum()),
    )


def zeroed_bytes(program: BatchProgram, target: Target) -> int:
    """Bytes of zeros that the plan has written: beside all places of rings, and in place of rows."""
    found = 0
    for op in ops_of(program.others, pim.RowsOp):
        if any(op.pads) and op.rings is not None:
            places = op.rings.array[:, 2] // (_slot_elements(op) * target.element_bytes)
            found += int(places.sum()) * _beside(op) * target.element_bytes
    for op in ops_of(program.others, pim.ProgramOp):
        found += 0 if op.zeros is None else int(op.zeros.array[:, 2].sum())
    return found


def _places_of_tiles(core: Ints, first: Ints, last: Ints, owner: Ints, size: Ints) -> Ints:
    """Lines of core, first and last step and size of places for tiles, from the first lane there to the last one: one
    for each batch of which lanes interrupt others, or are interrupted, and one on each core for all the rest.

    The columns are of lanes: ``owner`` is the batch, of which ``size`` [batches] is that of its tiles.
    """
    order = np.lexsort((first, core))
    behind = int(last.max(initial=0)) + 1
    ended = np.maximum.accumulate(core[order] * behind + last[order])
    meets = np.zeros(len(order) + 1, np.bool_)
    meets[1:-1] = (core[order] * behind + first[order])[1:] <= ended[:-1]
    apart = np.zeros(len(order), np.bool_)
    apart[order] = meets[:-1] | meets[1:]
    place = core * (len(size) + 1) + owner
    place = np.where(np.isin(place, place[apart]), place, core * (len(size) + 1) + len(size))
    places, index = np.unique(place, return_inverse=True)
    since, until, largest = np.full(len(places), _NEVER), np.full(len(places), _START), np.zeros(len(places), np.int64)
    np.minimum.at(since, index, first)
    np.maximum.at(until, index, last)
    np.maximum.at(largest, index, size[owner])
    return np.stack((places // (len(size) + 1), since, until, largest), axis=1)


def _rings(lines: Ints, tensor: Ints) -> tuple[Ints, Ints]:
    """Lines of core, first and last step and size: of each tensor, on each core, the most of its rows at once, from the
    first one on until the last one; and the number of the tensor of each. ``lines`` are those of the rows of each
    ``tensor``."""
    core, first, last, size = lines.T
    if not len(core):
        return lines, tensor
    ring = tensor * _CORES + core
    moment, owner = np.concatenate((first, last + 1)), np.concatenate((ring, ring))
    change = np.concatenate((size, -size))
    order = np.lexsort((change, moment, owner))
    held, owner = np.cumsum(change[order]), owner[order]
    begin = np.flatnonzero(np.diff(owner, prepend=-1))
    depth = np.maximum.reduceat(held, begin)
    by_ring = np.argsort(ring, kind="stable")
    begin = np.flatnonzero(np.diff(ring[by_ring], prepend=-1))
    since, until = np.minimum.reduceat(first[by_ring], begin), np.maximum.reduceat(last[by_ring], begin)
    return np.stack((core[by_ring][begin], since, until, depth), axis=1), tensor[by_ring][begin]


def live_row_elements(program: BatchProgram, tensors: Iterable[Tensor], loads: Ints, messages: Ints) -> dict[int, int]:
    """Of each core that has any, the most elements of rows that are there at the same time, without what is beside
    them: of what the cores compute, and of ``loads`` and ``messages`` (:class:`.Moves`) of these tensors."""
    lines, _ = _rows(program, {tensor: tensor.row_elements for tensor in tensors}, loads.T[:3], messages.T[:4])
    return dict(zip(np.unique(lines[:, 0]).tolist(), _most_at_once(lines).tolist(), strict=True))


def _rows(program: BatchProgram, slots: Mapping[Tensor, int], loads: Ints, messages: Ints) -> tuple[Ints, Ints]:
    """Lines of core, first and last step and size of the rows of all tensors on all cores that have them; and the
    number of the tensor of each.

    ``slots`` has the size of a row of each tensor, whose rows are numbered through all of them; ``loads`` are columns
    of row, core and step, ``messages`` of row, source, target and step.
    """
    rows = [tensor.shape[0] for tensor in slots]
    first_row = first_rows(slots)
    made = [(tensor, program.batches[tensor.producer]) for tensor in slots if tensor.producer is not None]
    lanes = [batch.lanes for _, batch in made]
    begins = np.array([first_row[tensor] for tensor, _ in made], np.int64)
    computed = (
        np.arange(sum(lanes)) + np.repeat(begins - np.cumsum([0, *lanes])[:-1], lanes),
        *(_joined([of(batch) for _, batch in made]) for of in (_CORE, _STEP, _LAST_STEP)),
    )
    load_row, load_core, load_step = loads
    row, source, target, step = messages
    read, lane = program.rows_read(first_row)
    core, _, last_step = (column[lane] for column in program.lane_columns)
    arrivals = [computed[:3], (load_row, load_core, load_step), (row, target, step)]
    uses = [(computed[0], computed[1], computed[3]), (row, source, step), (read, core, last_step)]
    place, first = _extremes(np.concatenate(arrivals, axis=1), largest=False)
    used, last_use = _extremes(np.concatenate(uses, axis=1), largest=True)
    last = first.copy()
    position = np.minimum(np.searchsorted(place, used), max(0, len(place) - 1))
    known = place[position] == used if len(place) else np.zeros(len(used), np.bool_)
    np.maximum.at(last, position[known], last_use[known])
    row, core = np.divmod(place, _CORES)
    size = np.repeat(np.array([*slots.values()], np.int64), rows)
    tensor = np.repeat(np.arange(len(rows)), rows)
    return np.stack((core, first, last, size[row]), axis=1), tensor[row]


_CORE, _STEP, _LAST_STEP = attrgetter("lane_cores"), attrgetter("lane_steps"), attrgetter("last_steps")


def _joined(columns: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *columns])


def _tables(tables: Sequence[tuple[int, Ints]], columns: int) -> Ints:
    """The columns of all tables, whose rows, in the first, are numbered from where each begins."""
    begins = np.array([begin for begin, _ in tables], np.int64)
    found = np.concatenate([np.zeros((0, columns), np.int64), *(table for _, table in tables)]).T
    found[0] += np.repeat(begins, [len(table) for _, table in tables])
    return found


def _extremes(events: Ints, largest: bool) -> tuple[Ints, Ints]:
    """For each row and core with an event, as one number, ascending: the first or the last step."""
    row, core, step = events
    place = row * _CORES + core
    order = np.argsort(place, kind="stable")
    place, step = place[order], step[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    return place[first], (np.maximum if largest else np.minimum).reduceat(step, first) if len(first) else step


_CORES = 1 << 24
"""More than there are cores."""


def _constants(program: BatchProgram) -> Ints:
    """Lines of core, first and last step and size of constants, from when they are loaded, as planned, or else from
    their first use, to their last use."""
    batches = {batch.op: batch for batch in program.batches}
    uses = _Uses()
    for thing, op in enumerate(program.others):
        if not isinstance(op, pim.ConstantRowsOp):
            continue
        size = math.prod(shape_of(op.result))
        for use in op.result.uses:
            reader = use.operation
            if not isinstance(reader, pim.CoreBatchOp):
                continue
            batch = batches[reader]
            uses.add(thing, size, batch.lane_cores, batch.lane_steps, batch.last_steps)
            if batch.fetches is not None:
                numbers = [number for number, one in enumerate(reader.loaded_constants) if one is op.result]
                _, core, step = batch.fetches[np.isin(batch.fetches[:, 0], numbers)].T
                uses.add(thing, size, core, step, step)
    return uses.lines()


def _zeros(program: BatchProgram) -> Ints:
    """Lines of core, first and last step and size of rows of zeros, which are there from the start, as long as the
    longest that is read there: with the columns beside it that the window reads."""
    uses = _Uses()
    for batch in program.batches:
        for tensor, window, rows in batch.reads:
            outside = (rows == OUTSIDE).any(axis=1)
            if window is not None and outside.any():
                size = tensor.row_elements + (window.pad_left + window.pad_right) * tensor.shape[2]
                core, last = batch.lane_cores[outside], batch.last_steps[outside]
                uses.add(0, size, core, np.full(len(core), _START), last)
    return uses.lines()


class _Uses:
    """Uses of things, each of which is on a core from the first to the last, as large as the largest needs it."""

    def __init__(self) -> None:
        self._uses: list[Ints] = []

    def add(self, thing: int, size: int, core: Ints, first: Ints, last: Ints) -> None:
        """Uses of the ``thing`` of this number, one on each ``core`` from step ``first`` to ``last``."""
        self._uses.append(np.stack((thing * _CORES + core, first, last, np.full(len(core), size)), axis=1))

    def lines(self) -> Ints:
        """[n, 4] core, first and last step and size of each thing on each core."""
        place, first, last, size = np.concatenate([np.zeros((0, 4), np.int64), *self._uses]).T
        places, index = np.unique(place, return_inverse=True)
        since, until = np.full(len(places), _NEVER), np.full(len(places), _START)
        largest = np.zeros(len(places), np.int64)
        np.minimum.at(since, index, first)
        np.maximum.at(until, index, last)
        np.maximum.at(largest, index, size)
        return np.stack((places % _CORES, since, until, largest), axis=1)


_START = -1
"""Before the first step."""

_NEVER = 1 << 62
"""After the last step."""


def _frame_elements(ops: Sequence[Operation]) -> int:
    """The most elements of tiles that live at once in a body; instructions that run in turns are one moment."""
    size: dict[SSAValue, int] = {}
    for op in ops:
        if isinstance(op, pim.AllocOp):
            size[op.result] = math.prod(shape_of(op.result)) + op.slack.value.data
    if not size:
        return 0
    spans: dict[SSAValue, list[int]] = {}
    moment, turns = -1, 0
    for op in ops:
        if isinstance(op, IssueOp):
            if "chained" not in op.properties or op.turn_count != turns:
                moment, turns = moment + 1, op.turn_count
            for value in op.operands:
                if value in size:
                    spans.setdefault(value, [moment, moment])[1] = moment
    change = [0] * (moment + 2)
    for value, (first, last) in spans.items():
        change[first] += size[value]
        change[last + 1] -= size[value]
    return max(accumulate(change), default=0)


def _most_at_once(table: Ints) -> Ints:
    """Of lines of core, first and last moment and size: of each core that has any, the largest sum of sizes at one
    moment."""
    core, first, last, size = table.T
    moment, owner = np.concatenate((first, last + 1)), np.concatenate((core, core))
    change = np.concatenate((size, -size))
    order = np.lexsort((change, moment, owner))
    held, owner = np.cumsum(change[order]), owner[order]
    return np.maximum.reduceat(held, np.flatnonzero(np.diff(owner, prepend=-1))) if len(held) else held
