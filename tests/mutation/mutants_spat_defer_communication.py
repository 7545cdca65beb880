"""Mutants of `spat-defer-communication`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ir_edits import (
    array_of,
    batches_of,
    change_array,
    follow,
    insert_after,
    insert_before,
    ops_of,
    read_instead,
    readers,
    replace,
    set_array,
)
from mutant_registry import Stage
from mutation_run import Caught
from numpy.typing import NDArray
from tilec.dialects import onnx, spat
from tilec.dialects.spat import DeferredCommunicationOp, ScheduledComputeBatchOp, shape_of
from xdsl.dialects.builtin import ModuleOp

STAGE = Stage("spat-defer-communication")


def deferred(module: ModuleOp) -> list[DeferredCommunicationOp]:
    """Of computed tensors."""
    return [op for op in ops_of(module, DeferredCommunicationOp) if not isinstance(op.source.owner, spat.InputOp)]


def all_rows(op: DeferredCommunicationOp, cores: Sequence[int]) -> NDArray[np.int64]:
    """A table by which these cores need all rows."""
    rows = shape_of(op.source)[0]
    return np.stack((np.repeat(np.arange(rows), len(cores)), np.tile(cores, rows)), axis=1)


@STAGE.edit(
    "all rows are said to be needed on all cores",
    Caught.GUARD,
    "sends",
    "send_bytes",
    costs=False,
    why="messages are made from what the readers' windows say",
)
def needed_everywhere(module: ModuleOp) -> None:
    for op in deferred(module):
        set_array(op, "needs", all_rows(op, range(4)))


@STAGE.edit(
    "all rows of the network's input are loaded by all cores",
    Caught.GUARD,
    "host_to_device_copies",
    costs=False,
    why="messages are made from what the readers' windows say",
)
def inputs_everywhere(module: ModuleOp) -> None:
    for op in ops_of(module, DeferredCommunicationOp):
        if op not in deferred(module):
            set_array(op, "needs", all_rows(op, range(4)))


@STAGE.edit(
    "a core that reads any row of a tensor is said to need all of them",
    Caught.GUARD,
    "sends",
    program="spread",
    costs=False,
    why="messages are made from what the readers' windows say",
)
def whole_tensor(module: ModuleOp) -> None:
    for op in deferred(module):
        set_array(op, "needs", all_rows(op, np.unique(array_of(op, "needs")[:, 1]).tolist()))


@STAGE.edit(
    "each reader gets its own communication, so that a core receives a row once for each",
    Caught.GUARD,
    "sends",
    program="mixed",
    costs=False,
    why="what is asked for twice is sent once in the end",
)
def one_for_each_reader(module: ModuleOp) -> None:
    for op in deferred(module):
        for reader in readers(op.result)[1:]:
            read_instead(reader, op.result, insert_after(op, op.clone()).result)


@STAGE.edit("rows are copied on their home core before they are needed elsewhere", Caught.GUARD, "local_copies")
def copied_before(module: ModuleOp) -> None:
    (op, *_) = deferred(module)
    producer = op.source.owner
    assert isinstance(producer, ScheduledComputeBatchOp)
    last = producer.yielded
    copies = [insert_before(last, spat.GatherOp([value])).result for value in last.values]
    last.operands = copies


@STAGE.edit("the host passes rows on", Caught.BOTH, "host_ops")
def through_the_host(module: ModuleOp) -> None:
    (op, *_) = deferred(module)
    follow(op, onnx.ReluOp.of([op.result]))


@STAGE.edit("a batch whose rows travel is moved behind its readers", Caught.GUARD, "order")
def later_steps(module: ModuleOp) -> None:
    change_array(batches_of(module)[-1], "steps", lambda steps: steps + 10_000)


@STAGE.edit("the tensor before the one that is read is communicated", Caught.BOTH, "message_waits_of_node")
def wrong_tensor(module: ModuleOp) -> None:
    first, second = deferred(module)[-2:]
    read_instead(second, second.source, first.source)


@STAGE.edit("inputs of the network are not communicated", Caught.NUMERICS)
def inputs_forgotten(module: ModuleOp) -> None:
    for op in ops_of(module, DeferredCommunicationOp):
        if op not in deferred(module):
            replace(op, op.source)


@STAGE.edit("the op is placed before what it reads", Caught.VERIFIER)
def placed_too_early(module: ModuleOp) -> None:
    (op, *_) = deferred(module)
    first = batches_of(module)[0]
    assert first.parent is not None
    op.detach()
    first.parent.insert_op_before(op, first)


@STAGE.edit(
    "rows that a core computes itself are listed, too",
    Caught.NEITHER,
    why="messages are made from what the readers' windows say, and cores that have a row get none",
    costs=False,
)
def own_rows_too(module: ModuleOp) -> None:
    for op in deferred(module):
        producer = op.source.owner
        assert isinstance(producer, ScheduledComputeBatchOp)
        cores = array_of(producer, "cores")[np.arange(producer.lane_count) % producer.replica_count]
        own = np.stack((np.arange(len(cores)), cores), axis=1)
        set_array(op, "needs", np.concatenate((array_of(op, "needs"), own)))


@STAGE.edit(
    "needs are listed once for each window that has the row",
    Caught.NEITHER,
    why="a need that is listed twice is the same need",
    costs=False,
)
def needs_twice(module: ModuleOp) -> None:
    for op in deferred(module):
        change_array(op, "needs", lambda table: np.repeat(table, 2, axis=0))


@STAGE.edit(
    "the last row is left out of the list",
    Caught.NEITHER,
    why="messages are made from what the readers' windows say",
    costs=False,
)
def last_row_missing(module: ModuleOp) -> None:
    for op in deferred(module):
        change_array(op, "needs", lambda table: table[:-1])
