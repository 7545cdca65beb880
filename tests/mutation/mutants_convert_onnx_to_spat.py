"""Mutants of `convert-onnx-to-spat`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace as with_changes
from typing import Any

import numpy as np
from ir_edits import (
    add_weight,
    body_ops,
    follow,
    insert_after,
    insert_before,
    layers_of,
    number_of,
    ops_of,
    read_instead,
    readers,
    replace,
    set_number,
)
from mutant_registry import Stage
from mutation_run import Caught
from tilec.analysis.window import RowWindow
from tilec.dialects import onnx, spat
from tilec.dialects.spat import WindowAttr, shape_of
from tilec.dialects.tile import ArrayAttr
from tilec.lowering.onnx_to_spat.context import minimum_row_parts
from xdsl.dialects.builtin import ArrayAttr as BuiltinArrayAttr
from xdsl.dialects.builtin import ModuleOp

STAGE = Stage("convert-onnx-to-spat")
ALLOCATE = "tilec.passes.convert_onnx_to_spat.allocate_layers"
Allocate = Callable[..., Sequence[Any]]


@STAGE.patch(
    ALLOCATE, "the loop that deals spare cores to layers never runs", Caught.GUARD, "span_cycles", program="spread"
)
def one_replica_each(allocate: Allocate) -> Allocate:
    return lambda *arguments: [with_changes(one, replicas=1) for one in allocate(*arguments)]


@STAGE.patch(
    ALLOCATE,
    "replicas are halved, as for a machine that needs two cores each",
    Caught.GUARD,
    "span_cycles",
    program="spread",
)
def half_the_replicas(allocate: Allocate) -> Allocate:
    return lambda *arguments: [with_changes(one, replicas=-(-one.replicas // 2)) for one in allocate(*arguments)]


@STAGE.edit("a batch that is given no replicas has one for each lane", Caught.GUARD, "vector_slots_of_node")
def replicas_by_lanes(module: ModuleOp) -> None:
    for op in ops_of(module, spat.ComputeBatchOp):
        if not op.has_products and op.replica_count == 1:
            set_number(op, "replicas", op.lane_count)


@STAGE.patch(ALLOCATE, "products of several windows are never taken", Caught.GUARD, "unpacked_products")
def one_window_at_a_time(allocate: Allocate) -> Allocate:
    return lambda *arguments: [with_changes(one, windows=1) for one in allocate(*arguments)]


@STAGE.patch(
    ALLOCATE,
    "products are one window short of what they could do, so that a row takes one more",
    Caught.GUARD,
    "span_cycles",
    program="spread",
)
def one_window_short(allocate: Allocate) -> Allocate:
    return lambda *arguments: [with_changes(one, windows=max(1, one.windows - 1)) for one in allocate(*arguments)]


@STAGE.patch(
    ALLOCATE,
    "layers have but the parts that cores have room for, and other cores stay idle",
    Caught.GUARD,
    "span_cycles",
    program="deep",
)
def fewest_parts(allocate: Allocate) -> Allocate:
    def fewest(demands: Sequence[Any], *arguments: Any) -> list[Any]:
        found = allocate(demands, *arguments)
        return [
            with_changes(one, row_parts=minimum_row_parts(one.product(demand.products)))
            for demand, one in zip(demands, found, strict=True)
        ]

    return fewest


@STAGE.edit("arrays are taken to be half as high as they are", Caught.GUARD, "needless_ops")
def slices_too_short(module: ModuleOp) -> None:
    for product in body_ops(module, spat.VMMOp):
        count, length = shape_of(product.vector)
        half, row = length // 2, number_of(product, "row")
        low = insert_before(product, spat.ViewOp(product.vector, 0, 0, length, count, half))
        high = insert_before(product, spat.ViewOp(product.vector, 0, half, length, count, length - half))
        first = insert_before(product, spat.VMMOp(low.result, product.weights, row))
        second = insert_before(product, spat.VMMOp(high.result, product.weights, row + half))
        replace(product, insert_before(product, spat.VAddOp(first.result, second.result)).result)


@STAGE.edit("rows that an instruction could read where they are get copied first", Caught.GUARD, "needless_ops")
def gather_of_one(module: ModuleOp) -> None:
    for view in body_ops(module, spat.ViewOp):
        if not any(isinstance(reader, spat.GatherOp) for reader in readers(view.result)):
            follow(view, spat.GatherOp([view.result]))


@STAGE.edit(
    "an activation is emitted with the layer and again by itself",
    Caught.GUARD,
    "element_passes_of_node",
    costs=False,
    why="a later pass folds it",
)
def activation_twice(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    follow(relu, spat.ReluOp(relu.result))


@STAGE.edit("a result is computed anew for each reader", Caught.GUARD, "recomputed")
def batch_for_each_reader(module: ModuleOp) -> None:
    for batch in ops_of(module, spat.ComputeBatchOp):
        for reader in readers(batch.outs[0])[1:]:
            read_instead(reader, batch.outs[0], insert_after(batch, batch.clone()).outs[0])


@STAGE.edit("a bias is written out for every column", Caught.GUARD, "needless_ops")
def bias_for_every_column(module: ModuleOp) -> None:
    for add in body_ops(module, spat.VAddOp):
        batch = add.parent_op()
        assert isinstance(batch, spat.BatchOp)
        for argument, weight in zip(batch.weight_arguments, list(batch.weights), strict=True):
            if add.rhs is argument and isinstance(weight.owner, spat.ConstantOp):
                whole = np.broadcast_to(weight.owner.value.array, shape_of(add.lhs))
                add.operands = [add.lhs, add_weight(batch, whole)]


@STAGE.edit("an operator that is not known stays as it is", Caught.BOTH, "host_ops")
def left_to_the_host(module: ModuleOp) -> None:
    (first, *_) = ops_of(module, spat.InputOp)
    follow(first, onnx.ReluOp.of([first.result]))


@STAGE.edit("images are padded by one row too many at the top", Caught.NUMERICS)
def window_off_by_one(module: ModuleOp) -> None:
    layer = layers_of(module)[0]
    assert isinstance(layer, spat.BatchOp)
    windows = [WindowAttr(with_changes(window, pad_top=window.pad_top + 1)) for window in layer.row_windows]
    layer.properties["windows"] = BuiltinArrayAttr(windows)


@STAGE.edit("the bias is forgotten", Caught.NUMERICS)
def bias_forgotten(module: ModuleOp) -> None:
    (add, *_) = [op for op in body_ops(module, spat.VAddOp) if shape_of(op.rhs)[0] == 1]
    replace(add, add.lhs)


@STAGE.edit("the channels of an output are counted from the end", Caught.NUMERICS)
def channels_reversed(module: ModuleOp) -> None:
    (output,) = ops_of(module, spat.OutputOp)
    output.properties["channels"] = BuiltinArrayAttr(
        [ArrayAttr.get(np.ascontiguousarray(one.array[::-1])) for one in output.channels.data]
    )


@STAGE.edit("the last rows of a window are read once more for the maximum", Caught.BOTH, "element_passes_of_node")
def pool_reads_more_rows(module: ModuleOp) -> None:
    (pool,) = ops_of(module, spat.ReduceRowsOp)
    batch = pool.parent_op()
    assert isinstance(batch, spat.BatchOp)
    window = batch.row_windows[0]
    wide = RowWindow(window.height, window.lanes, window.rows + 1, window.stride, edge="clamp")
    batch.properties["windows"] = BuiltinArrayAttr([WindowAttr(wide)])
    _, columns, channels = shape_of(batch.input_arguments[0])
    argument = batch.block.insert_arg(spat.tile_type(wide.rows, columns, channels), 0)
    new = insert_after(pool, spat.ReduceRowsOp("max", argument))
    old = batch.block.args[1]
    replace(pool, new.result)
    batch.block.erase_arg(old)
