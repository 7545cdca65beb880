"""Mutants of `onnx-batch`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from ir_edits import erase, follow, insert_after, insert_before, ops_of, read_instead, readers
from mutant_registry import Stage
from mutation_run import Caught
from tilec.dialects import onnx
from tilec.dialects.onnx_base import element_type_of, int64s, shape_of
from tilec.dialects.tile import Array
from tilec.lowering.samples import SAMPLES
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

STAGE = Stage("onnx-batch")
_edit = partial(STAGE.edit, program="several")
_patch = partial(STAGE.patch, program="several")


def constant(before: onnx.OnnxOp, array: Array) -> SSAValue:
    return insert_before(before, onnx.ConstantOp.from_array(np.ascontiguousarray(array, np.float32))).output


@_patch("tilec.passes.onnx_batch.spread_samples", "one sample too many", Caught.BOTH, "interface", "compute_instances")
def one_too_many(right: Callable[..., None]) -> Callable[..., None]:
    return lambda module, samples: right(module, samples + 1)


@_patch("tilec.passes.onnx_batch.spread_samples", "one sample, and no other", Caught.BOTH, "interface", "macs")
def one_alone(right: Callable[..., None]) -> Callable[..., None]:
    def wrong(module: ModuleOp, samples: int) -> None:
        module.attributes[SAMPLES] = IntegerAttr(samples, i64)

    return wrong


@_edit("the type of the function is forgotten", Caught.VERIFIER)
def type_of_function(module: ModuleOp) -> None:
    (main,) = ops_of(module, FuncOp)
    one = [TensorType(element_type_of(value), (1, *shape_of(value)[1:])) for value in main.body.block.args]
    main.properties["function_type"] = FunctionType.from_lists(one, main.function_type.outputs.data)


@_edit("the type of an op that is read twice stays", Caught.VERIFIER)
def type_of_result(module: ModuleOp) -> None:
    (relu,) = ops_of(module, onnx.ReluOp)
    Rewriter.replace_value_with_new_type(relu.y, TensorType(element_type_of(relu.y), (1, *shape_of(relu.y)[1:])))


@_edit("a layer is cloned for each sample", Caught.GUARD, "macs", "recomputed")
def layer_for_each_sample(module: ModuleOp) -> None:
    (relu,) = ops_of(module, onnx.ReluOp)
    conv = relu.x.owner
    assert isinstance(conv, onnx.ConvOp)
    other = insert_after(relu, onnx.ReluOp.of([insert_after(conv, conv.clone()).y]))
    read_instead(readers(relu.y)[-1], relu.y, other.y)


@_edit(
    "an op that is shared by branches is cloned for each reader",
    Caught.GUARD,
    "recomputed",
    "element_passes",
    costs=False,
    why="the lowering makes one batch of equal ones",
)
def relu_for_each_reader(module: ModuleOp) -> None:
    (relu,) = ops_of(module, onnx.ReluOp)
    for reader in readers(relu.y)[1:]:
        read_instead(reader, relu.y, insert_after(relu, relu.clone()).y)


@_edit(
    "samples are put together by adding to zeros",
    Caught.GUARD,
    "element_passes_of_node",
    costs=False,
    why="a later pass folds it",
)
def sum_from_zeros(module: ModuleOp) -> None:
    (add,) = ops_of(module, onnx.AddOp)
    follow(add, onnx.AddOp.of([add.c, constant(add, np.zeros((1, 1, 1)))]))


@_edit(
    "samples that are not asked for are masked, by a product with 1 for the others",
    Caught.GUARD,
    "element_passes",
    costs=False,
    why="a later pass folds it",
)
def masked(module: ModuleOp) -> None:
    (relu,) = ops_of(module, onnx.ReluOp)
    follow(relu, onnx.MulOp.of([relu.y, constant(relu, np.ones((1, 1, 1)))]))


@_edit("kernels are padded with zeros, to keep samples apart that are side by side", Caught.GUARD, "macs")
def wider_kernel(module: ModuleOp) -> None:
    conv = ops_of(module, onnx.ConvOp)[1]
    array = onnx.constant_of(conv.w)
    assert array is not None
    conv.operands[1] = constant(conv, np.pad(array, ((0, 0), (0, 0), (1, 1), (1, 1))))
    conv.properties |= {"kernel_shape": int64s((5, 5)), "pads": int64s((2, 2, 2, 2))}


@_edit("samples go through a layer that changes nothing", Caught.GUARD, "macs", "layer_elements")
def identity_layer(module: ModuleOp) -> None:
    (relu,) = ops_of(module, onnx.ReluOp)
    identity = constant(relu, np.eye(8).reshape(8, 8, 1, 1))
    window = {"kernel_shape": int64s((1, 1)), "pads": int64s((0,) * 4), "strides": int64s((1, 1))}
    follow(relu, onnx.ConvOp.of([relu.y, identity], {**window, "dilations": int64s((1, 1))}))


@_edit("channels of the samples change places", Caught.NUMERICS)
def channels_change_places(module: ModuleOp) -> None:
    conv = ops_of(module, onnx.ConvOp)[1]
    array = onnx.constant_of(conv.w)
    assert array is not None
    conv.operands[1] = constant(conv, array[::-1])


@_edit("the residual sum is left out", Caught.NUMERICS)
def sum_left_out(module: ModuleOp) -> None:
    (add,) = ops_of(module, onnx.AddOp)
    follow(add, onnx.ReluOp.of([add.a]))
    erase(add)


@_edit(
    "how many samples there are is not recorded",
    Caught.GUARD,
    "samples",
)
def not_recorded(module: ModuleOp) -> None:
    del module.attributes[SAMPLES]
