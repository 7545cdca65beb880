"""Whether the blocking sends and receives of all cores can run to their end.

A core runs its communications in order. A send waits until its peer has reached the matching receive, a receive until
its peer has reached the matching send, and the k-th send from S to R meets the k-th receive at R from S: there are no
tags. Which message goes first among those that can does not change where a program gets stuck, so one run without
latencies decides for all.

Two deciders that share no code: :func:`check_rendezvous` looks for a cycle in the graph of program order and messages
with Kahn's algorithm, :func:`execute_rendezvous` runs the lists. :func:`lists_from_order` makes lists that cannot
deadlock: each is a restriction of one global order of messages, so every message waits only for earlier ones.

Not handled: sync and wait instructions, and transfers with buffering (rendezvous is the stricter case).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..support.arrays import Ints

SEND, RECEIVE = 0, 1


@dataclass(frozen=True, eq=False)
class MessageLists:
    """The communications of p cores, m in all, core after core, each core's in program order."""

    first: Ints
    """[p + 1] communications ``first[c]:first[c + 1]`` are core c's; index 0 of a core is the first of these."""
    kind: Ints
    """[m] SEND or RECEIVE."""
    peer: Ints
    """[m] the core at the other end."""
    size: Ints
    """[m] bytes."""

    @property
    def core_count(self) -> int:
        return self.first.shape[0] - 1

    def core(self) -> Ints:
        """[m] the core of each communication."""
        return np.repeat(np.arange(self.core_count), np.diff(self.first))

    def locate(self, position: int) -> tuple[int, int]:
        """(core, index on it) of the communication at ``position``."""
        core = int(np.searchsorted(self.first, position, side="right")) - 1
        return core, position - int(self.first[core])


@dataclass(frozen=True)
class PeerReport:
    """A communication with a core that does not exist, or with its own core."""

    core: int
    index: int
    peer: int

    def __str__(self) -> str:
        return f"core {self.core}, communication {self.index}: core {self.peer} cannot be its peer"


@dataclass(frozen=True)
class UnmatchedReport:
    """A pair of cores with more sends than receives, or fewer; the first such pair."""

    sender: int
    receiver: int
    sends: int
    receives: int

    def __str__(self) -> str:
        return f"core {self.sender} sends {self.sends} messages to core {self.receiver}, which receives {self.receives}"


@dataclass(frozen=True)
class SizeReport:
    """A send and its receive with different sizes; both ends as (core, index)."""

    send: tuple[int, int]
    receive: tuple[int, int]
    sent_bytes: int
    received_bytes: int

    def __str__(self) -> str:
        return (
            f"core {self.send[0]}, communication {self.send[1]} sends {self.sent_bytes} bytes, but its receive on core "
            f"{self.receive[0]}, communication {self.receive[1]} takes {self.received_bytes}"
        )


@dataclass(frozen=True)
class DeadlockReport:
    """Communications that wait for each other: each needs its peer core, which hangs in the next of the cycle."""

    cycle: tuple[tuple[int, int], ...]
    """(core, index), starting with the lowest core."""

    def __str__(self) -> str:
        waits = " -> ".join(f"core {core}, communication {index}" for core, index in (*self.cycle, self.cycle[0]))
        return f"deadlock: {waits}"


RendezvousReport = PeerReport | UnmatchedReport | SizeReport | DeadlockReport


def check_rendezvous(lists: MessageLists) -> RendezvousReport | None:
    """Reports the first fault of the lists, None when every communication completes and sizes agree.

    Linear in m after two sorts. The walk over the graph is scalar: a level of it is one message per core at most, too
    narrow for vector operations.
    """
    core = lists.core()
    bad = np.flatnonzero((lists.peer < 0) | (lists.peer >= lists.core_count) | (lists.peer == core))
    if bad.size:
        return PeerReport(*lists.locate(int(bad[0])), int(lists.peer[bad[0]]))
    match = _match(lists, core)
    if isinstance(match, UnmatchedReport):
        return match
    sends, receives = match
    wrong = np.flatnonzero(lists.size[sends] != lists.size[receives])
    if wrong.size:
        send, receive = int(sends[wrong[0]]), int(receives[wrong[0]])
        sizes = int(lists.size[send]), int(lists.size[receive])
        return SizeReport(lists.locate(send), lists.locate(receive), *sizes)
    return _deadlock(lists, _heads_after_kahn(lists, core, sends, receives))


