"""What a schedule is held against: what dumb schedules of the same lanes take, with all transfers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..analysis.critical_path import Span
from ..analysis.dumb_schedules import (
    CoresOfReplicas,
    DumbOrders,
    LanesToPlace,
    busiest_cycles,
    place_by_work,
    place_in_turn,
)
from ..analysis.proxies import Level
from ..dialects import spat
from ..support.arrays import Ints
from .batch_program import BatchProgram
from .body_memory import TileBody
from .program_traffic import Traffic
from .target import Target
from .tile_counts import array_count

MEMORY_PART = 2
"""One part in so many of a local memory may hold the rows of a dumb schedule: what else there is it does not count."""


def is_annotated(program: BatchProgram) -> bool:
    """Whether the batches have just got a schedule, and nothing else follows from it yet."""
    return all(isinstance(batch.op, spat.ComputeBatchOp) for batch in program.batches)


def add_dumb_schedules(program: BatchProgram, target: Target, span_cycles: int, found: dict[str, object]) -> None:
    """Adds to ``found`` what two dumb schedules take: of lanes as rows come, on cores that replicas take in turn, where
    the busiest core counts as well; and, without transfers, on the cores that they have. If the program takes longer
    than that without transfers, ``span_cycles``, the latter is also told with them. If rows may need more memory than
    there is, lanes go in the order in which they are asked for.
    """
    orders = DumbOrders(_lanes(program, target), target.machine.core_count)
    placed = _place(orders.batches, target)
    if placed is not None:
        held = [set(mine) for mine, batch in zip(placed, orders.batches, strict=True) if batch.arrays]
        found["dumb_product_slots"] = sum(map(len, held))
    here, _, _ = program.lane_columns
    cores = [here if placed is None else orders.core_of_lanes(placed), here]
    starts = [orders.by_rows(core) for core in cores]
    room = target.machine.local_memory_bytes // MEMORY_PART
    if any(orders.held_bytes(core, start) > room for core, start in zip(cores, starts, strict=True)):
        starts = [orders.on_demand(core) for core in cores]
    elsewhere = Traffic(_elsewhere(program, orders, cores[0], starts[0]), Level.SCHEDULED)
    found["dumb_cycles"] = at_once(elsewhere, target).cycles
    found["dumb_span_cycles"] = span = int((starts[1] + orders.cycles).max(initial=0))
    if span_cycles > span:
        reordered = Traffic(_elsewhere(program, orders, here, starts[1]), Level.SCHEDULED)
        found["dumb_order_cycles"] = at_once(reordered, target).cycles
    if placed is None:
        work = np.repeat([batch.cost.cycles or 0 for batch in program.batches], np.diff(orders.first))
        found["dumb_busy_cycles"] = int(np.bincount(here, work).max(initial=0))
    else:
        found["dumb_busy_cycles"] = busiest_cycles(orders.batches, placed)
    found["input_load_cycles"] = _input_cycles(program, target)


def _lanes(program: BatchProgram, target: Target) -> list[LanesToPlace]:
    """The batches. Those without weights are on as many cores as keep each of these busy for half as long as the
    busiest core of a layer, whatever the pass has decided; on one a lane if there is no layer."""
    size: Counter[int | None] = Counter()
    for tensor in program.tensors:
        size[tensor.producer] += tensor.row_elements * target.element_bytes
    found: list[LanesToPlace] = []
    busiest = max(
        (-(-b.lanes // b.replicas) * (b.cost.cycles or 0) for b in program.batches if b.cost.products), default=0
    )
    for index, (batch, body) in enumerate(zip(program.batches, program.bodies, strict=True)):
        arrays = array_count(body.content, target.array_columns) if isinstance(body, TileBody) else 0
        cycles = batch.cost.cycles or 0
        enough = -(-batch.lanes * cycles // max(1, busiest // 2))
        replicas = batch.replicas if arrays else max(1, min(enough, batch.lanes, target.machine.core_count))
        reads = tuple([(tensor.producer, rows) for tensor, _, rows in batch.reads if tensor.producer is not None])
        found.append(LanesToPlace(batch.lanes, replicas, cycles, arrays, reads, size[index]))
    return found


def _place(batches: Sequence[LanesToPlace], target: Target) -> CoresOfReplicas | None:
    """Cores in turn, if their arrays suffice for that; if not, by the work that replicas have."""
    machine = target.machine
    size = machine.core_count, machine.arrays_per_core
    return place_in_turn(batches, *size) or place_by_work(batches, *size)


def _elsewhere(program: BatchProgram, orders: DumbOrders, core: Ints, start: Ints) -> BatchProgram:
    """The program with its lanes on other cores, at other times."""
    return program.rescheduled(
        [
            batch.rescheduled(core[begin:end], start[begin:end], orders.cycles[begin:end])
            for batch, (begin, end) in zip(program.batches, pairwise(orders.first), strict=True)
        ]
    )


def at_once(traffic: Traffic, target: Target) -> Span:
    """With messages, every row being sent at once, and with loads, those of constants included."""
    return traffic.scheduled_lanes().makespan(traffic.moves(target.element_bytes), target.machine)


def _input_cycles(program: BatchProgram, target: Target) -> int:
    """Cycles in which the port of global memory loads each row of the inputs that somebody reads once."""
    return sum(
        tensor.shape[0] * int(target.machine.load_cycles(0, tensor.row_elements * target.element_bytes))
        for tensor in program.tensors
        if tensor.producer is None and tensor.readers
    )
