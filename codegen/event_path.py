"""The critical path of a schedule, instruction by instruction: what the stream of a program has to come to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

_PLACES = 1 << 40
"""More than there are keys of events."""


@dataclass
class EventPath:
    """What cores do when, by the keys of `lowering/event_order.py`; events of one key in the order of their coming."""

    cores: int
    _alone: list[I64] = field(default_factory=list[I64])
    """Core and key in one number."""
    _cycles: list[I64] = field(default_factory=list[I64])
    _messages: list[I64] = field(default_factory=list[I64])
    """[n, 5]: key, source, target, cycles of each."""

    def add(self, core: npt.ArrayLike, key: npt.ArrayLike, cycles: npt.ArrayLike) -> None:
        """Instructions that one core executes alone. Arrays of any shapes that broadcast together."""
        place, spent = np.broadcast_arrays(_places(core, key), np.asarray(cycles, np.int64))
        self._alone.append(place.reshape(-1))
        self._cycles.append(spent.reshape(-1))

    def add_messages(self, key: I64, source: I64, target: I64, sending: I64, receiving: I64) -> None:
        """Messages, which occupy both cores."""
        self._messages.append(np.stack(np.broadcast_arrays(key, source, target, sending, receiving), axis=1))

    def cycles(self) -> int:
        """Cycles until all cores are done, each in the order of keys. The loop is over messages only."""
        alone = np.concatenate([*self._alone, np.zeros(0, np.int64)])
        order = np.argsort(alone, kind="stable")
        alone = alone[order]
        done = np.append(0, np.cumsum(np.concatenate([*self._cycles, np.zeros(0, np.int64)])[order]))

        def before(core: I64, key: npt.ArrayLike) -> I64:
            """Cycles of the core alone before the key, and of all cores before it."""
            return done[np.searchsorted(alone, _places(core, key))]

        every = np.arange(self.cores)
        first, last = before(every, -_PLACES // 2), before(every, _PLACES // 2 - 1)
        messages = np.concatenate([*self._messages, np.zeros((0, 5), np.int64)])
        messages = messages[np.argsort(messages[:, 0], kind="stable")]
        key, source, target, sending, receiving = messages.T
        late = (-first).tolist()
        """Of each core, when it goes on, less the cycles that it and all cores before it have worked alone."""
        columns = (source, target, before(source, key), before(target, key), sending, receiving)
        for sender, receiver, at_sender, at_receiver, send, receive in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            start = max(at_sender + late[sender], at_receiver + late[receiver])
            late[sender] = start - at_sender + send
            late[receiver] = start - at_receiver + receive
        return int((last + np.array(late, np.int64)).max(initial=0))


def _places(core: npt.ArrayLike, key: npt.ArrayLike) -> I64:
    return np.asarray(core, np.int64) * _PLACES + np.asarray(key, np.int64) + _PLACES // 2