def execute_rendezvous(lists: MessageLists) -> list[int]:
    """[p] communications that each core completes when run without latencies. Sizes are not looked at.

    One core after the other runs until it has to wait; a core that its peer has let go on gets another turn.
    """
    first, kind, peer = lists.first.tolist(), lists.kind.tolist(), lists.peer.tolist()
    head = first[:-1]
    turns = list(range(lists.core_count))
    while turns:
        core = turns.pop()
        while head[core] < first[core + 1]:
            other = peer[head[core]]
            if not 0 <= other < lists.core_count or other == core or head[other] == first[other + 1]:
                break
            if peer[head[other]] != core or kind[head[other]] == kind[head[core]]:
                break
            head[core] += 1
            head[other] += 1
            turns.append(other)
    return [position - start for position, start in zip(head, first, strict=False)]


def lists_from_order(sender: Ints, receiver: Ints, size: Ints, position: Ints, core_count: int) -> MessageLists:
    """The lists in which every core communicates in the order of ``position``, all [messages]; free of deadlock.

    ``position`` ranks the messages globally, for instance by the cycle at which their producer finishes; equal ranks go
    by message id. Sender and receiver of a message must differ.
    """
    ids = np.arange(len(sender))
    core = np.concatenate((sender, receiver))
    by_core = np.lexsort((np.tile(ids, 2), np.tile(position, 2), core))
    return MessageLists(
        first=np.searchsorted(core[by_core], np.arange(core_count + 1)),
        kind=np.repeat([SEND, RECEIVE], ids.size)[by_core],
        peer=np.concatenate((receiver, sender))[by_core],
        size=np.tile(size, 2)[by_core],
    )


def _match(lists: MessageLists, core: Ints) -> tuple[Ints, Ints] | UnmatchedReport:
    """Positions of sends and of their receives, message by message; messages are sorted by (sender, receiver, k)."""
    is_send = lists.kind == SEND
    route = np.where(is_send, core * lists.core_count + lists.peer, lists.peer * lists.core_count + core)
    sends, receives = (
        ends[np.argsort(route[ends], kind="stable")] for ends in map(np.flatnonzero, (is_send, ~is_send))
    )
    if np.array_equal(route[sends], route[receives]):
        return sends, receives
    routes = np.unique(route)
    counts = [np.diff(np.searchsorted(route[ends], np.append(routes, routes[-1] + 1))) for ends in (sends, receives)]
    first = int((counts[0] != counts[1]).argmax())
    sender, receiver = divmod(int(routes[first]), lists.core_count)
    return UnmatchedReport(sender, receiver, int(counts[0][first]), int(counts[1][first]))


def _heads_after_kahn(lists: MessageLists, core: Ints, sends: Ints, receives: Ints) -> list[int]:
    """[p] the first communication of each core that no topological order reaches, as a position in the lists.

    A node is a message, both ends at once. It waits for the message before it on the sender and on the receiver.
    """
    count = sends.size
    message = np.empty(2 * count, dtype=np.int64)
    message[sends] = message[receives] = np.arange(count)
    follows = np.append(core[1:] == core[:-1], False)  # whether the next communication is on the same core
    after = np.where(follows, np.append(message[1:], 0), count)
    waiting = np.bincount(after, minlength=count + 1)
    ready = np.flatnonzero(waiting[:count] == 0).tolist()
    after_send, after_receive, left = after[sends].tolist(), after[receives].tolist(), waiting.tolist()
    left[count] = -1  # the sink, which never becomes ready
    done = np.zeros(count, dtype=bool)
    reached: list[int] = []
    while ready:
        node = ready.pop()
        reached.append(node)
        for successor in (after_send[node], after_receive[node]):
            left[successor] -= 1
            if left[successor] == 0:
                ready.append(successor)
    done[reached] = True
    stuck = np.flatnonzero(~done[message])
    heads = lists.first[1:].copy()
    np.minimum.at(heads, core[stuck], stuck)
    return heads.tolist()


def _deadlock(lists: MessageLists, heads: list[int]) -> DeadlockReport | None:
    """The cycle that the lowest unfinished core waits for, directly or not: from each core to the peer of its head."""
    unfinished = [core for core in range(lists.core_count) if heads[core] < lists.first[core + 1]]
    if not unfinished:
        return None
    path: list[int] = [unfinished[0]]
    while (following := int(lists.peer[heads[path[-1]]])) not in path:
        path.append(following)
    cycle = path[path.index(following) :]
    lowest = cycle.index(min(cycle))
    cycle = cycle[lowest:] + cycle[:lowest]
    return DeadlockReport(tuple((core, heads[core] - int(lists.first[core])) for core in cycle))
