"""The static estimate of one sample's latency, on schedules that one can follow by hand.

On `tiny4` a flit takes 4 ns between neighbours and 15 to memory; 64 bytes are two flits, read from local memory in 20
and written in 30, and are two beats of global memory, 40 each to read and 50 to write.
"""

from __future__ import annotations

import numpy as np
import pytest
from tilec.analysis.machine import Machine
from tilec.codegen.event_path import EventPath
from tilec.codegen.static_latency import latency_cycles

MACHINE = Machine.load("tiny4")
SIZE = 64
LOAD = 15 + 80 + 30 + 2
STORE = 20 + 30 + 100 + 3


def array(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


class Schedule:
    def __init__(self) -> None:
        self.path = EventPath(4)

    def work(self, core: int, key: int, cycles: int) -> None:
        self.path.add(array(core), array(key), cycles)

    def load(self, key: int, *cores: int) -> None:
        self.path.add(array(*cores), key, MACHINE.load_cycles(array(*cores), SIZE), SIZE)

    def store(self, key: int, *cores: int) -> None:
        self.path.add(array(*cores), key, MACHINE.store_cycles(array(*cores), SIZE), -SIZE)

    def send(self, key: int, source: int, target: int) -> None:
        ends = array(source), array(target)
        costs = MACHINE.send_cycles(*ends, SIZE), MACHINE.recv_cycles(*ends, SIZE)
        self.path.add_messages(array(key), *ends, *costs, SIZE)

    @property
    def cycles(self) -> int:
        return latency_cycles(MACHINE, self.path.schedule)


@pytest.fixture
def schedule() -> Schedule:
    return Schedule()


def test_cores_work_side_by_side(schedule: Schedule) -> None:
    for core, cycles in ((0, 100), (0, 30), (2, 90)):
        schedule.work(core, 5, cycles)
    assert schedule.cycles == 130


def test_nothing_takes_no_time(schedule: Schedule) -> None:
    assert schedule.cycles == 0


def test_one_load_and_one_store(schedule: Schedule) -> None:
    schedule.load(1, 0)
    schedule.store(2, 0)
    schedule.work(0, 3, 7)
    assert schedule.cycles == LOAD + STORE + 7


def test_global_memory_serves_one_core_after_another(schedule: Schedule) -> None:
    """Four loads arrive together. The first core's store arrives while they are served, the last one's during that."""
    schedule.load(1, 0, 1, 2, 3)
    assert schedule.cycles == LOAD + 3 * 80
    schedule.store(2, 0)
    assert schedule.cycles == 15 + 4 * 80 + 100 + 3
    schedule.store(2, 3)
    assert schedule.cycles == 15 + 4 * 80 + 2 * 100 + 3


def test_memory_serves_in_the_order_of_arrival_not_of_keys(schedule: Schedule) -> None:
    """Core 0 comes first by its key, but works until core 1's load is served, 10 cycles of which it waits for."""
    schedule.work(0, 1, 70)
    schedule.load(2, 0)
    schedule.load(9, 1)
    assert schedule.cycles == 70 + 10 + LOAD


def test_a_message_waits_for_both_ends(schedule: Schedule) -> None:
    """The receiver works 30 until it answers, or the sender until it asks; then both write and go on."""
    schedule.work(1, 1, 30)
    schedule.send(2, 0, 1)
    receive = 4 + 20 + 8 + 30 + 2
    assert schedule.cycles == 30 + receive
    schedule.work(0, 1, 50)
    assert schedule.cycles == 50 + 4 + receive
    schedule.work(0, 3, 1000)
    assert schedule.cycles == 50 + (4 + 4 + 20 + 2) + 1000


def test_a_switch_sends_one_message_after_another(schedule: Schedule) -> None:
    """The second request waits until the first message's data, of 8, has flown, but for the 2 at the end of `send`."""
    schedule.send(1, 0, 1)
    schedule.send(2, 0, 2)
    send, receive = 4 + 4 + 20 + 2, 4 + 20 + 8 + 30 + 2
    assert schedule.cycles == send - 2 + 8 + 4 + receive
