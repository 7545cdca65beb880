"""The inner loop of the functional simulator: resolved instructions in, memories changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from ..codegen.isa import Op
from ..codegen.package import Package
from ..codegen.rendezvous import Rendezvous
from .resolved_core import ResolvedCore
from .vector_unit import OPERATIONS, Memory, Operation, load, matrix_product, store

Progress = Callable[[int, int], None]
"""Called with the number of executed instructions and their total."""

Step = tuple[int, int, int, int, int, int, int]
"""Core and how many of its instructions come first; the same of the receiver (-1 if none); from, to, length."""

_STEPS_BETWEEN_PROGRESS = 1 << 10


def execute(
    package: Package,
    cores: list[ResolvedCore],
    order: Rendezvous,
    memories: list[Memory],
    shared: Memory,
    progress: Progress | None,
) -> None:
    """Executes all cores: message after message in ``order``, each core first doing what stands before its part."""
    streams = [_stream(package, number, core, shared) for number, core in enumerate(cores)]
    done = [0] * len(cores)
    total = sum(len(core) for core in cores)

    def advance(core: int, until: int) -> None:
        memory = memories[core]
        for operation, to, source, second, length in islice(streams[core], until - done[core]):
            operation(memory, to, source, second, length)
        done[core] = until

    for number, (core, before, peer, peer_before, source, to, length) in enumerate(_steps(package, cores, order)):
        advance(core, before)
        if peer >= 0:
            advance(peer, peer_before)
            memories[peer][to : to + length] = memories[core][source : source + length]
        if progress is not None and number % _STEPS_BETWEEN_PROGRESS == 0:
            progress(sum(done), total)
    for number, core in enumerate(cores):
        advance(number, len(core))
    if progress is not None:
        progress(total, total)


def _stream(
    package: Package, number: int, core: ResolvedCore, shared: Memory
) -> Iterator[tuple[Operation, int, int, int, int]]:
    """The executed instructions of a core, each with the function that does its work."""
    table: dict[int, Operation] = {**OPERATIONS, Op.LD: load(shared), Op.ST: store(shared)}
    products = [_products(package, number, group) for group in range(len(package.program.groups[number]))]
    operations = [
        products[group][relu] if op == Op.MVMUL else table[op]
        for op, group, relu in zip(core.op, core.group, core.relu, strict=True)
    ]
    return zip(operations, core.to, core.source, core.second, core.length, strict=True)


def _products(package: Package, core: int, group: int) -> tuple[Operation, ...]:
    """The matrix product of an array group without and with ReLU; nothing for a group that holds no weights."""
    matrix = package.weights.matrix(core, group)
    if matrix is None:
        return ()
    width = package.program.groups[core][group] * package.program.target.array_cols
    return tuple(matrix_product(matrix, width, relu) for relu in (False, True))


def _steps(package: Package, cores: list[ResolvedCore], order: Rendezvous) -> Iterator[Step]:
    program = package.program
    first, second = np.array(order.first, np.int64), np.array(order.second, np.int64)
    core, before, source = _where(package, cores, first)
    peer, peer_before, to = _where(package, cores, np.maximum(second, 0))
    peer = np.where(second < 0, -1, peer)
    length = program.columns.a[first] // program.target.element_bytes
    columns = (core, before, peer, peer_before, source, to, length)
    return zip(*(column.tolist() for column in columns), strict=True)


def _where(
    package: Package, cores: list[ResolvedCore], rows: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    """Per row: its core, how many executed instructions of that core stand before it, its element in local memory."""
    empty = np.zeros(0, np.int64)
    core = np.searchsorted(package.program.core_start, rows, side="right") - 1
    before = np.concatenate([empty, *(core.executed_before for core in cores)])
    at = np.concatenate([empty, *(core.message_at for core in cores)])
    return core, before[rows], at[rows]
