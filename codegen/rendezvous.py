"""The order in which messages happen: all cores executed side by side in no time, each as far as it gets.

``send`` and ``recv`` meet: both cores must have reached them. Since nothing in a stream depends on data, the order is a
property of the program; a program that cannot finish here cannot finish on any machine. One step is taken for each
message, none for other instructions.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from .columns import Program
from .isa import Op

_COMMUNICATION = (Op.SEND, Op.RECV, Op.SYNC, Op.WAIT)
_SEND, _RECV, _SYNC, _WAIT = (int(op) for op in _COMMUNICATION)


@dataclass
class Rendezvous:
    """The steps of a program's communication in an order that respects every core's own."""

    first: list[int] = field(default_factory=list[int])
    """Per step a row of the program: the ``send`` of a message, or a ``sync`` or ``wait``."""
    second: list[int] = field(default_factory=list[int])
    """Per step the row of the message's ``recv``, or -1."""
    blocked: list[int] = field(default_factory=list[int])
    """The rows, one a core, that are reached and never pass. Empty for a program that finishes."""


def rendezvous(program: Program) -> Rendezvous:
    """Executes the communication of a program whose instructions are valid and whose core numbers exist."""
    return _Execution(program).run()


class _Execution:
    def __init__(self, program: Program) -> None:
        rows = np.flatnonzero(np.isin(program.columns.op, _COMMUNICATION))
        ends = np.searchsorted(rows, program.core_start)
        self.rows: list[int] = rows.tolist()
        self.ops: list[int] = program.columns.op[rows].tolist()
        self.peers: list[int] = program.columns.b[rows].tolist()
        """Of ``send``, ``recv`` and ``sync`` the other core; of ``wait`` the value."""
        self.events: list[int] = program.columns.a[rows].tolist()
        self.head: list[int] = ends[:-1].tolist()
        """Per core the position of its next communication."""
        self.end: list[int] = ends[1:].tolist()
        self.counters: dict[tuple[int, int], int] = {}
        self.result = Rendezvous()

    def run(self) -> Rendezvous:
        awake = deque(range(len(self.head)))
        while awake:
            core = awake.popleft()
            while (peer := self._step(core)) is not None:
                if peer != core:
                    awake.append(peer)
        stuck = (head for head, end in zip(self.head, self.end, strict=True) if head < end)
        self.result.blocked = [self.rows[head] for head in stuck]
        return self.result

    def _step(self, core: int) -> int | None:
        """Takes the core's next step if it can, and returns the core that this may have woken."""
        at = self.head[core]
        if at == self.end[core]:
            return None
        op = self.ops[at]
        if op in (_SEND, _RECV):
            return self._meet(core, at, op)
        return self._signal(core, at) if op == _SYNC else self._wait(core, at)

    def _meet(self, core: int, at: int, op: int) -> int | None:
        peer = self.peers[at]
        there = self.head[peer]
        wanted = _RECV if op == _SEND else _SEND
        if there == self.end[peer] or self.ops[there] != wanted or self.peers[there] != core or peer == core:
            return None
        send, recv = (at, there) if op == _SEND else (there, at)
        self.head[core] += 1
        self.head[peer] += 1
        self._record(self.rows[send], self.rows[recv])
        return peer

    def _signal(self, core: int, at: int) -> int:
        peer, event = self.peers[at], self.events[at]
        self.counters[peer, event] = self.counters.get((peer, event), 0) + 1
        self.head[core] += 1
        self._record(self.rows[at], -1)
        return peer

    def _wait(self, core: int, at: int) -> int | None:
        event = self.events[at]
        if self.counters.get((core, event), 0) != self.peers[at]:
            return None
        self.counters[core, event] = 0
        self.head[core] += 1
        self._record(self.rows[at], -1)
        return core

    def _record(self, first: int, second: int) -> None:
        self.result.first.append(first)
        self.result.second.append(second)
