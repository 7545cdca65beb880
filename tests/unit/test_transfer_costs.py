"""Tables of transfer costs against the machine, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from compilation import parse_module
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
