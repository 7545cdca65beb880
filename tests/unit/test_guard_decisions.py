"""Decisions of passes that are worse than their yardsticks, made by the pass itself with one part of it sabotaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
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
