"""The pass `onnx-simplify`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ..analysis.contract import Contract, changes_meaning, vanished_rows, visible_repetition
from ..analysis.yardsticks import of_fused_nodes
from ..dialects.location import copy_location
from ..dialects.onnx import ConstantOp, IdentityOp
from ..dialects.onnx_base import OnnxOp
from ..lowering.proxies_opaque import is_idle_network
from .onnx_simplify_arithmetic import ARITHMETIC_PATTERNS
from .onnx_simplify_shapes import SHAPE_PATTERNS
from .onnx_simplify_slices import SLICE_PATTERNS
from .onnx_simplify_windows import WINDOW_PATTERNS


@dataclass(frozen=True)
class OnnxSimplifyPass(ModulePass):
    """Brings a network into the normal form that lowerings start from.

    - What can be computed is a constant; shape arithmetic, identities, dropouts and pools of single elements are gone.
    - Conv and pools spell out their windows, and include zero padding before them.
    - A Gemm is x * W + b with constant W [K, N] and b [N]; so is a product of two matrices with a constant one.
    - Batch normalizations, and Mul and Add by a constant for each channel, are part of the Conv or Gemm before them if
      nothing else reads its result. Otherwise they are one Mul and one Add, whose second operands have shape [C, 1, 1].
    - Sum is a chain of Add; subtracting or dividing by a constant is an Add or a Mul.
    - Flatten, Squeeze, Unsqueeze are Reshape. No reshape follows another, none keeps its shape.
    - A Conv or Gemm computes no channels that the one Slice or Split which reads it, or its activation, leaves out. A
      Slice of a sum, or of another elementwise function, is of its operands, if only one of them is to be sliced then.
    - A network that only gives back its inputs keeps an Identity for each output.
    - A mean over the spatial dimensions is a GlobalAveragePool. A Clip has attributes only; max(0, x) is a Relu.

    The results differ from the original network's only by rounding. Constants above 2 GiB are not folded.
    """

    name = "onnx-simplify"
    contract: ClassVar[Contract] = Contract(
        {
            "compute_instances": changes_meaning(
                vanished_rows, "an op that is folded away takes its rows with it, and nobody else's lanes"
            ),
            "element_passes_of_node": changes_meaning(
                of_fused_nodes("element_passes_of_node"),
                "an op that moves into another takes what it computed with it, or less",
            ),
            "recomputed": changes_meaning(
                visible_repetition, "what the network computes twice may come out as the same op twice"
            ),
        },
        idle_networks=True,
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        networks = _networks(op)
        patterns = GreedyRewritePatternApplier(
            [RemoveUnusedOps(), *SHAPE_PATTERNS, *ARITHMETIC_PATTERNS, *WINDOW_PATTERNS, *SLICE_PATTERNS],
            dce_enabled=False,
        )
        # Weights may hold anything; infinities and NaNs are the network's own.
        with np.errstate(all="ignore"):
            PatternRewriteWalker(patterns, listener=_LETTING_GO).rewrite_module(op)
        for network in networks:
            _keep_one_op(network)


class RemoveUnusedOps(RewritePattern):
    """Unused ops go at once: they would count as readers of what they read. Those of other dialects stay."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: OnnxOp, rewriter: PatternRewriter) -> None:
        if is_trivially_dead(op):
            rewriter.erase(op)


def _let_go(op: Operation) -> None:
    """Frees the weights of a constant that is removed: the op itself stays until the collector finds its cycles."""
    if isinstance(op, ConstantOp):
        op.properties = {}


_LETTING_GO = PatternRewriterListener(operation_removal_handler=[_let_go])


def _networks(module: ModuleOp) -> list[FuncOp]:
    """The functions that are networks, which those that do nothing are if they have nothing else beside them."""
    idle = is_idle_network(module)
    functions = [op for op in module.walk() if isinstance(op, FuncOp) and len(op.body.blocks) == 1]
    return [one for one in functions if idle or any(isinstance(op, OnnxOp) for op in one.body.block.ops)]


def _keep_one_op(network: FuncOp) -> None:
    """Gives a network whose outputs all are inputs an Identity for each: without any op it would be none."""
    last = network.body.block.last_op
    if not isinstance(last, ReturnOp) or any(not isinstance(value, BlockArgument) for value in last.operands):
        return
    kept: list[IdentityOp] = []
    for value in last.operands:
        kept.append(copy_location(last, IdentityOp.create(operands=[value], result_types=[value.type])))
    network.body.block.insert_ops_before(kept, last)
    last.operands = [one.results[0] for one in kept]
