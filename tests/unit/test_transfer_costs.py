"""Tables of transfer costs against the machine, pair by pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from compilation import parse_module
from tilec.analysis.lane_graph import LaneGraph
from tilec.analysis.message_costs import message_cycles
from tilec.analysis.timeline import TimedBatch
from tilec.analysis.wavefront import LaneBatch
from tilec.lowering import transfer_costs
from tilec.lowering.target import target_of
from tilec.lowering.transfer_costs import TransferModel

MODULE = 'builtin.module attributes {{tile.machine = "{machine}"}} {{}}'


@pytest.mark.parametrize("machine", ["tiny4", "reference144"])
@pytest.mark.parametrize("tabulated", [True, False])
def test_tables_are_the_costs_of_the_machine(machine: str, tabulated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of cores, whether those that are alike are computed once or each by itself."""
    if not tabulated:
        monkeypatch.setattr(transfer_costs, "MOST_TABULATED", 0)
    target = target_of(parse_module(MODULE.format(machine=machine)))
    source, to = np.indices((target.machine.core_count,) * 2)
    model = TransferModel(target)
    for size in (1, 33, 4096):
        found = model.costs(size)
        assert (found.send[source, to] == target.machine.send_cycles(source, to, size)).all()
        assert (found.receive[source, to] == target.machine.recv_cycles(source, to, size)).all()
        assert (found.flight[source, to] == target.machine.flight_cycles(source, to, size)).all()
        assert found.send[1, 2] == int(target.machine.send_cycles(1, 2, size))


@pytest.mark.parametrize("machine", ["tiny4", "reference144"])
def test_messages_of_many_batches_cost_what_each_does(machine: str) -> None:
    """From one table for all sizes, and size by size where pairs are not known to be alike."""
    target = target_of(parse_module(MODULE.format(machine=machine)))
    random, cores = np.random.default_rng(0), target.machine.core_count
    model = TransferModel(target)
    transfers = [model.costs(size) for size in (5, 64, 5, 900)]
    batch = random.integers(0, 4, 200)
    home, to = random.integers(0, cores, (2, 200))
    graph = LaneGraph(np.zeros(5, np.int64), batch, batch, batch[:0], batch[:0], batch[:0])
    for by_kind in (True, False):
        known = transfers if by_kind else [replace(transfer, by_kind=None) for transfer in transfers]
        timed = [TimedBatch(LaneBatch(1, ()), np.zeros(1, np.int64), 1, 1, transfer) for transfer in known]
        found = message_cycles(timed, graph, np.arange(200), home, to)
        for name, cycles in zip(("send", "receive", "flight"), found.tolist(), strict=True):
            assert cycles == [
                int(getattr(transfers[kind], name)[one, other])
                for kind, one, other in zip(batch.tolist(), home.tolist(), to.tolist(), strict=True)
            ]
