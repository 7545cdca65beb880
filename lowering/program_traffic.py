"""What travels between the cores of a scheduled program, and to and from global memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from ..analysis.machine import Machine
from ..analysis.proxies import Level
from ..analysis.window import OUTSIDE
from ..support.arrays import Ints
from .batch_program import Batch, BatchProgram, Tensor
from .loaded_constants import LoadedConstant
from .schedule_span import LaneRun, Moves, ScheduledLanes, distinct

FoundT = TypeVar("FoundT")

_NEVER = np.iinfo(np.int64).max


class Traffic:
    """Messages and loads of every tensor; where the program has not decided them yet, those that are needed."""

    def __init__(self, program: BatchProgram, level: Level) -> None:
        self._program = program
        self._level = level

    @cached_property
    def messages(self) -> list[tuple[Tensor, Ints]]:
        """Of computed tensors, [n, 4] of row, source, target, step (-1 while it is not decided)."""
        found: list[tuple[Tensor, Ints]] = []
        for tensor in self._tensors:
            if tensor.messages:
                found.append((tensor, _joined(tensor.messages)))
            elif tensor.producer is not None and self._level is Level.SCHEDULED:
                found.append((tensor, self._needed[tensor]))
        return found

    @cached_property
    def loads(self) -> list[tuple[Tensor, Ints]]:
        """Of tensors in global memory, [n, 3] of row, core, step (of the first read while it is not decided)."""
        found: list[tuple[Tensor, Ints]] = []
        for tensor in self._tensors:
            if tensor.loads:
                found.append((tensor, _joined(tensor.loads)))
            elif tensor.producer is None and tensor.readers and self._level is Level.SCHEDULED:
                found.append((tensor, self._loaded_first(tensor)))
        return found

    def _loaded_first(self, tensor: Tensor) -> Ints:
        """What cores need of a tensor in global memory, each row when it is first read there."""

        def found() -> Ints:
            pairs = self._needed[tensor][:, ::2]
            return np.column_stack((pairs, self._first_reads(tensor, pairs)))

        return found() if tensor.needs else self._once(("loads", self._number[tensor]), found)

    @cached_property
    def is_timed(self) -> bool:
        """Whether it is known when each message is sent."""
        tables = [table[:, 3] for _, table in self.messages]
        return not tables or not bool((np.concatenate(tables) < 0).any())

    @property
    def is_sent(self) -> bool:
        """Whether there are messages."""
        return any(tensor.messages for tensor in self._tensors)

    def constant_loads(self) -> tuple[int, int]:
        """Constants that cores load: how many, and their elements. Each core loads each content once."""
        held: dict[LoadedConstant, set[int]] = {}
        for batch in self._program.batches:
            for constant in batch.loaded_constants:
                held.setdefault(constant, set()).update(batch.core_set)
        return sum(map(len, held.values())), sum(one.elements * len(cores) for one, cores in held.items())

    def timed_constant_loads(self) -> Ints:
        """The same one by one, [n, 4] of core, the elements that come and those that they are repeated to, and the step
        at which it is planned, or else that of the first lane there that reads it."""
        ids: dict[LoadedConstant, int] = {}
        places = [place for place, batch in enumerate(self._program.batches) if batch.loaded_constants]
        batches = [self._program.batches[place] for place in places]
        held = [batch.loaded_constants for batch in batches]
        if not batches:
            return np.zeros((0, 4), np.int64)
        key = "first steps", tuple(places)
        of, core, step = self._program.by_lanes.once(key, lambda: _first_steps(batches))
        counts = np.array([len(constants) for constants in held], np.int64)
        pair = np.repeat(np.arange(len(of)), counts[of])
        number = np.arange(len(pair)) - np.repeat(np.cumsum(counts[of]) - counts[of], counts[of])
        of, core, step = of[pair], core[pair], step[pair]
        _move_to_plan(batches, of, number, core, step)
        which = [(ids.setdefault(one, len(ids)), one.stored, one.elements) for constants in held for one in constants]
        index, stored, size = np.array(which, np.int64).T[:, (np.cumsum(counts) - counts)[of] + number]
        order = np.lexsort((step, core, index))
        place = (index * _CORES + core)[order]
        first = np.append(True, place[1:] != place[:-1])[: len(place)]
        return np.stack((core, stored, size, step), axis=1)[order][first]

    def scheduled_lanes(self) -> ScheduledLanes:
        """The lanes as the critical path sees them; tensors have the same numbers at every level."""
        links = self._links

        def found() -> ScheduledLanes:
            runs = [
                LaneRun(
                    batch.scheduled,
                    batch.cost.cycles or 0,
                    batch.cost.chains,
                    batch.lane_reads,
                    batch.read_inputs,
                    reads,
                    makes,
                )
                for batch, reads, makes in zip(self._program.batches, links.reads, links.makes, strict=True)
            ]
            return ScheduledLanes(links.rows, links.computed, runs, self._rows_read)

        return self._once("lanes", found)

    def lanes_digest(self) -> bytes:
        """A hash of these lanes."""
        return self._once("digest", lambda: self.scheduled_lanes().digest())

    def moves(self, element_bytes: int) -> Moves:
        """All that travels. A level may list it in another order.

        A message whose step is not decided goes when its batch has planned it, unless its row is not there by then;
        what is not planned goes at once, at the last step of the lane that computes its row.
        """
        constants = self.timed_constant_loads() * np.array([1, element_bytes, element_bytes, 1])

        def found() -> tuple[Ints, Ints]:
            return self._in_order(self.loads, 3, element_bytes), self._in_order(self.messages, 4, element_bytes)

        if self._level is Level.SCHEDULED and not any([t.needs or t.messages or t.loads for t in self._tensors]):
            sends = [batch.sends for batch in self._program.batches]
            planned = tuple([None if table is None else (table.shape, table.tobytes()) for table in sends])
            return Moves(*self._once(("moves", element_bytes, planned), found), constants)
        return Moves(*found(), constants)

    def _in_order(self, tables: Sequence[tuple[Tensor, Ints]], columns: int, element_bytes: int) -> Ints:
        """One table, in the order of tensors and then of the last column, which is the step; and the bytes of rows."""
        number, first = self._number, self._first_rows
        lines = np.array([len(table) for _, table in tables], np.int64)
        of_tensor = [(number[t], first[t], element_bytes * t.row_elements) for t, _ in tables]
        rank, offset, size = np.repeat(np.array(of_tensor, np.int64).reshape(-1, 3), lines, axis=0).T
        joined = np.concatenate([np.zeros((0, columns), np.int64), *(table for _, table in tables)]).astype(np.int64)
        joined[:, 0] += offset
        step = joined[:, -1]
        if (step < 0).any():
            joined[:, -1] = step = np.where(step < 0, self._steps(joined), step)
        found = np.column_stack((joined, size))
        place = rank * _STEPS + step
        # Mostly they come in that order.
        return found if (place[1:] >= place[:-1]).all() else found[np.argsort(place, kind="stable")]

    def _steps(self, messages: Ints) -> Ints:
        """Of messages, `[n, 4]` with rows numbered through all tensors: the step that the row's batch has planned, or
        the last one of the lane that computes the row, if that is later."""
        batches = self._program.batches
        planned, begins, begin = [np.zeros((0, 3), np.int64)], [0], 0
        for tensor in self._number:
            batch = None if tensor.producer is None else batches[tensor.producer]
            if batch is not None and batch.sends is not None:
                planned.append(batch.sends)
                begins.append(begin)
            begin += tensor.shape[0]
        row, core, step = np.concatenate(planned).T
        have = (row + np.repeat(begins, [len(lines) for lines in planned])) * _CORES + core
        order = np.argsort(have, kind="stable")
        have, step = np.append(have[order], -1), np.append(step[order], -1)
        wanted = messages[:, 0] * _CORES + messages[:, 2]
        place = np.searchsorted(have[:-1], wanted)
        return np.maximum(np.where(have[place] == wanted, step[place], -1), self._ready[messages[:, 0]])

    @property
    def _ready(self) -> Ints:
        """Of rows of all tensors, the last step of the lane that computes the row; 0 of those that none computes."""

        def found() -> Ints:
            batches = self._program.batches
            steps = [
                np.zeros(tensor.shape[0], np.int64) if tensor.producer is None else batches[tensor.producer].last_steps
                for tensor in self._number
            ]
            return np.concatenate([np.zeros(0, np.int64), *steps])

        return self._once("ready", found)

    def waits(self, moves: Moves) -> dict[str, int]:
        """Steps between the computation of a row and the message that sends it, of all messages of a node."""
        row, step = moves.messages[:, 0], moves.messages[:, 3]
        behind = np.cumsum(self._links.rows)
        waits = np.zeros(len(behind), np.int64)
        np.add.at(waits, np.searchsorted(behind, row, side="right"), step - self._ready[row])
        found: dict[str, int] = {}
        for tensor, steps in zip(self._number, waits.tolist(), strict=True):
            if tensor.producer is not None:
                found[tensor.label] = found.get(tensor.label, 0) + steps
        return found

    def byte_hops(self, machine: Machine, element_bytes: int) -> list[tuple[Tensor, int]]:
        """Of each tensor that is sent, bytes times the distance that they go."""
        tables = [table[:, 1:3] for _, table in self.messages]
        source, target = np.concatenate([np.zeros((0, 2), np.int64), *tables]).T
        so_far = np.append(0, np.cumsum(machine.hops[source, target], dtype=np.int64))
        ends = np.cumsum([0, *map(len, tables)])
        hops = np.diff(so_far[ends]).tolist()
        return [
            (tensor, element_bytes * tensor.row_elements * distance)
            for (tensor, _), distance in zip(self.messages, hops, strict=True)
        ]

    # What is needed

    @cached_property
    def _needed(self) -> dict[Tensor, Ints]:
        """Of each tensor, [n, 4] of row, the core that computes it, core, and -1: who reads what it has not computed
        itself, or is said to need it. Sorted by row, then by core.

        What several deferred communications bring comes several times.
        """
        needs = [(begin, table) for tensor, begin in self._first_rows.items() for table in tensor.needs]
        if needs:
            said, again = _said(needs)
            tables = self._tables_of(np.sort(np.concatenate((distinct(np.concatenate((said, self._read))), again))))
        else:
            tables = self._once("needed", lambda: self._tables_of(self._read))
        return dict(zip(self._first_rows, tables, strict=True))

    @property
    def _read(self) -> Ints:
        """Rows of all tensors, each with each core that reads it, as one number, ascending."""

        def found() -> Ints:
            read, lane = self._rows_read()
            return distinct(read * _CORES + self._program.lane_columns[0][lane])

        return self._once("read", found)

    def _rows_read(self) -> tuple[Ints, Ints]:
        """Rows of all tensors that lanes read, and the lane of each, ascending."""
        program, first = self._program, self._first_rows
        return program.by_facts.once(("rows read", self._links), lambda: program.rows_read(first))

    def _tables_of(self, pairs: Ints) -> list[Ints]:
        """The tables of all tensors, of rows and cores as one number, ascending."""
        batches, rows, first = self._program.batches, self._links.rows, list(self._first_rows.values())
        home = np.full(sum(rows), -1)
        for tensor, begin in self._first_rows.items():
            if tensor.producer is not None:
                cores = batches[tensor.producer].lane_cores
                home[begin : begin + len(cores)] = cores
        row, core = np.divmod(pairs, _CORES)
        row, core = row[away := home[row] != core], core[away]
        ends = [0, *np.searchsorted(row, np.cumsum(rows)).tolist()]
        begins = np.repeat(np.array(first, np.int64), np.diff(ends))
        table = np.stack((row - begins, home[row], core, np.full(len(row), -1)), axis=1)
        return [table[low:high] for low, high in pairwise(ends)]

    def _first_reads(self, tensor: Tensor, pairs: Ints) -> Ints:
        """The step at which each core first reads each row; 0 if it never does."""
        first = np.full((tensor.shape[0], int(pairs[:, 1].max(initial=0)) + 1), _NEVER)
        for reader, rows in tensor.readers:
            batch = self._program.batches[reader]
            inside = rows != OUTSIDE
            core = np.broadcast_to(batch.lane_cores[:, None], rows.shape)[inside]
            step = np.broadcast_to(batch.lane_steps[:, None], rows.shape)[inside]
            mine = core < first.shape[1]
            np.minimum.at(first, (rows[inside][mine], core[mine]), step[mine])
        found = first[pairs[:, 0], pairs[:, 1]]
        return np.where(found == _NEVER, 0, found)

    def _once(self, name: Hashable, compute: Callable[[], FoundT]) -> FoundT:
        """What follows from the lanes and from who reads what of whom."""
        return self._program.by_lanes.once((name, self._links), compute)

    @property
    def numbered(self) -> Sequence[Tensor]:
        """The tensors in the order in which their rows are numbered."""
        return list(self._number)

    @property
    def _tensors(self) -> list[Tensor]:
        return self._program.tensors

    @cached_property
    def _number(self) -> dict[Tensor, int]:
        """Tensors numbered by who computes them; after those the others, by who reads them first."""
        used = [tensor for tensor in self._tensors if tensor.readers or tensor.loads or tensor.producer is not None]
        last = len(self._program.batches)

        def place(tensor: Tensor) -> tuple[int, int, int]:
            if tensor.producer is not None:
                return 0, tensor.producer, tensor.result
            return 1, min((reader for reader, _ in tensor.readers), default=last), 0

        return {tensor: index for index, tensor in enumerate(sorted(used, key=place))}

    @cached_property
    def _links(self) -> _Links:
        number = self._number
        made: dict[int | None, list[int]] = {}
        for tensor, index in number.items():
            made.setdefault(tensor.producer, []).append(index)
        batches = self._program.batches
        return _Links(
            tuple([tensor.shape[0] for tensor in number]),
            tuple([tensor.producer is not None for tensor in number]),
            tuple([tuple([number[tensor] for tensor, _, _ in batch.reads]) for batch in batches]),
            tuple([tuple(made.get(index, ())) for index in range(len(batches))]),
        )

    @cached_property
    def _first_rows(self) -> dict[Tensor, int]:
        return first_rows(self._number)


def first_rows(tensors: Iterable[Tensor]) -> dict[Tensor, int]:
    """Of each tensor the first row, with rows numbered through all tensors."""
    every = list(tensors)
    return dict(zip(every, accumulate([tensor.shape[0] for tensor in every], initial=0), strict=False))


class _Links(NamedTuple):
    """Who makes what and reads what of whom, in numbers."""

    rows: tuple[int, ...]
    """Of each tensor."""
    computed: tuple[bool, ...]
    """Of each tensor, whether lanes make it."""
    reads: tuple[tuple[int, ...], ...]
    """Of each batch, the tensors that it reads."""
    makes: tuple[tuple[int, ...], ...]
    """Of each batch, the tensors that it computes."""


_CORES = 1 << 24
"""More than there are cores."""

_STEPS = 1 << 40
"""More than there are steps."""


def _first_steps(batches: Sequence[Batch]) -> tuple[Ints, Ints, Ints]:
    """Each core of each batch: the batch, by number, the core, and the step of its first lane there."""
    of = np.repeat(np.arange(len(batches)), [batch.lanes for batch in batches])
    core = np.concatenate([batch.lane_cores for batch in batches])
    step = np.concatenate([batch.lane_steps for batch in batches])
    order = np.lexsort((step, core, of))
    of, core, step = of[order], core[order], step[order]
    first = np.append(True, (of[1:] != of[:-1]) | (core[1:] != core[:-1]))[: len(of)]
    return of[first], core[first], step[first]


def _move_to_plan(batches: Sequence[Batch], of: Ints, number: Ints, core: Ints, step: Ints) -> None:
    """Sets the steps of the loads that batches have planned."""
    planned = [(index, batch.fetches) for index, batch in enumerate(batches) if batch.fetches is not None]
    if not planned:
        return
    owner = np.repeat([index for index, _ in planned], [len(lines) for _, lines in planned])
    lines = np.concatenate([lines for _, lines in planned])
    most = max(int(number.max(initial=0)), int(lines[:, 0].max(initial=0))) + 1
    have = (owner * most + lines[:, 0]) * _CORES + lines[:, 1]
    order = np.argsort(have, kind="stable")
    wanted = (of * most + number) * _CORES + core
    place = np.minimum(np.searchsorted(have[order], wanted), len(have) - 1)
    known = have[order][place] == wanted
    step[known] = lines[order][place][known, 2]


def _said(needs: Sequence[tuple[int, Ints]]) -> tuple[Ints, Ints]:
    """What tables of row and core name, with rows numbered from where each table begins: each once, as one number; and
    what several tables name, as often as by more than one."""
    counts = [len(table) for _, table in needs]
    row, core = np.concatenate([np.zeros((0, 2), np.int64), *(table for _, table in needs)]).T
    wanted = (row + np.repeat(np.array([begin for begin, _ in needs], np.int64), counts)) * _CORES + core
    which = np.repeat(np.arange(len(needs)), counts)
    order = np.lexsort((which, wanted))
    wanted, which = wanted[order], which[order]
    is_same = wanted[1:] == wanted[:-1]
    wanted = wanted[np.append(True, ~is_same | (which[1:] != which[:-1]))[: len(wanted)]]
    return wanted, wanted[1:][wanted[1:] == wanted[:-1]]


def _joined(tables: Sequence[Ints]) -> Ints:
    return tables[0] if len(tables) == 1 else np.concatenate(tables)
