"""Mutants of `spat-schedule-peft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from ir_edits import array_of, batches_of, change_array, layers_of, set_array
from mutant_registry import Stage
from mutation_run import Caught
from reschedule import as_scheduled, forget_plans, renumber
from xdsl.dialects.builtin import ModuleOp

STAGE = Stage("spat-schedule-peft")

SMALL = "the critical path is the same; what is lost is in the times of messages, which are not decided yet"


@STAGE.edit("the core of the last class is used for all", Caught.BOTH, "width")
def everything_on_one_core(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in batches_of(module):
        change_array(op, "cores", np.zeros_like)
    renumber(module, rank)


@STAGE.edit("all replicas of a layer go to the core that its first replica got", Caught.GUARD, "scheduled_cycles")
def replicas_share_a_core(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in layers_of(module):
        change_array(op, "cores", lambda cores: np.full_like(cores, cores[0]))
    renumber(module, rank)


@STAGE.edit(
    "ready lanes run layer by layer",
    Caught.NEITHER,
    program="mixed",
    why=SMALL,
)
def layer_after_layer(module: ModuleOp) -> None:
    renumber(module, lambda batch, lane: batch)


@STAGE.edit(
    "ready lanes come off the end of their list",
    Caught.NEITHER,
    program="mixed",
    why=SMALL,
)
def last_ready_first(module: ModuleOp) -> None:
    renumber(module, lambda batch, lane: batch - lane / 100)


@STAGE.edit(
    "batches without weights all go to the core with the most work",
    Caught.GUARD,
    "busy_cycles_max",
    program="mixed",
)
def vectors_on_the_busiest_core(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    busy: dict[int, int] = {}
    for op in layers_of(module):
        for core in array_of(op, "cores").tolist():
            busy[core] = busy.get(core, 0) + int(op.lane_spans.sum())
    most = max(busy, key=lambda core: busy[core])
    for op in batches_of(module):
        if op not in layers_of(module):
            change_array(op, "cores", lambda cores: np.full_like(cores, most))
    renumber(module, rank)


@STAGE.patch(
    "tilec.lowering.replica_placement.LaneScheduler",
    "rows are never ahead by more than one, whatever the memories hold",
    Caught.NEITHER,
    program="mixed",
    why="a plain schedule, which knows no lead, takes less time then, and is what it is held against",
)
def lead_of_one(scheduler: Callable[..., Any]) -> Callable[..., Any]:
    return lambda batches, cores, lead, *others: scheduler(batches, cores, 1, *others)


@STAGE.patch(
    "tilec.lowering.replica_placement.place_cores",
    "cores stay where they were numbered, wherever that is on the mesh",
    Caught.NEITHER,
    program="spread",
    why="bytes go further than they need to, and less far than between cores at random",
)
def placement_forgotten(place: Callable[..., Any]) -> Callable[..., Any]:
    return lambda traffic, hops: np.arange(len(hops))


@STAGE.edit(
    "cores that talk to each other are put as far from each other as can be",
    Caught.GUARD,
    "byte_hops",
    program="spread",
)
def far_apart(module: ModuleOp) -> None:
    places = np.random.default_rng(0).permutation(144)
    for op in batches_of(module):
        change_array(op, "cores", lambda cores: places[cores])
    forget_plans(module)


@STAGE.edit("a table of four cores is used for any machine", Caught.GUARD, "product_slots", program="spread")
def four_cores_of_many(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in batches_of(module):
        change_array(op, "cores", lambda cores: cores % 4)
    renumber(module, rank)


@STAGE.edit(
    "cores are numbered in sixteens, and fifteen of them get nothing",
    Caught.GUARD,
    "product_slots",
    program="spread",
)
def every_sixteenth_core(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in batches_of(module):
        change_array(op, "cores", lambda cores: cores // 16 * 16)
    renumber(module, rank)


@STAGE.edit(
    "replicas of layers are placed row by row, and all rows are the first",
    Caught.GUARD,
    "product_slots",
    program="spread",
)
def first_row_of_the_mesh(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in layers_of(module):
        change_array(op, "cores", lambda cores: cores % 12)
    renumber(module, rank)


@STAGE.edit("the last two bits of each core's number are lost", Caught.GUARD, "busy_cycles_max", program="spread")
def a_quarter_of_the_cores(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in batches_of(module):
        change_array(op, "cores", lambda cores: cores // 4 * 4)
    renumber(module, rank)


@STAGE.edit("every layer begins again at the first core", Caught.GUARD, "scheduled_cycles", program="spread")
def layers_on_the_same_cores(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in batches_of(module):
        change_array(op, "cores", lambda cores: np.arange(len(cores)))
    renumber(module, rank)


@STAGE.edit("what has no weights all goes to the first core", Caught.GUARD, "busy_cycles_max", program="spread")
def vectors_on_the_first_core(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in batches_of(module):
        if op not in layers_of(module):
            change_array(op, "cores", np.zeros_like)
    renumber(module, rank)


@STAGE.edit("of ready lanes, those of late layers run first", Caught.GUARD, "span_cycles", program="tall")
def late_layers_first(module: ModuleOp) -> None:
    renumber(module, lambda batch, lane: -batch)


@STAGE.edit("cores are counted from 1", Caught.BOTH)
def cores_from_one(module: ModuleOp) -> None:
    for op in batches_of(module):
        change_array(op, "cores", lambda cores: cores + 1)


@STAGE.edit("lanes start before what they read is there", Caught.BOTH, "unready_reads")
def too_early(module: ModuleOp) -> None:
    change_array(batches_of(module)[-1], "steps", lambda steps: steps // 2)


@STAGE.edit("two lanes of one core start at the same step", Caught.BOTH)
def two_lanes_at_once(module: ModuleOp) -> None:
    op = layers_of(module)[0]
    first = array_of(op, "cores")
    set_array(op, "cores", np.full_like(first, first[0]))


@STAGE.edit("steps are counted in half cycles", Caught.NEITHER, why="the order is the same")
def steps_doubled(module: ModuleOp) -> None:
    for op in batches_of(module):
        change_array(op, "steps", lambda steps: steps * 2)
