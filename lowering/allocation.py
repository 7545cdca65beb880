"""How many replicas and parts each layer with weights gets (an adapter of the planners in `analysis/`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..analysis.latency_allocation import allocate_for_latency
from ..analysis.machine import Machine, Precision
from ..analysis.replication import Choice, InfeasibleError, Layer, Spread, allocate
from ..codegen.isa import Op
from ..support.diagnostics import TileError
from .onnx_to_spat.context import LayerDemand, LayerMapping, minimum_row_parts
from .onnx_to_spat.product import Product


def allocate_layers(
    demands: Sequence[LayerDemand], vector_cycles: int, machine: Machine, precision: Precision, replicate: bool
) -> list[LayerMapping]:
    """Deals cores to layers for the least latency of a sample; or, unless ``replicate``, the fewest that do.

    ``vector_cycles`` is the work of batches without weights, for which a fair share of the cores is left. Raises
    TileError if one copy of the weights does not fit the machine.
    """
    if not demands:
        return []
    if not replicate:
        return [LayerMapping(1, 1, minimum_row_parts(demand.products[0])) for demand in demands]
    options = [_options(demand.products, machine, precision) for demand in demands]
    layers = [_layer(demand, mine) for demand, mine in zip(demands, options, strict=True)]
    weighted_cycles = sum(layer.rows * layer.spreads[0].parts * layer.spreads[0].row_cycles for layer in layers)
    left = round(machine.core_count * vector_cycles / (vector_cycles + weighted_cycles))
    tails = [demand.products[0].kernel.tail_rows for demand in demands]
    choices = allocate_for_latency(layers, tails, machine.core_count - left)
    if choices is None:
        # Parts share cores, and arrays are what is short: only the products that take fewest of them.
        options = [_options(_of_fewest_arrays(demand.products), machine, precision) for demand in demands]
        layers = [_layer(demand, mine) for demand, mine in zip(demands, options, strict=True)]
        choices = _allocate_tightly(layers, machine)
    return [
        LayerMapping(choice.replicas, mine[choice.spread].product.windows, mine[choice.spread].row_parts)
        for choice, mine in zip(choices, options, strict=True)
    ]


def _allocate_tightly(layers: Sequence[Layer], machine: Machine) -> list[Choice]:
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


@dataclass(frozen=True)
class _Option:
    """One way to lay one replica of a layer on cores."""

    product: Product
    row_parts: int
    spread: Spread


def _layer(demand: LayerDemand, options: Sequence[_Option]) -> Layer:
    first = demand.products[0]
    arrays = len(first.slices) * first.group_arrays * first.column_parts
    return Layer(demand.name, demand.rows, arrays, tuple(option.spread for option in options))


def _of_fewest_arrays(products: Sequence[Product]) -> list[Product]:
    """The first product, and those of more windows for which its arrays have room."""

    def arrays(product: Product) -> int:
        return len(product.slices) * product.group_arrays * product.column_parts

    return [product for product in products if arrays(product) <= arrays(products[0])]


def _options(products: Sequence[Product], machine: Machine, precision: Precision) -> list[_Option]:
    """Each product with its slices in 1, 2, ... parts; of these, what no other beats in both cores and cycles."""
    first = products[0]
    row_elements = first.kernel.output[1] * -(-first.outputs // first.column_parts)
    sum_cycles = int(machine.vector_cycles(Op.VVADD, row_elements, precision))
    sum_cycles += int(machine.recv_cycles(0, machine.core_count - 1, row_elements * precision.output_bytes))
    found: list[_Option] = []
    for product in products:
        for parts in range(minimum_row_parts(product), len(product.slices) + 1):
            height = -(-len(product.slices) // parts)
            cycles = height * product.slice_cycles + (parts - 1) * sum_cycles
            spread = Spread(parts * product.column_parts, cycles, height * product.group_arrays)
            found.append(_Option(product, parts, spread))
    found.sort(key=lambda option: (option.spread.parts, option.spread.row_cycles, option.spread.part_arrays))
    kept: list[_Option] = []
    for option in found:
        if not kept or option.spread.row_cycles < kept[-1].spread.row_cycles:
            kept.append(option)
    return kept
