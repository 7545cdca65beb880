"""What a trace viewer shows of a run, as columns: who was occupied when, by instructions of which label."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..simulators.timing.elements import Kind, kinds_of
from ..simulators.timing.recording import Intervals, Recording
from ..support.arrays import Ints

SERVICE, SCALAR, VECTOR, TRANSFER, NETWORK, LOCAL_MEMORY, MATRIX = range(1, 8)
"""The thread of global memory, and those of a core. Where array groups work at the same time, further ones follow:
``MATRIX + 1``, ..."""
THREADS = {
    SERVICE: "service",
    SCALAR: "scalar",
    VECTOR: "vector",
    TRANSFER: "transfer",
    NETWORK: "network",
    LOCAL_MEMORY: "local memory",
    MATRIX: "matrix",
}


@dataclass(frozen=True, eq=False)
class Slices:
    """n slices of time, sorted by thread and begin. Those of one thread do not overlap."""

    core: Ints
    """Position of each one's core; one more than there are for global memory, which has one thread."""
    thread: Ints
    label: Ints
    begin_ps: Ints
    end_ps: Ints
    instructions: Ints
    """How many are joined."""
    busy_ps: Ints
    """How long these take, without the gaps between them."""

    def __len__(self) -> int:
        return len(self.core)

    def of(self, part: slice) -> Slices:
        """Some of them."""
        return Slices(*(getattr(self, field.name)[part] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class Flows:
    """n messages, in the order in which their senders begin: columns of two, sender and receiver."""

    core: Ints
    """[n, 2]"""
    at_ps: Ints
    """[n, 2] within the slices of the transfer units."""
    label: Ints
    """[n]"""


def trace_slices(recording: Recording, label: Ints, gap_ps: int = 0) -> Slices:
    """All slices of a run, with neighbours of one thread and label joined if no more than ``gap_ps`` lies between them.
    ``label`` has one number for every instruction. What takes no time is left out, and what would come after the end of
    a run that is cut."""
    kind = kinds_of(recording.run.stream)
    units = recording.units
    of_unit = kind[units.row]
    matrix = units.of(of_unit == Kind.MATRIX)
    lanes = _lanes(recording, matrix)
    transfers = (of_unit != Kind.MATRIX) & (of_unit != Kind.VECTOR)
    parts = [
        (recording.scalars, SCALAR, 0),
        (units.of(of_unit == Kind.VECTOR), VECTOR, 0),
        (units.of(transfers), TRANSFER, 0),
        (recording.network, NETWORK, 0),
        (recording.local_memory, LOCAL_MEMORY, 0),
        (matrix, MATRIX, lanes),
        (recording.global_memory, SERVICE, 0),
    ]
    core_of = recording.run.stream.core_of_rows()
    row, begin, end = (np.concatenate([getattr(part[0], name) for part in parts]) for name in _COLUMNS)
    whole = Intervals(row, begin, np.minimum(end, recording.run.limit_ps))
    thread = np.concatenate([np.zeros(len(part.row), np.int64) + first + lane for part, first, lane in parts])
    core = np.where(thread == SERVICE, recording.run.facts.cores, core_of[whole.row])
    kept = np.flatnonzero(whole.end_ps > whole.begin_ps)
    order = kept[np.lexsort((whole.begin_ps[kept], thread[kept], core[kept]))]
    return _joined(core[order], thread[order], label[whole.row[order]], whole.of(order), gap_ps)


_COLUMNS = ("row", "begin_ps", "end_ps")


def message_flows(recording: Recording, label: Ints, limit: int) -> Flows:
    """The first ``limit`` messages, from where ``send`` begins to where the data has come to ``recv``."""
    run = recording.run
    kind, row = run.elements.kind, recording.row
    peer, cores = run.stream.peer[row], run.facts.cores
    begin, end = recording.unit_times
    sends = np.flatnonzero((kind == Kind.SEND) & (begin >= 0))
    receives = np.flatnonzero((kind == Kind.RECV) & (begin >= 0))
    pairs = [(sends, recording.core[sends] * cores + peer[sends])]
    pairs.append((receives, peer[receives] * cores + recording.core[receives]))
    numbered = [_numbered(key, len(row)) for _, key in pairs]
    _, first, second = np.intersect1d(*numbered, assume_unique=True, return_indices=True)
    sends, receives = sends[first], receives[second]
    arrival = np.clip(recording.data_arrival_ps[sends], begin[receives], end[receives] - 1)
    come = np.flatnonzero(arrival < run.limit_ps)
    order = come[np.lexsort((sends[come], begin[sends[come]]))[:limit]]
    sends, receives, arrival = sends[order], receives[order], arrival[order]
    core = np.stack([recording.core[sends], recording.core[receives]], axis=1)
    return Flows(core, np.stack([begin[sends], arrival], axis=1), label[row[sends]])


def _numbered(key: Ints, most: int) -> Ints:
    """A number for every key, of which there are at most so many, and how often it has been before: messages between
    two cores keep their order."""
    order = np.argsort(key, kind="stable")
    place = np.arange(len(key))
    start = np.maximum.accumulate(np.where(np.diff(key[order], prepend=-1) != 0, place, 0))
    found = np.empty(len(key), np.int64)
    found[order] = key[order] * (most + 1) + place - start
    return found


def _lanes(recording: Recording, matrix: Intervals) -> Ints:
    """Which of the matrix threads each product is in. Products that all begin before those before them have ended take
    one after the other, and then the first again: of as many as a core needs so that none begins before all that were
    there before in its thread have ended."""
    core = recording.run.stream.core_of_rows()[matrix.row]
    place, span = np.arange(len(core)), recording.last_ps + 1
    begin = core * span + matrix.begin_ps
    ended = np.maximum.accumulate(core * span + matrix.end_ps)
    unended = place - np.searchsorted(ended, begin, side="right")
    lanes = np.ones(recording.run.facts.cores, np.int64)
    np.maximum.at(lanes, core, unended + 1)
    return (place - np.maximum.accumulate(np.where(unended == 0, place, 0))) % lanes[core]


def _joined(core: Ints, thread: Ints, label: Ints, times: Intervals, gap_ps: int) -> Slices:
    begin, end = times.begin_ps, times.end_ps
    if not len(core):
        return Slices(core, thread, label, begin, end, core, core)
    apart = (np.diff(core) != 0) | (np.diff(thread) != 0) | (np.diff(label) != 0) | (begin[1:] - end[:-1] > gap_ps)
    first = np.flatnonzero(np.append(True, apart))
    last = np.append(first[1:], len(core)) - 1
    busy = np.add.reduceat(end - begin, first)
    return Slices(core[first], thread[first], label[first], begin[first], end[last], last - first + 1, busy)
