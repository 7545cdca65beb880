"""What lowerings ask of their operands; errors name the node."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ...dialects import onnx
from ...dialects.location import node_name
from ...dialects.onnx_base import shape_of
from .context import LoweringContext, refuse
from .feature import Feature
from .product import Kernel


def feature_of(context: LoweringContext, op: Operation, value: SSAValue) -> Feature:
    feature = context.features.get(value)
    if feature is None:
        remedy = "only weights and operands of element-wise operators can be, see docs/operators.md"
        raise refuse(op, "its operand is a constant", remedy)
    return feature


def spatial(context: LoweringContext, op: Operation, value: SSAValue) -> Feature:
    """An operand in its natural shape (images, channels, height, columns)."""
    feature = feature_of(context, op, value)
    if len(feature.shape) != 4:
        raise refuse(op, f"an operand of rank {len(feature.shape)}", "two spatial dimensions are supported")
    if feature.shape != feature.extents:
        raise refuse(
            op,
            f"an operand of shape {list(feature.shape)} that was reshaped from {list(feature.extents)}",
            "reshape it back first",
        )
    return feature


def constant_of(context: LoweringContext, op: Operation, value: SSAValue, what: str) -> np.ndarray[Any, Any]:
    constant = context.constants.get(value)
    if constant is None:
        raise refuse(op, f"its {what} are computed at run time", "only constant weights are supported")
    return constant


def kernel_of(op: Operation, window: onnx.Window, result: SSAValue) -> Kernel:
    if len(window.kernel) != 2:
        raise refuse(op, f"a window of {len(window.kernel)} dimensions", "two spatial dimensions are supported")
    _, _, rows, columns = shape_of(result)
    # One row or column has no distance from another.
    dilations = [dilation if size > 1 else 1 for size, dilation in zip(window.kernel, window.dilations, strict=True)]
    return Kernel(
        (window.kernel[0], window.kernel[1]),
        (window.strides[0], window.strides[1]),
        (dilations[0], dilations[1]),
        window.pads_begin[0],
        window.pads_begin[1],
        (rows, columns),
    )


def weights_of(context: LoweringContext, op: Operation, value: SSAValue, what: str) -> NDArray[np.float32]:
    """A constant for a matrix product, whose zeros an infinity or NaN beside them would turn into NaN."""
    weights = constant_of(context, op, value, what)
    if context.mappings is None and (count := not_finite(weights)):
        owner = value.owner
        name = f" '{node_name(owner)}'" if isinstance(owner, Operation) and node_name(owner) else ""
        first = weights[~np.isfinite(weights)][0]
        raise refuse(
            op,
            f"{count} of the {weights.size} elements of its {what}{name} are not finite f32, the first is {first}",
            "train or export the model again",
        )
    return weights


def not_finite(array: NDArray[np.float32]) -> int:
    """How many elements of an array are infinite or NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):  # which takes half as long as to look at each
            return 0
    return int(array.size - np.count_nonzero(np.isfinite(array)))
