"""Moves of replicas that shorten a schedule: never longer, never without room, and the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guard_programs import network
from models import build
from numpy.typing import NDArray
from tilec.analysis.core_packing import Groups, validate_packing
from tilec.analysis.lane_events.layout import UNBOUNDED
from tilec.analysis.timeline import validate_timeline
from tilec.dialects.registry import make_context
from tilec.dialects.spat import ComputeBatchOp
from tilec.lowering import placement_search
from tilec.lowering.lane_cost import BatchCosts
from tilec.lowering.lane_tasks import spread_vector_batches
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.placed_lanes import PlacedLanes
from tilec.lowering.placement_search import shortened
from tilec.lowering.replica_placement import ReplicaPlacer
from tilec.lowering.row_leads import short_leads
from tilec.lowering.schedule_memory import estimated_peaks
from tilec.lowering.target import target_of
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline

TRIES = 25


def placer_of(name: str, machine: str, samples: int = 1) -> ReplicaPlacer:
    model = network() if name == "network" else build(name, image_size=32, num_classes=10)
    module = import_onnx(model.SerializeToString())
    batch = f"onnx-batch{{samples={samples}}}," if samples > 1 else ""
    pipeline = f"onnx-simplify,{batch}convert-onnx-to-spat{{machine={machine}}},spat-merge-graph,spat-merge-trivial"
    PassManager(build_pipeline(pipeline)).run(make_context(), module)
    batches = [op for op in module.walk() if isinstance(op, ComputeBatchOp)]
    costs = BatchCosts(target_of(module))
    spread_vector_batches(batches, costs, samples)
    return ReplicaPlacer(batches, costs, samples)


@pytest.fixture(
    scope="module",
    params=[("network", "tiny4", 1), ("squeezenet1_0", "reference144", 1), ("network", "reference144", 3)],
    ids=lambda p: f"{p[0]}-{p[1]}-{p[2]}",
)
def placer(request: pytest.FixtureRequest) -> ReplicaPlacer:
    return placer_of(*request.param)


@pytest.fixture(autouse=True)
def few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where interpreted."""
    monkeypatch.setattr(placement_search, "SMALL_EFFORT", placement_search.EFFORT)
    monkeypatch.setattr(placement_search, "MOST_TRIES", TRIES)


def check(placer: ReplicaPlacer, before: PlacedLanes, after: PlacedLanes) -> None:
    """A valid schedule of the same lanes, no longer, in the same room, with arrays for all."""
    machine = placer.target.machine
    assert after.timeline.makespan <= before.timeline.makespan
    assert after.saved == before.timeline.makespan - after.timeline.makespan
    assert (after.leads, after.room) == (before.leads, before.room)
    assert validate_timeline(after.timed, after.timeline) == []
    for mine, one, group in zip(after.cores, after.timed, placer.group_of, strict=True):
        assert one.cores.tolist() == mine[group - group.min()].tolist()
        assert len(set(mine.tolist())) == min(len(mine), machine.core_count)  # replicas of one batch are apart
    cores, nothing = np.concatenate(after.cores), np.zeros((placer.count, 1), np.int64)
    groups = Groups(nothing, nothing, placer.scratch, placer.arrays, placer.owner)
    assert validate_packing(groups, cores, machine.core_count, machine.arrays_per_core) == []
    peaks = estimated_peaks(placer.batches, after.timed, after.timeline, placer.costs)
    assert after.excess == max(0, int(peaks.max()) - after.room)
    assert after.fits or after is before


def test_what_is_found_is_valid_and_no_longer(placer: ReplicaPlacer) -> None:
    for before in islice(placer.placements(), 2):
        check(placer, before, shortened(placer, before))


def test_leads_stay(placer: ReplicaPlacer) -> None:
    before = next(placer.placements(short_leads(placer.timed)))
    after = shortened(placer, before)
    check(placer, before, after)
    again = placer.scheduled(after.timed, before.leads)
    assert [start.tolist() for start in again.start] == [start.tolist() for start in after.timeline.start]


