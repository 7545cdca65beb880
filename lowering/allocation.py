"""How many replicas and parts each layer with weights gets (an adapter of `analysis/replication.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.machine import Machine, Precision
from ..analysis.replication import InfeasibleError, Layer, Spread, allocate
from ..codegen.isa import Op
from ..support.diagnostics import TileError
from .onnx_to_spat.context import LayerDemand, LayerMapping, minimum_row_parts


def allocate_layers(
    demands: Sequence[LayerDemand], machine: Machine, precision: Precision, replicate: bool
) -> list[LayerMapping]:
    """Deals cores to layers so that the slowest layer is as fast as possible; or, unless ``replicate``, the fewest.

    Raises TileError if one copy of the weights does not fit the machine.
    """
    layers = [_layer(demand, machine, precision) for demand in demands]
    try:
        allocation = allocate(layers, machine.core_count, machine.arrays_per_core) if layers else None
    except InfeasibleError as error:
        raise TileError(
            f"machine '{machine.name}'", str(error), "use a machine with more cores or more arrays per core"
        ) from error
    if allocation is None or not replicate:
        return [LayerMapping(1, minimum_row_parts(demand, machine.arrays_per_core)) for demand in demands]
    return [
        LayerMapping(int(replicas), layer.spreads[int(spread)].parts // demand.column_parts)
        for demand, layer, replicas, spread in zip(demands, layers, allocation.replicas, allocation.spread, strict=True)
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
