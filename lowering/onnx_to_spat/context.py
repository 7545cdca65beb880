"""What the lowering of one module carries from layer to layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.machine import Machine, Precision
from ...dialects.location import place_of
from ...dialects.spat import ComputeBatchOp
from ...support.diagnostics import TileError
from ..body_content import computes_the_same
from ..samples import samples_of
from .batch_builder import BatchBuilder
from .feature import Feature, Segment
from .product import Product


@dataclass(frozen=True)
class LayerDemand:
    """What one layer with weights asks of the chip, for the allocation of replicas and parts."""

    name: str
    rows: int
    """Lanes of the layer: the most replicas that can share its work."""
    products: tuple[Product, ...]
    """The ways to compute it; the first takes the fewest arrays."""


@dataclass(frozen=True)
class LayerMapping:
    """What the layer gets: copies of its weights, a way to compute, and parts along the rows of its weight matrix."""

    replicas: int
    windows: int
    """Of one product."""
    row_parts: int
    column_parts: int | None = None
    """If not those of the way to compute it."""

    def product(self, products: Sequence[Product]) -> Product:
        """The way to compute the layer, of all that were demanded."""
        found = next(one for one in products if one.windows == self.windows)
        return found if self.column_parts is None else replace(found, column_parts=self.column_parts)


@dataclass
class LoweringContext:
    """State of the lowering: features by ONNX value, the ops emitted so far, and the demands of the layers."""

    machine: Machine
    precision: Precision
    mappings: Sequence[LayerMapping | None] | None = None
    """One per layer with weights in program order, None for one that nobody reads. None in the first sweep, which only
    collects the demands."""
    features: dict[SSAValue, Feature] = field(default_factory=dict[SSAValue, Feature])
    constants: dict[SSAValue, NDArray[np.float32]] = field(default_factory=dict[SSAValue, NDArray[np.float32]])
    ops: list[Operation] = field(default_factory=list[Operation])
    demands: list[tuple[LayerDemand, Operation]] = field(default_factory=list[tuple[LayerDemand, Operation]])
    """Of the first sweep: with the op that stands for the layer."""
    moved: dict[object, dict[bytes, tuple[Segment, ...]]] = field(
        default_factory=dict[object, dict[bytes, tuple[Segment, ...]]]
    )
    """Features with their channels in another order, by what they are of, then by the order."""
    _layers: int = 0
    _emitted: dict[object, list[ComputeBatchOp]] = field(default_factory=dict[object, list[ComputeBatchOp]])
    """What may be emitted again, by lanes, inputs and windows."""

    def feature(self, value: SSAValue) -> Feature:
        """The feature of an operand that has to be computed by the network."""
        return self.features[value]

    def next_mapping(self) -> LayerMapping | None:
        """That of the next layer with weights, unless it only has to be announced."""
        self._layers += 1
        return None if self.mappings is None else self.mappings[self._layers - 1]

    def announce(self, demand: LayerDemand, feature: Feature, results: Sequence[Attribute]) -> Sequence[SSAValue]:
        """Records what a layer demands that reads the feature; results of an op that stands for it."""
        inputs = [segment.value for segment in feature.segments]
        stand_in = UnrealizedConversionCastOp.create(operands=inputs, result_types=results)
        self.ops.append(stand_in)
        self.demands.append((demand, stand_in))
        return stand_in.results

    def emit(self, builder: BatchBuilder, *values: SSAValue, apart: bool = False) -> Sequence[SSAValue]:
        """Finishes a batch; its results.

        What has been computed already is not computed again: where an op reads a tensor twice, as it does in the
        concatenation of a tensor with itself, or ops compute the same. Not so with products, whose demands are counted,
        and with what is to be ``apart``.
        """
        ops, batch = builder.finish(*values)
        if not batch.vmm_ops and not apart:
            alike = self._emitted.setdefault((batch.lane_count, tuple(batch.inputs), batch.windows), [])
            for other in alike:
                if computes_the_same(batch, other):
                    batch.erase()
                    return other.outs
            alike.append(batch)
        self.ops += ops
        return batch.outs

    def emit_segment(self, builder: BatchBuilder, value: SSAValue, like: Segment, apart: bool = False) -> Segment:
        """Finishes a batch with one result that holds the channels of ``like``."""
        (result,) = self.emit(builder, value, apart=apart)
        return Segment(result, like.channels)


def minimum_row_parts(product: Product) -> int:
    """The fewest parts of a layer that each fit a core."""
    return -(-product.slice_count // (product.machine.arrays_per_core // product.group_arrays))


def refuse(op: Operation, what: str, remedy: str = "") -> TileError:
    """The error that a layer cannot be lowered. Where shapes are not those of the model, it says so."""
    note = shapes_note(op)
    return TileError(f"{place_of(op)} ({op.name}{'; ' if note else ''}{note})", what, remedy)


def shapes_note(op: Operation) -> str:
    """What is to be said of the shapes of a network that takes several samples at once, where the model has one."""
    root = op
    while (parent := root.parent_op()) is not None:
        root = parent
    samples = samples_of(root) if isinstance(root, ModuleOp) else 1
    return f"shapes are of {samples} samples, the model's of 1" if samples > 1 else ""
