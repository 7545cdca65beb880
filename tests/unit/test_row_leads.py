"""Leads of several samples: how far ahead a batch was, whose rings are too large, and that what is found fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from models import build
from test_timeline import CORES, networks, readers
from tilec.analysis.lane_scheduler import schedule_lanes
from tilec.analysis.timeline import TimedBatch, validate_timeline
from tilec.dialects.registry import make_context
from tilec.dialects.spat import ComputeBatchOp
from tilec.lowering import row_leads
from tilec.lowering.lane_cost import BatchCosts
from tilec.lowering.lane_tasks import spread_vector_batches
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.replica_placement import ReplicaPlacer
from tilec.lowering.row_leads import LeadShortener, short_leads
from tilec.lowering.schedule_memory import estimated_peaks
from tilec.lowering.target import Target, target_of
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline


@settings(max_examples=100, deadline=None)
@given(networks())
def test_how_far_a_batch_is_ahead(batches: list[TimedBatch]) -> None:
    """Counted lane by lane: the rows before a lane of which one has still to be read when it starts."""
    timeline = schedule_lanes(batches, CORES)
    for index in range(len(batches)):
        done = timeline.finish[index].copy()
        for producer, row, reader, lane in readers(batches):
            if producer == index:
                done[row] = max(done[row], timeline.finish[reader][lane])
        expected = 1
        for lane, start in enumerate(timeline.start[index]):
            unread = [row for row in range(lane) if done[row] > start]
            expected = max(expected, lane - min(unread, default=lane))
        reads = [
            (reader, read.window.rows_of(np.arange(batches[reader].batch.lanes)))
            for reader in range(len(batches))
            for read in batches[reader].batch.reads
            if read.producer == index
        ]
        found = row_leads._ahead(timeline, index, reads)  # pyright: ignore[reportPrivateUsage]
        assert found == expected


def test_the_largest_rings_of_overfull_cores_are_made_shorter() -> None:
    """Core 1 has room for 1000 bytes, of which 20 are to be left. The ring of 1000 bytes gives what is too much, up to
    half of it; then that of 500 gives the rest, and that of 100; core 0 has room."""
    rings = np.array([[0, 0, 9, 5000, 0], [1, 0, 9, 100, 1], [1, 0, 9, 1000, 2], [1, 0, 9, 500, 3]])

    def largest(peak: int) -> dict[int, float]:
        return dict(row_leads._largest(rings, np.array([1000, peak]), 1000))  # pyright: ignore[reportPrivateUsage]

    assert largest(1000) == {}
    assert largest(1100) == {2: pytest.approx(0.88)}
    assert largest(1600) == {2: pytest.approx(0.5), 3: pytest.approx(0.76)}
    assert largest(1900) == {1: pytest.approx(0.5), 2: pytest.approx(0.5), 3: pytest.approx(0.5)}


@pytest.mark.parametrize("share", [0.95, 0.85])
def test_a_schedule_is_found_that_fits_less_memory(share: float) -> None:
    """Six samples on a machine whose cores have less memory than the rows take if nothing holds them back."""
    module = import_onnx(build("squeezenet1_0", image_size=64, num_classes=10).SerializeToString())
    pipeline = "onnx-simplify,onnx-batch{samples=6},convert-onnx-to-spat,spat-merge-graph,spat-merge-trivial"
    PassManager(build_pipeline(pipeline)).run(make_context(), module)
    batches = [op for op in module.walk() if isinstance(op, ComputeBatchOp)]
    target = target_of(module)
    costs = BatchCosts(target)
    spread_vector_batches(batches, costs, 6)
    placer = ReplicaPlacer(batches, costs, 6)
    rows = [timed.batch.lanes // 6 for timed in placer.timed]
    leads = [max(pair) for pair in zip(short_leads(placer.timed), rows, strict=True)]
    placed = next(placer.placements(leads))
    peak = int(estimated_peaks(batches, placed.timed, placed.timeline, costs).max())
    small = BatchCosts(with_memory(target, int(share * peak)))
    found = LeadShortener(ReplicaPlacer(batches, small, 6)).shorten(placed)
    assert found is not None
    assert found.fits
    assert int(estimated_peaks(batches, placed.timed, found.timeline, small).max()) <= share * peak
    assert validate_timeline(placed.timed, found.timeline) == []
    tiny = BatchCosts(with_memory(target, 16))
    assert LeadShortener(ReplicaPlacer(batches, tiny, 6)).shorten(placed) is None


def with_memory(target: Target, local_memory_bytes: int) -> Target:
    """The target with so much memory in each core."""
    architecture = target.machine.architecture
    chip = architecture.chip_config
    memory = replace(chip.core_config.local_memory_config, memory_size=local_memory_bytes)
    chip = replace(chip, core_config=replace(chip.core_config, local_memory_config=memory))
    machine = replace(target.machine, architecture=replace(architecture, chip_config=chip))
    return Target(machine, target.precision)
