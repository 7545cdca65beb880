"""Deadlock checks: the two deciders agree, on programs that finish and on programs that hang."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis.message_order import (
    RECEIVE,
    SEND,
    DeadlockReport,
    MessageLists,
    PeerReport,
    SizeReport,
    UnmatchedReport,
    check_rendezvous,
    execute_rendezvous,
    lists_from_order,
)


def lists(*cores: list[tuple[int, int] | tuple[int, int, int]]) -> MessageLists:
    """One list of (kind, peer[, bytes]) a core."""
    table = np.array([(*entry, 1)[:3] for core in cores for entry in core], dtype=np.int64).reshape(-1, 3)
    return MessageLists(np.cumsum([0, *map(len, cores)]), table[:, 0], table[:, 1], table[:, 2])


@st.composite
def random_lists(draw: st.DrawFn) -> MessageLists:
    """Matched messages in a global order, in which some communications have then changed places on their cores."""
    cores, count = draw(st.integers(2, 6)), draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sender = rng.integers(0, cores, count)
    receiver = (sender + rng.integers(1, cores, count)) % cores
    good = lists_from_order(sender, receiver, rng.integers(1, 9, count), rng.integers(0, 9, count), cores)
    moves = rng.permutation(2 * count)[: draw(st.integers(0, 3))]
    order = np.arange(2 * count)
    for move in moves.tolist():
        if move + 1 < 2 * count and good.core()[move] == good.core()[move + 1]:
            order[[move, move + 1]] = order[[move + 1, move]]
    return MessageLists(good.first, good.kind[order], good.peer[order], 0 * good.size)


@settings(deadline=None)
@given(random_lists())
def test_cycle_check_and_execution_agree(program: MessageLists) -> None:
    report = check_rendezvous(program)
    completed = execute_rendezvous(program)
    assert (report is None) == (completed == np.diff(program.first).tolist())
    if report is not None:
        assert isinstance(report, DeadlockReport)
        following = (*report.cycle[1:], report.cycle[0])
        for (core, index), (peer, _) in zip(report.cycle, following, strict=True):
            assert completed[core] == index
            assert program.peer[program.first[core] + index] == peer


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 60), st.integers(0, 2**32))
def test_lists_from_one_order_never_deadlock(cores: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sender = rng.integers(0, cores + 1, count)
    receiver = (sender + rng.integers(1, cores + 1, count)) % (cores + 1)
    program = lists_from_order(sender, receiver, rng.integers(1, 9, count), rng.integers(0, 5, count), cores + 1)
    assert check_rendezvous(program) is None
    assert execute_rendezvous(program) == np.diff(program.first).tolist()


def test_crossing_sends_deadlock() -> None:
    program = lists([(SEND, 1), (RECEIVE, 1)], [(SEND, 0), (RECEIVE, 0)])
    report = check_rendezvous(program)
    assert report == DeadlockReport(((0, 0), (1, 0)))
    assert str(report) == "deadlock: core 0, communication 0 -> core 1, communication 0 -> core 0, communication 0"
    assert execute_rendezvous(program) == [0, 0]


def test_three_cores_that_wait_in_a_ring() -> None:
    ring: list[list[tuple[int, int] | tuple[int, int, int]]] = [
        [(SEND, 3), (RECEIVE, 2), (SEND, 1)],
        [(RECEIVE, 0), (SEND, 2)],
        [(RECEIVE, 1), (SEND, 0)],
        [(RECEIVE, 0)],
    ]
    assert check_rendezvous(lists(*ring)) == DeadlockReport(((0, 1), (2, 0), (1, 0)))
    ring[0][1:] = reversed(ring[0][1:])
    assert check_rendezvous(lists(*ring)) is None


def test_messages_of_a_pair_match_in_order() -> None:
    program = lists([(SEND, 1, 4), (SEND, 1, 8)], [(RECEIVE, 0, 4), (RECEIVE, 0, 6)])
    assert check_rendezvous(program) == SizeReport((0, 1), (1, 1), 8, 6)


def test_missing_receive_is_named() -> None:
    report = check_rendezvous(lists([(SEND, 1), (SEND, 1)], [(RECEIVE, 0), (SEND, 0)]))
    assert report == UnmatchedReport(0, 1, 2, 1)
    assert check_rendezvous(lists([], [(RECEIVE, 0)])) == UnmatchedReport(0, 1, 0, 1)


@pytest.mark.parametrize("peer", [-1, 0, 2])
def test_impossible_peer_is_named(peer: int) -> None:
    program = lists([(SEND, 1), (SEND, peer)], [(RECEIVE, 0)])
    assert check_rendezvous(program) == PeerReport(0, 1, peer)
    assert execute_rendezvous(program) == [1, 1]


def test_no_messages() -> None:
    assert check_rendezvous(lists([], [])) is None
    assert execute_rendezvous(lists([], [])) == [0, 0]


def test_scale() -> None:
    """A million messages between 144 cores."""
    rng = np.random.default_rng(1)
    count, cores = 1_000_000, 144
    sender = rng.integers(0, cores, count)
    receiver = (sender + rng.integers(1, cores, count)) % cores
    program = lists_from_order(sender, receiver, rng.integers(1, 99, count), np.arange(count), cores)
    began = time.process_time()
    assert check_rendezvous(program) is None
    assert time.process_time() - began < 8
