"""Mutants of `spat-materialize-schedule`."""

from __future__ import annotations

from dataclasses import replace as with_changes

import numpy as np
from ir_edits import (
    array_of,
    batches_of,
    body_ops,
    change_array,
    follow,
    insert_after,
    layers_of,
    read_instead,
    readers,
    replace,
    set_array,
    set_number,
    set_operands,
)
from mutant_registry import Stage
from mutation_run import Caught
from reschedule import as_scheduled, forget_plans, renumber
from tilec.dialects import spat
from tilec.dialects.spat import ScheduledComputeBatchOp, WindowAttr
from xdsl.dialects.builtin import ArrayAttr, ModuleOp

STAGE = Stage("spat-materialize-schedule")


@STAGE.edit(
    "a batch is created without replicas, which then default to one", Caught.GUARD, "width_of_node", "assignment"
)
def replicas_forgotten(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    for op in layers_of(module):
        set_number(op, "replicas", 1)
        set_array(op, "cores", array_of(op, "cores")[:1])
    renumber(module, rank)


@STAGE.edit("cores are rotated against replicas", Caught.GUARD, "assignment", program="spread")
def cores_rotated(module: ModuleOp) -> None:
    for op in layers_of(module):
        change_array(op, "cores", lambda cores: np.roll(cores, 1))
    forget_plans(module)


@STAGE.edit("lanes are numbered batch after batch instead of by their steps", Caught.GUARD, "order")
def batch_after_batch(module: ModuleOp) -> None:
    renumber(module, lambda batch, lane: batch)


@STAGE.edit("steps are sorted upside down where nothing depends on them yet", Caught.GUARD, "span_cycles", "order")
def last_lane_first(module: ModuleOp) -> None:
    rank = as_scheduled(module)
    first = batches_of(module)[0].lane_count
    renumber(module, lambda batch, lane: rank(0, first - 1 - lane) if batch == 0 else rank(batch, lane))


@STAGE.edit("a batch is materialized once for each of its readers", Caught.BOTH, "work_cycles")
def batch_for_each_reader(module: ModuleOp) -> None:
    for op in batches_of(module):
        assert isinstance(op, ScheduledComputeBatchOp)
        for reader in readers(op.outs[0])[1:]:
            read_instead(reader, op.outs[0], insert_after(op, op.clone()).outs[0])
    first = batches_of(module)[0]
    insert_after(first, first.clone())


@STAGE.edit("the body is copied, and rows are copied into it", Caught.GUARD, "local_copies")
def row_copied(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    follow(relu, spat.GatherOp([relu.result]))


@STAGE.edit("an op of the body is moved and cloned", Caught.GUARD, "vector_count")
def op_twice(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    follow(relu, spat.ReluOp(relu.result))


@STAGE.edit("the op before the last is yielded", Caught.NUMERICS)
def yields_too_soon(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    replace(relu, relu.source)


@STAGE.edit("windows lose the rows above their image", Caught.BOTH)
def windows_without_pads(module: ModuleOp) -> None:
    for op in layers_of(module):
        assert isinstance(op, spat.BatchOp)
        windows = [WindowAttr(with_changes(window, pad_top=0)) for window in op.row_windows]
        op.properties["windows"] = ArrayAttr(windows)


@STAGE.edit("weights are passed in the order of their sizes", Caught.VERIFIER)
def weights_out_of_order(module: ModuleOp) -> None:
    op = layers_of(module)[0]
    assert isinstance(op, spat.BatchOp)
    set_operands(op, list(op.inputs), list(op.weights)[::-1])


@STAGE.edit("a lane is one step long again, and nothing interrupts it", Caught.GUARD, "order")
def span_forgotten(module: ModuleOp) -> None:
    for op in batches_of(module):
        change_array(op, "spans", np.ones_like)
        del op.properties["resumes"]


@STAGE.edit("steps leave a gap for each lane", Caught.GUARD, "order")
def steps_with_gaps(module: ModuleOp) -> None:
    for op in batches_of(module):
        change_array(op, "steps", lambda steps: steps * 3)
