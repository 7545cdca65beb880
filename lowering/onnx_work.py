"""What an op of a network comes to when it is lowered, before a machine is known: products, vector operations one after
another, the constants that they multiply by, and the rows that are computed apart from each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from ..dialects import onnx
from ..dialects.onnx_base import OnnxOp, shape_of

RENAMES = (
    onnx.ConstantOp,
    onnx.ConstantOfShapeOp,
    onnx.ShapeOp,
    onnx.SizeOp,
    onnx.ReshapeOp,
    onnx.FlattenOp,
    onnx.SqueezeOp,
    onnx.UnsqueezeOp,
    onnx.IdentityOp,
    onnx.DropoutOp,
    onnx.CastOp,
)
"""Ops that compute nothing when data flows: they name or know it."""

PASSES_OF = {
    "onnx.Abs": 2,
    "onnx.BatchNormalization": 2,
    "onnx.HardSigmoid": 6,
    "onnx.HardSwish": 7,
    "onnx.LogSoftmax": 49,
    "onnx.PRelu": 2,
    "onnx.Softmax": 48,
}
"""Vector operations that an element takes, of ops that take more than one. Exponentials are series: at most so many."""

LRN_PASSES = 48
"""Of a local response normalization, at most, beside one for each channel of its window: its root is a series."""

MINIMUM_PASSES = 3
"""Of a minimum of two, since the instruction set has none."""


class OpWork(NamedTuple):
    """What an op comes to."""

    results: int
    """Elements that it computes."""
    rows: int
    """Of the result: what a lane computes one of. Those of an image tensor are the rows of all images."""
    instances: int
    """Rows that are computed apart from each other."""
    macs: int = 0
    """Multiplications by weights, which come first."""
    passes: int = 0
    """Vector operations that follow one another."""
    elements: int = 0
    """That each of these works on."""
    factors: int = 0
    """Constants that it multiplies by, but does not read."""

    @property
    def element_passes(self) -> int:
        return self.passes * self.elements

    @property
    def steps(self) -> int:
        """Operations that follow one another."""
        return int(self.macs > 0) + self.passes

    def step_depths(self, before: int) -> int:
        """The steps up to the result of each step, added up, where ``before`` come first."""
        return self.steps * before + _triangle(self.steps)

    def work_depths(self, before: int) -> int:
        """The work up to the result of each step, added up, where ``before`` comes first."""
        products = before + self.macs
        return int(self.macs > 0) * products + self.passes * products + self.elements * _triangle(self.passes)

    @property
    def work(self) -> int:
        """On the path through the op: a multiplication counts as much as an element of a vector operation."""
        return self.macs + self.element_passes


def _triangle(count: int) -> int:
    return count * (count + 1) // 2


def op_work(op: OnnxOp) -> OpWork:
    """The work of an op that :func:`is_computation`."""
    read = read_results(op)
    results = sum(math.prod(shape_of(result)) for result in read)
    rows = min(map(rows_of, read))
    work = OpWork(results, rows, rows, elements=results)
    match op:
        case onnx.ConvOp():
            passes = int(op.b is not None)
            if not is_layer(op) and onnx.constant_of(op.w) is not None:
                # Channel by channel, weights are factors of vectors.
                passes += 2 * math.prod(shape_of(op.w)[2:]) - 1
            return work._replace(macs=math.prod(shape_of(op.y)) * math.prod(shape_of(op.w)[1:]), passes=passes)
        case onnx.GemmOp():
            inner = shape_of(op.a)[0 if op.trans_a.value.data else 1]
            factors = (op.alpha.value.data != 1) + (op.beta.value.data != 1)
            passes = int(op.c is not None) + factors + op.trans_a.value.data
            return work._replace(macs=math.prod(shape_of(op.y)) * inner, passes=passes, factors=factors)
        case onnx.MatMulOp():
            return work._replace(macs=math.prod(shape_of(op.results[0])) * shape_of(op.a)[-1])
        case onnx.SliceOp() if _skips_channels(op):
            # The vector unit reads what lies side by side: it is a product with a matrix of ones and zeros.
            return work._replace(macs=math.prod(shape_of(op.output)) * shape_of(op.operands[0])[1], passes=1)
        case onnx.GlobalAveragePoolOp() | onnx.GlobalMaxPoolOp():
            # Each row of the image at first.
            image = op.operands[0]
            return work._replace(passes=1, elements=math.prod(shape_of(image)), instances=rows_of(image))
        case onnx.MaxPoolOp() | onnx.AveragePoolOp():
            return work._replace(passes=1, elements=results * math.prod(op.kernel_shape.get_values()))
        case onnx.LRNOp():
            channels, size = shape_of(op.x)[1], op.size.value.data
            elements = results * (channels + size - 1) // channels
            return work._replace(passes=LRN_PASSES + size, elements=elements)
        case onnx.ConcatOp() if op.axis.value.data in (1, 1 - len(shape_of(op.results[0]))):
            # Of channels, it says where they lie, but moves none.
            return work._replace(instances=0)
        case onnx.MeanOp():
            return work._replace(passes=len(op.operands), factors=1)
        case onnx.NegOp():
            return work._replace(passes=1, factors=1)
        case _ if op.name.startswith("onnx.Reduce"):
            return work._replace(passes=1, elements=math.prod(shape_of(op.operands[0])))
        case _:
            return work._replace(passes=_passes(op))


def _passes(op: OnnxOp) -> int:
    """Vector operations for each element of the result."""
    match op:
        case onnx.SumOp() | onnx.MaxOp():
            return len(op.operands) - 1
        case onnx.MinOp():
            return MINIMUM_PASSES * (len(op.operands) - 1)
        case onnx.SubOp():
            # What repeats can be taken from something, but for something to be taken from it takes a negation, too.
            return 1 if op.a.type == op.c.type and onnx.constant_of(op.a) is None else 2
        case onnx.ClipOp():
            return int(op.minimum is not None) + MINIMUM_PASSES * (op.maximum is not None)
        case onnx.LeakyReluOp():
            return 2 if op.alpha.value.data <= 1 else 1 + MINIMUM_PASSES
        case _:
            return PASSES_OF.get(op.name, 1)


def is_computation(op: OnnxOp) -> bool:
    """Whether data goes through the op at run time: it is no name, and not all it reads is constant."""
    return not isinstance(op, RENAMES) and any(onnx.constant_of(operand) is None for operand in op.operands)


def is_layer(op: OnnxOp) -> bool:
    """Whether the op multiplies by constant weights that arrays hold. A convolution channel by channel is no such."""
    match op:
        case onnx.ConvOp():
            group = op.group.value.data
            return onnx.constant_of(op.w) is not None and not (group == shape_of(op.x)[1] == shape_of(op.w)[0] > 1)
        case onnx.GemmOp() | onnx.MatMulOp():
            return onnx.constant_of(op.b) is not None
        case _:
            return False


def read_results(op: OnnxOp) -> Sequence[SSAValue]:
    """What is computed: a split may give pieces of different extents, and some that nobody reads."""
    return [result for result in op.results if result.first_use is not None] or op.results


IMAGE_AXES = 4
"""Images, channels, rows and columns."""


class KeptRows:
    """Rows of values that have more by their shape than are computed: a reshape moves nothing, so that the rows stay
    those of what it reads, and so do those of what is computed from it element by element."""

    def __init__(self) -> None:
        self._rows: dict[SSAValue, int] = {}
        """Of values with fewer than their shape says."""

    def work(self, op: OnnxOp, work: OpWork) -> OpWork:
        """The work of an op, with no more rows than there are in its operands of the same shape; ops go in order."""
        if isinstance(op, RENAMES):
            if op.operands and onnx.constant_of(op.operands[0]) is None:
                source = op.operands[0]
                self._keep(op.results[0], self._rows.get(source, rows_of(source)))
            return work
        alike = isinstance(op, onnx.TransposeOp) and len(shape_of(op.results[0])) > IMAGE_AXES
        kept = [
            self._rows[one] for one in op.operands if one in self._rows and (alike or one.type == op.results[0].type)
        ]
        if not kept:
            return work
        self._keep(op.results[0], min(kept))
        return work._replace(rows=min(work.rows, *kept), instances=min(work.instances, *kept))

    def _keep(self, value: SSAValue, rows: int) -> None:
        """Of a tensor of more axes than an image, as between the reshapes of a shuffle, the shape does not say it."""
        if rows < rows_of(value) or len(shape_of(value)) > IMAGE_AXES:
            self._rows[value] = rows


def rows_of(value: SSAValue) -> int:
    """Of a tensor, by its shape."""
    shape = shape_of(value)
    return shape[0] * shape[2] if len(shape) == IMAGE_AXES else shape[0] if shape else 1


def _skips_channels(op: onnx.SliceOp) -> bool:
    """Whether the op takes some of the channels, but not side by side."""
    shape = shape_of(op.output)
    return len(shape) > 1 and shape[1] > 1 and op.slices()[1].step not in (None, 1)
