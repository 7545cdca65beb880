"""`convert-onnx-to-spat`: layers to compute batches; weights to slices, parts and replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.machine import Precision
from ..lowering.allocation import allocate_layers
from ..lowering.onnx_to_spat.context import LayerDemand, LayerMapping
from ..lowering.onnx_to_spat.convert import convert_module
from ..lowering.target import set_target, width_fault


@dataclass(frozen=True)
class ConvertOnnxToSpatPass(ModulePass):
    """Lowers the network to compute batches, one lane per row of output positions.

    The weight matrix of a layer is cut into slices (one array group each) and parts (one core each), and copied as
    often as the machine has room, so that the slowest layer becomes as fast as possible. Concatenations, reshapes and
    channel permutations disappear: they only rename channels. Needs the normal form of `onnx-simplify`.
    """

    name = "convert-onnx-to-spat"

    machine: str = "reference144"
    """Preset name or architecture file of the target machine."""
    weight_bits: int = 8
    activation_bits: int = 8
    replicate: bool = True
    """Whether layers may have several replicas and more parts than they need."""

    def __post_init__(self) -> None:
        for name, bits in (("weight-bits", self.weight_bits), ("activation-bits", self.activation_bits)):
            if fault := width_fault(bits):
                raise ValueError(f"{name} is {bits}, {fault}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        precision = Precision(self.weight_bits, self.activation_bits, self.activation_bits)
        target = set_target(op, self.machine, precision)

        def allocate(demands: Sequence[LayerDemand], vector_cycles: int) -> Sequence[LayerMapping]:
            return allocate_layers(demands, vector_cycles, target.machine, precision, self.replicate)

        convert_module(op, target.machine, precision, allocate)
