"""`spat-realize-communication`: messages, in an order that cannot deadlock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.contract import Contract, changes_meaning, no_longer_known, of
from ..analysis.message_order import check_rendezvous, lists_from_order
from ..analysis.message_times import message_steps, row_reads
from ..dialects.location import copy_location, place_of
from ..dialects.spat import (
    ChannelReceiveOp,
    ChannelSendOp,
    DeferredCommunicationOp,
    ScheduledComputeBatchOp,
    shape_of,
)
from ..lowering.placement_tables import Ints, read_lines
from ..lowering.target import target_of
from ..support.diagnostics import TileError
from .statistics import record_statistic


@dataclass(frozen=True)
class SpatRealizeCommunicationPass(ModulePass):
    """Replaces the deferred communication of computed tensors by messages of one row each.

    A message travels when the schedule has planned it (`sends` of the batch); a row without a plan is sent as soon as
    it has been computed. Steps are one order for the whole chip, and both cores execute a message at its place in this
    order, so blocking send and receive cannot deadlock: the message with the least step can always go. The rendezvous
    check proves this again on the result. Rows of the network's inputs stay deferred: they are loaded from global
    memory.
    """

    name = "spat-realize-communication"
    contract: ClassVar[Contract] = Contract(
        {
            "makespan_cycles": changes_meaning(of("scheduled_cycles"), "rows arrive as they were planned to"),
            "scheduled_cycles": no_longer_known("what was planned is there, and counts in makespan_cycles"),
        }
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        tables: list[Ints] = []
        sizes: list[int] = []
        target = target_of(op)
        for batch in op.walk():
            if isinstance(batch, ScheduledComputeBatchOp):
                target.require_cores(batch, batch.cores.array)
        for deferred in [inner for inner in op.walk() if isinstance(inner, DeferredCommunicationOp)]:
            producer = deferred.source.owner
            if isinstance(producer, ScheduledComputeBatchOp):
                messages = _realize(deferred, producer)
                tables.append(messages)
                sizes.append(int(np.prod(shape_of(deferred.result)[1:])))
        if tables:
            record_statistic("messages", sum(map(len, tables)))
            _prove(op, tables, sizes)


def _realize(deferred: DeferredCommunicationOp, producer: ScheduledComputeBatchOp) -> Ints:
    reads = row_reads(read_lines(deferred.result))
    home = producer.lane_cores
    reads = reads.where(reads.core != home[reads.row])
    ready = producer.last_steps[reads.row]
    late = np.flatnonzero(ready >= reads.first)
    if late.size:
        at = int(late[0])
        raise TileError(
            place_of(producer),
            f"core {reads.core[at]} reads row {reads.row[at]} at step {reads.first[at]}, "
            f"and it is computed at step {ready[at]}",
            "schedule with spat-schedule-peft",
        )
    step = message_steps(reads, ready, producer.planned_sends)
    messages = np.stack((reads.row, home[reads.row], reads.core, step), axis=1)
    messages = messages[np.lexsort((messages[:, 2], messages[:, 0], messages[:, 3]))]
    send = copy_location(deferred, ChannelSendOp(deferred.source, messages))
    receive = copy_location(deferred, ChannelReceiveOp(deferred.source, send.channel))
    Rewriter.replace_op(deferred, [send, receive])
    return messages


def _prove(module: ModuleOp, tables: list[Ints], row_elements: list[int]) -> None:
    """Checks the lists of sends and receives of all cores with the independent rendezvous check."""
    messages = np.concatenate(tables)
    sizes = np.repeat(np.array(row_elements, np.int64), [len(table) for table in tables])
    channel = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    order = np.lexsort((np.arange(len(messages)), channel, messages[:, 3]))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    cores = target_of(module).machine.core_count
    report = check_rendezvous(lists_from_order(messages[:, 1], messages[:, 2], sizes, position, cores))
    assert report is None, f"the order of messages can deadlock: {report}"