def first_fit(placer: ReplicaPlacer) -> NDArray[np.int64]:
    """Each group on the first core with room for its arrays and without a replica of its batch: all on few cores."""
    machine = placer.target.machine
    free, holds = np.full(machine.core_count, machine.arrays_per_core), set[tuple[int, int]]()
    found: list[int] = []
    for arrays, batch in zip(placer.arrays.tolist(), placer.owner.tolist(), strict=True):
        core = next(core for core in range(machine.core_count) if free[core] >= arrays and (batch, core) not in holds)
        free[core] -= arrays
        holds.add((batch, core))
        found.append(core)
    return np.array(found)


def test_a_poor_placement_gets_much_better() -> None:
    placer = placer_of("squeezenet1_0", "reference144")
    place = placer._placed  # pyright: ignore[reportPrivateUsage]
    before = place(first_fit(placer), [UNBOUNDED] * len(placer.batches), placer.room)
    after = shortened(placer, before)
    check(placer, before, after)
    assert after.timeline.makespan < 0.95 * before.timeline.makespan


def test_what_does_not_fit_is_left_alone(placer: ReplicaPlacer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placer, "room", 16)
    before = next(placer.placements())
    assert not before.fits
    assert shortened(placer, before) is before


def test_nothing_that_does_not_fit_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """No move may need more than what the placement has taken before."""
    placer = placer_of("squeezenet1_0", "reference144")
    peak = placer.target.machine.local_memory_bytes - 1
    for before in islice(placer.placements(), 2):
        peaks = estimated_peaks(placer.batches, before.timed, before.timeline, placer.costs)
        peak = min(peak, int(peaks.max()))
    monkeypatch.setattr(placer, "room", peak)
    for before in islice(placer.placements(), 2):
        check(placer, before, shortened(placer, before))


def moves_tried(placer: ReplicaPlacer, monkeypatch: pytest.MonkeyPatch, better_at: int = -1) -> list[tuple[int, int]]:
    """All moves that a search from the first placement on tries, if none is taken, and only one makes it better."""
    placed = next(placer.placements())
    tried: list[tuple[int, int]] = []

    def take(search: Any, group: int, to: int) -> bool:
        tried.append((group, to))
        if len(tried) == better_at:
            search._best = replace(placed, saved=1)
            search._replicas.timed = placed.timed
            return True
        return False

    monkeypatch.setattr(placement_search._Search, "_take", take)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(placement_search, "MOST_TRIES", 10_000)
    monkeypatch.setattr(placement_search, "EFFORT", 10**9)
    monkeypatch.setattr(placement_search, "SMALL_EFFORT", 10**9)
    shortened(placer, placed)
    return tried


def test_more_cores_are_tried_once_the_best_ones_have_been(monkeypatch: pytest.MonkeyPatch) -> None:
    placer = placer_of("squeezenet1_0", "reference144")
    monkeypatch.setattr(placement_search, "PATIENCE", 10_000)
    monkeypatch.setattr(placement_search, "CHOICES", 1)
    tried = moves_tried(placer, monkeypatch)
    assert len(set(tried)) == len(tried)
    by_group = [sum(one == group for one, _ in tried) for group in {group for group, _ in tried}]
    assert max(by_group) > 4


@pytest.mark.parametrize(("better_at", "most"), [(-1, 40), (20, 60), (100, 200)])
def test_a_search_goes_on_for_as_long_as_the_best_has_taken(
    better_at: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    placer = placer_of("squeezenet1_0", "reference144")
    monkeypatch.setattr(placement_search, "PATIENCE", 40 if better_at < 100 else 100)
    assert len(moves_tried(placer, monkeypatch, better_at)) == most


PROGRAM = """
from test_placement_search import placer_of
from tilec.lowering.placement_search import shortened
placer = placer_of("network", "tiny4")
print([cores.tolist() for cores in shortened(placer, next(placer.placements())).cores])
"""


def test_the_same_moves_are_found_whatever_the_hash_seed() -> None:
    folder = Path(__file__).parent
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{folder}:{folder.parent}"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(found) == 1
