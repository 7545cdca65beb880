"""Placing replicas: profiles of what they do hold all their work, and cores hold what fits and are near each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from compilation import parse_module
from guard_programs import network
from hypothesis import given, settings
from hypothesis import strategies as st
from models import build
from numpy.typing import NDArray
from odd_models import MODELS
from odd_models import build as build_odd
from tilec.analysis.core_packing import SCALE, NoRoomError
from tilec.analysis.lane_scheduler import schedule_lanes
from tilec.analysis.timeline import validate_timeline
from tilec.dialects.registry import make_context
from tilec.dialects.spat import ComputeBatchOp
from tilec.lowering.lane_cost import BatchCosts, batch_arrays
from tilec.lowering.lane_schedule import schedule_replicas
from tilec.lowering.lane_tasks import spread_vector_batches
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.placed_lanes import PlacedLanes
from tilec.lowering.replica_placement import (
    GAPS_OF_LOADS,
    PERIODS,
    REACH,
    _busy,  # pyright: ignore[reportPrivateUsage]
    core_places,
)
from tilec.lowering.target import target_of
from tilec.lowering.transfer_costs import request_cycles
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from timelines import timeline_of


def profile(lanes: list[tuple[int, int, int]], makespan: int, groups: int) -> NDArray[np.int64]:
    """The profile of lanes that are (group, start, finish)."""
    core, start, finish = (np.array(column) for column in zip(*lanes, strict=True))
    return _busy([core], timeline_of([start], [finish], makespan=makespan), groups)


def test_a_lane_is_spread_over_its_neighbourhood() -> None:
    """A lane of one whole period, and one of half a period, each within two periods before and behind."""
    found = profile([(0, 500, 510), (1, 700, 705)], PERIODS * 10, 3)
    assert found.shape == (3, PERIODS)
    for group, period, share in ((0, 50, 1.0), (1, 70, 0.5)):
        near = np.abs(np.arange(PERIODS) - period) <= REACH
        assert found[group].tolist() == np.where(near, int(SCALE * share) // (2 * REACH + 1), 0).tolist()
    assert (found[2] == 0).all()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 900), st.integers(1, 80)), min_size=1, max_size=12),
    st.integers(0, 300),
)
def test_the_profile_of_a_group_sums_to_its_work(lanes: list[tuple[int, int, int]], rest: int) -> None:
    """But for what lies so near to an end that its neighbourhood reaches beyond."""
    timed = [(group, start, start + cycles) for group, start, cycles in lanes]
    makespan = max(finish for _, _, finish in timed) + rest
    width = -(-makespan // PERIODS)
    found = profile(timed, makespan, 3) * width / SCALE
    work = np.zeros(3)
    inner = np.zeros(3)
    for group, start, finish in timed:
        work[group] += finish - start
        inner[group] += max(0.0, min(finish, (PERIODS - REACH) * width) - max(start, REACH * width))
    assert (found >= 0).all()
    assert (found.sum(axis=1) <= work).all()
    rounded = PERIODS * width / SCALE  # down, by less than 1 in each period
    assert (found.sum(axis=1) >= inner - rounded).all()


def test_no_work_is_no_profile() -> None:
    assert (profile([(0, 0, 0)], 0, 2) == 0).all()


@dataclass(frozen=True)
class Placed:
    batches: list[ComputeBatchOp]
    costs: BatchCosts
    lanes: PlacedLanes

    @property
    def cores(self) -> list[NDArray[np.int64]]:
        return self.lanes.cores


def placed(name: str, machine: str) -> Placed:
    model = network() if name == "network" else build(name, image_size=32, num_classes=10)
    module = import_onnx(model.SerializeToString())
    pipeline = f"onnx-simplify,convert-onnx-to-spat{{machine={machine}}},spat-merge-graph,spat-merge-trivial"
    PassManager(build_pipeline(pipeline)).run(make_context(), module)
    batches = [op for op in module.walk() if isinstance(op, ComputeBatchOp)]
    costs = BatchCosts(target_of(module))
    spread_vector_batches(batches, costs)
    return Placed(batches, costs, schedule_replicas(batches, costs))


@pytest.fixture(scope="module", params=[("network", "tiny4"), ("squeezenet1_0", "reference144")], ids=lambda p: p[0])
def one(request: pytest.FixtureRequest) -> Placed:
    return placed(*request.param)


def test_batches_without_weights_spread_until_they_keep_up(one: Placed) -> None:
    """None is busy for longer than half as long as the busiest layer, if it has lanes and there are cores for that."""
    busy = {batch: -(-batch.lane_count // batch.replica_count) * one.costs.of(batch).cycles for batch in one.batches}
    limit = max(cycles for batch, cycles in busy.items() if batch.vmm_ops) / 2
    spread = [batch for batch in one.batches if not batch.vmm_ops and batch.replica_count > 1]
    assert spread or one.costs.target.machine.core_count == 4
    for batch, cycles in busy.items():
        if not batch.vmm_ops and batch.replica_count < min(batch.lane_count, one.costs.target.machine.core_count):
            assert cycles <= limit + one.costs.of(batch).cycles


def test_without_a_layer_to_keep_up_with_lanes_run_at_once() -> None:
    """A network that only pools has work for every core that there is."""
    make, shape = MODELS["max pool, overlapping"]
    module = import_onnx(build_odd(make, *shape).SerializeToString())
    passes = "onnx-simplify,convert-onnx-to-spat{machine=tiny4},spat-schedule-peft"
    PassManager(build_pipeline(passes)).run(make_context(), module)
    pools = [op for op in module.walk() if isinstance(op, ComputeBatchOp)]
    assert not any(batch.vmm_ops for batch in pools)
    for batch in pools:
        assert batch.cores is not None
        assert len(set(batch.cores.array.tolist())) == min(batch.lane_count, 4)


def test_every_replica_has_a_core_with_room_for_its_arrays(one: Placed) -> None:
    machine = one.costs.target.machine
    arrays = np.zeros(machine.core_count, np.int64)
    for batch, cores in zip(one.batches, one.cores, strict=True):
        assert len(cores) == batch.replica_count
        np.add.at(arrays, cores, batch_arrays(batch, one.costs.target))
    assert (arrays <= machine.arrays_per_core).all()


def test_replicas_of_a_batch_are_on_different_cores(one: Placed) -> None:
    for batch, cores in zip(one.batches, one.cores, strict=True):
        assert len(set(cores.tolist())) == batch.replica_count


def test_cores_are_shared_and_none_is_left_out(one: Placed) -> None:
    machine = one.costs.target.machine
    held = np.bincount(np.concatenate(one.cores), minlength=machine.core_count)
    assert held.sum() > machine.core_count
    assert (held > 0).all()


def test_the_schedule_is_that_of_the_placement(one: Placed) -> None:
    assert validate_timeline(one.lanes.timed, one.lanes.timeline) == []
    machine = one.costs.target.machine
    again = [
        schedule_lanes(one.lanes.timed, machine.core_count, request=request_cycles(machine), gap=gap)
        for gap in GAPS_OF_LOADS
    ]
    expected = [steps.tolist() for steps in one.lanes.timeline.start]
    assert expected in [[steps.tolist() for steps in timeline.start] for timeline in again]


def messages(one: Placed, cores: list[NDArray[np.int64]]) -> dict[tuple[int, int], int]:
    """Rows that travel from core to core, counted lane by lane."""
    pairs: set[tuple[int, int, int, int]] = set()
    index = {batch: number for number, batch in enumerate(one.batches)}
    for reader, homes in zip(one.batches, cores, strict=True):
        for value, window in zip(reader.inputs, reader.row_windows, strict=True):
            if isinstance(producer := value.owner, ComputeBatchOp):
                number = index[producer]
                for lane in range(reader.lane_count):
                    target = int(homes[lane % reader.replica_count])
                    for row in window.rows_of(np.array([lane]))[0].tolist():
                        if row >= 0:
                            pairs.add((number, row, int(cores[number][row % producer.replica_count]), target))
    found: dict[tuple[int, int], int] = {}
    for _, _, source, target in pairs:
        if source != target:
            found[source, target] = found.get((source, target), 0) + 1
    return found


def test_places_on_the_mesh_keep_cores_together_and_messages_near(one: Placed) -> None:
    """Whoever shared a core still does; on average, messages have less far to go than between cores by number."""
    machine = one.costs.target.machine
    shuffled = np.random.default_rng(3).permutation(machine.core_count)
    scattered = [shuffled[cores] for cores in one.cores]
    lanes = [
        cores[np.arange(batch.lane_count) % batch.replica_count]
        for batch, cores in zip(one.batches, scattered, strict=True)
    ]
    place = core_places(one.batches, one.lanes.graph, np.concatenate(lanes), one.costs.target)
    assert sorted(place.tolist()) == list(range(machine.core_count))
    moved = [place[cores] for cores in scattered]

    def hops(cores: list[NDArray[np.int64]]) -> int:
        return sum(int(machine.hops[pair]) * count for pair, count in messages(one, cores).items())

    assert hops(moved) <= hops(scattered)
    if machine.core_count > 4:
        assert hops(moved) < 0.8 * hops(scattered)


def test_placement_is_the_same_every_time(one: Placed) -> None:
    again = schedule_replicas(one.batches, one.costs).cores
    assert [cores.tolist() for cores in again] == [cores.tolist() for cores in one.cores]


TOO_LARGE = """
builtin.module attributes {tile.machine = "tiny4"} {
  func.func @main() {
    %x = spat.input "x" shape <i64[2] [5, 128]> : tensor<5x1x128xf32>
    %w = spat.constant <f32[128, 1024] splat 0.5> : tensor<128x1024xf32>
    %p = spat.compute_batch lanes 5 replicas 5 ins(%x : tensor<5x1x128xf32>)
        windows [#spat.window<height 5, lanes 5>] weights(%w : tensor<128x1024xf32>) -> tensor<5x1x1024xf32> {
    ^bb0(%rows: tensor<1x1x128xf32>, %m: tensor<128x1024xf32>):
      %row = spat.view %rows row 0 start 0 step 128 : tensor<1x1x128xf32> -> tensor<1x128xf32>
      %0 = spat.vmm %row, %m row 0 : tensor<1x128xf32>, tensor<128x1024xf32> -> tensor<1x1024xf32>
      spat.yield %0 : tensor<1x1024xf32>
    }
    func.return
  }
}
"""


def test_weights_that_do_not_fit_are_refused() -> None:
    """Five replicas of 8 arrays, four cores of 8."""
    module = parse_module(TOO_LARGE)
    batches = [op for op in module.walk() if isinstance(op, ComputeBatchOp)]
    with pytest.raises(NoRoomError):
        schedule_replicas(batches, BatchCosts(target_of(module)))
