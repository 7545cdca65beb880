"""Mutants of `spat-merge-trivial`."""

from __future__ import annotations

import numpy as np
from ir_edits import (
    add_weight,
    body_ops,
    erase,
    follow,
    insert_after,
    insert_before,
    layers_of,
    ops_of,
    read_instead,
    replace,
    set_number,
)
from mutant_registry import Stage
from mutation_run import Caught
from tilec.analysis.window import RowWindow
from tilec.dialects import spat
from tilec.dialects.spat import WindowAttr, shape_of
from xdsl.dialects.builtin import ArrayAttr, ModuleOp

STAGE = Stage("spat-merge-trivial")


@STAGE.edit("constants are written out for every column before they are compared", Caught.GUARD, "host_bytes")
def constants_for_every_column(module: ModuleOp) -> None:
    for add in body_ops(module, spat.VAddOp):
        batch = add.parent_op()
        assert isinstance(batch, spat.BatchOp)
        for argument, weight in zip(batch.weight_arguments, list(batch.weights), strict=True):
            if add.rhs is argument and isinstance(weight.owner, spat.ConstantOp):
                add.operands = [
                    add.lhs,
                    add_weight(batch, np.broadcast_to(weight.owner.value.array, shape_of(add.lhs))),
                ]


@STAGE.edit("a view of a whole tile becomes a copy of it", Caught.GUARD, "local_copies")
def copy_for_view(module: ModuleOp) -> None:
    (product, *_) = body_ops(module, spat.VMMOp)
    follow(product, spat.GatherOp([product.result]))


@STAGE.edit(
    "of an activation of an activation, the inner one is cloned in place of the outer", Caught.GUARD, "vector_count"
)
def activation_cloned(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    follow(relu, spat.ReluOp(relu.result))


@STAGE.edit("dead batches are cloned instead of erased", Caught.GUARD, "work_cycles")
def dead_batch(module: ModuleOp) -> None:
    (batch, *_) = ops_of(module, spat.ComputeBatchOp)
    insert_after(batch, batch.clone())


@STAGE.edit("replicas go back to their default when operands are set", Caught.GUARD, "width_of_node")
def replicas_reset(module: ModuleOp) -> None:
    for layer in layers_of(module):
        set_number(layer, "replicas", 1)


@STAGE.edit("a constant sum is split where it should have been joined", Caught.GUARD, "vector_count")
def sum_split(module: ModuleOp) -> None:
    (add, *_) = body_ops(module, spat.VAddOp)
    batch = add.parent_op()
    assert isinstance(batch, spat.BatchOp)
    (bias,) = [w for a, w in zip(batch.weight_arguments, batch.weights, strict=True) if a is add.rhs]
    assert isinstance(bias.owner, spat.ConstantOp)
    half = add_weight(batch, bias.owner.value.array / 2)
    add.operands = [add.lhs, half]
    follow(add, spat.VAddOp(add.result, half))


@STAGE.edit(
    "windows on one tensor are made alike, so that lanes wait for rows that they do not use",
    Caught.GUARD,
    "read_elements",
    program="mixed",
)
def wider_window(module: ModuleOp) -> None:
    (batch, *_) = [
        op for op in layers_of(module) if isinstance(op, spat.BatchOp) and op.row_windows == (RowWindow(8, 8),)
    ]
    assert isinstance(batch, spat.BatchOp)
    wide = RowWindow(8, 8, rows=3, pad_top=1, edge="clamp")
    old = batch.block.args[0]
    new = batch.block.insert_arg(spat.tile_type(3, *shape_of(old)[1:]), 0)
    batch.properties["windows"] = ArrayAttr([WindowAttr(wide)])
    for view in [op for op in batch.block.ops if isinstance(op, spat.ViewOp) and op.source is old]:
        set_number(view, "row", 1)
        read_instead(view, old, new)
    batch.block.erase_arg(old)


@STAGE.edit("a batch that only renames columns is folded into each reader's vector unit", Caught.GUARD, "vector_count")
def rename_as_product(module: ModuleOp) -> None:
    layer = layers_of(module)[1]
    assert isinstance(layer, spat.BatchOp)
    (view, *_) = [op for op in layer.block.ops if isinstance(op, spat.ViewOp) and op.source is layer.input_arguments[1]]
    one = add_weight(layer, np.ones((1, 1)))
    follow(view, spat.VMulOp(view.result, one))


@STAGE.edit("constants of equal shape become one", Caught.NUMERICS, program="mixed")
def constants_confused(module: ModuleOp) -> None:
    first, second, *_ = [op for op in ops_of(module, spat.ConstantOp) if shape_of(op.result) == (1, 6)]
    second.result.replace_all_uses_with(first.result)
    erase(second)


@STAGE.edit("an activation moves before the sum that it is taken of", Caught.BOTH, "element_passes_of_node")
def activation_before_sum(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    add = relu.source.owner
    assert isinstance(add, spat.VAddOp)
    early = insert_before(add, spat.ReluOp(add.lhs))
    add.operands = [early.result, add.rhs]
    replace(relu, add.result)


@STAGE.edit("a sum of a value with itself counts as a sum with zero", Caught.BOTH, "local_copies")
def sum_as_identity(module: ModuleOp) -> None:
    add = body_ops(module, spat.VAddOp)[-1]
    replace(add, add.lhs)


@STAGE.edit("a batch is taken for dead while an output reads it", Caught.VERIFIER)
def live_batch_erased(module: ModuleOp) -> None:
    batch = ops_of(module, spat.ComputeBatchOp)[-1]
    batch.detach()
