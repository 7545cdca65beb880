"""Who reads which row where, by machine code and by numpy, against a count of each read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilec.analysis import row_uses as module
from tilec.analysis.lane_graph import LaneGraph
from tilec.analysis.row_uses import row_uses


@pytest.mark.parametrize("compiled", [False, True])
def test_uses_are_those_of_all_reads(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORTH_COMPILING", 0 if compiled else 1 << 30)

    @settings(max_examples=150, deadline=None)
    @given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 2**30))
    def check(lanes: int, cores: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        reads = np.flatnonzero(random.random(lanes * lanes) < random.random())
        row, reader = np.divmod(reads, lanes)
        nothing = np.zeros(0, np.int64)
        place = random.permutation(lanes)
        graph = LaneGraph(np.array([0, lanes]), np.zeros(lanes, np.int64), place, row, reader, nothing)
        core = random.integers(0, cores, lanes)
        found = row_uses(graph, core)
        expected: list[tuple[int, int, list[int]]] = []
        for one in range(lanes):
            by_place = sorted(reader[row == one].tolist(), key=lambda lane: int(place[lane]))
            for there in sorted({int(core[lane]) for lane in by_place}):
                expected.append((one, there, [lane for lane in by_place if core[lane] == there]))
        readers = np.split(found.readers, found.start[1:-1]) if expected else []
        got = zip(found.row.tolist(), found.core.tolist(), [lanes.tolist() for lanes in readers], strict=True)
        assert list(got) == expected
        assert found.first.tolist() == [sum(use[0] < one for use in expected) for one in range(lanes + 1)]
        urgency = [(use[0], int(place[use[2][0]])) for use in expected]
        assert found.by_urgency.tolist() == sorted(range(len(expected)), key=lambda use: urgency[use])
        assert found.start[-1] == len(row)

    check()
