"""Mutants of `spat-realize-communication`."""

from __future__ import annotations

import numpy as np
from ir_edits import array_of, batches_of, change_array, ops_of, set_array
from mutant_registry import Stage
from mutation_run import Caught
from numpy.typing import NDArray
from tilec.analysis.window import OUTSIDE
from tilec.dialects.spat import ChannelSendOp, ScheduledComputeBatchOp
from xdsl.dialects.builtin import ModuleOp

STAGE = Stage("spat-realize-communication")
Ints = NDArray[np.int64]
ROW, SOURCE, TARGET, STEP = range(4)


def first_reads(send: ChannelSendOp) -> dict[tuple[int, int], int]:
    """The first step at which each core reads each row of what is sent."""
    found: dict[tuple[int, int], int] = {}
    receives = [use.operation for use in send.channel.uses]
    for receive in receives:
        for use in receive.results[0].uses:
            batch = use.operation
            if isinstance(batch, ScheduledComputeBatchOp):
                rows = batch.row_windows[use.index].rows_of(np.arange(batch.lane_count))
                for lane, core in enumerate(batch.cores.array[np.arange(batch.lane_count) % batch.replica_count]):
                    for row in rows[lane][rows[lane] != OUTSIDE].tolist():
                        key, step = (row, int(core)), int(batch.steps.array[lane])
                        found[key] = min(step, found.get(key, step))
    return found


def ready(send: ChannelSendOp, table: Ints) -> Ints:
    """The step at which each row of a table is there."""
    producer = send.source.owner
    assert isinstance(producer, ScheduledComputeBatchOp)
    return producer.last_steps[table[:, ROW]]


@STAGE.edit("every row is sent twice", Caught.GUARD, "sends", "receives", "send_bytes")
def every_row_twice(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        change_array(send, "messages", lambda table: np.repeat(table, 2, axis=0))


@STAGE.edit("every row is sent to all cores", Caught.GUARD, "sends", "byte_hops")
def broadcast(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        table = array_of(send, "messages")
        last: dict[int, Ints] = {int(line[ROW]): line for line in table}
        wide = np.array([(row, line[SOURCE], core, line[STEP]) for row, line in last.items() for core in range(4)])
        known = {(row, target) for row, target in table[:, [ROW, TARGET]].tolist()}
        wide = wide[[(row, core) not in known and source != core for row, source, core, _ in wide.tolist()]]
        set_array(send, "messages", np.concatenate((table, wide)))


@STAGE.edit("rows travel through a third core", Caught.GUARD, "sends", "byte_hops")
def relayed(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        lines: list[tuple[int, int, int, int]] = []
        for row, source, target, step in array_of(send, "messages").tolist():
            third = next(core for core in range(4) if core not in (source, target))
            known = any(line[0] == row and line[2] == third for line in lines)
            lines += [] if known else [(row, source, third, step)]
            lines.append((row, third, target, step))
        set_array(send, "messages", np.array(lines))


@STAGE.edit("messages wait for one another, by tokens from each to the next", Caught.GUARD, "sends")
def one_chain(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        table = array_of(send, "messages")
        tokens = table[:-1].copy()
        tokens[:, SOURCE], tokens[:, TARGET] = table[:-1, TARGET], table[1:, SOURCE]
        tokens = tokens[tokens[:, SOURCE] != tokens[:, TARGET]]
        joined = np.concatenate((table, tokens))
        set_array(send, "messages", joined[np.argsort(joined[:, STEP], kind="stable")])


@STAGE.edit(
    "messages come as late as they can, right before they are read", Caught.GUARD, "makespan_cycles", program="mixed"
)
def as_late_as_possible(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        reads, table = first_reads(send), array_of(send, "messages").copy()
        table[:, STEP] = [reads[row, target] - 1 for row, target in table[:, [ROW, TARGET]].tolist()]
        set_array(send, "messages", table)


@STAGE.edit(
    "messages are ordered by their receivers, and then as late as that demands",
    Caught.GUARD,
    "makespan_cycles",
)
def by_receiver(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        reads, table = first_reads(send), array_of(send, "messages").copy()
        last = np.array([reads[row, target] - 1 for row, target in table[:, [ROW, TARGET]].tolist()])
        first = ready(send, table)
        table[:, STEP] = np.where(table[:, TARGET] == table[:, TARGET].min(), first, last)
        set_array(send, "messages", table)


@STAGE.edit("readers wait until all rows of a tensor are there", Caught.GUARD, "order", "step_count")
def barrier(module: ModuleOp) -> None:
    (send, *_) = ops_of(module, ChannelSendOp)
    table = array_of(send, "messages").copy()
    moved = int(ready(send, table).max()) - int(table[:, STEP].min()) + 1
    table[:, STEP] += moved
    set_array(send, "messages", table)
    for op in batches_of(module)[1:]:
        change_array(op, "steps", lambda steps: steps + moved)
    for other in ops_of(module, ChannelSendOp)[1:]:
        change_array(other, "messages", lambda table: table + np.array([0, 0, 0, moved]))


@STAGE.edit("the last message is not sent", Caught.BOTH, "unready_reads")
def last_message_lost(module: ModuleOp) -> None:
    send = ops_of(module, ChannelSendOp)[-1]
    change_array(send, "messages", lambda table: table[:-1])


@STAGE.edit("the row below is sent", Caught.BOTH, "unready_reads")
def row_below(module: ModuleOp) -> None:
    send = ops_of(module, ChannelSendOp)[-1]
    change_array(send, "messages", lambda table: np.column_stack(((table[:, ROW] + 1) % 8, table[:, 1:])))


@STAGE.edit("messages go at the step of the lane that reads them", Caught.BOTH, "unready_reads")
def too_late(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        reads, table = first_reads(send), array_of(send, "messages").copy()
        table[:, STEP] = [reads[row, target] + 1 for row, target in table[:, [ROW, TARGET]].tolist()]
        set_array(send, "messages", table)


@STAGE.edit("a core sends to itself", Caught.VERIFIER)
def to_itself(module: ModuleOp) -> None:
    send = ops_of(module, ChannelSendOp)[0]
    table = array_of(send, "messages").copy()
    table[0, TARGET] = table[0, SOURCE]
    set_array(send, "messages", table)


@STAGE.edit(
    "messages go as soon as their row is there",
    Caught.GUARD,
    "makespan_cycles",
)
def as_soon_as_possible(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        table = array_of(send, "messages").copy()
        table[:, STEP] = ready(send, table)
        set_array(send, "messages", table)


@STAGE.edit("the table is not sorted", Caught.NEITHER, why="steps are the order, not lines", costs=False)
def not_sorted(module: ModuleOp) -> None:
    for send in ops_of(module, ChannelSendOp):
        change_array(send, "messages", lambda table: table[::-1])
