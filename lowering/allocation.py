"""How many replicas and parts each layer with weights gets (an adapter of the planners in `analysis/`)."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.latency_allocation import allocate_for_latency
from ..analysis.machine import Machine, Precision
from ..analysis.replication import Choice, InfeasibleError, Layer, Spread, allocate
from ..codegen.isa import Op
from ..support.diagnostics import TileError
from .onnx_to_spat.context import LayerDemand, LayerMapping, minimum_row_parts


def allocate_layers(
    demands: Sequence[LayerDemand], vector_cycles: int, machine: Machine, precision: Precision, replicate: bool
) -> list[LayerMapping]:
    """Deals cores to layers for the least latency of a sample; or, unless ``replicate``, the fewest that do.

    ``vector_cycles`` is the work of batches without weights, for which a fair share of the cores is left. Raises
    TileError if one copy of the weights does not fit the machine.
    """
    layers = [_layer(demand, machine, precision) for demand in demands]
    if not layers:
        return []
    weighted_cycles = sum(layer.rows * layer.spreads[0].parts * layer.spreads[0].row_cycles for layer in layers)
    left = round(machine.core_count * vector_cycles / (vector_cycles + weighted_cycles))
    choices = allocate_for_latency(layers, machine.core_count - left)
    if choices is None:
        choices = _allocate_tightly(layers, machine)
    if not replicate:
        choices = [Choice(1, 0) for _ in layers]
    return [
        LayerMapping(choice.replicas, layer.spreads[choice.spread].parts // demand.column_parts)
        for demand, layer, choice in zip(demands, layers, choices, strict=True)
    ]


def _allocate_tightly(layers: Sequence[Layer], machine: Machine) -> list[Choice]:
    """For fewer cores than layers want: parts share cores, and arrays are what is short."""
    try:
        allocation = allocate(layers, machine.core_count, machine.arrays_per_core)
    except InfeasibleError as error:
        raise TileError(
            f"machine '{machine.name}'", str(error), "use a machine with more cores or more arrays per core"
        ) from error
    return [
        Choice(int(replicas), int(spread))
        for replicas, spread in zip(allocation.replicas, allocation.spread, strict=True)
    ]


def _layer(demand: LayerDemand, machine: Machine, precision: Precision) -> Layer:
    """The ways to lay one replica on cores: its slices in 1, 2, ... parts, while another part still saves time."""
    row_bytes = demand.row_elements * precision.output_bytes
    sum_cycles = int(machine.vector_cycles(Op.VVADD, demand.row_elements, precision))
    sum_cycles += int(machine.recv_cycles(0, machine.core_count - 1, row_bytes))
    spreads: list[Spread] = []
    for parts in range(minimum_row_parts(demand, machine.arrays_per_core), demand.slices + 1):
        height = -(-demand.slices // parts)
        cycles = height * demand.slice_cycles + (parts - 1) * sum_cycles
        if not spreads or cycles < spreads[-1].row_cycles:
            spreads.append(Spread(parts * demand.column_parts, cycles, height * demand.group_arrays))
    arrays = demand.slices * demand.group_arrays * demand.column_parts
    return Layer(demand.name, demand.rows, arrays, tuple(spreads))
