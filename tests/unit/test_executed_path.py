"""The critical path of a run: small programs whose path is worked out by hand, and properties of random ones.

Times are those of `tests/unit/test_recording.py`.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tilec.codegen.json_reader import JsonProgram
from tilec.simulators.timing import FIRST_COME, SIMULATOR, Quirks, TimingOptions, simulate
from tilec.simulators.timing.executed_path import ALL_USES, PATH_USES, ExecutedPath, executed_path
from tilec.simulators.timing.recording import Recording, record

from tests.unit.test_recording import LOAD, RECV, SCALAR, SEND, random_recording
from tests.unit.test_timing import ADD, FILL, MACHINE, MVM, SETBW, machine, registers, stream


def by_use(path: ExecutedPath) -> dict[str, float]:
    """Time in ns by what it is spent on."""
    times = np.bincount(path.use, path.time_ps, len(ALL_USES)) / 1000
    return {name: time for name, time in zip(ALL_USES, times.tolist(), strict=True) if time}


def by_row(path: ExecutedPath) -> dict[int, float]:
    """Time in ns by instruction; -1 is `start`."""
    times = np.bincount(path.row + 1, path.time_ps) / 1000
    return {row - 1: time for row, time in enumerate(times.tolist()) if time}


def path_of(program: JsonProgram, rob_size: int = 1, quirks: Quirks = SIMULATOR) -> ExecutedPath:
    on = MACHINE if rob_size == 1 else machine(rob_size=rob_size)
    return executed_path(record(program, on, TimingOptions(quirks=quirks)))


def test_one_core_one_instruction_in_flight() -> None:
    path = path_of(stream([SETBW, ADD, SCALAR, FILL]))
    # An instruction has the edge at which it leaves; the front end issues it in one cycle.
    assert by_row(path) == {-1: 2, 0: 1, 1: 1 + 78 + 1, 2: 1, 3: 1 + 30 + 1}
    assert by_use(path) == {"start": 2, "scalar": 4, "vector": 79, "local_move": 31}


def test_the_path_goes_to_the_sender() -> None:
    late = stream([SETBW, ADD, {**SEND, "core": 1}], [SETBW, FILL, {**RECV, "core": 0}])
    path = path_of(late)
    # Request and data are the sender's, the answer and the write the receiver's; what that did before plays no part.
    assert by_row(path) == {-1: 2, 0: 1, 1: 80, 2: 1 + 4 + 20 + 8, 5: 4 + 30 + 1}
    assert by_use(path) == {"start": 2, "scalar": 3, "vector": 79, "message": 67}


def test_the_path_goes_to_a_receiver_that_comes_late() -> None:
    path = path_of(stream([SETBW, {**SEND, "core": 1}], [SETBW, ADD, {**RECV, "core": 0}]))
    assert by_row(path) == {-1: 2, 2: 1, 3: 80, 1: 20 + 8, 4: 1 + 4 + 30 + 1}


def test_the_path_goes_through_what_is_in_the_switch() -> None:
    sends = [{**SEND, "core": 1}, {**SEND, "core": 2}]
    path = path_of(stream([SETBW, *sends], [SETBW, {**RECV, "core": 0}], [SETBW, {**RECV, "core": 0}]))
    assert by_row(path) == {-1: 2, 0: 1, 1: 1 + 4 + 20 + 8, 4: 4, 2: 4 + 20 + 8, 6: 4 + 30 + 1}
    assert sum(by_row(path).values()) == 107


def test_the_path_goes_through_what_global_memory_served_before() -> None:
    path = path_of(stream([SETBW, LOAD], [SETBW, LOAD]), quirks=FIRST_COME)
    assert by_row(path) == {-1: 2, 0: 1, 1: 1 + 15 + 40, 3: 40 + 30 + 1}
    assert by_use(path) == {"start": 2, "scalar": 2, "global_memory": 126}


def test_waiting_for_local_memory_has_a_name() -> None:
    far = registers(*(1000 * number for number in range(1, 10)))
    path = path_of(stream([SETBW, *far, ADD, FILL]), rob_size=8)
    assert by_use(path) == {"start": 2, "scalar": 11, "vector": 79, "memory_queue": 22}


@pytest.mark.parametrize("rob_size", [1, 2, 8])
def test_products_of_one_group_wait_for_each_other(rob_size: int) -> None:
    """Three of one group, and one of another that is done long before."""
    lines = [*registers(*(1000 * number for number in range(1, 10))), MVM, {**MVM, "group": 1}, MVM, MVM]
    path = path_of(stream([SETBW, *lines]), rob_size)
    rows = by_row(path)
    products = {row: time for row, time in rows.items() if row >= 10}
    if rob_size == 1:
        assert len(set(products.values())) == 1
        assert sorted(products) == [10, 11, 12, 13]
    else:
        assert sorted(products) == [10, 12, 13]
    assert sum(rows.values()) * 1000 == path.time_ps.sum()


def latency_ps(recording: Recording) -> int:
    return round(recording.result.latency_ns * 1000)


@pytest.mark.parametrize("seed", range(80))
def test_segments_add_up_to_the_latency(seed: int) -> None:
    recording, plain, _ = random_recording(seed)
    if not plain.finished:
        with pytest.raises(AssertionError, match="does not finish"):
            executed_path(recording)
        return
    path = executed_path(recording)
    assert path.time_ps.sum() == latency_ps(recording)
    times = np.bincount(path.use, path.time_ps, len(ALL_USES))
    assert (times >= 0).all()
    assert times[ALL_USES.index("stall")] == 0, "the front end is held up, and nothing explains it"
    instructions = path.row[path.use < len(PATH_USES)]
    assert (instructions >= 0).all()


def test_no_program_has_no_path() -> None:
    assert len(path_of(stream()).row) == 0


# A path is critical if whatever becomes longer on it makes the whole run longer by as much.


def messages_and_sums(seed: int) -> list[list[dict[str, Any]]]:
    """Random sums and messages between four cores, without loads: nothing that cores could overtake each other at."""
    draw = random.Random(seed)
    lists: list[list[dict[str, Any]]] = [[SETBW] for _ in range(4)]
    for _ in range(24):
        core, other = draw.sample(range(4), 2)
        if draw.random() < 0.5:
            lists[core].append({**ADD, "len": 8 * draw.randint(1, 20)})
        else:
            size = draw.randint(1, 200)
            lists[core].append({**SEND, "core": other, "size": size})
            lists[other].append({**RECV, "core": core, "size": size})
    for lines in lists:
        lines.append(FILL)
    return lists


@pytest.mark.parametrize("seed", range(12))
def test_what_becomes_longer_on_the_path_makes_the_run_longer_by_as_much(seed: int) -> None:
    lists = messages_and_sums(seed)
    latency = simulate(stream(*lists), MACHINE).latency_ns
    path = path_of(stream(*lists))
    on_path = set(path.row[path.use == ALL_USES.index("vector")].tolist())
    row, longer = 0, {True: 0, False: 0}
    for core, lines in enumerate(lists):
        for place, line in enumerate(lines):
            if line["op"] == "vvadd":
                more = {**line, "len": line["len"] + 64}
                added = int(MACHINE.vector_cycles(9, more["len"])) - int(MACHINE.vector_cycles(9, line["len"]))
                changed = [*lists[:core], [*lines[:place], more, *lines[place + 1 :]], *lists[core + 1 :]]
                difference = simulate(stream(*changed), MACHINE).latency_ns - latency
                # What ends on an edge is seen by that or by the next one, as it happens: a few ns more or less.
                assert -4 <= difference <= added + 4
                assert difference >= added - 4 or row not in on_path
                longer[difference < added - 4] += 1
            row += 1
    assert longer[False] >= len(on_path) > 0
    assert longer[True], "everything is on the path, so that nothing is shown"
