"""Yardsticks against brute force and numbers counted by hand, and the mappings that hold passes against them."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from compilation import lower
from guard_programs import LEVELS, module_at, network, parsed
from hypothesis import given
from hypothesis import strategies as st
from ir_edits import ops_of
from tilec.analysis.contract import bytes_of_joined_constants, or_part_more
from tilec.analysis.proxies import Level, Proxies, counts
from tilec.analysis.window import OUTSIDE
from tilec.analysis.yardsticks import (
    busy_in_turn,
    deal_cores,
    dumb_order,
    dumb_schedule,
    nearer_than_at_random,
    needed_copies,
    of_fused_nodes,
    part_of,
    replicas_apart,
    replicas_as_cores,
    replicas_on_cores,
    with_room,
)
from tilec.dialects import pim
from tilec.dialects.location import located
from tilec.dialects.pim import shape_of
from tilec.dialects.registry import make_context
from tilec.dialects.spat import ChannelSendOp, ComputeBatchOp, ScheduledComputeBatchOp
from tilec.dialects.tile import ArrayAttr
from tilec.lowering.body_content import body_content
from tilec.lowering.instruction_chains import chains_of
from tilec.lowering.proxies import proxies
from tilec.lowering.target import target_of
from tilec.lowering.tile_counts import (
    _rows_of_two,  # pyright: ignore[reportPrivateUsage]
    element_passes,
    needless_ops,
    repeatable_constants,
    unpacked_products,
)
from tilec.passes.manager import PassManager
from tilec.passes.pipeline import build_pipeline
from xdsl.dialects.builtin import ModuleOp

# Cores that are dealt


LAYER = st.tuples(st.integers(1, 6), st.integers(1, 9), st.integers(1, 3))


@given(st.lists(LAYER, min_size=1, max_size=3), st.integers(0, 12))
def test_no_other_dealing_makes_the_busiest_layer_faster(layers: list[tuple[int, int, int]], cores: int) -> None:
    lanes, cycles, parts = ([one[place] for one in layers] for place in range(3))
    enough = max(cores, sum(parts))

    def busiest(replicas: tuple[int, ...]) -> int:
        return max(-(-n // r) * c for n, r, c in zip(lanes, replicas, cycles, strict=True))

    def taken(replicas: tuple[int, ...]) -> int:
        return sum(r * size for r, size in zip(replicas, parts, strict=True))

    dealt = tuple(deal_cores(lanes, cycles, cores, parts))
    assert all(1 <= r <= n for r, n in zip(dealt, lanes, strict=True))
    assert taken(dealt) <= enough
    choices = product(*(range(1, n + 1) for n in lanes))
    assert busiest(dealt) == min(busiest(one) for one in choices if taken(one) <= enough)


# Counts of tiles, by hand

BATCH = """
builtin.module attributes {{tile.machine = "tiny4"}} {{
func.func @main() {{
  %x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
  %c = spat.constant <f32[4, 2] [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]> : tensor<4x2xf32>
  %m = spat.constant <f32[8, 3] splat 1.0> : tensor<8x3xf32>
  %y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>]
      weights(%c, %m : tensor<4x2xf32>, tensor<8x3xf32>) -> {result} {{
  ^bb0(%rows: tensor<1x4x2xf32>, %k: tensor<4x2xf32>, %w: tensor<8x3xf32>):
    %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
    {body}
  }}
  func.return
}}
}}
"""
ROW, PRODUCT = "tensor<4x4x2xf32>", "tensor<4x1x3xf32>"


def counted(body: str, result: str = ROW) -> Proxies:
    return proxies(parsed(BATCH.format(body=body, result=result)))


def test_elements_of_vector_operations() -> None:
    body = """%a = spat.relu %row : tensor<4x2xf32>
    %b = spat.vadd %a, %row : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
    %s = spat.reduce_columns "add" %b : tensor<4x2xf32> -> tensor<1x2xf32>
    %d = spat.vmul %b, %s : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x2xf32>
    spat.yield %d : tensor<4x2xf32>"""
    # Three operations on 8 elements, and 6 sums; of 4 lanes.
    assert counted(body).element_passes == 4 * (3 * 8 + 6)


SLICES = """%l = spat.view %rows row 0 start 0 step 8 : tensor<1x4x2xf32> -> tensor<1x4xf32>
    %h = spat.view %rows row 0 start 4 step 8 : tensor<1x4x2xf32> -> tensor<1x4xf32>
    %p = spat.vmm %l, %w row 0 : tensor<1x4xf32>, tensor<8x3xf32> -> tensor<1x3xf32>
    %q = spat.vmm %h, %w row 4 : tensor<1x4xf32>, tensor<8x3xf32> -> tensor<1x3xf32>
    %t = spat.vadd %p, %q : tensor<1x3xf32>, tensor<1x3xf32> -> tensor<1x3xf32>
    spat.yield %t : tensor<1x3xf32>"""


def test_sums_of_slices_are_not_what_the_network_asks_for() -> None:
    assert counted(SLICES, PRODUCT).element_passes == 0


def test_two_slices_that_one_array_could_hold() -> None:
    assert counted(SLICES, PRODUCT).needless_ops == 4
    module = parsed(BATCH.format(body=SLICES, result=PRODUCT))
    (batch,) = [op for op in module.walk() if op.name == "spat.compute_batch"]
    content = body_content(batch)  # pyright: ignore[reportArgumentType]
    assert needless_ops(content, 8) == ((4, 1),)
    assert needless_ops(content, 7) == (), "an array of 7 rows holds 4 of them"
    assert element_passes(content, (False,)) == ((), (True,))


def test_a_copy_of_what_lies_side_by_side() -> None:
    one = "%g = spat.gather %row : tensor<4x2xf32> -> tensor<4x2xf32>\n spat.yield %g : tensor<4x2xf32>"
    assert counted(one).needless_ops == 4
    halves = """%a = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x1xf32>
    %b = spat.view %rows row 0 start {start} step 2 : tensor<1x4x2xf32> -> tensor<4x1xf32>
    %g = spat.gather %a, %b : tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x2xf32>
    spat.yield %g : tensor<4x2xf32>"""
    assert counted(halves.format(start=1)).needless_ops == 4
    assert counted(halves.format(start=0)).needless_ops == 0, "twice the same is not side by side"


def test_a_constant_that_could_repeat() -> None:
    use = "%a = spat.vadd %row, %k : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>\n"
    done = "spat.yield %a : tensor<4x2xf32>"
    assert counted(use + done).needless_ops == 4
    left = "%b = spat.vsub %k, %row : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>\n"
    assert counted(use + left + done).needless_ops == 0, "a left operand cannot repeat"
    module = parsed(BATCH.format(body=use + done, result=ROW))
    (batch,) = [op for op in module.walk() if op.name == "spat.compute_batch"]
    assert repeatable_constants(body_content(batch)) == ((0, (1,)),)  # pyright: ignore[reportArgumentType]


WINDOWS = """%v = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<3x4xf32>
    %p = spat.vmm %v, %w row 0 : tensor<3x4xf32>, tensor<8x3xf32> -> tensor<3x3xf32>
    spat.yield %p : tensor<3x3xf32>"""
GAPS = """%a = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<2x1xf32>
    %b = spat.view %rows row 0 start 4 step 2 : tensor<1x4x2xf32> -> tensor<2x1xf32>
    %v = spat.gather %a, %b : tensor<2x1xf32>, tensor<2x1xf32> -> tensor<2x2xf32>
    %p = spat.vmm %v, %w row 0 : tensor<2x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    spat.yield %p : tensor<2x3xf32>"""


def in_parts(name: str, body: str, columns: int) -> ModuleOp:
    """A batch of windows with gaps, of the node `conv`, and one of ``body``, of the node ``name``."""
    module = parsed(BATCH.format(body=GAPS, result="tensor<4x2x3xf32>"))
    other = parsed(BATCH.format(body=body, result=f"tensor<4x{columns}x3xf32>"))
    (gaps,), (windows,) = ([op for op in one.walk() if isinstance(op, ComputeBatchOp)] for one in (module, other))
    part = windows.clone()
    part.operands = list(gaps.operands)
    gaps.parent.insert_op_after(part, gaps)  # pyright: ignore[reportOptionalMemberAccess]
    for batch, node in ((gaps, "conv"), (part, name)):
        for op in (batch, *batch.block.ops):
            located(op, node)
    return module


def test_products_of_which_an_array_could_do_two() -> None:
    assert counted(WINDOWS, "tensor<4x3x3xf32>").unpacked_products == 4 * 3
    assert counted(GAPS, "tensor<4x2x3xf32>").unpacked_products == 4 * 2, "a dilated window"
    # If a part of a layer cannot do two at a time, none of its parts does.
    alone = WINDOWS.replace("3x4", "1x4").replace("<3x3", "<1x3")
    assert proxies(in_parts("other", alone, 1)).unpacked_products == 4 * 2
    assert proxies(in_parts("conv", alone, 1)).unpacked_products == 0
    assert proxies(in_parts("conv", WINDOWS, 3)).unpacked_products == 4 * 2 + 4 * 3
    module = parsed(BATCH.format(body=WINDOWS, result="tensor<4x3x3xf32>"))
    (batch,) = [op for op in module.walk() if op.name == "spat.compute_batch"]
    content = body_content(batch)  # pyright: ignore[reportArgumentType]
    # Windows of two columns of two channels, one further each: two read three columns together.
    assert unpacked_products(content, 6, 6) == (((2, 3),), ((2, 3),))
    assert unpacked_products(content, 5, 6) == unpacked_products(content, 6, 5) == ((), ((2, 3),))


@pytest.mark.parametrize(
    ("views", "step", "rows"),
    [
        ([(0, 0, 2)], 2, 4),
        ([(0, 0, 4)], 2, 6),
        ([(0, 0, 2)], 6, 8),
        ([(0, 0, 2), (0, 4, 2)], 2, 8),  # a kernel with dilation 2: four columns that lie side by side
        ([(0, 0, 2), (0, 6, 2)], 2, 8),  # with dilation 3 there is one between, which none reads
        ([(0, 0, 2), (0, 4, 2)], 6, 12),  # six columns with two that none reads, and 16 rows of each for itself
        ([(0, 0, 2), (1, 0, 2)], 2, 8),  # of two rows
        ([(0, 0, 2), (0, 0, 2)], 2, 8),  # the same twice
    ],
)
def test_rows_of_two_products(views: list[tuple[int, int, int]], step: int, rows: int) -> None:
    tiles = range(1, len(views) + 1)
    known = {tile: (0, row, start, step) for tile, (row, start, _) in zip(tiles, views, strict=True)}
    shapes = [(2, 9, 2), *((3, length) for _, _, length in views)]
    assert _rows_of_two(tiles, known, shapes) == rows  # pyright: ignore[reportArgumentType]


# Programs at several levels


def test_the_network_and_the_graph_agree_on_elements() -> None:
    """Elements that an operator computes, and those of its batches: a pool saves some by sharing rows."""
    network_level, graph = proxies(module_at("onnx")), proxies(module_at("graph"))
    assert network_level.element_passes_of_node is not None
    assert graph.element_passes_of_node is not None
    old, new = dict(network_level.element_passes_of_node), dict(graph.element_passes_of_node)
    assert old == {"conv1": 512, "relu1": 512, "add": 512, "pool": 4 * 128}
    assert new == {"conv1": 512, "relu1": 512, "add": 512, "pool": 4 * (64 + 32)}


def test_rows_sent_as_planned() -> None:
    """What is computed while messages are planned, and what the same messages take once they are written down; and if
    nothing is planned, every row is sent at once."""
    realized = module_at("scheduled")
    deferred = module_at("placed")
    PassManager(build_pipeline("spat-defer-communication")).run(make_context(), deferred)
    found = proxies(deferred)
    assert found.makespan_cycles is None
    assert found.scheduled_cycles == proxies(realized).makespan_cycles is not None
    for send in ops_of(realized, ChannelSendOp):
        producer = send.source.owner
        assert isinstance(producer, ScheduledComputeBatchOp)
        table = send.messages.array
        table = table[np.lexsort((table[:, 2], table[:, 0]))]
        table[:, 3] = producer.last_steps[table[:, 0]]
        send.properties["messages"] = ArrayAttr.get(table)
    for batch in ops_of(deferred, ScheduledComputeBatchOp):
        batch.properties.pop("sends", None)
    assert proxies(deferred).scheduled_cycles == proxies(realized).makespan_cycles


class RowLife(NamedTuple):
    """A row of a tensor on a core, from when it is there to its last use."""

    tensor: pim.RowsOp
    core: int
    row: int
    first: int
    last: int


def row_lives(module: ModuleOp) -> list[RowLife]:
    """Where each row is, and when, from loads, messages and lanes, one after another."""
    found: list[RowLife] = []
    for rows in ops_of(module, pim.RowsOp):
        first: dict[tuple[int, int], int] = {}
        last: dict[tuple[int, int], int] = {}

        def come(core: int, row: int, step: int) -> None:
            first[core, row] = min(step, first.get((core, row), step))  # noqa: B023
            use(core, row, step)

        def use(core: int, row: int, step: int) -> None:
            last[core, row] = max(step, last.get((core, row), step))  # noqa: B023

        for load in ops_of(module, pim.LoadOp):
            for row, core, step in load.rows.array.tolist() if load.dest is rows.result else ():
                come(core, row, step)
        for transfer in ops_of(module, pim.TransferOp):
            for row, source, target, step in transfer.messages.array.tolist() if transfer.source is rows.result else ():
                use(source, row, step)
                come(target, row, step)
        for op in ops_of(module, pim.CoreBatchOp):
            cores, steps = op.lane_cores.tolist(), op.steps.array.tolist()
            for index, value in enumerate([*op.inputs, *op.constants, *op.matrices, *op.outs]):
                for lane in range(op.lane_count) if value is rows.result else ():
                    ends = int(op.last_steps[lane])
                    if index >= len(op.inputs):
                        come(cores[lane], lane, steps[lane])
                        use(cores[lane], lane, ends)
                        continue
                    for row in op.input_rows(index)[lane].tolist():
                        if row != OUTSIDE:
                            use(cores[lane], row, ends)
        found += [RowLife(rows, core, row, first[core, row], end) for (core, row), end in last.items()]
    return found


def test_rows_that_are_there_at_the_same_time() -> None:
    module = lower(network(), "tiny4")
    lives = row_lives(module)
    size_of = target_of(module).element_bytes
    most: Counter[str] = Counter()
    for core in range(4):
        mine = [life for life in lives if life.core == core]
        for moment in {life.first for life in mine}:
            held = [life for life in mine if life.first <= moment <= life.last]
            size = sum(size_of * int(np.prod(shape_of(life.tensor.result)[1:])) for life in held)
            most[f"{core:05}"] = max(most[f"{core:05}"], size)
    assert proxies(module).row_bytes_of_core == counts(most)


def live_bytes(module: ModuleOp) -> tuple[int, int, int]:
    """The most bytes on a core, step by step: what has a place there, from its first use to its last; that of each
    core, of all together; and the bytes of zeros, beside rows and in place of rows."""
    (chip,) = ops_of(module, pim.ProgramOp)
    size_of = target_of(module).element_bytes
    periods: list[tuple[int, int, int, int]] = []
    zeros: dict[int, tuple[int, int]] = {}
    beside = 0
    batches = ops_of(module, pim.CoreBatchOp)
    tiles_of: list[tuple[pim.CoreBatchOp, int, int, int, int]] = []
    tensors = {rows.result for rows in ops_of(module, pim.RowsOp)}
    for op in batches:
        for index, value in enumerate(op.inputs):
            for lane in range(op.lane_count) if value in tensors else ():
                if OUTSIDE in op.input_rows(index)[lane].tolist():
                    core = int(op.lane_cores[lane])
                    old = zeros.get(core, (0, 0))
                    wide = int(np.prod(shape_of(op.input_arguments[index])[1:]))
                    zeros[core] = max(old[0], wide), max(old[1], int(op.last_steps[lane]))
    every = row_lives(module)
    for rows in ops_of(module, pim.RowsOp):
        _, columns, channels = shape_of(rows.result)
        slot = (sum(rows.pads) + columns) * channels + rows.slack.value.data
        mine = [life for life in every if life.tensor is rows]
        for home in {life.core for life in mine}:
            lives = [(life.first, life.last) for life in mine if life.core == home]
            depth = max(sum(begin <= step <= end for begin, end in lives) for step, _ in lives)
            periods.append((home, min(lives)[0], max(end for _, end in lives), depth * slot))
            beside += depth * sum(rows.pads) * channels
    beside += sum(size for size, _ in zeros.values())
    periods += [(core, -1, end, size) for core, (size, end) in zeros.items()]
    for op in batches:
        frame = 0
        chains = chains_of(op.block)
        for at in range(len(chains)):
            tiles = [tile for tile in op.block.ops if isinstance(tile, pim.AllocOp)]
            uses = {
                tile: [index for index, chain in enumerate(chains) if any(tile.result in one.operands for one in chain)]
                for tile in tiles
            }
            living = [tile for tile in tiles if uses[tile] and min(uses[tile]) <= at <= max(uses[tile])]
            frame = max(frame, sum(int(np.prod(shape_of(a.result))) + a.slack.value.data for a in living))
        lanes = zip(op.lane_cores.tolist(), op.steps.array.tolist(), op.last_steps.tolist(), strict=True)
        tiles_of += [(op, frame, *lane) for lane in lanes]
    meet = {
        (one[0], one[2])
        for one, other in itertools.permutations(tiles_of, 2)
        if one[2] == other[2] and one[3] <= other[4] and other[3] <= one[4]
    }
    for core in {one[2] for one in tiles_of}:
        apart = {op for op, home in meet if home == core}
        mine = [one for one in tiles_of if one[2] == core]
        for group in [[one for one in mine if one[0] is op] for op in apart] + [[m for m in mine if m[0] not in apart]]:
            if group:
                largest = max(one[1] for one in group)
                periods.append((core, min(one[3] for one in group), max(one[4] for one in group), largest))
    for constant in ops_of(module, pim.ConstantRowsOp):
        users = [op for op in batches if constant.result in op.constants]
        for core in {core for op in users for core in op.lane_cores.tolist()}:
            begin = min(int(op.steps.array[op.lane_cores == core].min()) for op in users if core in op.lane_cores)
            for op in users:
                number = list(op.constants).index(constant.result)
                planned = [] if op.fetches is None else op.fetches.array.tolist()
                begin = min([begin, *(step for one, home, step in planned if (one, home) == (number, core))])
            end = max(int(op.last_steps[op.lane_cores == core].max()) for op in users if core in op.lane_cores)
            periods.append((core, begin, end, int(np.prod(shape_of(constant.result)))))
    most = Counter[int]()
    for step in sorted({begin for _, begin, _, _ in periods}):
        held = Counter[int]()
        for core, begin, end, size in periods:
            held[core] += size * (begin <= step <= end)
        most |= held
    assert chip.peak_bytes is not None
    return size_of * max(most.values()), size_of * most.total(), size_of * beside


def test_bytes_that_live_at_the_same_time() -> None:
    module = lower(network(), "tiny4")
    found = proxies(module)
    assert (found.live_bytes_max, found.live_bytes, found.needed_zero_bytes) == live_bytes(module)
    assert found.zeroed_bytes is not None
    assert found.needed_zero_bytes is not None
    assert 0 < found.zeroed_bytes <= found.needed_zero_bytes
    assert found.core_bytes_max is not None
    assert found.core_bytes_max <= found.live_bytes_max * 3 // 2
    assert found.core_bytes is not None
    assert found.live_bytes is not None
    assert found.core_bytes_max < found.core_bytes <= found.live_bytes * 3 // 2


def test_buffers_take_no_more_than_tensors() -> None:
    tensors, buffers = proxies(module_at("tensors")), proxies(module_at("buffers"))
    # Rows of the input and of its copy, of 8 x 4, and of 8 x 8, two of them with two columns more; of 8 x 8 and 4 x 8.
    rows = 8 * 4 + 10 * 4 + 10 * 8 + 8 * 8 + 4 * 8
    # Vectors of all products; what they make, with as much slack: one of the first layer, two of the second; a pool's.
    assert buffers.buffer_bytes == rows + (120 + 240) + 3 * (64 + 64) + 64
    # On tensors, also what is yielded: on buffers, it is formed in its row.
    assert tensors.buffer_bytes == buffers.buffer_bytes + 8 * 4 + 64 + 64 + 4 * 8
    assert tensors.overwritten == tensors.overwritten_bytes == 0


def test_slots_of_products() -> None:
    """Four replicas of each layer. Four cores share them."""
    assert {proxies(module_at(level)).product_slots for level in LEVELS if level != "onnx"} == {4 + 4}


# Mappings

GRAPH = Proxies(Level.GRAPH, product_slots=6, width_of_node=(("a", 4), ("b", 2)))
CHIP = Proxies(Level.SCHEDULED, cores=8, product_slots=4, width_of_node=())


def test_replicas_on_cores() -> None:
    assert replicas_on_cores(GRAPH, CHIP) == (("a", 2), ("b", 1))
    assert replicas_apart(GRAPH, CHIP) == 5
    assert replicas_as_cores(GRAPH, CHIP) == 4
    crowded = replace(CHIP, cores=4, width_of_node=(("a", 1),))
    assert replicas_on_cores(GRAPH, crowded) is not None
    assert replicas_on_cores(GRAPH, crowded) == (("a", 1), ("b", 0))
    assert replicas_apart(GRAPH, crowded) == 5
    for nothing in (replicas_on_cores, replicas_apart, nearer_than_at_random):
        assert nothing(Proxies(Level.GRAPH), CHIP) is None
        assert nothing(GRAPH, Proxies(Level.SCHEDULED)) is None


def test_schedules() -> None:
    chip = replace(CHIP, dumb_cycles=160, dumb_span_cycles=80, input_load_cycles=5)
    assert dumb_schedule("dumb_cycles", 8)(GRAPH, chip) == 160 + 20 + 5
    for missing in ("dumb_cycles", "input_load_cycles"):
        assert dumb_schedule("dumb_cycles", 8)(GRAPH, replace(chip, **{missing: None})) is None


def test_the_busiest_core() -> None:
    """It may do half as much more; or as much more as leaves the end where the dumb schedule has it."""
    chip = replace(CHIP, dumb_busy_cycles=100, dumb_cycles=1000, scheduled_cycles=1000, input_load_cycles=0)
    assert busy_in_turn(GRAPH, chip) == 150
    assert busy_in_turn(GRAPH, replace(chip, scheduled_cycles=2000)) == 150
    assert busy_in_turn(GRAPH, replace(chip, scheduled_cycles=700)) == 400
    assert busy_in_turn(GRAPH, replace(chip, input_load_cycles=80)) == 180
    for missing in ("dumb_busy_cycles", "dumb_cycles", "scheduled_cycles", "input_load_cycles"):
        assert busy_in_turn(GRAPH, replace(chip, **{missing: None})) is None


def test_the_order() -> None:
    """It may take an eighth longer; or as much as leaves the end where the dumb schedule has it."""
    chip = replace(CHIP, dumb_span_cycles=800, dumb_cycles=1000, scheduled_cycles=1000, input_load_cycles=5)
    limit = dumb_order(8)
    assert limit(GRAPH, chip) == 800 + 100 + 5
    assert limit(GRAPH, replace(chip, scheduled_cycles=2000)) == 905
    assert limit(GRAPH, replace(chip, scheduled_cycles=700)) == 800 + 300 + 5
    for missing in ("dumb_span_cycles", "dumb_cycles", "scheduled_cycles", "input_load_cycles"):
        assert limit(GRAPH, replace(chip, **{missing: None})) is None


def test_an_order_that_is_long_since_it_saves_transfers() -> None:
    """It may take any time without transfers if with them it takes hardly longer than the dumb order on its cores."""
    chip = replace(CHIP, dumb_span_cycles=800, dumb_cycles=1000, scheduled_cycles=1000, input_load_cycles=5)
    limit = dumb_order(8)
    longer = replace(chip, span_cycles=950, dumb_order_cycles=970)
    assert limit(GRAPH, longer) == 950
    assert limit(GRAPH, replace(longer, dumb_order_cycles=969)) == 905
    assert limit(GRAPH, replace(longer, span_cycles=820)) == 905
    assert limit(GRAPH, replace(chip, span_cycles=950)) == 905


def test_places_on_the_mesh() -> None:
    chip = replace(CHIP, random_byte_hops=800)
    assert nearer_than_at_random(GRAPH, chip) == 800 - 100 + 200
    assert nearer_than_at_random(GRAPH, replace(chip, cores=100)) == 800 - 100 + 16
    assert nearer_than_at_random(GRAPH, replace(chip, cores=4)) == 800 - 100 + 400
    assert nearer_than_at_random(GRAPH, CHIP) is None


def test_yardsticks_that_are_not_known_permit_nothing() -> None:
    assert with_room("dealt_span_cycles", 4)(GRAPH, replace(CHIP, dealt_span_cycles=100)) == 125
    assert with_room("dealt_span_cycles")(GRAPH, CHIP) is None
    assert with_room("live_bytes_max")(GRAPH, replace(CHIP, live_bytes_max=100)) == 150
    small = with_room("live_bytes_max", least=80)
    assert [small(GRAPH, replace(CHIP, live_bytes_max=size)) for size in (100, 200)] == [180, 300]
    assert part_of("mvm_count", 4)(GRAPH, replace(CHIP, mvm_count=43)) == 10
    assert part_of("mvm_count", 4)(GRAPH, CHIP) is None
    copies = needed_copies("local_copies", "overwritten")
    assert copies(replace(GRAPH, local_copies=3, overwritten=2), CHIP) == 5
    assert copies(replace(GRAPH, local_copies=3), CHIP) is None


def passes(**table: int) -> Proxies:
    named = {name.replace("_and_", "+"): number for name, number in table.items()}
    return Proxies(Level.ONNX, element_passes_of_node=counts(named))


def test_hardly_more() -> None:
    before = Proxies(Level.GRAPH, lane_path_cycles=80)
    assert or_part_more("lane_path_cycles", 8)(before, GRAPH) == 90
    assert or_part_more("lane_path_cycles", 8)(Proxies(Level.GRAPH), GRAPH) is None


def test_a_joined_constant_is_one_more() -> None:
    """It has no more elements than the op that is gone has computed, of 4 bytes at most."""
    before = Proxies(Level.GRAPH, host_bytes=80, element_passes=100)
    joined, added = replace(before, host_bytes=88, element_passes=98), replace(before, host_bytes=88)
    assert bytes_of_joined_constants(before, joined) == 88
    assert bytes_of_joined_constants(before, added) == 80
    assert bytes_of_joined_constants(before, replace(joined, host_bytes=1000)) == 88
    assert bytes_of_joined_constants(before, replace(before, element_passes=120)) == 80
    assert bytes_of_joined_constants(before, Proxies(Level.GRAPH)) is None


def test_replicas_of_what_is_left_of_layers() -> None:
    """The sums and the bias of a layer in parts have as many replicas as the layer; what is no part of one has one."""
    found = proxies(module_at("graph"))
    assert found.vector_slots_of_node is not None
    assert found.layer_slots_of_node is not None
    assert found.width_of_node is not None
    slots, most, width = dict(found.vector_slots_of_node), dict(found.layer_slots_of_node), dict(found.width_of_node)
    assert {name: slots[name] for name in ("relu1", "add", "pool")} == {"relu1": 1, "add": 1, "pool": 1}
    assert {name: most[name] for name in ("relu1", "add", "pool")} == {"relu1": 1, "add": 1, "pool": 1}
    for layer in {"conv1", "conv2"} & slots.keys():
        assert slots[layer] <= most[layer]
        assert most[layer] % width[layer] == 0


def test_passes_of_fused_nodes() -> None:
    passes_of_fused_nodes = of_fused_nodes("element_passes_of_node")
    before = passes(conv=10, norm=20, relu=10, other=5)
    fused = passes(conv_and_norm=10, relu=10, other=5)
    assert passes_of_fused_nodes(before, fused) == fused.element_passes_of_node
    in_parts = passes(conv_and_norm=10, norm=20, relu=10, other=5)
    assert passes_of_fused_nodes(before, in_parts) == in_parts.element_passes_of_node, "30 before, 30 after"
    too_many = passes(conv_and_norm=15, norm=20, relu=10, other=5)
    allowed = passes_of_fused_nodes(before, too_many)
    assert allowed == (("conv+norm", 0), ("norm", 20), ("other", 5), ("relu", 10))
    elsewhere = passes(conv_and_norm=10, relu=10, other=6)
    assert dict(passes_of_fused_nodes(before, elsewhere) or ())["other"] == 5, "what is saved here is not spent there"
