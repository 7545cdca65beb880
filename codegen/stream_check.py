"""An independent validator of finished programs: it finds what makes the simulator hang, crash or give wrong figures.

It does not know how a program was made, and trusts nothing in it. The rules, in order: the numbers are instructions; a
core begins and ends as the simulator needs it; it finds the same in its registers whenever it runs again; groups exist;
messages pair up; communication finishes; every address is in its memory. Hazards with ``rob_size`` above 1 are not
checked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from ..support.diagnostics import TileError, TileErrors
from .access import Accesses, Range, accesses
from .columns import Program, Target
from .field_check import field_faults
from .isa import OP_LIMIT, SCALAR_OPS, Op
from .memory_image import WeightTable
from .register_use import stale_reads
from .registers import register_values
from .rendezvous import Rendezvous, rendezvous

_ENDS_NOTHING = np.isin(np.arange(OP_LIMIT), [Op.SETBW, *SCALAR_OPS])
_ROWS_AT_ONCE = 1 << 16
"""Instructions of several cores, whose addresses are looked at together."""
_CORE_OPS = (Op.SEND, Op.RECV, Op.SYNC)


@dataclass(frozen=True)
class StreamFault:
    """One broken rule. ``index`` is the instruction's place in its core, or -1 when the rule is about the core."""

    core: int
    index: int
    reason: str

    def __str__(self) -> str:
        place = f"core {self.core}" if self.index < 0 else f"core {self.core}, instruction {self.index}"
        return f"{place}: {self.reason}"


def check_stream(
    program: Program, weights: WeightTable | None = None, global_memory_bytes: int | None = None, limit: int = 20
) -> list[StreamFault]:
    """The first faults of a program, at most ``limit``; none if it is valid.

    Without ``weights`` an ``mvmul`` is taken to read all rows of its arrays; without ``global_memory_bytes`` global
    addresses are only checked to be positive. A rule is checked only when those before it, on which it relies, hold.
    """
    return StreamCheck(program, weights, global_memory_bytes, limit).run()


def require_valid_stream(
    program: Program, weights: WeightTable | None = None, global_memory_bytes: int | None = None, where: str = "program"
) -> None:
    """Raises the faults of a program, if it has any."""
    faults = check_stream(program, weights, global_memory_bytes)
    if faults:
        raise TileErrors(TileError(where, str(fault), "make the program again") for fault in faults)


