"""`convert-onnx-to-spat`: layers to compute batches; weights to slices, parts and replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.contract import (
    Contract,
    changes_meaning,
    constant,
    decided_here,
    no_longer_known,
    repeated_by_the_network,
    rows_of_layers,
    rows_of_surviving_nodes,
)
from ..analysis.machine import Precision
from ..analysis.proxies import Level
from ..analysis.yardsticks import least_of, needed, part_of, with_room
from ..lowering.allocation import allocate_layers
from ..lowering.onnx_to_spat.context import LayerDemand, LayerMapping
from ..lowering.onnx_to_spat.convert import convert_module
from ..lowering.samples import samples_of
from ..lowering.target import set_target, width_fault


@dataclass(frozen=True)
class ConvertOnnxToSpatPass(ModulePass):
    """Lowers the network to compute batches, one lane per row of output positions.

    The weight matrix of a layer is cut into slices (one array group each) and parts (one core each), and replicated.
    The arrays of the machine are dealt to the layers so that the latency of a sample is least. Concatenations, reshapes
    and channel permutations disappear, since they only rename channels; so do slices and splits at the boundaries of a
    concatenation's operands, while others copy. Needs the normal form of `onnx-simplify`. Networks with more than one
    million rows, in the inputs and the results of all layers together, and layers with more than 100 million positions,
    are refused.
    """

    name = "convert-onnx-to-spat"
    contract: ClassVar[Contract] = Contract(
        {
            "compute_instances": changes_meaning(
                rows_of_surviving_nodes, "an op with R rows of windows equals R lanes"
            ),
            "lanes_of_node": changes_meaning(
                rows_of_layers, "a layer with R rows of windows equals R lanes in each of its parts"
            ),
            "partial_sums": decided_here("a network has no slices"),
            "added_again": changes_meaning(
                constant(()), "k slices equal k products and k - 1 sums of them: each is added once"
            ),
            "recomputed": changes_meaning(
                repeated_by_the_network,
                "what the network computes twice comes out as equal batches, of more operations",
            ),
            "span_cycles": changes_meaning(
                least_of(with_room("dealt_span_cycles", 4), with_room("cut_span_cycles", 3)),
                "replicas serve better than cores dealt one by one, or nearly so, and no worse by a third than arrays "
                "dealt to layers that are cut in a dumb way",
            ),
            "vector_slots_of_node": changes_meaning(
                needed("layer_slots_of_node"), "what is left of a layer without weights has as many replicas as these"
            ),
            "needless_ops": changes_meaning(constant(0), "every op is of use"),
            "unpacked_products": changes_meaning(
                part_of("mvm_count", 4), "arrays are filled, but where latency or memory speak against it"
            ),
            "host_ops": changes_meaning(constant(0), "no op may stay behind for the host"),
            **dict.fromkeys(
                (
                    *("macs", "layer_elements", "step_count", "constant_elements", "layer_reads", "layer_rows"),
                    *("pass_depths", "work_depths", "work_of_output"),
                ),
                no_longer_known("batches are counted in instructions and cycles of the machine"),
            ),
            **dict.fromkeys(
                (
                    "machine",
                    "graph_lanes",
                    "width",
                    "product_slots",
                    "lane_path_cycles",
                    "work_cycles",
                    "product_elements",
                    "mvm_count",
                    "width_of_node",
                    "vector_turns_of_node",
                    "lane_histogram",
                    "vector_count",
                    "instructions",
                    "local_copies",
                    "local_copy_bytes",
                    "host_bytes",
                    "read_elements",
                    "window_elements",
                    "weight_elements",
                ),
                decided_here("an ONNX network names no machine"),
            ),
        },
        levels=((Level.ONNX, Level.GRAPH),),
        idle_networks=True,
    )

    machine: str = "reference144"
    """Preset name or architecture file of the target machine."""
    weight_bits: int = 8
    activation_bits: int = 8
    replicate: bool = True
    """Whether layers may have several replicas, and more parts than they need."""

    def contract_with_options(self) -> Contract:
        """Without replication, the yardsticks for replicas and products do not apply."""
        if self.replicate:
            return ConvertOnnxToSpatPass.contract
        clauses = dict.fromkeys(
            ("span_cycles", "unpacked_products"), decided_here("one replica of each layer is asked for")
        )
        return replace(ConvertOnnxToSpatPass.contract, clauses={**ConvertOnnxToSpatPass.contract.clauses, **clauses})

    def __post_init__(self) -> None:
        for name, bits in (("weight-bits", self.weight_bits), ("activation-bits", self.activation_bits)):
            if fault := width_fault(bits):
                raise ValueError(f"{name} is {bits}, {fault}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        precision = Precision(self.weight_bits, self.activation_bits, self.activation_bits)
        samples = samples_of(op)
        target = set_target(op, self.machine, precision)

        def allocate(demands: Sequence[LayerDemand]) -> Sequence[LayerMapping]:
            return allocate_layers(demands, target.machine, precision, self.replicate, samples)

        convert_module(op, target.machine, precision, allocate)
