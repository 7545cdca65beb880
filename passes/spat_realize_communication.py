"""`spat-realize-communication`: messages, in an order that cannot deadlock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.message_order import check_rendezvous, lists_from_order
from ..dialects.location import copy_location
from ..dialects.spat import (
    ChannelReceiveOp,
    ChannelSendOp,
    DeferredCommunicationOp,
    ScheduledComputeBatchOp,
    shape_of,
)
from ..lowering.placement_tables import lane_cores
from ..lowering.target import target_of
from .statistics import record_statistic


@dataclass(frozen=True)
class SpatRealizeCommunicationPass(ModulePass):
    """Replaces the deferred communication of computed tensors by messages of one row each.

    A message travels at the step of the lane that computes its row, right after it. Steps are one order for the whole
    chip, and both cores meet a message at its place in this order, so that blocking send and receive cannot deadlock:
    the message of least step can always go. The rendezvous check proves it again on the result. Rows of the network's
    inputs stay deferred: they are loaded from global memory.
    """

    name = "spat-realize-communication"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        tables: list[np.ndarray[tuple[int, int], np.dtype[np.int64]]] = []
        sizes: list[int] = []
        for deferred in [inner for inner in op.walk() if isinstance(inner, DeferredCommunicationOp)]:
            producer = deferred.source.owner
            if isinstance(producer, ScheduledComputeBatchOp):
                messages = _realize(deferred, producer)
                tables.append(messages)
                sizes.append(int(np.prod(shape_of(deferred.result)[1:])))
        if tables:
            record_statistic("messages", sum(map(len, tables)))
            _prove(op, tables, sizes)


def _realize(
    deferred: DeferredCommunicationOp, producer: ScheduledComputeBatchOp
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    needs = deferred.needs.array
    row, target = needs[:, 0], needs[:, 1]
    messages = np.stack((row, lane_cores(producer)[row], target, producer.steps.array[row]), axis=1)
    messages = messages[np.lexsort((messages[:, 2], messages[:, 3]))]
    send = copy_location(deferred, ChannelSendOp(deferred.source, messages))
    receive = copy_location(deferred, ChannelReceiveOp(deferred.source, send.channel))
    block = deferred.parent
    assert block is not None
    block.insert_ops_before([send, receive], deferred)
    deferred.result.replace_all_uses_with(receive.result)
    deferred.detach()
    deferred.erase()
    return messages


def _prove(
    module: ModuleOp, tables: list[np.ndarray[tuple[int, int], np.dtype[np.int64]]], row_elements: list[int]
) -> None:
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