@dataclass
class StreamCheck:
    """The rules one by one, for those who need only some of them."""

    program: Program
    weights: WeightTable | None = None
    global_memory_bytes: int | None = None
    limit: int = 20
    local_bytes: list[int] = field(default_factory=list[int], init=False)
    """How far each core reaches into its local memory, once :meth:`addresses` has looked at all of them."""
    met: Rendezvous | None = field(default=None, init=False)
    """How messages meet, once :meth:`progress` has looked."""

    def run(self) -> list[StreamFault]:
        """The first faults, rule by rule."""
        stages: list[Callable[[], Iterable[StreamFault]]] = [
            self.fields,
            self.ends,
            self.rounds,
            self.groups,
            self.partners,
            self.progress,
            self.addresses,
        ]
        for stage in stages:
            if faults := list(islice(stage(), self.limit)):
                return faults
        return []

    def fields(self) -> Iterable[StreamFault]:
        """Opcodes and operands within their bounds."""
        for fault in field_faults(self.program.columns, self.limit):
            yield self._at(fault.row, fault.reason)

    def ends(self) -> Iterable[StreamFault]:
        """First and last instruction of every core."""
        program, op = self.program, self.program.columns.op
        for core in range(program.core_count):
            span = program.span(core)
            count = span.stop - span.start
            if count == 0:
                continue
            if count < 2:
                yield StreamFault(core, -1, "has 1 instruction; the simulator needs at least 2")
            if op[span.start] != Op.SETBW:
                yield StreamFault(core, 0, "the first instruction is not setbw, so that all bit widths are 0")
            if _ENDS_NOTHING[op[span.stop - 1]]:
                yield StreamFault(core, count - 1, "a core that ends in a scalar instruction never counts as finished")

    def rounds(self) -> Iterable[StreamFault]:
        """A stream that runs again finds the same in its registers."""
        for row in stale_reads(self.program)[: self.limit].tolist():
            yield self._at(row, "reads a register that is 0 in the first round only: later ones find what they left")

    def groups(self) -> Iterable[StreamFault]:
        """Groups have arrays, the core has those arrays, and ``mvmul`` names a group."""
        program = self.program
        for core, counts in enumerate(program.groups):
            if min(counts, default=1) < 1:
                yield StreamFault(core, -1, f"group {counts.index(min(counts))} has no arrays")
            if sum(counts) > program.target.arrays_per_core:
                has = program.target.arrays_per_core
                yield StreamFault(core, -1, f"its groups take {sum(counts)} arrays, but a core has {has}")
        group_count = np.array([len(counts) for counts in program.groups])
        rows = np.flatnonzero(program.columns.op == Op.MVMUL)
        has = group_count[program.core_of_rows()[rows]]
        for row in rows[program.columns.b[rows] >= has].tolist():
            yield self._at(row, f"group {program.columns.b[row]} does not exist")

    def partners(self) -> Iterable[StreamFault]:
        """Communication goes to another core that runs; the k-th send of a pair meets the k-th recv, of equal size."""
        program, columns = self.program, self.program.columns
        rows = np.flatnonzero(np.isin(columns.op, _CORE_OPS))
        cores = program.core_of_rows()
        runs = np.append(np.diff(program.core_start) > 0, False)
        absent = ~runs[np.minimum(columns.b[rows], program.core_count)]
        itself = (columns.b[rows] == cores[rows]) & (columns.op[rows] != Op.SYNC)
        faults = chain(
            ((row, f"core {columns.b[row]} has no instructions") for row in rows[absent].tolist()),
            ((row, "a core cannot communicate with itself") for row in rows[itself].tolist()),
            () if absent.any() or itself.any() else self._unpaired(cores),
        )
        for row, reason in faults:
            yield self._at(row, reason)

    def _unpaired(self, cores: npt.NDArray[np.int32]) -> Iterable[tuple[int, str]]:
        columns, count = self.program.columns, self.program.core_count
        sends, recvs = (np.flatnonzero(columns.op == op) for op in (Op.SEND, Op.RECV))
        send_pair = cores[sends].astype(np.int64) * count + columns.b[sends]
        recv_pair = columns.b[recvs].astype(np.int64) * count + cores[recvs]
        sends, send_pair = _by_pair(sends, send_pair)
        recvs, recv_pair = _by_pair(recvs, recv_pair)
        totals = np.bincount(send_pair, minlength=count * count) - np.bincount(recv_pair, minlength=count * count)
        if totals.any():
            pair = int(np.flatnonzero(totals)[0])
            sender, receiver = divmod(pair, count)
            rows, pairs = (sends, send_pair) if totals[pair] > 0 else (recvs, recv_pair)
            sent, received = int((send_pair == pair).sum()), int((recv_pair == pair).sum())
            reason = f"core {sender} sends {sent} messages to core {receiver}, which receives {received}"
            yield int(rows[pairs == pair][-1]), reason
            return
        for index in np.flatnonzero(columns.a[sends] != columns.a[recvs]).tolist():
            there = self.program.place(int(recvs[index]))
            yield (
                int(sends[index]),
                f"sends {columns.a[sends[index]]} bytes, but {there} expects {columns.a[recvs[index]]}",
            )

    def progress(self) -> Iterable[StreamFault]:
        """Nobody waits for ever."""
        columns = self.program.columns
        self.met = rendezvous(self.program)
        for row in self.met.blocked:
            on = f"event {columns.a[row]}" if columns.op[row] == Op.WAIT else f"core {columns.b[row]}"
            yield self._at(row, f"deadlock: waits for {on} for ever")

    def addresses(self) -> Iterable[StreamFault]:
        """Every access lies in its memory and begins at an element."""
        self.local_bytes.clear()
        start: list[int] = self.program.core_start.tolist()
        first = 0
        while first < self.program.core_count:
            end = max(first + 1, bisect_right(start, start[first] + _ROWS_AT_ONCE) - 1)
            yield from self._core_addresses(range(first, end))
            first = end

    def _core_addresses(self, cores: range) -> Iterable[StreamFault]:
        program, target = self.program, self.program.target
        begin = program.core_start[cores.start : cores.stop + 1]
        columns = program.columns.take(slice(int(begin[0]), int(begin[-1])))
        groups = np.array([len(program.groups[core]) for core in cores])
        rows = np.concatenate([group_rows(program, self.weights, core) for core in cores])
        arrays = np.array([count for core in cores for count in program.groups[core]], np.int64)
        lengths = np.diff(begin)
        values = register_values(columns, begin[:-1] - begin[0])
        touched = accesses(columns, values, target, rows, arrays, np.repeat(np.cumsum(groups) - groups, lengths))
        reach = np.append(touched.local_end, 0)
        # A core without instructions would take that of the next one's first.
        ends = np.maximum.reduceat(reach, begin[:-1] - begin[0]) * (lengths > 0)
        self.local_bytes += ends.tolist()
        for index, reason in bad_accesses(touched, target, self.global_memory_bytes, self.limit):
            yield self._at(int(begin[0]) + index, reason)

    def _at(self, row: int, reason: str) -> StreamFault:
        core = int(np.searchsorted(self.program.core_start, row, side="right")) - 1
        name = self.program.node_name(row)
        index = row - int(self.program.core_start[core])
        return StreamFault(core, index, f"{reason} (node {name})" if name else reason)


