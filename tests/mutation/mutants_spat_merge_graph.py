"""Mutants of `spat-merge-graph`."""

from __future__ import annotations

from collections.abc import Callable

from ir_edits import batches_of, body_ops, follow, insert_before, layers_of, replace, set_number, set_operands
from mutant_registry import Stage
from mutation_run import Caught
from tilec.dialects import spat
from tilec.dialects.spat import WindowAttr
from xdsl.dialects.builtin import ArrayAttr, FusedLoc, ModuleOp, UnknownLoc

STAGE = Stage("spat-merge-graph")
CAN_FUSE = "tilec.passes.spat_merge_graph.can_fuse"
CanFuse = Callable[..., bool]


def row_by_row(producer: spat.ComputeBatchOp, consumer: spat.ComputeBatchOp, index: int) -> bool:
    """Whether lanes correspond one to one, whatever else speaks against fusing."""
    window, value = consumer.row_windows[index], consumer.inputs[index]
    own_row = (window.rows, window.stride, window.pad_top, window.pad_left) == (1, 1, 0, 0)
    return own_row and producer.lane_count == consumer.lane_count == window.height and value.has_one_use()


@STAGE.patch(CAN_FUSE, "two layers with weights are fused, too", Caught.GUARD, "product_slots", program="mixed")
def layers_fused(can_fuse: CanFuse) -> CanFuse:
    return lambda *arguments: can_fuse(*arguments) or row_by_row(*arguments[:3])


@STAGE.patch(
    "tilec.lowering.batch_fusion._would_wait",
    "what a producer does is fused although it then waits for the consumer's other operand",
    Caught.GUARD,
    "lane_path_cycles",
    program="spread",
)
def waits_for_the_other_operand(would_wait: CanFuse) -> CanFuse:
    return lambda *arguments: False


@STAGE.edit("a fused batch gets the replicas of the operand that has fewest", Caught.GUARD, "width_of_node")
def fewest_replicas(module: ModuleOp) -> None:
    for layer in layers_of(module):
        set_number(layer, "replicas", 1)


@STAGE.edit("replicas and the first name of a fused batch are lost together", Caught.GUARD, "product_slots")
def replicas_lost_with_the_name(module: ModuleOp) -> None:
    for layer in layers_of(module):
        set_number(layer, "replicas", 1)
        if isinstance(layer.location, FusedLoc) and isinstance(layer.location.locations, ArrayAttr):
            layer.location = layer.location.locations.data[-1]


@STAGE.edit(
    "an activation goes to those who read it, where it is taken of every row of a window", Caught.GUARD, "vector_count"
)
def activation_into_readers(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    replace(relu, relu.source)
    second = layers_of(module)[1]
    for view in [op for op in second.block.ops if isinstance(op, spat.ViewOp)]:
        if view.source in second.input_arguments:
            follow(view, spat.ReluOp(view.result))


@STAGE.edit("what the producer yields is copied before the consumer reads it", Caught.GUARD, "local_copies")
def copy_between(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    follow(relu, spat.GatherOp([relu.result]))


@STAGE.edit(
    "the activation of the consumer is appended twice",
    Caught.GUARD,
    "vector_count",
    costs=False,
    why="a later pass folds it",
)
def activation_twice(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    follow(relu, spat.ReluOp(relu.result))


@STAGE.edit("the product of a part is formed once for each op that reads it", Caught.GUARD, "mvm_count")
def product_twice(module: ModuleOp) -> None:
    (product, *_) = body_ops(module, spat.VMMOp)
    copy = insert_before(product, product.clone())
    larger = follow(product, spat.VMaxOp(product.result, copy.result))
    assert larger.lhs is product.result


@STAGE.edit("the windows of producer and consumer are swapped", Caught.VERIFIER)
def windows_swapped(module: ModuleOp) -> None:
    (batch, *_) = [op for op in batches_of(module) if len(op.windows.data) > 1]
    batch.properties["windows"] = ArrayAttr(list(batch.windows.data)[::-1])


@STAGE.edit("the body of the producer is taken without its last op", Caught.NUMERICS)
def last_op_lost(module: ModuleOp) -> None:
    (relu, *_) = body_ops(module, spat.ReluOp)
    replace(relu, relu.source)


@STAGE.edit("the consumer reads the row above the one that its lane yields", Caught.NUMERICS)
def row_above(module: ModuleOp) -> None:
    (batch, *_) = [op for op in batches_of(module) if len(op.windows.data) > 1]
    assert isinstance(batch, spat.BatchOp)
    window = batch.row_windows[1]
    shifted = type(window)(window.height, window.lanes, pad_top=1)
    batch.properties["windows"] = ArrayAttr([batch.windows.data[0], WindowAttr(shifted)])


@STAGE.patch(
    CAN_FUSE,
    "nothing is fused, since a comparison is the wrong way round",
    Caught.NEITHER,
    why="nothing gets worse: the program stays as it was. That an older build did better is for the recorded "
    "proxies to say, and they do",
)
def nothing_fused(can_fuse: CanFuse) -> CanFuse:
    return lambda *arguments: False


@STAGE.edit(
    "a tensor that both read becomes two inputs of the fused batch",
    Caught.NEITHER,
    why="the same rows in the same lanes: the package is the same",
    costs=False,
)
def input_twice(module: ModuleOp) -> None:
    layer = layers_of(module)[1]
    assert isinstance(layer, spat.BatchOp)
    first = layer.input_arguments[1]
    argument = layer.block.insert_arg(first.type, len(layer.inputs))
    layer.properties["windows"] = ArrayAttr([*layer.windows.data, layer.windows.data[1]])
    set_operands(layer, [*layer.inputs, layer.inputs[1]], list(layer.weights))
    first.replace_all_uses_with(argument)


@STAGE.edit(
    "the names of a producer's ops are forgotten",
    Caught.GUARD,
    "element_passes_of_node",
    costs=False,
    why="only names in reports change; what is not comparable is rejected",
)
def name_forgotten(module: ModuleOp) -> None:
    for op in body_ops(module, spat.ReluOp):
        op.location = UnknownLoc()
