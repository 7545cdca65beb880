"""Moves off overfull cores: fewer bytes are missing, and what is found is a schedule within the arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from models import build
from tilec.analysis.timeline import validate_timeline
from tilec.dialects.registry import make_context
from tilec.dialects.spat import ComputeBatchOp
from tilec.lowering import memory_relief
from tilec.lowering.lane_cost import BatchCosts
from tilec.lowering.lane_tasks import spread_vector_batches
from tilec.lowering.memory_relief import relieved
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.placed_lanes import PlacedLanes
from tilec.lowering.replica_placement import ReplicaPlacer
from tilec.lowering.schedule_memory import estimated_peaks
from tilec.lowering.target import target_of
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline

SAMPLES = 6


@pytest.fixture(scope="module")
def free() -> tuple[ReplicaPlacer, PlacedLanes]:
    """A placement of GoogLeNet, whose pools hold many rows, in memories of any size."""
    module = import_onnx(build("googlenet", image_size=64, num_classes=10).SerializeToString())
    pipeline = f"onnx-simplify,onnx-batch{{samples={SAMPLES}}},convert-onnx-to-spat,spat-merge-graph,spat-merge-trivial"
    PassManager(build_pipeline(pipeline)).run(make_context(), module)
    batches = [op for op in module.walk() if isinstance(op, ComputeBatchOp)]
    costs = BatchCosts(target_of(module))
    spread_vector_batches(batches, costs, SAMPLES)
    placer = ReplicaPlacer(batches, costs, SAMPLES)
    return placer, next(placer.placements())


def with_room(placer: ReplicaPlacer, placed: PlacedLanes, share: float) -> PlacedLanes:
    """The placement in cores that have this share of the memory that it takes of the fullest one."""
    peak = int(estimated_peaks(placer.batches, placed.timed, placed.timeline, placer.costs).max())
    room = int(share * peak)
    return replace(placed, room=room, excess=max(0, peak - room))


def missing(placer: ReplicaPlacer, placed: PlacedLanes) -> int:
    """Bytes that the cores lack, counted anew."""
    peaks = estimated_peaks(placer.batches, placed.timed, placed.timeline, placer.costs)
    return sum(max(0, peak - placed.room) for peak in peaks.tolist())


@pytest.mark.parametrize("share", [0.95, 0.9, 0.8])
def test_less_memory_is_missing(free: tuple[ReplicaPlacer, PlacedLanes], share: float) -> None:
    placer, placed = free[0], with_room(*free, share)
    assert missing(placer, placed) > 0
    found = relieved(placer, placed)
    assert missing(placer, found) < missing(placer, placed)
    peaks = estimated_peaks(placer.batches, found.timed, found.timeline, placer.costs)
    assert found.excess == max(0, int(peaks.max()) - found.room)
    assert found.timeline.makespan <= memory_relief.LONGER * placed.timeline.makespan
    assert validate_timeline(found.timed, found.timeline) == []
    cores = np.concatenate(found.cores)
    arrays = np.bincount(cores, placer.arrays, placer.target.machine.core_count)
    assert arrays.max() <= placer.target.machine.arrays_per_core
    for one, mine in zip(found.timed, found.cores, strict=True):
        assert one.cores.tolist() == mine[np.arange(one.batch.lanes) % one.replicas].tolist()
        assert len(np.unique(mine)) == len(mine), "replicas of one batch are on one core"


def test_a_placement_stays_where_nothing_or_too_much_is_missing(free: tuple[ReplicaPlacer, PlacedLanes]) -> None:
    for share in (1.0, 0.1):
        placed = with_room(*free, share)
        assert relieved(free[0], placed) is placed