def group_rows(program: Program, weights: WeightTable | None, core: int) -> npt.NDArray[np.int64]:
    """Per array group of a core, the rows that an ``mvmul`` reads: those of its weights, or all."""
    rows = np.full(len(program.groups[core]), program.target.array_rows, np.int64)
    if weights is not None:
        for group in range(len(rows)):
            matrix = weights.matrix(core, group)
            rows[group] = 0 if matrix is None else matrix.shape[0]
    return rows


def bad_accesses(
    touched: Accesses, target: Target, global_memory_bytes: int | None, limit: int
) -> list[tuple[int, str]]:
    """Instructions that access what is not in its memory, or begin or end inside an element: the number of each, and
    what it does, in order. At most ``limit`` of each kind of access; any address in global memory is right if None."""
    local = target.local_memory_bytes
    shared = np.iinfo(np.int64).max if global_memory_bytes is None else global_memory_bytes
    found: list[tuple[int, int, str]] = []
    for kind, (name, part, size) in enumerate(
        (
            ("reads local memory", touched.read, local),
            ("reads local memory", touched.read2, local),
            ("writes local memory", touched.write, local),
            ("reads global memory", touched.global_read, shared),
            ("writes global memory", touched.global_write, shared),
        )
    ):
        is_outside = outside(part, size)
        for index in np.flatnonzero(is_outside | misaligned(part, target.element_bytes))[:limit].tolist():
            start, stop = int(part.start[index]), int(part.start[index] + part.size[index])
            why = f"beyond its {size} bytes" if is_outside[index] else "not at whole elements"
            found.append((index, kind, f"{name} at bytes {start} to {stop}, {why}"))
    return [(index, reason) for index, _, reason in sorted(found)]


def outside(part: Range, size_bytes: int) -> npt.NDArray[np.bool_]:
    """Which ranges are not within a memory of that size."""
    return (part.size != 0) & ((part.start < 0) | (part.size < 0) | (part.start > size_bytes - part.size))


def misaligned(part: Range, element_bytes: int) -> npt.NDArray[np.bool_]:
    """Which ranges begin or end inside an element."""
    if element_bytes == 1:
        return np.zeros(len(part.start), np.bool_)
    return (part.size != 0) & ((part.start % element_bytes != 0) | (part.size % element_bytes != 0))


def _by_pair(
    rows: npt.NDArray[np.int64], pairs: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows and their pairs, pair after pair, in program order within each."""
    order = np.argsort(pairs, kind="stable")
    return rows[order], pairs[order]
