"""A schedule, instruction by instruction, and its critical path: what the stream of a program has to come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..support.arrays import Ints
from .isa import Op
from .transfer_order import Transfers, order_digest

_PLACES = 1 << 40
"""More than there are keys of events."""


@dataclass
class EventPath:
    """What cores do when, by the keys of `lowering/event_order.py`; events of one key in the order of their coming."""

    cores: int
    _alone: list[Ints] = field(default_factory=list[Ints])
    """Core and key in one number."""
    _cycles: list[Ints] = field(default_factory=list[Ints])
    _global_bytes: list[Ints] = field(default_factory=list[Ints])
    _messages: list[Ints] = field(default_factory=list[Ints])
    """[n, 6]: key, source, target, cycles of each, bytes."""

    def add(
        self, core: npt.ArrayLike, key: npt.ArrayLike, cycles: npt.ArrayLike, global_bytes: npt.ArrayLike = 0
    ) -> None:
        """Instructions that one core executes alone. Arrays of any shapes that broadcast together.

        ``global_bytes`` is what each loads from global memory, or, as a negative number, what it stores there.
        """
        vars(self).pop("schedule", None)
        place, spent = np.broadcast_arrays(_places(core, key), np.asarray(cycles, np.int64))
        self._alone.append(place.reshape(-1))
        self._cycles.append(spent.reshape(-1))
        self._global_bytes.append(np.broadcast_to(np.asarray(global_bytes, np.int64), place.shape).reshape(-1))

    def add_messages(
        self, key: Ints, source: Ints, target: Ints, sending: Ints, receiving: Ints, size: npt.ArrayLike
    ) -> None:
        """Messages of ``size`` bytes, which occupy both cores."""
        vars(self).pop("schedule", None)
        columns = np.broadcast_arrays(key, source, target, sending, receiving, size)
        self._messages.append(np.stack(columns, axis=1))

    @cached_property
    def schedule(self) -> CoreSchedule:
        """All of it in order, until more is added."""
        place = np.concatenate([*self._alone, np.zeros(0, np.int64)])
        order = np.argsort(place, kind="stable")
        cycles = np.concatenate([*self._cycles, np.zeros(0, np.int64)])[order]
        moved = np.concatenate([*self._global_bytes, np.zeros(0, np.int64)])[order]
        messages = np.concatenate([*self._messages, np.zeros((0, 6), np.int64)])
        return CoreSchedule(
            self.cores, place[order], cycles, moved, messages[np.argsort(messages[:, 0], kind="stable")]
        )

    def cycles(self) -> int:
        """Cycles until all cores are done, each in the order of keys. The loop is over messages only."""
        schedule = self.schedule
        first, last = schedule.ends()
        key, source, target, sending, receiving, _ = schedule.messages.T
        late = (-first).tolist()
        """Of each core, when it goes on, less the cycles that it and all cores before it have worked alone."""
        columns = (source, target, schedule.before(source, key), schedule.before(target, key), sending, receiving)
        for sender, receiver, at_sender, at_receiver, send, receive in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            start, other = at_sender + late[sender], at_receiver + late[receiver]
            if other > start:
                start = other
            late[sender] = start - at_sender + send
            late[receiver] = start - at_receiver + receive
        return int((last + np.array(late, np.int64)).max(initial=0))

    def order(self) -> str:
        """Stands for where in the work of its core each transfer has its place (:func:`.order_digest`)."""
        schedule = self.schedule
        first, _ = schedule.ends()
        rows = np.flatnonzero(schedule.global_bytes)
        core, moved = schedule.core_of(rows), schedule.global_bytes[rows]
        none = np.zeros(len(rows), np.int64)
        loads = Transfers(
            np.where(moved > 0, int(Op.LD), int(Op.ST)), core, schedule.done[rows] - first[core], np.abs(moved), none
        )
        key, source, target, _, _, size = schedule.messages.T
        messages = [
            Transfers(np.full(len(key), int(op)), one, schedule.before(one, key) - first[one], size, other)
            for op, one, other in ((Op.SEND, source, target), (Op.RECV, target, source))
        ]
        return order_digest([loads, *messages])


@dataclass(frozen=True, eq=False)
class CoreSchedule:
    """What cores execute alone, core by core in order of keys, and messages in order of keys."""

    cores: int
    place: Ints
    """Core and key in one number."""
    cycles: Ints
    global_bytes: Ints
    """Loaded from global memory, or negative and stored there."""
    messages: Ints
    """[n, 6]: key, source, target, cycles of each, bytes."""

    @cached_property
    def done(self) -> Ints:
        """Before each instruction, and after the last: the cycles of all before it, on its core and on those before."""
        return np.append(0, np.cumsum(self.cycles))

    def before(self, core: npt.ArrayLike, key: npt.ArrayLike) -> Ints:
        """Cycles that the core executes alone before the key, and all of the cores before it."""
        return self.done[np.searchsorted(self.place, _places(core, key))]

    def core_of(self, rows: Ints) -> Ints:
        """The cores of instructions."""
        return self.place[rows] // _PLACES

    @staticmethod
    def place_of(core: npt.ArrayLike, key: npt.ArrayLike) -> Ints:
        """Core and key as ``place`` has them."""
        return _places(core, key)

    def ends(self) -> tuple[Ints, Ints]:
        """The same before each core's first instruction, and after its last."""
        every = np.arange(self.cores)
        return self.before(every, -_PLACES // 2), self.before(every, _PLACES // 2 - 1)


def _places(core: npt.ArrayLike, key: npt.ArrayLike) -> Ints:
    return np.asarray(core, np.int64) * _PLACES + np.asarray(key, np.int64) + _PLACES // 2
