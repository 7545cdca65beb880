"""What moving a row of a tensor costs on the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ..analysis.machine import Machine
from ..analysis.timeline import Load, TransferCosts
from ..dialects.spat import shape_of
from ..support.arrays import Ints
from .target import Target


def row_bytes(value: SSAValue, target: Target) -> int:
    """Bytes of one row of a distributed tensor."""
    return math.prod(shape_of(value)[1:]) * target.element_bytes


def load_costs(machine: Machine, size_bytes: int) -> Load:
    """Of loading so many bytes from global memory, once the request is there."""
    port_ns = float(machine.global_memory_ns(size_bytes, write=False))
    behind = machine.load_cycles(0, size_bytes) - request_cycles(machine)[0]
    return Load(int(behind), math.ceil(port_ns / machine.period_ns))


def repeats(size: int, total: int) -> Iterator[int]:
    """Sizes of the copies that repeat what is there until it is ``total``: each of all that is there, so that it
    doubles. None if nothing is."""
    while 0 < size < total:
        part = min(size, total - size)
        yield part
        size += part


def request_cycles(machine: Machine) -> Ints:
    """[cores] how long a request of each core takes to global memory."""
    cores = np.arange(machine.core_count)
    return machine.flight_cycles(cores, machine.core_count, 1)


USUAL_HOPS = 4
"""Hops between cores that exchange rows, before they have places."""


MOST_TABULATED = 512
"""Cores up to which it is worth while to find out which pairs are alike."""


class TransferModel:
    """Costs of rows by their size, computed once for each size."""

    def __init__(self, target: Target, uniform: bool = False) -> None:
        """With ``uniform``, all cores are as far from each other as they usually are once they have places."""
        self._target = target
        self._uniform = uniform
        self._usual = usual_pair(target.machine)
        self._alike = None if uniform or target.machine.core_count > MOST_TABULATED else _AlikePairs(target.machine)
        self.costs = cache(self._costs)
        self._loads = cache(partial(load_costs, target.machine))

    def of(self, value: SSAValue) -> TransferCosts:
        """Of a row of ``value``."""
        return self.costs(row_bytes(value, self._target))

    def load(self, value: SSAValue) -> Load:
        """Of loading a row of ``value`` from global memory."""
        return self._loads(row_bytes(value, self._target))

    def _costs(self, size_bytes: int) -> TransferCosts:
        machine = self._target.machine

        def send(source: Any, target: Any) -> Ints:
            return machine.send_cycles(source, target, size_bytes)

        def receive(source: Any, target: Any) -> Ints:
            return machine.recv_cycles(source, target, size_bytes)

        def flight(source: Any, target: Any) -> Ints:
            return machine.flight_cycles(source, target, size_bytes)

        usual = int(receive(*self._usual))
        if self._uniform:
            return TransferCosts(_Same(int(send(*self._usual))), _Same(usual), _Same(int(flight(*self._usual))), usual)
        tables = [_Table(cost, machine.core_count, self._alike) for cost in (send, receive, flight)]

        def by_kind() -> tuple[Ints, Ints]:
            assert self._alike is not None, "pairs are not known to be alike"
            return self._alike.kind, np.stack([table.of_kind for table in tables])

        return TransferCosts(tables[0], tables[1], tables[2], usual, by_kind if self._alike else None)


def usual_pair(machine: Machine) -> tuple[int, int]:
    """Two cores at the usual distance, or as near to it as there are."""
    return 0, int(np.abs(machine.hops[0, : machine.core_count] - USUAL_HOPS).argmin())


class _Same:
    """A table with one number everywhere."""

    def __init__(self, cycles: int) -> None:
        self._cycles = cycles

    def __getitem__(self, pair: tuple[Any, Any], /) -> Any:
        return self._cycles if isinstance(pair[0], int) else np.full(np.shape(pair[0]), self._cycles)


class _AlikePairs:
    """Pairs of cores between which rows take equally long there, and equally long back."""

    def __init__(self, machine: Machine) -> None:
        latency = machine.latency_ns[: machine.core_count, : machine.core_count]
        _, there = np.unique(latency, return_inverse=True)
        there = there.reshape(latency.shape)
        _, first, kind = np.unique(there * latency.size + there.T, return_index=True, return_inverse=True)
        self.kind = kind.reshape(latency.shape)
        """[cores, cores]"""
        self.source, self.target = np.divmod(first, len(latency))
        """[kinds] one pair of each kind."""


class _Table:
    """A table [cores, cores] of which entries are computed when they are asked for: most pairs of many cores never are.
    Of fewer cores, whose pairs are known to be ``alike``, one of each kind is."""

    def __init__(self, compute: Callable[[Any, Any], Ints], core_count: int, alike: _AlikePairs | None) -> None:
        self._compute = compute
        self._targets = np.arange(core_count)
        self._rows: dict[int, list[int]] = {}
        self._alike = alike

    def __getitem__(self, pair: tuple[Any, Any], /) -> Any:
        source, target = pair
        if not isinstance(source, int):  # arrays of them
            return self._of_arrays(source, target)
        row = self._rows.get(source)
        if row is None:
            row = [int(cycles) for cycles in self._compute(source, self._targets)]
            self._rows[source] = row
        return row[int(target)]

    @cached_property
    def of_kind(self) -> Ints:
        """[kinds]"""
        assert self._alike is not None, "pairs are not known to be alike"
        return self._compute(self._alike.source, self._alike.target)

    def _of_arrays(self, source: Any, target: Any) -> Ints:
        if self._alike is None:
            return self._compute(source, target)
        kind = self._alike.kind
        place: Ints = source * len(kind) + target
        return self.of_kind.take(kind.take(place))  # In one dimension it is twice as fast.
