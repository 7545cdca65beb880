"""Decisions of passes that are worse than their yardsticks, made by the pass itself with one part of it sabotaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from odd_models import Graph
from tilec.analysis.core_packing import Groups
from tilec.dialects.registry import make_context
from tilec.lowering import lane_schedule, replica_placement
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.placement_search import shortened
from tilec.lowering.replica_placement import ReplicaPlacer
from tilec.passes.guard import Guard, GuardError
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline

DIGITS = Path(__file__).parents[2] / "examples" / "digits_cnn.onnx"


def scheduled_with_vector_work_on(cores_of_vectors: int, patch: pytest.MonkeyPatch) -> Guard:
    """The guard's findings up to the schedule, when batches without weights take turns on the last so many cores."""
    pack = replica_placement.pack_groups

    def crowded(groups: Groups, cores: int, arrays_per_core: int, memory_per_core: float) -> NDArray[np.int64]:
        core = pack(groups, cores, arrays_per_core, memory_per_core)
        vectors = np.flatnonzero(groups.arrays == 0)
        assert len(vectors) > cores_of_vectors
        core[vectors] = cores - 1 - np.arange(len(vectors)) % cores_of_vectors
        return core

    patch.setattr(replica_placement, "pack_groups", crowded)
    patch.setattr(ReplicaPlacer, "in_turn_placement", lambda *_: None)
    others = [improved for improved in lane_schedule.IMPROVEMENTS if improved is not shortened]
    patch.setattr(lane_schedule, "IMPROVEMENTS", others)
    passes = build_pipeline("tile-default{machine=reference144}")
    until = [one.name for one in passes].index("spat-schedule-peft") + 1
    guard = Guard()
    module = import_onnx(onnx.load(DIGITS).SerializeToString())
    PassManager(passes[:until], (guard, Verifier())).run(make_context(), module)
    return guard


def test_vector_work_that_crowds_on_few_cores_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """On four of 144 cores, it takes a fifth longer by the clock."""
    with pytest.raises(
        GuardError, match=r"pass 'spat-schedule-peft': worse: .*busy_cycles_max unknown -> \d+, allowed \d+ "
    ):
        scheduled_with_vector_work_on(4, monkeypatch)


def test_vector_work_on_as_many_cores_as_it_keeps_busy_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight cores that nothing else is on: it takes no longer."""
    assert not any(found.fault for found in scheduled_with_vector_work_on(8, monkeypatch).examined)


def layer_alone(kind: str, channels: int, outputs: int, rows: int, columns: int, group: int = 1) -> onnx.ModelProto:
    """A network of one layer without bias: a convolution of single positions, or a product of all."""
    graph = Graph(1, channels, rows, columns)
    if kind == "Conv":
        return graph.model(graph.add("Conv", "x", graph.weight(outputs, channels // group, 1, 1), group=group))
    weights = graph.weight(channels * rows * columns, outputs)
    return graph.model(graph.add("Gemm", graph.add("Flatten", "x"), weights))


@pytest.mark.parametrize("machine", ["tiny4", "reference144"])
@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize(
    "model",
    [
        layer_alone("Conv", 64, 512, 14, 14),
        layer_alone("Conv", 3, 128, 24, 28),
        layer_alone("Conv", 32, 640, 21, 1),
        layer_alone("Conv", 128, 296, 14, 3, group=4),
        layer_alone("Gemm", 64, 1000, 2, 4),
    ],
)
def test_a_layer_alone_is_cut_well_enough(model: onnx.ModelProto, samples: int, machine: str) -> None:
    """With a whole chip for itself, a dumb way of cutting is quick: wide rows, groups, copies of windows, sums."""
    passes = build_pipeline(f"tile-default{{machine={machine} samples={samples}}}")
    until = [one.name for one in passes].index("convert-onnx-to-spat") + 1
    guard = Guard()
    PassManager(passes[:until], (guard, Verifier())).run(make_context(), import_onnx(model.SerializeToString()))
    found = guard.examined[-1].after
    assert found is not None
    assert found.proxies.cut_span_cycles is not None
