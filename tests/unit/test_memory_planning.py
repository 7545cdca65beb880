"""Memory plans, replayed: whatever lives at the same time on a core lies apart, and every read finds its row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, count, pairwise

import numpy as np
import pytest
from compilation import lower
from guard_programs import module_at, parsed
from odd_models import MODELS, Build, Graph, build
from tilec.codegen.build import build_package
from tilec.codegen.guarded import guard_package
from tilec.codegen.manifest import Origin
from tilec.codegen.package import Package
from tilec.dialects import pim
from tilec.dialects.registry import make_context
from tilec.lowering import plan_check
from tilec.lowering.event_order import PROLOGUE, Phase, event_key
from tilec.lowering.onnx_importer import import_onnx
from tilec.lowering.target import target_of
from tilec.passes.guard import Guard
from tilec.passes.ir_text import ir_text
from tilec.passes.manager import PassManager, Verifier
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

NAMES = [
    "three images, pool", "three images, flatten", "dilation", "asymmetric stride and pads", "many slices",
    "large pads", "depthwise", "max pool, ceil and pads", "average pool, pads", "global average", "squeeze and excite",
    "shuffle, residual", "concat, grouped", "concat of the same", "two outputs", "output used inside", "constant map",
    "perceptron, four rows", "softmax of a map", "normalization, beta 3/4", "stride over kernel, one row unread",
]  # fmt: skip


@dataclass(frozen=True)
class Life:
    """Bytes of a core that hold something from one event to another, both included."""

    core: int
    address: int
    size: int
    first: int
    last: int
    what: str

    def meets(self, other: Life) -> bool:
        return self.first <= other.last and other.first <= self.last

    def overlaps(self, other: Life) -> bool:
        return self.address < other.address + other.size and other.address < self.address + self.size


def key(step: int, phase: Phase) -> int:
    return int(event_key(np.array([step]), phase)[0])


class Replay:
    """Collects from the ops, lane by lane, what is brought where and when, and when it is read."""

    def __init__(self, program: pim.ProgramOp, element_bytes: int) -> None:
        self.ops = list(program.body.block.ops)
        self.program = program
        self.bytes = element_bytes
        self.outputs = [value for op in self.ops if isinstance(op, pim.OutputOp) for value in op.values]
        self.batches = [op for op in self.ops if isinstance(op, pim.CoreBatchOp)]

    def events(self, rows: pim.RowsOp) -> Iterator[tuple[str, int, int, int]]:
        """What happens to rows: whether they are brought or read, the core, the row, the key."""
        for op in self.ops:
            match op:
                case pim.LoadOp() if op.dest is rows.result:
                    for row, core, step in op.rows.array.tolist():
                        yield "brought", core, row, key(step, Phase.LOAD)
                case pim.TransferOp() if op.source is rows.result:
                    for row, source, target, step in op.messages.array.tolist():
                        yield "read", source, row, key(step, Phase.MESSAGE)
                        yield "brought", target, row, key(step, Phase.MESSAGE)
                case pim.CoreBatchOp():
                    yield from self._batch_events(op, rows)
                case _:
                    pass

    def _batch_events(self, batch: pim.CoreBatchOp, rows: pim.RowsOp) -> Iterator[tuple[str, int, int, int]]:
        for lane, core in enumerate(batch.lane_cores.tolist()):
            begin, end = int(batch.steps.array[lane]), int(batch.last_steps[lane])
            for index, value in enumerate(batch.inputs):
                if value is rows.result:
                    for row in batch.input_rows(index)[lane].tolist():
                        if row >= 0:
                            yield "read", core, row, key(begin, Phase.COMPUTE)
                            yield "read", core, row, key(end, Phase.COMPUTE)
            if rows.result in batch.outs:
                yield "brought", core, lane, key(begin, Phase.COMPUTE)
                stored = Phase.STORE if rows.result in self.outputs else Phase.COMPUTE
                yield "read", core, lane, key(end, stored)

    def row_lives(self, rows: pim.RowsOp) -> list[Life]:
        """One life for each instance of a row; fails if a row is read before it is there or where it has no place."""
        brought: dict[tuple[int, int], int] = {}
        last: dict[tuple[int, int], int] = {}
        events = list(self.events(rows))
        for kind, core, row, moment in events:
            if kind == "brought":
                brought[core, row] = min(moment, brought.get((core, row), moment))
        for kind, core, row, moment in events:
            assert (core, row) in brought, f"core {core} has no row {row}"
            assert kind == "brought" or brought[core, row] <= moment, f"row {row} is read before it comes"
            last[core, row] = max(moment, last.get((core, row), moment))
        assert rows.instances is not None
        places = {(core, row): address for core, row, address in rows.instances.array.tolist()}
        assert places.keys() == brought.keys()
        _, columns, channels = pim.shape_of(rows.result)
        size = ((sum(rows.pads) + columns) * channels + rows.slack.value.data) * self.bytes
        return [
            Life(core, places[core, row], size, brought[core, row], last[core, row], f"row {row}")
            for core, row in sorted(brought)
        ]

    def constant_lives(self, rows: pim.ConstantRowsOp) -> Iterator[Life]:
        assert rows.instances is not None
        size = int(np.prod(pim.shape_of(rows.result))) * self.bytes
        for core, address, step in rows.instances.array.tolist():
            lanes = [
                (int(batch.steps.array[lane]), int(batch.last_steps[lane]))
                for batch in self.batches
                if rows.result in (*batch.inputs, *batch.constants)
                for lane in np.flatnonzero(batch.lane_cores == core)
            ]
            fetched = [
                when
                for batch in self.batches
                if batch.fetches is not None
                for number, where, when in batch.fetches.array.tolist()
                if where == core and batch.loaded_constants[number] is rows.result
            ]
            begin = min(first for first, _ in lanes)
            assert step == min([begin, *fetched]), f"core {core} loads a constant when it is not planned"
            last = key(max(last for _, last in lanes), Phase.COMPUTE)
            yield Life(core, address, size, key(step, Phase.FILL), last, "constant")

    def tile_lives(self, batch: pim.CoreBatchOp) -> Iterator[Life]:
        """Of the tiles of a body, on each core, during each of its lanes."""
        for lane, core in enumerate(batch.lane_cores.tolist()):
            for alloc in batch.block.ops:
                if isinstance(alloc, pim.AllocOp):
                    assert alloc.addresses is not None
                    address = dict(alloc.addresses.array.tolist())[core]
                    size = (int(np.prod(pim.shape_of(alloc.result))) + alloc.slack.value.data) * self.bytes
                    first = key(int(batch.steps.array[lane]), Phase.COMPUTE)
                    last = key(int(batch.last_steps[lane]), Phase.COMPUTE)
                    yield Life(core, address, size, first, last, "tile")

    def zero_lives(self) -> Iterator[Life]:
        if self.program.zeros is None:
            return
        for core, address, size in self.program.zeros.array.tolist():
            moments = [
                key(int(batch.last_steps[lane]), Phase.COMPUTE)
                for batch in self.batches
                for index in range(len(batch.inputs))
                for lane in np.flatnonzero(batch.lane_cores == core)
                if (batch.input_rows(index)[lane] < 0).any()
            ]
            yield Life(core, address, size, PROLOGUE, max(moments), "zeros")


def check_apart(lives: list[Life]) -> None:
    for one, other in combinations(lives, 2):
        if one.core == other.core and one.meets(other):
            assert not one.overlaps(other), f"{one} and {other}"


def check_tiles(batch: pim.CoreBatchOp, element_bytes: int) -> None:
    """Tiles of a body that are touched around one instruction lie apart; instructions that run in turns are one."""
    position: dict[Operation, int] = {}
    turn = count()
    now = next(turn)
    turns = 0
    for op in batch.block.ops:
        if isinstance(op, pim.IssueOp):
            mine = op.count if op.turns is None else op.turns.value.data
            if op.chained is None or mine != turns:
                now, turns = next(turn), mine
            position[op] = now
    lives: list[Life] = []
    for op in batch.block.ops:
        if isinstance(op, pim.AllocOp):
            assert op.addresses is not None
            users = [position[use.operation] for use in op.result.uses]
            size = (int(np.prod(pim.shape_of(op.result))) + op.slack.value.data) * element_bytes
            for core, address in op.addresses.array.tolist():
                lives.append(Life(core, address, size, min(users, default=0), max(users, default=0), "tile"))
    check_apart(lives)


def check_plan(module: ModuleOp) -> None:
    target = target_of(module)
    program = next(op for op in module.walk() if isinstance(op, pim.ProgramOp))
    replay = Replay(program, target.element_bytes)
    # Things that are planned as one: the rows of a ring, the tiles of a frame.
    together: list[list[Life]] = [list(replay.zero_lives())]
    for op in replay.ops:
        match op:
            case pim.RowsOp():
                lives = replay.row_lives(op)
                check_apart(lives)
                together.append(lives)
            case pim.ConstantRowsOp():
                together.append(list(replay.constant_lives(op)))
            case pim.CoreBatchOp():
                check_tiles(op, target.element_bytes)
                together.append(list(replay.tile_lives(op)))
            case _:
                pass
    for lives in together:
        for life in lives:
            assert 0 <= life.address <= life.address + life.size <= target.machine.local_memory_bytes
            assert life.address % target.element_bytes == 0
    for some, others in combinations(together, 2):
        for one in some:
            for other in others:
                if one.core == other.core and one.meets(other):
                    assert not one.overlaps(other), f"{one} and {other}"
    assert program.peak_bytes is not None
    for core, peak in enumerate(program.peak_bytes.array.tolist()):
        assert peak == max((x.address + x.size for lives in together for x in lives if x.core == core), default=0)


@pytest.mark.parametrize("machine", ["tiny4", "reference144"])
@pytest.mark.parametrize("name", NAMES)
def test_plan(name: str, machine: str) -> None:
    make, shape = MODELS[name]
    module = lower(build(make, *shape), machine)
    check_plan(module)
    plan_check.check_plan(module)


def dilated(g: Graph) -> str:
    x = g.add("Conv", "x", g.weight(8, 3, 4, 4), dilations=[3, 3], pads=[4] * 4)
    return g.add("Conv", x, g.weight(130, 8, 2, 2), g.weight(130), dilations=[3, 3], pads=[1] * 4, strides=[2, 1])


def perceptron(g: Graph) -> str:
    x, sizes = "x", (7, 257, 128, 257, 128, 10)
    for inputs, outputs in pairwise(sizes):
        x = g.add("Relu", g.add("Gemm", x, g.weight(inputs, outputs), g.weight(outputs)))
    return x


def products_in_turns(g: Graph) -> str:
    """Of 56 columns, some at a time, which go to the same place each time."""
    return g.add("Relu", g.conv("x", 64, 128, 1))


@pytest.mark.parametrize(
    ("make", "shape", "machine", "samples"),
    [
        (dilated, (1, 3, 49, 3), "reference144", 3),
        (perceptron, (1, 7), "tiny4", 3),
        (products_in_turns, (1, 64, 2, 56), "reference144", 1),
    ],
)
def test_plans_that_were_refused(make: Build, shape: tuple[int, ...], machine: str, samples: int) -> None:
    """A row that only passes is where a ring comes to be later, or products write to places again and again: the check
    of plans took both for faults."""
    module = import_onnx(build(make, *shape).SerializeToString())
    pipeline = f"tile-default{{machine={machine} samples={samples}}}"
    PassManager(build_pipeline(pipeline), (Guard(), Verifier())).run(make_context(), module)
    plan_check.check_plan(module)
    check_plan(module)


def test_a_constant_that_nothing_reads_is_on_no_core() -> None:
    """Somebody's pass between bufferization and planning may leave one: it takes no memory and no instruction."""
    packages: list[Package] = []
    for unread in (False, True):
        module = module_at("buffers")
        found = next(op for op in module.walk() if isinstance(op, pim.ConstantRowsOp))
        copied = found.clone()
        if unread:
            block = found.parent_block()
            assert block is not None
            block.insert_op_after(copied, found)
        PassManager(build_pipeline("pim-plan-memory"), (Guard(), Verifier())).run(make_context(), module)
        if unread:
            assert copied.instances is not None
            assert copied.instances.array.shape == (0, 3)
            text = ir_text(module)
            assert ir_text(parsed(text)) == text
        plan_check.check_plan(module)
        packages.append(guard_package(Guard(), module, build_package(module, Origin("net"), {}), 0.0))
    without, with_unread = (package.program for package in packages)
    assert np.array_equal(with_unread.core_start, without.core_start)
    assert with_unread.columns.equals(without.columns)


def test_the_replay_sees_an_overlap() -> None:
    make, shape = MODELS["squeeze and excite"]
    module = lower(build(make, *shape), "tiny4")
    for op in module.walk():
        if isinstance(op, pim.RowsOp) and op.instances is not None and len(op.instances.array) > 1:
            moved = op.instances.array.copy()
            moved[:, 2] = moved[0, 2]
            op.properties["instances"] = type(op.instances).get(moved)
    with pytest.raises(AssertionError, match="Life"):
        check_plan(module)
