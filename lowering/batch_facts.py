"""What is known of a batch by itself, whatever it reads: kept from one look at a module to the next, like its body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Attribute, Operation

from ..analysis.window import RowWindow, window_rows
from ..dialects import pim, spat
from ..dialects.spat import WindowAttr, shape_of
from ..dialects.tile import ArrayAttr
from .body_memory import Body, BodyMemory

Ints = NDArray[np.int64]
AnyBatch = spat.BatchOp | pim.CoreBatchOp


class BatchFacts:
    """One batch, as it was when it was looked at."""

    def __init__(self, op: AnyBatch, body: Body | None) -> None:
        self.body = body
        """On tiles; a body of instructions is counted where it stands."""
        self.lanes = op.lane_count
        self.replicas = op.replica_count
        self.windows = [_window(op, index, window) for index, window in enumerate(op.windows)]
        """Of each input, the access map if it has one, and the rows that each lane reads, `[lanes, rows]`."""
        self.shapes = [shape_of(result) for result in op.results]
        self.spans: Ints = op.lane_spans
        """Steps that each lane extends over."""
        resumes = op.lane_resumes
        self.resumes: Ints = np.zeros((0, 3), np.int64) if resumes is None else resumes
        """[n, 3] lane, cycles that are done, and steps since its first, where it goes on after an interruption."""
        self.cores: Ints | None = None
        """Of each lane; None if it is not scheduled."""
        self.steps: Ints | None = None
        cores, steps = _schedule(op)
        if cores is not None and steps is not None:
            self.cores = cores.array.astype(np.int64)[_replica_of_lanes(self.lanes, self.replicas)]
            self.steps = steps.array.astype(np.int64)

    @cached_property
    def core_set(self) -> set[int]:
        """The cores that it runs on."""
        assert self.cores is not None, "the batch is scheduled"
        return set(self.cores[: self.replicas].tolist())


class BatchMemory:
    """Facts by op, of the module that was looked at last."""

    def __init__(self) -> None:
        self._bodies = BodyMemory()
        self._kept: dict[Operation, tuple[list[object], BatchFacts]] = {}
        self._seen: dict[Operation, tuple[list[object], BatchFacts]] = {}

    def facts(self, op: AnyBatch, body_ops: Sequence[Operation]) -> BatchFacts:
        """What is known of a batch as it is now; ``body_ops`` are the ops of its body."""
        body = self._bodies.body(op.block, len(op.windows), body_ops) if isinstance(op, spat.BatchOp) else None
        state = _state(op, body)
        kept = self._kept.get(op)
        if kept is None or kept[0] != state:
            kept = state, BatchFacts(op, body)
        self._seen[op] = kept
        return kept[1]

    def forget_others(self) -> None:
        """Ends a look at a module: batches that were not in it are let go."""
        self._bodies.forget_others()
        self._kept, self._seen = self._seen, {}


def _state(op: AnyBatch, body: Body | None) -> list[object]:
    """All that the facts follow from, in order: immutable objects, which are compared by identity first, and elements
    of arrays, which could be written to. Types are compared by identity: `isinstance` asks each abstract class."""
    found: list[object] = [body, *op.properties, *op.properties.values()]
    found += [result.type for result in op.results]
    found += [one.array.tobytes() for one in (*op.properties.values(), *op.windows) if type(one) is ArrayAttr]
    return found


def _window(op: AnyBatch, index: int, window: Attribute) -> tuple[RowWindow | None, Ints]:
    if isinstance(window, WindowAttr):
        return window.data, window_rows(window.data, op.lane_count)
    assert isinstance(op, pim.CoreBatchOp)
    return None, op.input_rows(index)


def _schedule(op: AnyBatch) -> tuple[ArrayAttr | None, ArrayAttr | None]:
    """Cores of replicas and steps of lanes."""
    if isinstance(op, pim.CoreBatchOp | spat.ScheduledComputeBatchOp | spat.ComputeBatchOp):
        return op.cores, op.steps
    return None, None


@lru_cache(1024)
def _replica_of_lanes(lanes: int, replicas: int) -> Ints:
    found = np.arange(lanes) % replicas
    found.flags.writeable = False
    return found
