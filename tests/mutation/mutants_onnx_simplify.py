"""Mutants of `onnx-simplify`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from ir_edits import follow, insert_after, insert_before, ops_of, read_instead, readers, replace
from mutant_registry import Stage
from mutation_run import Caught
from tilec.dialects import onnx
from tilec.dialects.onnx_base import int64s
from tilec.dialects.tile import Array
from tilec.passes.onnx_simplify_arithmetic import FoldIntoLayer
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

STAGE = Stage("onnx-simplify")


def constant(before: onnx.OnnxOp, array: Array) -> SSAValue:
    return insert_before(before, onnx.ConstantOp.from_array(np.ascontiguousarray(array, np.float32))).output


def weights(value: SSAValue) -> Array:
    array = onnx.constant_of(value)
    assert array is not None
    return array


@STAGE.edit(
    "a bound that is a Relu gets one more Relu behind the one that stands for it",
    Caught.GUARD,
    "element_passes",
    costs=False,
    why="a later pass folds it",
)
def relu_twice(module: ModuleOp) -> None:
    (relu, *_) = ops_of(module, onnx.ReluOp)
    follow(relu, onnx.ReluOp.of([relu.y]))


@STAGE.edit(
    "a rewrite clones what has several readers, once for each",
    Caught.GUARD,
    "recomputed",
    "element_passes",
    costs=False,
    why="the lowering makes one batch of equal ones",
)
def shared_result_for_each_reader(module: ModuleOp) -> None:
    (relu, *_) = ops_of(module, onnx.ReluOp)
    for reader in readers(relu.y)[1:]:
        read_instead(reader, relu.y, insert_after(relu, relu.clone()).y)


@STAGE.edit(
    "a Sum becomes a chain of Add that starts from zeros",
    Caught.GUARD,
    "element_passes_of_node",
    program="mixed",
    costs=False,
    why="a later pass folds it",
)
def sum_from_zero(module: ModuleOp) -> None:
    add = ops_of(module, onnx.AddOp)[1]
    zero = constant(add, np.zeros((1, 1, 1)))
    follow(add, onnx.AddOp.of([add.c, zero]))


@STAGE.edit(
    "a Dropout becomes a product with 1, what is kept of the data",
    Caught.GUARD,
    "element_passes_of_node",
    program="mixed",
    costs=False,
    why="a later pass folds it",
)
def dropout_as_product(module: ModuleOp) -> None:
    (gemm,) = ops_of(module, onnx.GemmOp)
    one = constant(gemm, np.ones((1, 1)))
    read_instead(gemm, gemm.a, insert_before(gemm, onnx.MulOp.of([gemm.a, one])).c)


@STAGE.edit("grouped convolutions get dense weights with zeros", Caught.GUARD, "macs", program="mixed")
def depthwise_made_dense(module: ModuleOp) -> None:
    (conv,) = [op for op in ops_of(module, onnx.ConvOp) if op.group.value.data > 1]
    sparse = weights(conv.w)
    dense = np.zeros((6, 6, 3, 3))
    dense[np.arange(6), np.arange(6)] = sparse[:, 0]
    properties = {name: value for name, value in conv.properties.items() if name != "group"}
    new = onnx.ConvOp.of([conv.x, constant(conv, dense)], properties)
    insert_after(conv, new)
    replace(conv, new.y)


@STAGE.edit("a Gemm is cut along its inputs, with whole inputs for both halves", Caught.GUARD, "macs", program="mixed")
def gemm_in_two(module: ModuleOp) -> None:
    (gemm,) = ops_of(module, onnx.GemmOp)
    matrix = weights(gemm.b)
    low, high = matrix.copy(), matrix.copy()
    low[3:], high[:3] = 0, 0
    assert gemm.c is not None
    first = insert_before(gemm, onnx.GemmOp.of([gemm.a, constant(gemm, low), gemm.c]))
    second = insert_before(gemm, onnx.GemmOp.of([gemm.a, constant(gemm, high)]))
    replace(gemm, insert_after(gemm, onnx.AddOp.of([first.y, second.y])).c)


@STAGE.edit(
    "a window is given the extent of its end, one more than it has",
    Caught.BOTH,
    "element_passes_of_node",
    program="mixed",
)
def pool_window_too_large(module: ModuleOp) -> None:
    (pool,) = ops_of(module, onnx.MaxPoolOp)
    pool.properties["kernel_shape"] = int64s([3, 3])
    pool.properties["pads"] = int64s([0, 0, 1, 1])


@STAGE.edit("what moved into the bias is added once more", Caught.NUMERICS, program="mixed")
def offset_twice(module: ModuleOp) -> None:
    (conv, *_) = ops_of(module, onnx.ConvOp)
    assert conv.b is not None
    shift = constant(conv, weights(conv.b).reshape(-1, 1, 1))
    follow(conv, onnx.AddOp.of([conv.y, shift]))


@STAGE.edit("padding before a layer moves to the beginning only", Caught.NUMERICS, program="mixed")
def pads_on_one_side(module: ModuleOp) -> None:
    (conv, *_) = ops_of(module, onnx.ConvOp)
    conv.properties["pads"] = int64s([2, 2, 0, 0])


@STAGE.edit("the factor of a Gemm is forgotten", Caught.NUMERICS, program="mixed")
def alpha_forgotten(module: ModuleOp) -> None:
    (gemm,) = ops_of(module, onnx.GemmOp)
    read_instead(gemm, gemm.b, constant(gemm, weights(gemm.b) * 2))


@STAGE.patch(
    "tilec.passes.onnx_simplify.ARITHMETIC_PATTERNS",
    "the pattern that folds normalizations into layers is not in the list",
    Caught.NEITHER,
    program="mixed",
    why="no loss against the network as it was: a normalization was two passes over its elements and is a Mul and "
    "an Add. That an older build did better is for the recorded proxies to say, and they do",
)
def normalizations_stay(patterns: Sequence[Any]) -> Sequence[Any]:
    return [one for one in patterns if not isinstance(one, FoldIntoLayer)]
