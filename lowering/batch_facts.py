"""What is known of a batch by itself, whatever it reads: kept from one look at a module to the next, like its body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import NamedTuple, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.ir import Attribute

from ..analysis.window import OUTSIDE, RowWindow, window_rows
from ..dialects import pim, spat
from ..dialects.block_looks import BlockLook
from ..dialects.spat import WindowAttr, shape_of
from ..dialects.tile import Array, ArrayAttr
from ..support.arrays import Ints
from .body_memory import Body, BodyMemory
from .derived import DerivedMemory
from .op_kinds import is_of

AnyBatch = spat.BatchOp | pim.CoreBatchOp


_TYPE = attrgetter("_type")
"""What is behind the property `type`, which takes several times as long."""

_NO_RESUMES: Ints = np.zeros((0, 3), np.int64)
_NO_RESUMES.flags.writeable = False


class LaneSchedule:
    """Where and when the lanes of a batch run."""

    def __init__(self, cores: Ints, steps: Ints, spans: Ints, resumes: Ints) -> None:
        self.cores = cores
        """Of each lane."""
        self.steps = steps
        self.spans = spans
        """Steps that each lane extends over."""
        self.resumes = resumes
        """[n, 3] lane, cycles that are done, and steps since its first, where it goes on after an interruption."""
        self._order: tuple[int, bytes] | None = None

    @cached_property
    def core_set(self) -> set[int]:
        """The cores that the batch runs on."""
        return set(self.cores.tolist())

    @cached_property
    def first_step(self) -> int:
        return int(self.steps.min())

    @cached_property
    def end_step(self) -> int:
        """The step after the last one."""
        return int((self.steps + self.spans).max())

    def order_from(self, step: int) -> bytes:
        """The places of lanes in the order of the chip, from this step on, as bytes."""
        if self._order is None or self._order[0] != step:
            columns = self.steps - step, self.spans, self.resumes.reshape(-1)
            self._order = step, np.concatenate(columns).tobytes()
        return self._order[1]

    @cached_property
    def digest(self) -> bytes:
        """A hash of all of it."""
        return arrays_digest((self.cores, self.steps, self.spans, self.resumes))


class LaneReads:
    """The rows that the lanes of a batch read, without those that are outside."""

    def __init__(self, rows: Sequence[Ints], lanes: int) -> None:
        self.rows = rows
        """Of each input, `[lanes, rows]`; OUTSIDE for a row of zeros."""
        self.lanes = lanes
        self._flat: dict[tuple[int, ...], tuple[Ints, Ints, Ints]] = {}
        self._digests: dict[tuple[int, ...], bytes] = {}

    @cached_property
    def counts(self) -> list[int]:
        """How many rows of each input all lanes read."""
        return [int(np.count_nonzero(rows != OUTSIDE)) for rows in self.rows]

    def flat(self, inputs: tuple[int, ...]) -> tuple[Ints, Ints, Ints]:
        """Of some of the inputs, lane by lane: each row, its place among ``inputs``; and how many each lane reads."""
        found = self._flat.get(inputs)
        if found is None:
            found = self._flat[inputs] = self._find(inputs)
        return found

    def _find(self, inputs: tuple[int, ...]) -> tuple[Ints, Ints, Ints]:
        if not inputs:
            none = np.zeros(0, np.int64)
            return none, none, np.zeros(self.lanes, np.int64)
        tables = [self.rows[index] for index in inputs]
        joined = np.concatenate(tables, axis=1)
        inside = joined != OUTSIDE
        place = np.repeat(np.arange(len(tables)), [table.shape[1] for table in tables])
        return joined[inside], np.broadcast_to(place, joined.shape)[inside], inside.sum(axis=1)

    def digest(self, inputs: tuple[int, ...]) -> bytes:
        """A hash of the rows of some of the inputs."""
        found = self._digests.get(inputs)
        if found is None:
            found = self._digests[inputs] = arrays_digest([self.rows[index] for index in inputs])
        return found


def arrays_digest(arrays: Sequence[Ints]) -> bytes:
    """A hash of the elements, types and shapes of arrays."""
    state = blake2b(repr([(array.dtype.str, array.shape) for array in arrays]).encode(), digest_size=32)
    for array in arrays:
        state.update(array.tobytes())
    return state.digest()


class BatchFacts:
    """What batches have in common that differ in what they read and in where they run."""

    def __init__(self, op: AnyBatch, body: Body, held: Sequence[object]) -> None:
        self.body = body
        self.lanes = op.lane_count
        self.replicas = op.replica_count
        self.windows = [_window(op, index, window) for index, window in enumerate(op.windows)]
        """Of each input, the access map if it has one, and the rows that each lane reads, `[lanes, rows]`."""
        self.window_sizes = [(rows.shape[1], _columns_beside(window)) for window, rows in self.windows]
        """Of each input, the rows that a lane reads, and the columns of zeros beside each."""
        self.shapes = [shape_of(result) for result in op.results]
        self.reads = LaneReads([rows for _, rows in self.windows], self.lanes)
        self._held = held


def _columns_beside(window: RowWindow | None) -> int:
    return 0 if window is None else window.pad_left + window.pad_right


class BatchMemory:
    """Facts of batches, of the module that was looked at last."""

    def __init__(self) -> None:
        self.bodies = BodyMemory()
        self.derived = DerivedMemory()
        self._kept: dict[object, BatchFacts] = {}
        self._seen: dict[object, BatchFacts] = {}
        self._schedules: dict[object, LaneSchedule] = {}
        """By their elements: lowering a batch leaves its lanes where they are."""
        self._looks: dict[tuple[int, ...], _ScheduleLook] = {}
        """By the identity of the properties that a schedule follows from."""
        self._looks_before: dict[tuple[int, ...], _ScheduleLook] = {}

    def facts(self, op: AnyBatch, look: BlockLook) -> BatchFacts:
        """What is known of a batch as it is now, with a look at its block.

        It follows from objects that are known by their identity, and held meanwhile, and from elements of arrays, which
        could be written to.
        """
        properties = op.properties
        windows = cast("BuiltinArrayAttr[Attribute]", properties["windows"])
        if is_of(type(op), (spat.BatchOp,)):
            body = self.bodies.tile_body(look, len(windows))
        else:
            body = self.bodies.body(look)
        held: list[object] = [
            body,
            properties["lanes"],
            properties.get("replicas"),
            windows,
            *map(_TYPE, op.results),
        ]
        elements = [one.array.tobytes() for one in windows.data if type(one) is ArrayAttr]
        key = tuple(map(id, held)), tuple(elements)
        found = self._seen.get(key) or self._kept.get(key)
        if found is None:
            found = BatchFacts(op, body, held)
        self._seen[key] = found
        return found

    def schedule(self, op: AnyBatch) -> LaneSchedule | None:
        """Where and when its lanes run; None if it is not scheduled."""
        held = tuple(map(op.properties.get, _SCHEDULE))
        if held[0] is None or held[1] is None:
            return None
        key = tuple(map(id, held))
        arrays = [one.array if type(one) is ArrayAttr else None for one in held[:4]]
        elements = [None if one is None else one.tobytes() for one in arrays]
        look = self._looks.get(key) or self._looks_before.get(key)
        if look is None or look.elements != elements:
            look = _ScheduleLook(held, elements, self._find_schedule(op, arrays, elements))
        self._looks[key] = look
        return look.schedule

    def _find_schedule(
        self, op: AnyBatch, arrays: Sequence[Array | None], elements: Sequence[bytes | None]
    ) -> LaneSchedule:
        lanes, replicas = op.lane_count, op.replica_count
        kinds = [None if one is None else (one.dtype.char, one.shape) for one in arrays]
        key = lanes, replicas, *kinds, *elements
        found = self._schedules.get(key)
        if found is None:
            cores, steps, _, _ = arrays
            assert cores is not None
            assert steps is not None
            resumes = op.lane_resumes
            found = self._schedules[key] = LaneSchedule(
                cores.astype(np.int64)[_replica_of_lanes(lanes, replicas)],
                steps.astype(np.int64),
                op.lane_spans,
                _NO_RESUMES if resumes is None else resumes,
            )
        return found

    def forget_others(self) -> None:
        """Ends a look at a module: what was not in it is let go."""
        self.bodies.forget_others()
        self.derived.forget_others()
        self._kept, self._seen = self._seen, {}
        self._looks_before, self._looks = self._looks, {}


_SCHEDULE = "cores", "steps", "spans", "resumes", "lanes", "replicas"
"""Properties that the schedule of a batch follows from; the first four are arrays."""


class _ScheduleLook(NamedTuple):
    """What a look at these properties has found."""

    held: tuple[Attribute | None, ...]
    elements: list[bytes | None]
    """Of the arrays, which could be written to."""
    schedule: LaneSchedule


def _window(op: AnyBatch, index: int, window: Attribute) -> tuple[RowWindow | None, Ints]:
    if isinstance(window, WindowAttr):
        return window.data, window_rows(window.data, op.lane_count)
    assert isinstance(op, pim.CoreBatchOp)
    return None, op.input_rows(index)


@lru_cache(1024)
def _replica_of_lanes(lanes: int, replicas: int) -> Ints:
    found = np.arange(lanes) % replicas
    found.flags.writeable = False
    return found
