"""Slices in the Trace Event format: JSON that Perfetto's UI and chrome://tracing open.

Every core is a process, every unit a thread. Times are microseconds, with as many digits as they need to be exact.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..codegen.row_text import Piece, rows_as_text
from ..support.arrays import Ints
from .trace_slices import LOCAL_MEMORY, MATRIX, NETWORK, SCALAR, SERVICE, THREADS, TRANSFER, VECTOR, Flows, Slices

_LEVEL = 6
_AT_ONCE = 1 << 16
"""Slices whose text is in memory at a time."""
_FROM_TOP = (MATRIX, VECTOR, TRANSFER, NETWORK, LOCAL_MEMORY, SCALAR, SERVICE)
_MOST_LANES = 1 << 20


@dataclass(frozen=True)
class Label:
    """What events are called, and their category: a node of the network and its operator."""

    name: str
    category: str


def write_trace(
    path: Path,
    compressed: bool,
    slices: Slices,
    flows: Flows,
    labels: Sequence[Label],
    core_ids: Sequence[int],
    facts: Mapping[str, object],
) -> None:
    """Writes a trace, ``compressed`` by gzip or not; the same slices give the same bytes. ``core_ids`` are the
    machine's numbers of cores by their positions; ``facts`` go beside the events."""
    with path.open("wb") as file:
        if compressed:
            with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
                packed.writelines(_text(slices, flows, labels, core_ids, facts))
        else:
            file.writelines(_text(slices, flows, labels, core_ids, facts))


def _text(
    slices: Slices, flows: Flows, labels: Sequence[Label], core_ids: Sequence[int], facts: Mapping[str, object]
) -> Iterator[bytes]:
    yield b'{"displayTimeUnit": "ns", "otherData": ' + json.dumps(facts).encode() + b', "traceEvents": [\n'
    # No process has the number 0, which viewers take for the system's own.
    process = np.array([*(core + 1 for core in core_ids), max(core_ids, default=-1) + 2], np.int64)
    yield from _slices(slices, process, labels)
    yield from _flows(flows, process, labels)
    yield ",\n".join(json.dumps(event) for event in _names(slices, process, core_ids)).encode() + b"\n]}\n"


def _slices(slices: Slices, process: Ints, labels: Sequence[Label]) -> Iterator[bytes]:
    digits = _digits(slices.begin_ps, slices.end_ps)
    fields: list[Piece] = [b',"pid":', "pid", b',"tid":', "tid", b',"ts":', *_pieces("ts", digits), b',"dur":']
    fields += [*_pieces("dur", digits), b',"args":{"instructions":', "count"]
    # A joined slice with gaps in it says how much of it is work.
    busy: list[Piece] = [b',"busy_us":', *_pieces("busy", digits)]
    templates: dict[int, Sequence[Piece]] = {}
    for number, label in enumerate(labels):
        begin = f'{{"name":{json.dumps(label.name)},"cat":{json.dumps(label.category)},"ph":"X"'.encode()
        templates[2 * number] = [begin, *fields, b"}},\n"]
        templates[2 * number + 1] = [begin, *fields, *busy, b"}},\n"]
    for first in range(0, len(slices), _AT_ONCE):
        part = slices.of(slice(first, first + _AT_ONCE))
        duration = part.end_ps - part.begin_ps
        numbers = _decimal("ts", part.begin_ps, digits) | _decimal("dur", duration, digits)
        numbers |= _decimal("busy", part.busy_ps, digits)
        numbers |= {"pid": process[part.core], "tid": part.thread, "count": part.instructions}
        yield from rows_as_text(2 * part.label + (part.busy_ps < duration), numbers, templates)


def _flows(flows: Flows, process: Ints, labels: Sequence[Label]) -> Iterator[bytes]:
    """Two events for each message: an arrow from the sender's slice to the receiver's."""
    count = len(flows.label)
    at = flows.at_ps.reshape(-1)
    digits = _digits(at)
    numbers = _decimal("ts", at, digits) | {
        "pid": process[flows.core.reshape(-1)],
        "id": np.repeat(np.arange(count), 2),
    }
    place: list[Piece] = [b',"id":', "id", b',"pid":', "pid", f',"tid":{TRANSFER},"ts":'.encode()]
    templates: dict[int, Sequence[Piece]] = {}
    for number, label in enumerate(labels):
        begin = f'{{"name":{json.dumps(label.name)},"cat":"message"'.encode()
        templates[2 * number] = [begin + b',"ph":"s"', *place, *_pieces("ts", digits), b"},\n"]
        templates[2 * number + 1] = [begin + b',"ph":"f","bp":"e"', *place, *_pieces("ts", digits), b"},\n"]
    kinds = 2 * np.repeat(flows.label, 2) + np.tile([0, 1], count)
    if count:
        yield from rows_as_text(kinds, numbers, templates)


def _names(slices: Slices, process: Ints, core_ids: Sequence[int]) -> Iterator[dict[str, object]]:
    """Names of all processes and threads, and the order in which they are shown."""
    pairs = np.unique(slices.core * _MOST_LANES + slices.thread)
    cores, threads = (pairs // _MOST_LANES).tolist(), (pairs % _MOST_LANES).tolist()
    names = [*(f"core {core}" for core in core_ids), "global memory"]
    for core in sorted({*range(len(core_ids)), *cores}):
        yield _metadata("process_name", int(process[core]), 0, name=names[core])
        yield _metadata("process_sort_index", int(process[core]), 0, sort_index=core)
    for core, thread in zip(cores, threads, strict=True):
        known = min(thread, MATRIX)
        lane = thread - known
        name = f"{THREADS[known]} {lane + 1}" if lane else THREADS[known]
        order = _FROM_TOP.index(known) * _MOST_LANES + lane
        yield _metadata("thread_name", int(process[core]), thread, name=name)
        yield _metadata("thread_sort_index", int(process[core]), thread, sort_index=order)


def _metadata(what: str, process: int, thread: int, **arguments: object) -> dict[str, object]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": arguments}


# Decimal numbers, of columns of whole ones


def _digits(*columns: Ints) -> int:
    """So many behind the point make microseconds of these picoseconds exact."""
    return 3 if all((column % 1000 == 0).all() for column in columns) else 6


def _decimal(name: str, picoseconds: Ints, digits: int) -> dict[str, Ints]:
    """Columns of microseconds: the whole ones, and each digit behind the point."""
    found = {name: picoseconds // 10**6}
    for place in range(digits):
        found[f"{name}.{place}"] = picoseconds // 10 ** (5 - place) % 10
    return found


def _pieces(name: str, digits: int) -> list[Piece]:
    return [name, b".", *(f"{name}.{place}" for place in range(digits))]
